//! Register numbers that spread over the banks (§5.2: "the compiler selects register numbers in a manner that reduces
//! bank conflicts").
//!
//! A bijection of the numbers that a program uses. Aligned pairs move as one, so that 64-bit values stay in aligned
//! pairs; where one access writes four registers, aligned groups of four do.

use super::regions::{BANKS, Region, Regions};
use crate::program::{PhysReg, Program};

/// Registers that move as one.
const PAIR: usize = 2;
/// Registers that move as one where one access writes them all.
const QUAD: usize = 4;

/// Renumbers the registers of a program so that those of a region lie in different banks, if that helps. `regions`
/// are those of the program as it is.
pub fn spread(program: &mut Program, regions: &Regions) {
    let touched = touched_together(program, regions);
    let numbers = numbers(program, &touched);
    let identity: Vec<u16> = (0..numbers.len() as u16).collect();
    if crowding(&touched, &numbers) >= crowding(&touched, &identity) {
        return;
    }
    let rename = |register: &mut PhysReg| *register = PhysReg(numbers[usize::from(register.0)]);
    for instruction in &mut program.instructions {
        instruction.sources.iter_mut().for_each(|source| rename(&mut source.register));
        instruction.results.iter_mut().for_each(|result| rename(&mut result.register));
    }
}

/// For each region the registers that it touches, in increasing order.
fn touched_together(program: &Program, regions: &Regions) -> Vec<Vec<u16>> {
    let of_region = |region: &Region| {
        let range = region.instructions.start as usize..region.instructions.end as usize;
        let mut touched: Vec<u16> = (program.instructions[range].iter())
            .flat_map(|instruction| {
                let sources = instruction.sources.iter().map(|source| source.register.0);
                sources.chain(instruction.results.iter().map(|result| result.register.0))
            })
            .collect();
        touched.sort_unstable();
        touched.dedup();
        touched
    };
    regions.regions.iter().map(of_region).collect()
}

/// How unevenly regions touch banks: the sum of the squares of their registers in each bank.
fn crowding(touched: &[Vec<u16>], numbers: &[u16]) -> u64 {
    let of_region = |registers: &Vec<u16>| {
        let mut banks = [0_u64; BANKS];
        for &register in registers {
            banks[usize::from(numbers[usize::from(register)]) % BANKS] += 1;
        }
        banks.iter().map(|count| count * count).sum::<u64>()
    };
    touched.iter().map(of_region).sum()
}

/// The new number of each register.
fn numbers(program: &Program, touched: &[Vec<u16>]) -> Vec<u16> {
    let slots = usize::from(program.registers_per_thread).div_ceil(PAIR);
    let is_quad = quads(program, slots);
    let weight = weights(touched, slots);
    let mut place = Places::new(slots);
    if !program.registers_per_thread.is_multiple_of(2) {
        // Half a pair stays where it is, at the end: anywhere else, the program would need one more register.
        place.keep(slots - 1);
    }
    let quads = (0..slots).step_by(2).filter(|&slot| is_quad[slot / 2]).map(|slot| (slot, 2));
    let mut units: Vec<(usize, usize)> = quads.collect();
    let mut pairs: Vec<usize> =
        (0..slots).filter(|&slot| !is_quad[slot / 2] && place.of[slot].is_none()).collect();
    pairs.sort_by_key(|&slot| (std::cmp::Reverse(weight[slot].iter().sum::<u32>()), slot));
    units.extend(pairs.into_iter().map(|slot| (slot, 1)));
    for (slot, size) in units {
        place.put(slot, size, &weight);
    }
    let number = |register: usize| place.of[register / PAIR].unwrap_or(0) * PAIR + register % PAIR;
    (0..usize::from(program.registers_per_thread)).map(|register| number(register) as u16).collect()
}

/// For each aligned group of four, whether one access writes more than a pair of it.
fn quads(program: &Program, slots: usize) -> Vec<bool> {
    let mut quads = vec![false; slots.div_ceil(2)];
    for results in program.instructions.iter().map(|instruction| &instruction.results) {
        if results.len() > PAIR {
            quads[usize::from(results[0].register.0) / QUAD] = true;
        }
    }
    quads
}

/// For each two pairs how many regions touch both.
fn weights(touched: &[Vec<u16>], slots: usize) -> Vec<Vec<u32>> {
    let mut weight = vec![vec![0; slots]; slots];
    for registers in touched {
        let mut pairs: Vec<usize> = registers.iter().map(|&register| usize::from(register) / PAIR).collect();
        pairs.dedup();
        for &a in &pairs {
            for &b in pairs.iter().filter(|&&b| b != a) {
                weight[a][b] += 1;
            }
        }
    }
    weight
}

/// Pairs put into new places.
struct Places {
    of: Vec<Option<usize>>,
    taken: Vec<bool>,
}

impl Places {
    fn new(slots: usize) -> Places {
        Places { of: vec![None; slots], taken: vec![false; slots] }
    }

    /// Leaves a pair where it is.
    fn keep(&mut self, slot: usize) {
        self.of[slot] = Some(slot);
        self.taken[slot] = true;
    }

    /// Puts `size` pairs from `slot` on where the fewest regions touch the same banks already; the lowest such place.
    fn put(&mut self, slot: usize, size: usize, weight: &[Vec<u32>]) {
        let last = self.taken.len() + 1 - size;
        let free = (0..last).step_by(size).filter(|&place| !self.taken[place..place + size].contains(&true));
        let best =
            free.min_by_key(|&place| (0..size).map(|n| self.crowd(slot + n, place + n, weight)).sum::<u32>());
        if let Some(place) = best {
            for n in 0..size {
                self.of[slot + n] = Some(place + n);
                self.taken[place + n] = true;
            }
        }
    }

    /// Regions that touch a pair together with one that lies in the same banks as `place`.
    fn crowd(&self, slot: usize, place: usize, weight: &[Vec<u32>]) -> u32 {
        let same_banks = |other: &usize| other % (BANKS / PAIR) == place % (BANKS / PAIR);
        let others = self.of.iter().enumerate().filter(|(_, at)| at.as_ref().is_some_and(same_banks));
        others.map(|(other, _)| weight[slot][other]).sum()
    }
}
