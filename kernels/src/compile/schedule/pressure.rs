//! How many machine registers values occupy while the instructions of a stretch are put in order.
//!
//! An estimate, by names: a register that is written twice in a stretch counts as occupied in between.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::Compiled;
use super::super::cfg::{Block, Cfg};
use super::super::divergence::ptx_function;
use super::super::liveness::Liveness;
use super::super::lowering::Value;
use crate::ptx::ir::{Instruction, Kernel, Reg};

/// What registers take, and where they live.
pub(super) struct Pressure<'k> {
    kernel: &'k Kernel,
    liveness: Liveness,
    /// 32-bit machine registers of each virtual register: none, if it is a constant or a copy of another.
    words: Vec<i64>,
}

impl<'k> Pressure<'k> {
    pub fn new(kernel: &'k Kernel, cfg: &Cfg, compiled: &Compiled) -> Pressure<'k> {
        let results = compiled.lowering.instructions.iter().flat_map(|lowered| &lowered.results);
        let written: BTreeSet<(Reg, u8)> = results
            .filter_map(|value| match value {
                Value::After(register, word) => Some((*register, *word)),
                Value::Before(..) | Value::Temporary(_) => None,
            })
            .collect();
        let mut words = vec![0; kernel.registers.len()];
        written.into_iter().for_each(|(register, _)| words[register.index()] += 1);
        Pressure { kernel, liveness: Liveness::per_thread(&ptx_function(kernel, cfg)), words }
    }

    /// The values of each of the stretches that make up a block.
    pub fn of(&self, block: Block, stretches: &[Range<usize>]) -> Vec<Values<'_>> {
        let registers = |set: &super::super::bitset::BitSet| set.iter().map(|r| Reg(r as u32)).collect();
        let mut live: BTreeSet<Reg> = registers(self.liveness.live_out(block));
        let mut values = Vec::with_capacity(stretches.len());
        for stretch in stretches.iter().rev() {
            let live_after = live.clone();
            let mut reads: BTreeMap<Reg, usize> = BTreeMap::new();
            for instruction in self.kernel.instructions[stretch.clone()].iter().rev() {
                if instruction.guard.is_none() {
                    for register in instruction.definitions() {
                        live.remove(&register);
                    }
                }
                for register in instruction.uses() {
                    live.insert(register);
                    *reads.entry(register).or_default() += 1;
                }
            }
            let occupied = live.iter().map(|register| self.words[register.index()]).sum();
            values.push(Values { words: &self.words, live: live.clone(), live_after, reads, occupied });
        }
        values.reverse();
        values
    }
}

/// The values of one stretch.
pub(super) struct Values<'p> {
    words: &'p [i64],
    /// Registers that hold a value now.
    live: BTreeSet<Reg>,
    /// Those that do after the stretch.
    live_after: BTreeSet<Reg>,
    /// How often each register is still to be read.
    reads: BTreeMap<Reg, usize>,
    /// Words that hold a value now.
    occupied: i64,
}

impl Values<'_> {
    /// Words that hold a value now.
    pub fn occupied(&self) -> i64 {
        self.occupied
    }

    /// By how many words that grows with the instruction.
    pub fn growth(&self, instruction: &Instruction) -> i64 {
        let begun = self.begun(instruction).map(|register| self.words[register.index()]);
        let ended = self.ended(instruction).into_iter().map(|register| self.words[register.index()]);
        begun.sum::<i64>() - ended.sum::<i64>()
    }

    /// Takes the instruction as the next one.
    pub fn take(&mut self, instruction: &Instruction) {
        self.occupied += self.growth(instruction);
        let begun: Vec<Reg> = self.begun(instruction).collect();
        for register in self.ended(instruction) {
            self.live.remove(&register);
        }
        self.live.extend(begun);
        for register in instruction.uses() {
            if let Some(reads) = self.reads.get_mut(&register) {
                *reads -= 1;
            }
        }
    }

    /// Registers that get a value which is read later.
    fn begun<'a>(&'a self, instruction: &'a Instruction) -> impl Iterator<Item = Reg> + 'a {
        let is_read =
            |register: &Reg| self.live_after.contains(register) || self.reads.contains_key(register);
        instruction.definitions().filter(|register| !self.live.contains(register)).filter(is_read)
    }

    /// Registers that are not read after it.
    fn ended(&self, instruction: &Instruction) -> BTreeSet<Reg> {
        let is_last = |register: &Reg| {
            let here = instruction.uses().filter(|other| other == register).count();
            !self.live_after.contains(register) && self.reads.get(register) == Some(&here)
        };
        instruction.uses().filter(is_last).filter(|register| self.live.contains(register)).collect()
    }
}
