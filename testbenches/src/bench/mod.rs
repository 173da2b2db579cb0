//! Benchmark circuits: stimulus, circuit and signature in one top that a harness has only to clock.
//!
//! A [`Benchmark`] is a circuit of the [list](list()), a size and an [`Activity`]. Its top has no inputs and one
//! output, the 64-bit `signature_o`; everything is described in the construction core, so the same top is
//! simulated, exported, and raced against other simulators. What follows fixes every bit of it;
//! [`Benchmark::inputs`] gives the same as text, port by port.
//!
//! # Noise
//!
//! `noise0`, `noise1`, … are 64-bit registers. `noise<k>` is `0x9e3779b97f4a7c15 * (k + 1)` modulo 2^64 after reset,
//! and takes in every cycle the next value of the xorshift generator
//!
//! ```text
//! a = x ^ (x << 13);  b = a ^ (a >> 7);  next = b ^ (b << 17)
//! ```
//!
//! There are as many as the fields below need, at least one. `noise<k>[high:low]` are bits of the register's
//! current value, both ends included.
//!
//! # Inputs
//!
//! Each input of the circuit is driven by its [`Drive`], in the order of the ports. What a drive draws:
//!
//! - a **field** of `n` bits is cut from the noise words in order, lowest bits first. A field that does not fit in
//!   what is left of a word begins the next one. Fields are never shared.
//! - an **event** at rate `r` is a field of 8 bits, and happens where that is at least `256 - r`: in all-zero noise
//!   (before reset, in simulators whose registers start at 0) nothing happens.
//! - **data** of `w` bits is word `k mod words`, where `k` counts the draws of data before it: its high `w` bits, or
//!   for a value wider than 64 bits the word repeated, and the low `w` bits of that. Data overlaps fields.
//!
//! An input that draws several draws its event first.
//!
//! # Signature
//!
//! A 64-bit register, 0 after reset. In every cycle it takes itself rotated left by one, exclusive or
//!
//! - the outputs of up to 64 bits, joined in the order of the ports, the first in the lowest bits, into words of at
//!   most 64 bits; an output that does not fit in what is left of a word begins the next one;
//! - of each wider output the sum modulo 2^64 of its 64-bit words (the last one extended by zeros), rotated left by
//!   `7 * k mod 64`, where `k` counts the wider outputs before it. It is a sum, as the exclusive or of a word
//!   repeated an even number of times is 0.
//!
//! An output counts as 0 where its qualifier (`valid_when`) does not hold.
//!
//! # Cycles
//!
//! The signature after `n` cycles is the register after `n` clock edges from the state after reset: an engine of ours
//! has it after `n + 1` steps, Verilog after one edge under reset and `n` without. State without a reset value starts
//! at 0.

mod drive;
mod list;
mod managed_warps;
mod native;
mod signature;
mod staging_shard;
mod stimulus;
mod top;
mod wide_table;

pub use drive::{Activity, Drive};
pub use list::{Entry, benchmarks, list};
pub use managed_warps::ManagedWarps;
pub use native::{NativeLoop, loops, native};
pub use staging_shard::StagingShard;
pub use top::{Benchmark, BenchmarkIo, Part};
pub use wide_table::WideTable;
