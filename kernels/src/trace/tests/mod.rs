//! Tests of the trace readers and writers as a whole.

mod container;
mod synthetic;
