//! A register cache that the warps of a scheduler share, in front of the main register file.
//!
//! Source: Bailey et al., "Scratch That (But Cache This): A Hybrid Register Cache / Scratchpad for GPUs", TCAD 2018, §III.

mod cache_ports;
mod circuits;
mod register_cache;
mod register_cache_hierarchy;

pub use cache_ports::{CollectorIo, FoundOperandIo, LookupIo, LookupSourceIo, RegisterCacheIo, SpillIo};
pub use circuits::FOLDER;
pub use register_cache::{LINES_OF_SET, RegisterCache};
pub use register_cache_hierarchy::{
    HierarchyIssueIo, HierarchySourceIo, RegisterCacheHierarchy, RegisterCacheHierarchyIo,
};
