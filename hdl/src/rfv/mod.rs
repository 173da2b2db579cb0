//! A register file of fewer registers than the warps have names for.
//!
//! Source: Jeon, Ravi, Kim and Annavaram, "GPU Register File Virtualization", MICRO 2015, as Kloosterman et al.,
//! "RegLess", MICRO 2017, §6.1 compare with it.

mod allocation_limiter;
mod circuits;
mod rename_table;
mod virtual_register_file;

use crate::rtl::{Module, Signal, count_bits};

pub use allocation_limiter::{AllocationIo, AllocationLimiter, AllocationLimiterIo, LimitsIo, ReturnIo};
pub use circuits::FOLDER;
pub use rename_table::{
    FreedIo, NameIo, RESULTS, RenameIssueIo, RenameSourceIo, RenameTable, RenameTableIo, RenameWriteIo,
};
pub use virtual_register_file::{
    VirtualIssueIo, VirtualRegisterFile, VirtualRegisterFileIo, VirtualSourceIo,
};

/// Instructions taken a cycle at most.
const WAYS: usize = 2;
/// Registers that are freed a cycle at most.
const FREED: usize = 2;

/// Whether every value that is valid is below `limit`, of (valid, value) pairs.
fn all_below<'m>(
    m: &Module<'m>,
    values: impl Iterator<Item = (Signal<'m>, Signal<'m>)>,
    limit: usize,
) -> Signal<'m> {
    let is_below = |(valid, value): (Signal<'m>, Signal<'m>)| {
        valid.implies(value.zext(value.width().max(count_bits(limit))).lt(limit))
    };
    values.map(is_below).fold(m.lit(1, 1), |all, is_below| all & is_below)
}
