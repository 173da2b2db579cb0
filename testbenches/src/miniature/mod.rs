//! Small forms of the two circuits that ask most of the construction core.

mod operand_staging_bank;
mod reference_counters;

pub use operand_staging_bank::{OperandStagingBank, StagingBankIo};
pub use reference_counters::{ReferenceCounters, ReferenceCountersIo};
