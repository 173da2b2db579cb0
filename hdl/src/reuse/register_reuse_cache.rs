//! Operands that are kept where they are read.

use serde::{Deserialize, Serialize};

use crate::regfile::{Geometry, SOURCES, WarpLanes, WarpRegister};
use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, Signal};

/// Register reuse cache: for each operand position (first, second, third) and bank the operand that was read there last, if
/// the instruction that read it says so.
///
/// A read of a position and bank ends what is kept there, whether the operand is taken from here or from the bank, and
/// whichever warp it is of; with `keep` its own operand is kept then. Registers are rows of the register file, so that a
/// register names its warp, too. Whether the cache notices writes is a parameter: the hardware that was measured leaves it
/// to the compiler not to have a register read here that has been written.
///
/// Timing: `kept_o` and `row_o` show in a cycle what the reads of the cycles before have left. The value of an operand is there in
/// the cycle after its read: on `value_i` from its bank, on `value_o` from here. A write ends what is kept from the next cycle
/// on; a read in the same cycle comes after it.
/// Source: Huerta et al., "Dissecting and Modeling the Architecture of Modern GPU Cores", MICRO 2025, §5.3.1 and Listing 4:
/// "one entry for each of the two register file banks", "three 1024-bit values" each. What writes end is not in it.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RegisterReuseCache {
    /// Banks, rows and lanes of the register file.
    pub geometry: Geometry,
    /// Writers whose writes end what is kept of their register, 0 to 8.
    pub writers: usize,
}

/// Ports of a [`RegisterReuseCache`].
#[derive(Ports)]
#[params(RegisterReuseCache)]
pub struct RegisterReuseCacheIo<'m> {
    /// Operand positions.
    #[repeat(SOURCES)]
    #[with(p.geometry)]
    pub position: Vec<KeptOperandsIo<'m>>,
    /// Registers that are written.
    #[repeat(p.writers)]
    #[with(p.geometry)]
    pub written: Vec<WrittenIo<'m>>,
}

/// An operand position.
#[derive(Ports)]
#[params(Geometry)]
pub struct KeptOperandsIo<'m> {
    /// Banks of which an operand is kept.
    #[bits(p.banks)]
    pub kept_o: Out<'m>,
    /// Its row, for each bank.
    #[repeat(p.banks)]
    #[bits(p.row_bits())]
    pub row_o: Vec<Out<'m>>,
    /// An operand that is read in this position.
    pub read: ReuseReadIo<'m>,
    /// The value that the bank gives for the read of the cycle before.
    #[bits(p.value_bits())]
    pub value_i: In<'m>,
    /// The value that is kept, for the read of the cycle before.
    #[bits(p.value_bits())]
    pub value_o: Out<'m>,
}

/// An operand that is read.
#[derive(Ports)]
#[params(Geometry)]
pub struct ReuseReadIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It is the one that is kept, and taken from here.
    pub reuse_i: In<'m>,
    /// It is kept.
    pub keep_i: In<'m>,
    /// Its bank, one-hot.
    #[bits(p.banks)]
    pub bank_i: In<'m>,
    /// Its row.
    #[bits(p.row_bits())]
    pub row_i: In<'m>,
    /// Lanes wanted.
    #[bits(p.lanes)]
    pub lanes_i: In<'m>,
}

/// A register that is written.
#[derive(Ports)]
#[params(Geometry)]
pub struct WrittenIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// The register.
    #[bits(p.register_bits())]
    pub register_i: In<'m>,
}

impl Circuit for RegisterReuseCache {
    type Io<'m> = RegisterReuseCacheIo<'m>;
    const NAME: &'static str = "register_reuse_cache";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("writers", self.writers, 0..=8)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &RegisterReuseCacheIo<'m>) {
        for (k, position) in io.position.iter().enumerate() {
            let kept = self.follow(m, k, position, &io.written);
            self.store(m, k, position, kept);
        }
    }
}

impl RegisterReuseCache {
    /// Which operands position `k` keeps, one bit a bank.
    fn follow<'m>(
        &self,
        m: &Module<'m>,
        k: usize,
        position: &KeptOperandsIo<'m>,
        written: &[WrittenIo<'m>],
    ) -> Signal<'m> {
        let Geometry { banks, .. } = self.geometry;
        let read = &position.read;
        let kept = m.register(format!("kept{k}"), banks).reset(0);
        let rows: Vec<_> = (0..banks)
            .map(|bank| m.register(format!("row{k}_{bank}"), self.geometry.row_bits()).no_reset())
            .collect();
        for (bank, row) in rows.iter().enumerate() {
            m.when(read.valid_i & read.keep_i & read.bank_i.bit(bank), || {
                row.set(read.row_i);
            });
        }
        let ended = rows.iter().enumerate().map(|(bank, row)| {
            let ends = |write: &WrittenIo<'m>| {
                let here = self.geometry.row(write.register_i).eq(*row);
                let here = self.geometry.in_bank(write.register_i, bank).map_or(here, |bank| bank & here);
                write.valid_i & here
            };
            written.iter().map(ends).fold(m.lit(1, 0), |a, b| a | b)
        });
        let read_here = read.valid_i.replicate(banks) & read.bank_i;
        let kept_on = kept & !m.cat(ended) & !read_here;
        kept.set(kept_on | (read_here & read.keep_i.replicate(banks)));
        position.kept_o.set(kept);
        for (row, port) in rows.iter().zip(&position.row_o) {
            port.set(*row);
        }

        let is_kept = (read.bank_i & kept).any() & read.bank_i.one_hot_select(m.cat(rows)).eq(read.row_i);
        m.assumption(
            format!("an_operand_is_reused_where_it_is_kept{k}"),
            (read.valid_i & read.reuse_i).implies(is_kept),
        );
        m.assumption(
            format!("an_operand_lies_in_one_bank{k}"),
            read.valid_i.implies(read.bank_i.popcount().eq(1)),
        );
        kept
    }

    /// The values that position `k` keeps: written when the bank gives them, the cycle after the read.
    fn store<'m>(&self, m: &Module<'m>, k: usize, position: &KeptOperandsIo<'m>, kept: Signal<'m>) {
        let Geometry { banks, lanes, lanes_per_cluster, .. } = self.geometry;
        let read = &position.read;
        let values = m
            .table::<WarpRegister>(
                format!("values{k}"),
                banks,
                &WarpLanes { lanes, per_array: lanes_per_cluster },
            )
            .ports(1, 1);
        let stores = m.register(format!("stores{k}"), 1).reset(0);
        let reuses = m.register(format!("reuses{k}"), 1).reset(0);
        let bank = m.register(format!("bank{k}"), banks).no_reset();
        let wanted = m.register(format!("wanted{k}"), lanes).no_reset();
        stores.set(read.valid_i & read.keep_i & !read.reuse_i);
        reuses.set(read.valid_i & read.reuse_i);
        m.when(read.valid_i, || {
            bank.set(read.bank_i);
            wanted.set(read.lanes_i);
        });
        let row = bank.priority_encode();
        m.when(stores, || {
            values.write("bank", row, WarpRegister { value: position.value_i });
        });
        position.value_o.set(values.read("reuse", row, reuses).lanes(wanted).value).valid_when(reuses);
        m.invariant(format!("a_value_is_stored_or_reused{k}"), !(stores & reuses));
        m.invariant(format!("a_value_that_is_stored_is_kept{k}"), stores.implies((bank & kept).any()));
    }
}
