//! The banked main register file with its arbiter and operand collectors: what every design is compared with.

mod bank;
mod banked_register_file;
mod circuits;
pub(crate) mod collector_groups;
mod dual_issue_register_file;
mod extra_read;
mod geometry;
mod main_register_file;
mod operand_collectors;
mod ports;
mod row_power;
mod two_scheduler_register_file;

pub use bank::{BankReadIo, BankWriteIo, RegisterBank, RegisterBankIo};
pub use banked_register_file::{BankedRegisterFile, BankedRegisterFileIo, IssueIo, SourceIo};
pub use circuits::FOLDER;
pub use dual_issue_register_file::{DualIssueRegisterFile, DualIssueRegisterFileIo};
pub(crate) use extra_read::read_beside;
pub use extra_read::{ExtraRead, ExtraReadIo};
pub use geometry::{Geometry, LANE_BITS, SOURCES};
pub(crate) use geometry::{WarpLanes, WarpRegister};
pub use main_register_file::{CollectorReadIo, MainRegisterFile, MainRegisterFileIo, RowReadIo};
pub(crate) use operand_collectors::Beside;
pub use operand_collectors::{CollectIo, CollectSourceIo, OperandCollectors, OperandCollectorsIo, PendingIo};
pub use ports::{DispatchIo, OperandsIo, RegisterWriteIo, Widths};
pub use row_power::{RowAccesses, RowPowerIo, RowRequestIo};
pub use two_scheduler_register_file::{TwoSchedulerRegisterFile, TwoSchedulerRegisterFileIo};
