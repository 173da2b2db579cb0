//! The banked main register file with its arbiter and operand collectors: what every design is compared with.

mod bank;
mod banked_register_file;
mod geometry;
mod main_register_file;
mod operand_collectors;

pub use bank::{BankReadIo, BankWriteIo, RegisterBank, RegisterBankIo};
pub use banked_register_file::{
    BankedRegisterFile, BankedRegisterFileIo, DispatchedIo, IssueIo, OperandsIo, SourceIo, WriteIo,
};
pub use geometry::{Geometry, LANE_BITS, SOURCES};
pub use main_register_file::{MainRegisterFile, MainRegisterFileIo, RegisterWriteIo, RowReadIo};
pub use operand_collectors::{
    CollectIo, CollectSourceIo, CollectedIo, CollectorReadIo, DispatchIo, OperandCollectors,
    OperandCollectorsIo, PendingIo,
};
