//! The register cache that warps share, and the register scratchpad of active warps.

mod bench;
mod register_cache;
mod register_cache_hierarchy;
mod register_cache_hierarchy_ref;
mod register_cache_ref;
mod scratchpad_bench;
mod scratchpad_hierarchy;
mod scratchpad_ref;
mod scratchpad_traffic;
mod traffic;
