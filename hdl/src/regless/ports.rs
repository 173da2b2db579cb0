//! What the compiler tells the circuits of a shard, in bits.

use crate::rtl::Encoding;

/// What an access to a register does to its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encoding)]
pub enum Fate {
    /// The region accesses the register again: the line stays held.
    Keep = 0,
    /// The region's last access, and the value lives on: the line may be evicted.
    Evict = 1,
    /// The value is dead: the line is free.
    Erase = 2,
}

/// What an annotation at the start of a region asks for (§4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encoding)]
pub enum Note {
    /// The register is to be staged.
    Preload = 0,
    /// The register is to be staged, and its copy in memory is not needed again.
    InvalidatingPreload = 1,
    /// The register is dead, wherever it is.
    Invalidation = 2,
}
