//! The register cache that warps share.

mod bench;
mod register_cache;
mod register_cache_hierarchy;
mod register_cache_hierarchy_ref;
mod register_cache_ref;
mod traffic;
