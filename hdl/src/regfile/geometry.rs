//! Size of a banked register file, and where a register lies in it.

use serde::{Deserialize, Serialize};

use crate::rtl::{Circuit, Field, Module, ParameterError, Record, Signal, index_bits};

/// Bits of a lane of a register.
pub const LANE_BITS: usize = 32;
/// Register operands of an instruction (3R/1W: Gebhart et al., §2.1).
pub const SOURCES: usize = 3;

/// A row that holds the register of a warp.
#[derive(Clone, Copy, Record)]
#[params(WarpLanes)]
pub(crate) struct WarpRegister<T = Field> {
    /// A word for each lane.
    #[bits(p.lanes * LANE_BITS)]
    #[lanes(p.lanes)]
    #[lanes_per_array(p.per_array)]
    pub value: T,
}

/// How a [`WarpRegister`] is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarpLanes {
    /// Lanes of a warp.
    pub lanes: usize,
    /// Lanes of one physical array.
    pub per_array: usize,
}

/// Banks, rows and lanes of a register file.
///
/// Register `r` lies in bank `r mod banks`, row `r / banks`, so that neighbouring registers of a warp can be
/// read in one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Bank groups, a power of two up to 16.
    pub banks: usize,
    /// Rows of a bank, one warp register each, 2 to 1024.
    pub rows: usize,
    /// Lanes of a warp, 1 to 32.
    pub lanes: usize,
    /// Lanes of a cluster, whose registers share one physical array; divides `lanes`.
    pub lanes_per_cluster: usize,
}

impl Geometry {
    /// 4 bank groups of 256 rows: 128 KB (Gebhart et al., §2.1 and Table 4).
    pub const GEBHART_2011: Geometry = Geometry { banks: 4, rows: 256, lanes: 32, lanes_per_cluster: 4 };

    /// Errors name the parameters of `circuit`.
    pub(crate) fn validate<C: Circuit>(&self) -> Result<(), ParameterError> {
        C::check_range("geometry.banks", self.banks, 1..=16)?;
        C::check(self.banks.is_power_of_two(), "geometry.banks", self.banks, "a power of two")?;
        C::check_range("geometry.rows", self.rows, 2..=1024)?;
        C::check_range("geometry.lanes", self.lanes, 1..=32)?;
        C::check_range("geometry.lanes_per_cluster", self.lanes_per_cluster, 1..=self.lanes)?;
        C::check(
            self.lanes.is_multiple_of(self.lanes_per_cluster),
            "geometry.lanes_per_cluster",
            self.lanes_per_cluster,
            "a divisor of geometry.lanes",
        )
    }

    /// Bits of a register's number.
    pub fn register_bits(&self) -> usize {
        self.bank_bits() + self.row_bits()
    }

    /// Bits of a row's number.
    pub fn row_bits(&self) -> usize {
        index_bits(self.rows)
    }

    /// Bits of a warp register's value.
    pub fn value_bits(&self) -> usize {
        self.lanes * LANE_BITS
    }

    /// Bits of a bank's number, none if there is only one.
    pub(crate) fn bank_bits(&self) -> usize {
        self.banks.max(1).ilog2() as usize
    }

    /// Whether `register` lies in bank `bank`; `None` stands for "always", with a single bank.
    pub(crate) fn in_bank<'m>(&self, register: Signal<'m>, bank: usize) -> Option<Signal<'m>> {
        (self.banks > 1).then(|| register.low(self.bank_bits()).eq(bank))
    }

    /// The bank of `register`, one bit a bank.
    pub(crate) fn bank<'m>(&self, m: &Module<'m>, register: Signal<'m>) -> Signal<'m> {
        match self.bank_bits() {
            0 => m.lit(1, 1),
            bits => register.low(bits).decode(self.banks),
        }
    }

    /// The row of `register` in its bank.
    pub(crate) fn row<'m>(&self, register: Signal<'m>) -> Signal<'m> {
        register.high(self.row_bits())
    }
}
