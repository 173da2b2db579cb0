//! Register file hierarchy: a last result file and an operand register file in front of the main register file, both
//! managed by the compiler.
//!
//! Source: Gebhart et al., "A Compile-Time Managed Multi-Level Register File Hierarchy", MICRO 2011, §3.

mod circuits;
mod hierarchy_ports;
mod register_file_hierarchy;
mod upper_ports;
mod upper_register_files;

pub use circuits::FOLDER;
pub use hierarchy_ports::{HierarchyIssueIo, HierarchyResultIo, HierarchySourceIo, RegisterFileHierarchyIo};
pub use register_file_hierarchy::RegisterFileHierarchy;
pub use upper_ports::{
    UpperDispatchIo, UpperIssueIo, UpperOperandIo, UpperOperandsIo, UpperRegisterFilesIo, UpperSourceIo,
    UpperWriteIo,
};
pub use upper_register_files::UpperRegisterFiles;
