//! Functional execution of PTX: what every warp of a launch does, with the value of every register.
//!
//! A [`Memory`] holds the buffers, [`Loaded`] a module's variables in it, an [`Execution`] is one launch of a
//! kernel, a [`BlockExecution`] one block of it. Blocks are executed in grid order; within a block warps take
//! turns from barrier to barrier, so that results never depend on who watches. A [`PtxStream`] hands out what
//! happened as machine instructions, a [`PtxRun`] all launches of a launch file. A [`Recording`] keeps what they do, for any
//! number of readers.

mod access;
mod barrier;
mod block;
mod blocks;
mod collective;
mod convert;
mod copies;
mod decode;
mod entry;
mod error;
mod execute;
mod float;
mod integer;
mod launch;
mod matrix;
mod memory;
mod outside;
mod packed;
mod print;
mod record;
mod recording;
mod registers;
mod replay;
mod run;
mod softfloat;
mod stack;
mod store;
mod stream;
mod texture;

pub use block::{BlockExecution, Executed, Observer, Step};
pub use error::ExecError;
pub use launch::{Configuration, ExecOptions, Execution, Loaded};
pub use memory::{BufferId, Element, Memory, MemoryError};
pub use outside::{AccessKind, FirstAccess, OutOfBounds};
pub use print::Printed;
pub use recording::{Recording, Replayed};
pub use registers::{Lanes, Registers};
pub use run::{PtxRun, RunError};
pub use stream::PtxStream;
