//! Registers in the order of their first use (§2.3.2, "Unrolling and Reordering of Register Declarations").
//!
//! The first instructions of a warp then find their registers among those that it has for itself. A bijection of the numbers
//! that a program uses: registers that one instruction accesses as a vector stay in one, aligned as before.

use std::fmt::Write;

use super::Threshold;
use crate::compile::cfg::Cfg;
use crate::compile::dominators::Postdominators;
use crate::compile::listing::write_heading;
use crate::program::{Instruction, Program};

/// Registers of a vector at most.
const VECTOR: u16 = 4;

/// The new number of each register, by its old one, in the order in which a program accesses them first, sources before
/// results. Where vectors would leave gaps, for which a thread would need more registers, in that order as far as none is left.
pub fn by_first_use(program: &Program) -> Vec<u16> {
    let count = program.registers_per_thread;
    let units = units(program);
    let numbers = put(&units, count);
    if numbers.iter().all(|number| *number < count) { numbers } else { put(&in_groups(units, count), count) }
}

/// The registers that an instruction accesses: sources, then results.
fn accessed(instruction: &Instruction) -> impl Iterator<Item = u16> + '_ {
    let sources = instruction.sources.iter().map(|source| source.register.0);
    sources.chain(instruction.results.iter().map(|result| result.register.0))
}

/// A register, or registers that stay together: the first, and how many places they are aligned to.
type Unit = (u16, u16);

/// The units in an order in which none leaves a gap: by the first use of groups of four registers, each a vector of four, two
/// pairs or four alone, and what makes no such group at the end.
fn in_groups(units: Vec<Unit>, count: u16) -> Vec<Unit> {
    let members = |unit: &Unit| unit.1.min(count - unit.0);
    let of_size = |size: u16| units.iter().copied().filter(move |unit| members(unit) == size);
    let [alone, pairs, cut, whole] = [1, 2, 3, 4].map(|size| of_size(size).collect::<Vec<Unit>>());
    let (alone_groups, alone) = alone.as_chunks::<4>();
    let (pair_groups, pairs) = pairs.as_chunks::<2>();
    let groups = whole.chunks(1).chain(pair_groups.iter().map(|group| &group[..]));
    let mut groups: Vec<&[Unit]> = groups.chain(alone_groups.iter().map(|group| &group[..])).collect();
    groups.sort_by_key(|group| units.iter().position(|unit| *unit == group[0]));
    let rest = [&cut[..], pairs, alone];
    groups.into_iter().chain(rest).flatten().copied().collect()
}

/// The units of a program in the order of their first use.
fn units(program: &Program) -> Vec<Unit> {
    let sizes = sizes(program);
    let used = program.instructions.iter().flat_map(accessed).chain(0..program.registers_per_thread);
    let mut units: Vec<Unit> = Vec::new();
    for register in used {
        let size = sizes[usize::from(register)];
        let unit = (register - register % size, size);
        if !units.contains(&unit) {
            units.push(unit);
        }
    }
    units
}

/// Puts each unit into the lowest aligned place that is free. Gives the number of each register.
fn put(units: &[Unit], count: u16) -> Vec<u16> {
    let mut numbers = vec![0; usize::from(count)];
    let mut taken = vec![false; 4 * usize::from(count) + usize::from(VECTOR)];
    for &(first, size) in units {
        let members = size.min(count - first);
        let is_free = |place: &u16| (*place..place + members).all(|number| !taken[usize::from(number)]);
        let place = (0..4 * count).step_by(usize::from(size)).find(is_free).unwrap_or(0);
        for member in 0..members {
            numbers[usize::from(first + member)] = place + member;
            taken[usize::from(place + member)] = true;
        }
    }
    numbers
}

/// Of how many registers, 1, 2 or 4, the vector is that a register belongs to.
pub(super) fn sizes(program: &Program) -> Vec<u16> {
    let mut sizes = vec![1; usize::from(program.registers_per_thread)];
    for instruction in &program.instructions {
        let sources: Vec<u16> = instruction.sources.iter().map(|source| source.register.0).collect();
        let results: Vec<u16> = instruction.results.iter().map(|result| result.register.0).collect();
        let of_results = if results.len() > 2 { VECTOR } else { 2 };
        for (operands, size) in [(sources, 2), (results, of_results)] {
            for pair in operands.windows(2).filter(|pair| pair[1] == pair[0] + 1) {
                let vector = pair[0] - pair[0] % size;
                if vector == pair[1] - pair[1] % size {
                    grow(&mut sizes, vector, size);
                }
            }
        }
    }
    sizes
}

/// A vector is of that many registers at least.
fn grow(sizes: &mut [u16], first: u16, size: u16) {
    let members = usize::from(first)..usize::from(first + size).min(sizes.len());
    let largest = sizes[members.clone()].iter().copied().fold(size, u16::max);
    let first = first - first % largest;
    let members = usize::from(first)..usize::from(first + largest).min(sizes.len());
    sizes[members].fill(largest);
}

/// A program as text with the place of each register and which are shared: counted from 1, those behind ⌊t R_w⌋ (Fig. 2.5).
pub fn listing(program: &Program, numbers: &[u16], threshold: Threshold, cfg: &Cfg) -> String {
    let private = threshold.private(u64::from(program.registers_per_thread));
    let mut text = format!(
        "// {}: {} registers a thread, {private} for a warp alone; those in brackets are shared with another\n",
        program.name, program.registers_per_thread
    );
    let postdominators = Postdominators::new(cfg);
    let place = |register: u16| {
        let place = u64::from(numbers[usize::from(register)]) + 1;
        if place > private { format!("[{place}]") } else { place.to_string() }
    };
    for block in cfg.block_ids() {
        write_heading(&mut text, cfg, &postdominators, block);
        for instruction in &program.instructions[cfg.block(block).instructions.clone()] {
            let places: Vec<String> = accessed(instruction).map(place).collect();
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{:5} {:24} {}", instruction.pc, places.join(" "), instruction.text);
        }
    }
    text
}
