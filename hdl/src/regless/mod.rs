//! RegLess: a staging unit for operands in place of the register file, its registers in memory behind L1.
//!
//! Source: Kloosterman et al., "RegLess: Just-in-Time Operand Staging for GPUs", MICRO 2017; section and table numbers
//! here are those of that paper.

mod patterns;

pub use patterns::{
    BASES_BITS, PATTERN_BITS, Pattern, PatternExpander, PatternExpanderIo, PatternMatcher, PatternMatcherIo,
};
