//! Affine registers: a warp-wide register whose lanes follow each other by one stride is held as base and stride.
//!
//! Source: Kim & Ro, "WIR: Warp Instruction Reuse to Minimize Repeated Computations in GPUs", §VII-A: Affine, after Collange,
//! Defour and Zhang, "Dynamic detection of uniform and affine vectors in GPGPU computations", Euro-Par workshops 2009.

mod affine_detector;
mod circuits;
mod tuple_table;

pub use affine_detector::{AffineDetector, AffineDetectorIo, AffineValueIo};
pub use circuits::FOLDER;
pub use tuple_table::{TupleReadIo, TupleTable, TupleTableIo, TupleWriteIo};
