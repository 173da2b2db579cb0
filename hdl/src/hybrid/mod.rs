//! A register cache that the warps of a scheduler share, and a register scratchpad for its active ones, alone or one behind
//! the other, in front of the main register file.
//!
//! Source: Bailey et al., "Scratch That (But Cache This): A Hybrid Register Cache / Scratchpad for GPUs", TCAD 2018, §III.

mod cache_ports;
mod circuits;
mod read_allocation;
mod register_cache;
mod register_cache_hierarchy;
mod register_scratchpad;
mod scratchpad_hierarchy;
mod scratchpad_ports;

pub use cache_ports::{CollectorIo, FoundOperandIo, LookupIo, LookupSourceIo, RegisterCacheIo, SpillIo};
pub use circuits::FOLDER;
pub use register_cache::{LINES_OF_SET, RegisterCache};
pub use register_cache_hierarchy::{
    HierarchyIssueIo, HierarchySourceIo, RegisterCacheHierarchy, RegisterCacheHierarchyIo,
};
pub use register_scratchpad::RegisterScratchpad;
pub use scratchpad_hierarchy::{
    MappedIssueIo, MappedResultIo, MappedSourceIo, ScratchpadHierarchy, ScratchpadHierarchyIo,
};
pub use scratchpad_ports::{
    RegisterScratchpadIo, ScratchpadDispatchIo, ScratchpadIssueIo, ScratchpadOperandIo, ScratchpadOperandsIo,
    ScratchpadResultIo, ScratchpadSourceIo, TransferIo,
};
