//! Register reuse cache.
//!
//! The references (`…_ref`) are written from Huerta et al., MICRO 2025, §5.3.1 and Listing 4, and from the contract of the ports.

mod register_reuse_cache;
mod reuse_collectors;
mod reuse_register_file;
mod reuse_register_file_ref;
