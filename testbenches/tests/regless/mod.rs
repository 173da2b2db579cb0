//! RegLess: the compressor and the way to L1.

mod compressor;
mod compressor_bench;
mod compressor_ref;
mod l1_port;
mod memory;
mod memory_side;
mod osu;
mod patterns;
mod patterns_ref;
