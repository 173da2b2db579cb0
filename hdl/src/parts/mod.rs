//! Small circuits that the others are made of.

mod arbiter;
mod circuits;
mod fifo;
pub(crate) mod recency;
pub(crate) mod turn;

pub use arbiter::{ArbiterIo, RoundRobinArbiter};
pub use circuits::FOLDER;
pub use fifo::{Fifo, FifoIo};
