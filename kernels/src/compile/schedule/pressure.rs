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
    pub fn of(&self, block: Block, stretches: &[Range<usize>]) -> Vec<Values> {
        let live_out = self.liveness.live_out(block).iter().map(|register| Reg(register as u32));
        let mut live: BTreeSet<Reg> = live_out.collect();
        let mut values = Vec::with_capacity(stretches.len());
        for stretch in stretches.iter().rev() {
            let instructions = &self.kernel.instructions[stretch.clone()];
            let live_after = live.clone();
            for instruction in instructions.iter().rev() {
                if instruction.guard.is_none() {
                    for register in instruction.definitions() {
                        live.remove(&register);
                    }
                }
                live.extend(instruction.uses());
            }
            values.push(Values::new(instructions, &self.words, &live, &live_after));
        }
        values.reverse();
        values
    }
}

/// The values of one stretch.
pub(super) struct Values {
    /// Words that hold a value now.
    occupied: i64,
    /// The registers that instructions of the stretch read or write.
    registers: Vec<Register>,
    /// For each instruction the registers it reads, by their place in the list, and how often.
    uses: Vec<Vec<(usize, usize)>>,
    /// For each instruction the registers it writes.
    definitions: Vec<Vec<usize>>,
}

/// A register in a stretch.
struct Register {
    words: i64,
    /// It holds a value now.
    live: bool,
    /// It holds one after the stretch.
    live_after: bool,
    /// How often it is still to be read.
    reads: usize,
}

impl Values {
    fn new(
        instructions: &[Instruction],
        words: &[i64],
        live: &BTreeSet<Reg>,
        live_after: &BTreeSet<Reg>,
    ) -> Values {
        let mut values = Values {
            occupied: live.iter().map(|register| words[register.index()]).sum(),
            registers: Vec::new(),
            uses: Vec::with_capacity(instructions.len()),
            definitions: Vec::with_capacity(instructions.len()),
        };
        let mut places: BTreeMap<Reg, usize> = BTreeMap::new();
        for instruction in instructions {
            let mut place = |register: Reg| {
                *places.entry(register).or_insert_with(|| {
                    values.registers.push(Register {
                        words: words[register.index()],
                        live: live.contains(&register),
                        live_after: live_after.contains(&register),
                        reads: 0,
                    });
                    values.registers.len() - 1
                })
            };
            let mut uses: BTreeMap<usize, usize> = BTreeMap::new();
            instruction.uses().for_each(|register| *uses.entry(place(register)).or_default() += 1);
            values.definitions.push(instruction.definitions().map(place).collect());
            uses.iter().for_each(|(&place, count)| values.registers[place].reads += count);
            values.uses.push(uses.into_iter().collect());
        }
        values
    }

    /// Words that hold a value now.
    pub fn occupied(&self) -> i64 {
        self.occupied
    }

    /// By how many words that grows with an instruction of the stretch.
    pub fn growth(&self, position: usize) -> i64 {
        let words = |place: usize| self.registers[place].words;
        self.begun(position).map(words).sum::<i64>() - self.ended(position).map(words).sum::<i64>()
    }

    /// Takes an instruction as the next one.
    pub fn take(&mut self, position: usize) {
        self.occupied += self.growth(position);
        let begun: Vec<usize> = self.begun(position).collect();
        let ended: Vec<usize> = self.ended(position).collect();
        ended.into_iter().for_each(|place| self.registers[place].live = false);
        begun.into_iter().for_each(|place| self.registers[place].live = true);
        for &(place, count) in &self.uses[position] {
            self.registers[place].reads -= count;
        }
    }

    /// Registers that get a value which is read later.
    fn begun(&self, position: usize) -> impl Iterator<Item = usize> + '_ {
        let begins = |register: &Register| !register.live && (register.live_after || register.reads > 0);
        self.definitions[position].iter().copied().filter(move |&place| begins(&self.registers[place]))
    }

    /// Registers that are not read after it.
    fn ended(&self, position: usize) -> impl Iterator<Item = usize> + '_ {
        let ends =
            |register: &Register, count| register.live && !register.live_after && register.reads == count;
        let uses = self.uses[position].iter();
        uses.filter(move |&&(place, count)| ends(&self.registers[place], count)).map(|&(place, _)| place)
    }
}
