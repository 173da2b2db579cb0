//! How many machine registers values occupy while the instructions of a stretch are put in order.
//!
//! An estimate, by virtual machine registers of 32 bits: one that is written twice in a stretch counts as occupied in between,
//! two that will be one because a copy joins them count twice, and what a single instruction needs in between does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::super::cfg::Block;
use super::super::function::{Access, Function};
use super::super::liveness::Liveness;

/// Where virtual machine registers live.
pub(super) struct Pressure<'f> {
    function: &'f Function,
    liveness: Liveness,
}

impl<'f> Pressure<'f> {
    pub fn new(function: &'f Function) -> Pressure<'f> {
        Pressure { function, liveness: Liveness::per_thread(function) }
    }

    /// The values of each of the stretches that make up a block.
    pub fn of(&self, block: Block, stretches: &[Range<usize>]) -> Vec<Values> {
        let live_out = self.liveness.live_out(block).iter().map(|register| register as u32);
        let mut live: BTreeSet<u32> = live_out.collect();
        let mut values = Vec::with_capacity(stretches.len());
        for stretch in stretches.iter().rev() {
            let accesses = &self.function.instructions[stretch.clone()];
            let live_after = live.clone();
            for access in accesses.iter().rev() {
                for definition in access.definitions.iter().filter(|definition| !definition.guarded) {
                    live.remove(&definition.register);
                }
                live.extend(&access.uses);
            }
            values.push(Values::new(accesses, &live, &live_after));
        }
        values.reverse();
        values
    }
}

/// The values of one stretch.
#[derive(Clone)]
pub(super) struct Values {
    /// How many registers hold a value now.
    occupied: i64,
    /// The registers that instructions of the stretch read or write.
    registers: Vec<Register>,
    /// For each instruction the registers it reads, by their place in the list, and how often.
    uses: Vec<Vec<(usize, usize)>>,
    /// For each instruction the registers it writes.
    definitions: Vec<Vec<usize>>,
}

/// A register in a stretch.
#[derive(Clone)]
struct Register {
    /// It holds a value now.
    live: bool,
    /// It holds one after the stretch.
    live_after: bool,
    /// How often it is still to be read.
    reads: usize,
}

impl Values {
    fn new(accesses: &[Access], live: &BTreeSet<u32>, live_after: &BTreeSet<u32>) -> Values {
        let mut values = Values {
            occupied: live.len() as i64,
            registers: Vec::new(),
            uses: Vec::with_capacity(accesses.len()),
            definitions: Vec::with_capacity(accesses.len()),
        };
        let mut places: BTreeMap<u32, usize> = BTreeMap::new();
        for access in accesses {
            let mut place = |register: u32| {
                *places.entry(register).or_insert_with(|| {
                    values.registers.push(Register {
                        live: live.contains(&register),
                        live_after: live_after.contains(&register),
                        reads: 0,
                    });
                    values.registers.len() - 1
                })
            };
            let mut uses: BTreeMap<usize, usize> = BTreeMap::new();
            access.uses.iter().for_each(|&register| *uses.entry(place(register)).or_default() += 1);
            values
                .definitions
                .push(access.definitions.iter().map(|written| place(written.register)).collect());
            uses.iter().for_each(|(&place, count)| values.registers[place].reads += count);
            values.uses.push(uses.into_iter().collect());
        }
        values
    }

    /// How many registers hold a value now.
    pub fn occupied(&self) -> i64 {
        self.occupied
    }

    /// The most that hold one at once if the instructions are taken in this order.
    pub fn most(&self, order: impl IntoIterator<Item = usize>) -> i64 {
        let mut values = self.clone();
        let after = |position| {
            values.take(position);
            values.occupied
        };
        order.into_iter().map(after).max().unwrap_or(self.occupied)
    }

    /// By how many that grows with an instruction of the stretch.
    pub fn growth(&self, position: usize) -> i64 {
        self.begun(position).count() as i64 - self.ended(position).count() as i64
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
