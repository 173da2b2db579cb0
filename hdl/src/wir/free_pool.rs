//! Physical registers that nothing refers to.

use serde::{Deserialize, Serialize};

use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, count_bits, index_bits};

/// Free pool: gives away physical registers, the lowest first.
///
/// Any number of registers come back in a cycle, one is given away.
///
/// Timing: the register on offer depends on state only; one that comes back is on offer from the next cycle on.
/// Source: Kim & Ro, WIR, §V-E. The paper has a queue in a 1R1W table (§VII-E); several registers that are freed at once
/// would wait for its write port, in a queue of their own.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct FreePool {
    /// Physical registers, 2 to 4096.
    pub registers: usize,
}

/// Ports of a [`FreePool`].
#[derive(Ports)]
#[params(FreePool)]
pub struct FreePoolIo<'m> {
    /// Registers that come back, one bit each.
    #[bits(p.registers)]
    pub freed_i: In<'m>,
    /// There is a free register.
    pub valid_o: Out<'m>,
    /// The register.
    #[bits(index_bits(p.registers))]
    pub register_o: Out<'m>,
    /// It is taken.
    pub take_i: In<'m>,
    /// Registers that are free.
    #[bits(count_bits(p.registers))]
    pub count_o: Out<'m>,
}

impl Circuit for FreePool {
    type Io<'m> = FreePoolIo<'m>;
    const NAME: &'static str = "free_pool";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("registers", self.registers, 2..=4096)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &FreePoolIo<'m>) {
        let used = m.register("used", self.registers).reset(0);
        let free = !used;
        let takes = io.take_i & free.any();
        io.valid_o.set(free.any());
        io.register_o.set(free.priority_encode()).valid_when(free.any());
        let taken = free.lowest_one() & takes.replicate(self.registers);
        used.set((used | taken) & !io.freed_i);

        let bits = count_bits(self.registers);
        let count = m.register("count", bits).reset(self.registers as u64);
        count.set(count + io.freed_i.popcount() - takes.zext(bits));
        io.count_o.set(count);
        m.assumption("a_register_comes_back_only_if_it_is_not_free", !(io.freed_i & free).any());
        m.invariant("the_count_is_that_of_the_registers", free.popcount().eq(count));
    }
}
