//! Size of a shard, and where a register lies in it.

use serde::{Deserialize, Serialize};

use super::memory_ports::MemoryWidths;
use crate::rtl::{Circuit, Module, ParameterError, Signal, count_bits, index_bits};

/// Bits of a lane of a register.
pub const LANE_BITS: usize = 32;
/// Register operands of an instruction.
pub const SOURCES: usize = 3;
/// Registers an instruction writes at most (a 128-bit load).
pub const RESULTS: usize = 4;
/// Bits that name a source.
pub const SOURCE_BITS: usize = index_bits(SOURCES);
/// Bits that name a result.
pub const RESULT_BITS: usize = index_bits(RESULTS);
/// Instructions issued in a cycle at most (Table 1: GTX 980).
pub const ISSUES: usize = 2;
/// Annotations a word of metadata holds (§5.4).
pub const NOTES: usize = 3;

/// Warps, banks, lines and lanes of a shard.
///
/// Register `r` of warp `w` lies in bank `(w + r) mod banks` (§5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShardGeometry {
    /// Warps, a power of two up to 16.
    pub warps: usize,
    /// Banks, a power of two up to 8.
    pub banks: usize,
    /// Lines of a bank, one warp register each, 2 to 64.
    pub lines: usize,
    /// Lanes of a warp, 1 to 32.
    pub lanes: usize,
    /// Lanes that share one physical array; divides `lanes`.
    pub lanes_per_slice: usize,
    /// Bits of a register's number, 4 to 8.
    pub register_bits: usize,
}

impl ShardGeometry {
    /// One of four shards of 512 lines an SM (Table 1, §6.2), in slices of 128 bits.
    pub const GTX980: ShardGeometry =
        ShardGeometry { warps: 16, banks: 8, lines: 16, lanes: 32, lanes_per_slice: 4, register_bits: 8 };

    /// Errors name the parameters of `circuit`.
    pub(crate) fn validate<C: Circuit>(&self) -> Result<(), ParameterError> {
        let power_of_two =
            |name, value: usize| C::check(value.is_power_of_two(), name, value, "a power of two");
        C::check_range("geometry.warps", self.warps, 1..=16)?;
        power_of_two("geometry.warps", self.warps)?;
        C::check_range("geometry.banks", self.banks, 1..=8)?;
        power_of_two("geometry.banks", self.banks)?;
        C::check_range("geometry.lines", self.lines, 2..=64)?;
        C::check_range("geometry.lanes", self.lanes, 1..=32)?;
        C::check_range("geometry.lanes_per_slice", self.lanes_per_slice, 1..=self.lanes)?;
        C::check(
            self.lanes.is_multiple_of(self.lanes_per_slice),
            "geometry.lanes_per_slice",
            self.lanes_per_slice,
            "a divisor of geometry.lanes",
        )?;
        C::check_range("geometry.register_bits", self.register_bits, 4..=8)
    }

    /// Bits of a warp's number.
    pub fn warp_bits(&self) -> usize {
        index_bits(self.warps)
    }

    /// Bits of a line's number.
    pub fn line_bits(&self) -> usize {
        index_bits(self.lines)
    }

    /// Bits of a number of lines, from none to all of a bank.
    pub fn line_count_bits(&self) -> usize {
        count_bits(self.lines)
    }

    /// Bits of a warp register's value.
    pub fn value_bits(&self) -> usize {
        self.lanes * LANE_BITS
    }

    /// What the widths of the ports to memory follow from.
    pub fn memory_widths(&self) -> MemoryWidths {
        let &ShardGeometry { warps, register_bits, lines, lanes, .. } = self;
        MemoryWidths { warps, register_bits, osu_lines: lines, lanes }
    }

    /// Bits of a bank's number, none if there is only one.
    pub(crate) fn bank_bits(&self) -> usize {
        self.banks.ilog2() as usize
    }

    /// Registers of all warps that lie in one bank.
    pub(crate) fn registers_of_bank(&self) -> usize {
        self.warps << self.register_bits_in_bank()
    }

    /// Bits that tell the registers of a warp in one bank apart.
    fn register_bits_in_bank(&self) -> usize {
        self.register_bits - self.bank_bits()
    }

    /// Whether `register` of `warp` lies in bank `bank`.
    pub(crate) fn in_bank<'m>(
        &self,
        m: &Module<'m>,
        warp: Signal<'m>,
        register: Signal<'m>,
        bank: usize,
    ) -> Signal<'m> {
        match self.bank_bits() {
            0 => m.lit(1, 1),
            bits => (low_or_zext(warp, bits) + register.low(bits)).eq(bank),
        }
    }

    /// Lines that a region of `warp` uses in bank `bank`, of `usage`, which has a lane a bank for a warp of index 0: its
    /// registers lie as many banks further as its index says.
    pub(crate) fn usage_of_bank<'m>(
        &self,
        m: &Module<'m>,
        usage: Signal<'m>,
        warp: Signal<'m>,
        bank: usize,
    ) -> Signal<'m> {
        match self.bank_bits() {
            0 => usage,
            bits => usage.lane_select(m.lit(bits, bank) - low_or_zext(warp, bits), self.line_count_bits()),
        }
    }

    /// Number of `register` of `warp` among the registers of its bank.
    pub(crate) fn index_in_bank<'m>(&self, warp: Signal<'m>, register: Signal<'m>) -> Signal<'m> {
        let within = register.high(self.register_bits_in_bank());
        match self.warps {
            1 => within,
            _ => within.concat(warp),
        }
    }
}

/// The lowest `bits` bits, with zeros above if there are fewer.
fn low_or_zext(value: Signal<'_>, bits: usize) -> Signal<'_> {
    if value.width() < bits { value.zext(bits) } else { value.low(bits) }
}
