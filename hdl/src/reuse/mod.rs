//! Register reuse cache: operands that the compiler marks are kept, and read again without their bank.
//!
//! Source: Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025, §5.3.1.

mod circuits;
mod register_reuse_cache;
mod reuse_collectors;
mod reuse_register_file;

pub use circuits::FOLDER;
pub use register_reuse_cache::{
    KeptOperandsIo, RegisterReuseCache, RegisterReuseCacheIo, ReuseReadIo, WrittenIo,
};
pub use reuse_collectors::{ReuseCollectors, ReuseCollectorsIo};
pub use reuse_register_file::{ReuseIssueIo, ReuseRegisterFile, ReuseRegisterFileIo, ReuseSourceIo};
