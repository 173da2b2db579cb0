//! Register file cache and two-level warp scheduler.
//!
//! Source: Gebhart et al., "Energy-efficient Mechanisms for Managing Thread Context in Throughput Processors",
//! ISCA 2011, §3.

mod cache_ports;
mod cached_register_file;
mod circuits;
mod register_file_cache;
mod source_allocator;
mod two_level_scheduler;

pub use cache_ports::{
    CacheLookupIo, CacheReadIo, CacheSourceIo, CollectedIo, FlushIo, InvalidateIo, RegisterFileCacheIo,
    SpillIo,
};
pub use cached_register_file::{CachedRegisterFile, CachedRegisterFileIo, IssueIo, SourceIo};
pub use circuits::FOLDER;
pub use register_file_cache::{RegisterFileCache, Replacement};
pub use source_allocator::{
    EmptiedIo, FollowIo, FollowSourceIo, LeaveIo, OfferIo, SourceAllocator, SourceAllocatorIo, WrittenIo,
};
pub use two_level_scheduler::{DecisionIo, InnerPolicy, TwoLevelScheduler, TwoLevelSchedulerIo};
