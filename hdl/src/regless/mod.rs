//! RegLess: a staging unit for operands in place of the register file, its registers in memory behind L1.
//!
//! Source: Kloosterman et al., "RegLess: Just-in-Time Operand Staging for GPUs", MICRO 2017; section and table numbers
//! here are those of that paper.

mod compressed_lines;
mod compressor;
mod l1_port;
mod memory_ports;
mod patterns;

pub use compressor::{Compressor, CompressorIo, OsuFillIo, OsuRequestIo};
pub use l1_port::{L1FillIo, L1Port, L1PortIo, L1RequestIo, ShardIo};
pub use memory_ports::{
    FillInIo, FillOutIo, KIND_BITS, MemoryWidths, RequestInIo, RequestKind, RequestOutIo,
};
pub use patterns::{
    BASES_BITS, PATTERN_BITS, Pattern, PatternExpander, PatternExpanderIo, PatternMatcher, PatternMatcherIo,
};
