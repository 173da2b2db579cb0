//! Register file cache and two-level scheduler.

mod bench;
mod cached_register_file;
mod cached_register_file_ref;
mod register_file_cache;
mod register_file_cache_ref;
mod shared_registers;
mod source_allocator;
mod source_allocator_ref;
mod traffic;
mod two_level_scheduler;
mod two_level_scheduler_ref;
