//! Registers that warps share: where they lie, and what warps access of them.

use warpfile_kernels::program::{Program, WarpInstruction};

use super::RegisterOrder;
use super::blocks::Packed;
use super::dynamic_execution::off_chip;
use super::plan::Plan;
use crate::mechanisms::Compiled;

/// The registers of an SM's warps.
pub struct SharedRegisters {
    /// By instruction the highest register, counted from 1 in the order in which registers lie; 0 for none.
    by_instruction: Vec<u16>,
    /// By instruction whether it accesses memory off the chip, which warps that do not own their registers may have to wait for.
    off_chip: Vec<bool>,
    /// The order of the kernel's registers, if it is not that of their numbers.
    order: Option<Vec<u16>>,
    /// `None`: no block of the kernel shares registers.
    pub plan: Option<Plan>,
    /// The highest register that each warp's next instruction accesses, counted as above, as of now.
    pub highest: Packed,
}

impl SharedRegisters {
    /// No kernel runs. `register_bits`: those of a register's number, counted from 1.
    pub fn new(warps: usize, register_bits: usize) -> SharedRegisters {
        SharedRegisters {
            by_instruction: Vec::new(),
            off_chip: Vec::new(),
            order: None,
            plan: None,
            highest: Packed::new(warps, register_bits),
        }
    }

    pub fn start_kernel(&mut self, kernel: &Compiled<'_>) {
        self.order = kernel.notes.get::<RegisterOrder>().map(|order| order.0.clone());
        self.by_instruction = highest(kernel.program, self.order.as_deref());
        self.off_chip = off_chip(kernel.program);
    }

    /// Whether an instruction accesses memory off the chip, in any lane.
    pub fn is_off_chip(&self, instruction: &WarpInstruction) -> bool {
        instruction.active != 0 && self.off_chip[instruction.inst.0 as usize]
    }

    /// The order in which registers lie while blocks share them.
    pub fn order(&self) -> Option<&[u16]> {
        self.order.as_deref().filter(|_| self.plan.is_some())
    }

    /// Registers that a sharing warp has for itself, if blocks share the others.
    pub fn private(&self) -> Option<u64> {
        self.plan.as_ref().map(|plan| u64::from(plan.private))
    }

    /// What a warp does next.
    pub fn decode(&mut self, warp: usize, instruction: &WarpInstruction) {
        let highest = self.by_instruction[instruction.inst.0 as usize];
        self.highest.set(warp, if instruction.active == 0 { 0 } else { u64::from(highest) });
    }

    /// Whether what a warp does next accesses registers that its block shares, if it does.
    pub fn needs(&self, warp: usize) -> bool {
        self.private().is_some_and(|private| self.highest.get(warp) > private)
    }
}

/// The highest register of each instruction, counted from 1 in an order.
fn highest(program: &Program, order: Option<&[u16]>) -> Vec<u16> {
    let place = |register: u16| order.map_or(register, |order| order[usize::from(register)]) + 1;
    let of_instruction = program.instructions.iter().map(|instruction| {
        let sources = instruction.sources.iter().map(|source| source.register.0);
        let results = instruction.results.iter().map(|result| result.register.0);
        sources.chain(results).map(place).max().unwrap_or(0)
    });
    of_instruction.collect()
}

#[cfg(test)]
mod tests {
    use warpfile_kernels::compile::sharing::Threshold;
    use warpfile_kernels::program::{Operation, PhysReg, ResultRegister};

    use super::super::accesses::tests::{at, program};
    use super::super::plan::tests::admission;
    use super::*;

    /// Of hotspot's 36 registers a warp has ⌊3.6⌋ for itself; they count from 1.
    #[test]
    fn a_pair_across_the_border_is_shared() {
        let tenth = Threshold::from_percent(10).expect("in range");
        let needs = |registers: [u16; 2], order: Option<&[u16]>| {
            let result = |register| ResultRegister {
                register: PhysReg(register),
                soft: false,
                idle_until_suspension: false,
            };
            let mut program = program(&[Operation::Double]);
            program.instructions[0].results = registers.map(result).to_vec();
            let mut shared = SharedRegisters::new(1, 7);
            shared.by_instruction = highest(&program, order);
            shared.plan = Plan::new(&admission(8, 36, 2), 2, tenth);
            assert_eq!(shared.private(), Some(3));
            shared.decode(0, &at(0, u32::MAX, [0; 2]));
            shared.needs(0)
        };
        assert!(!needs([1, 2], None));
        assert!(needs([2, 3], None), "its second word is shared");
        assert!(needs([3, 4], None));
        // In an order of its own it is where the registers lie that counts.
        let order: Vec<u16> = (0..36).map(|register| (register + 34) % 36).collect();
        assert!(!needs([3, 4], Some(&order)));
        assert!(needs([4, 5], Some(&order)));
    }
}
