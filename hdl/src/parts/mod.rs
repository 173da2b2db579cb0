//! Small circuits that the others are made of.

mod arbiter;
mod fifo;
pub(crate) mod recency;
pub(crate) mod turn;

pub use arbiter::{ArbiterIo, RoundRobinArbiter};
pub use fifo::{Fifo, FifoIo};
