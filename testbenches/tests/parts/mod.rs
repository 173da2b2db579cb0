//! Small circuits that the others are made of.

mod arbiter;
mod fifo;
