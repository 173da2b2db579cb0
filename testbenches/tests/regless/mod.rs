//! RegLess: the shard and its parts, the compressor, the way to L1.

mod compressor;
mod compressor_bench;
mod compressor_ref;
mod l1_port;
mod memory;
mod memory_ref;
mod memory_side;
mod osu;
mod patterns;
mod patterns_ref;
mod random_region;
mod shard;
mod shard_driver;
mod staging_bank;
mod staging_bank_ref;
