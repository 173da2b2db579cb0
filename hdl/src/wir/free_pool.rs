//! Physical registers that nothing refers to.

use serde::{Deserialize, Serialize};

use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, count_bits, index_bits};

/// Free pool: gives away physical registers, the lowest first.
///
/// Any number of registers come back in a cycle. As many as there are ways are on offer, the lowest on the first, and each is
/// given away or not whatever becomes of the others.
///
/// Timing: the registers on offer depend on state only; one that comes back is on offer, and counted, from the next cycle on.
/// Source: Kim & Ro, WIR, §V-E. The paper has a queue in a 1R1W table (§VII-E); several registers that are freed at once
/// would wait for its write port, in a queue of their own.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct FreePool {
    /// Physical registers, 2 to 4096.
    pub registers: usize,
    /// Registers given away a cycle at most, 1 to 4: one for each scheduler.
    pub ways: usize,
}

/// Ports of a [`FreePool`].
#[derive(Ports)]
#[params(FreePool)]
pub struct FreePoolIo<'m> {
    /// Registers that come back, one bit each.
    #[bits(p.registers)]
    pub freed_i: In<'m>,
    /// Registers on offer.
    #[repeat_plain(p.ways)]
    pub offer: Vec<OfferIo<'m>>,
    /// Registers that are free.
    #[bits(count_bits(p.registers))]
    pub count_o: Out<'m>,
}

/// A register on offer.
#[derive(Ports)]
#[params(FreePool)]
pub struct OfferIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// The register.
    #[bits(index_bits(p.registers))]
    pub register_o: Out<'m>,
    /// It is taken.
    pub take_i: In<'m>,
}

impl Circuit for FreePool {
    type Io<'m> = FreePoolIo<'m>;
    const NAME: &'static str = "free_pool";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("registers", self.registers, 2..=4096)?;
        Self::check_range("ways", self.ways, 1..=4)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &FreePoolIo<'m>) {
        let used = m.register("used", self.registers).reset(0);
        let free = !used;
        let (bits, take_bits) = (count_bits(self.registers), count_bits(self.ways));
        let (mut left, mut taken, mut takes) = (free, m.lit(self.registers, 0), m.lit(take_bits, 0));
        for offer in &io.offer {
            let take = offer.take_i & left.any();
            offer.valid_o.set(left.any());
            offer.register_o.set(left.priority_encode()).valid_when(left.any());
            let lowest = left.lowest_one();
            taken = taken | (lowest & take.replicate(self.registers));
            takes = takes + take.zext(take_bits);
            left = left & !lowest;
        }
        used.set((used | taken) & !io.freed_i);

        // The sum over all registers is added a cycle later, so that one cycle has it and another the adder.
        let returned = m.register("returned", bits).reset(0);
        let given = m.register("given", take_bits).reset(0);
        let counted = m.register("counted", bits).reset(self.registers as u64);
        let count = counted + returned - given.zext(bits);
        returned.set(io.freed_i.popcount());
        given.set(takes);
        counted.set(count);
        io.count_o.set(count);
        m.assumption("a_register_comes_back_only_if_it_is_not_free", !(io.freed_i & free).any());
        m.invariant("the_count_is_that_of_the_registers", free.popcount().eq(count));
    }
}
