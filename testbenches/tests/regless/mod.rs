//! RegLess: the shard and its parts, the compressor, the way to L1.

mod access_distributor;
mod broken;
mod capacity_manager;
mod capacity_manager_ref;
mod compressor;
mod compressor_bench;
mod compressor_ref;
mod l1_port;
mod memory;
mod memory_ref;
mod memory_side;
mod metadata_store;
mod osu;
mod patterns;
mod patterns_ref;
mod random_region;
mod register_read_unit;
mod regless_sm;
mod shard;
mod shard_driver;
mod staging_bank;
mod staging_bank_ref;
mod staging_unit;
mod staging_unit_driver;
mod staging_unit_ref;
mod warp_stack;
