//! Operand collectors in front of which operands are kept.

use serde::{Deserialize, Serialize};

use super::register_reuse_cache::{RegisterReuseCache, WrittenIo};
use crate::regfile::{Beside, Geometry, OperandCollectors, OperandCollectorsIo, SOURCES};
use crate::rtl::{Circuit, Documented, In, Module, ParameterError, Ports};

/// Operand collectors with a register reuse cache: an operand that is kept in its position is taken from there, and its bank is
/// free for another.
///
/// Everything else is as in operand collectors. Whether an operand is kept is found out when it is its turn to be read, so
/// that reads of a position and bank are in the order of their instructions. An operand that is to be kept is read from its bank in
/// all lanes, as wide as the bank's port is.
///
/// Timing: as operand collectors; an operand that has been read in one cycle can be taken from the cache in the next.
/// Source: Huerta et al., MICRO 2025, §5.3.1: "read conflicts are alleviated by using a register file cache". The hardware has no
/// collectors (§5.3); they stand here for its window of three cycles.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct ReuseCollectors {
    /// Banks, rows and lanes of the register file.
    pub geometry: Geometry,
    /// Collectors, 2 to 32.
    pub collectors: usize,
    /// Cycles an instruction spends here at least, 2 to 8.
    pub access_cycles: usize,
    /// Bits of an instruction's identifier, 1 to 16.
    pub id_bits: usize,
    /// Functional units, 1 to 16.
    pub units: usize,
    /// Writers that ask whether their register has still to be read, 1 to 8.
    pub writers: usize,
    /// Whether banks may be busy with reads of others, which come first.
    pub shares_banks: bool,
    /// Whether the cache notices writes.
    pub drops_written: bool,
}

/// Ports of [`ReuseCollectors`].
#[derive(Ports)]
#[params(ReuseCollectors)]
pub struct ReuseCollectorsIo<'m> {
    /// Those of operand collectors.
    #[flatten]
    #[with(p.collectors())]
    pub collectors: OperandCollectorsIo<'m>,
    /// Whether each operand of the instruction that arrives is kept.
    #[repeat(SOURCES)]
    pub keep_i: Vec<In<'m>>,
    /// Registers that are written; no ports unless the cache notices writes.
    #[repeat(if p.drops_written { p.writers } else { 0 })]
    #[with(p.geometry)]
    pub written: Vec<WrittenIo<'m>>,
}

impl Circuit for ReuseCollectors {
    type Io<'m> = ReuseCollectorsIo<'m>;
    const NAME: &'static str = "reuse_collectors";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("collectors", self.collectors, 2..=32)?;
        Self::check_range("access_cycles", self.access_cycles, 2..=8)?;
        Self::check_range("id_bits", self.id_bits, 1..=16)?;
        Self::check_range("units", self.units, 1..=16)?;
        Self::check_range("writers", self.writers, 1..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ReuseCollectorsIo<'m>) {
        let cache =
            m.instance("cache", RegisterReuseCache { geometry: self.geometry, writers: io.written.len() });
        for (cached, written) in cache.written.iter().zip(&io.written) {
            cached.valid_i.set(written.valid_i);
            cached.register_i.set(written.register_i);
        }
        let beside = Beside { positions: &cache.position, keep: &io.keep_i };
        self.collectors().build_beside(m, &io.collectors, Some(&beside));
    }
}

impl ReuseCollectors {
    /// The collectors without the cache.
    fn collectors(&self) -> OperandCollectors {
        OperandCollectors {
            geometry: self.geometry,
            collectors: self.collectors,
            access_cycles: self.access_cycles,
            id_bits: self.id_bits,
            units: self.units,
            writers: self.writers,
            shares_banks: self.shares_banks,
            holds: false,
        }
    }
}
