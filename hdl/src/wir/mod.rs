//! Warp instruction reuse: registers that hold equal values share a physical one, and what has been computed of equal
//! physical registers is not computed again.
//!
//! Source: Kim & Ro, "WIR: Warp Instruction Reuse to Minimize Repeated Computations in GPUs".

mod circuits;
mod free_pool;
mod h3;
mod load_guard;
mod reference_counts;
mod rename_tables;
mod retry_queue;
mod reuse_buffer;
mod value_hash;
mod value_signature_buffer;
mod verify_cache;

pub use circuits::FOLDER;
pub use free_pool::{FreePool, FreePoolIo, OfferIo};
pub use h3::h3_rows;
pub use load_guard::{LoadGuard, LoadGuardIo};
pub use reference_counts::{AllocatedIo, CountedIo, QueryIo, ReferenceCounts, ReferenceCountsIo};
pub use rename_tables::{DestinationIo, MappingIo, ReleasedIo, RenameTables, RenameTablesIo, RenamedIo};
pub use retry_queue::{RetryQueue, RetryQueueIo};
pub use reuse_buffer::{
    EvictedOperandIo, EvictedRowIo, FillIo, OPERANDS, OperandIo, PairIo, ROW_RESULTS, ReuseBuffer,
    ReuseBufferIo, ReuseLookupIo, SecondIo,
};
pub use value_hash::{ValueHash, ValueHashIo};
pub use value_signature_buffer::{
    EvictedSignatureIo, SignatureLookupIo, ValueSignatureBuffer, ValueSignatureBufferIo,
};

pub use verify_cache::{VerifyCache, VerifyCacheIo, VerifyFillIo, VerifyLookupIo, VerifyWrittenIo};

/// Seed of the hash matrices unless another is given: the first digits of pi after the point, in base 16.
pub const SEED: u64 = 0x243f_6a88_85a3_08d3;
