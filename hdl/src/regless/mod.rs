//! RegLess: a staging unit for operands in place of the register file, its registers in memory behind L1.
//!
//! Source: Kloosterman et al., "RegLess: Just-in-Time Operand Staging for GPUs", MICRO 2017; section and table numbers
//! here are those of that paper.

mod access_distributor;
mod access_queue;
mod bank_ports;
mod capacity_manager;
mod circuits;
mod compressed_lines;
mod compressor;
mod geometry;
mod l1_port;
mod line_ledger;
mod manager_ports;
mod memory_ports;
mod metadata_store;
mod operand_staging_unit;
mod patterns;
mod ports;
mod register_read_unit;
mod regless_sm;
mod shard;
mod shard_ports;
mod staging_bank;
mod unit_ports;
mod warp_stack;

pub use access_distributor::{
    AccessDistributor, AccessDistributorIo, DestinationIo, DistributeIo, OperandIo,
};
pub use access_queue::{AccessQueue, AccessQueueIo, AccessWidths, OlderReadIo, PopIo, PushIo};
pub use bank_ports::{
    AccessIo, BankFillIo, BankRequestIo, BankWriteIo, DropIo, HeldIo, LineAccessIo, LinePowerIo, LineReadIo,
    PreloadIo, StagingBankIo,
};
pub use capacity_manager::CapacityManager;
pub use circuits::FOLDER;
pub use compressor::{Compressor, CompressorIo, OsuFillIo, OsuRequestIo};
pub use geometry::{ISSUES, NOTES, RESULTS, SOURCES, ShardGeometry};
pub use l1_port::{L1FillIo, L1Port, L1PortIo, L1RequestIo, ShardIo};
pub use line_ledger::{AllowIo, LedgerWarpIo, LineLedger, LineLedgerIo};
pub use manager_ports::{
    CapacityManagerIo, FilledIo, IssuedIo, ManagedBankIo, ServedAccessIo, ServedNoteIo, WrittenResultIo,
};
pub use memory_ports::{FillInIo, FillOutIo, MemoryWidths, RequestInIo, RequestKind, RequestOutIo};
pub use metadata_store::{
    MetadataIo, MetadataNoteIo, MetadataStore, MetadataStoreIo, NextRegionIo, NextWordIo, StoredNoteIo,
};
pub use operand_staging_unit::OperandStagingUnit;
pub use patterns::{
    BASES_BITS, Pattern, PatternExpander, PatternExpanderIo, PatternMatcher, PatternMatcherIo,
};
pub use ports::{Fate, Note};
pub use register_read_unit::{
    AssembledIo, DispatchedIo, EnterIo, ExecutionUnitIo, LineIo, RegisterReadUnit, RegisterReadUnitIo,
    ServedHereIo, ValueHereIo,
};
pub use regless_sm::{RegLessSm, RegLessSmIo};
pub use shard::RegLessShard;
pub use shard_ports::{RegLessShardIo, ShardIssueIo, ShardSmIo, ShardWriteIo};
pub use staging_bank::StagingBank;
pub use unit_ports::{
    ExitIo, HeldChangeIo, HoldsIo, NoteIo, OperandStagingUnitIo, ResultIo, SentNoteIo, ServedIo, StagedIo,
    UnitBankIo, UnitPowerIo, ValueIo,
};
pub use warp_stack::{WarpStack, WarpStackIo};
