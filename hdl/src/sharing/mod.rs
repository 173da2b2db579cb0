//! Sharing of registers and scratchpad between two thread blocks: who may access what they share, and who is picked first.
//!
//! Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", PhD thesis, IIT Kanpur, 2018, chapters 2
//! and 3.

mod circuits;
mod dynamic_execution;
mod owner_warp_first;
mod pairs;
mod register_access_unit;
mod release_unit;
mod resource_access_unit;
mod scratchpad_access_unit;

pub use circuits::FOLDER;
pub use dynamic_execution::{DynamicExecution, DynamicExecutionIo};
pub use owner_warp_first::{OwnerWarpFirst, OwnerWarpFirstIo};
pub use pairs::LaunchIo;
pub use register_access_unit::{RegisterAccessUnit, RegisterAccessUnitIo};
pub use release_unit::{DoneIo, ReleaseUnit, ReleaseUnitIo};
pub use resource_access_unit::{ResourceAccessUnit, ResourceAccessUnitIo};
pub use scratchpad_access_unit::{ScratchpadAccessUnit, ScratchpadAccessUnitIo};
