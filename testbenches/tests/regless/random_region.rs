//! Random regions with the compiler's annotations, worked out from their instructions as §4.2 to §4.4 say.

use warpfile_hdl::regless::{Fate, NOTES, Note, RESULTS, SOURCES, ShardGeometry};
use warpfile_random::Random;

/// Registers of a warp that the traffic uses.
pub const REGISTERS: usize = 12;

/// What is known at compile time of a register's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing was written since the warp began, or since an invalidation: it reads as 0.
    Unwritten,
    Live,
    /// Not to be read before it is written as a whole.
    Dead,
}

/// A register that an instruction reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub register: usize,
    pub fate: Fate,
}

#[derive(Clone, Debug)]
pub struct Instruction {
    pub unit: usize,
    /// Lanes that execute; without one, nothing is read and no result is written.
    pub lanes: u32,
    pub sources: Vec<Operand>,
    pub results: Vec<Operand>,
}

#[derive(Clone, Debug)]
pub struct Region {
    pub instructions: Vec<Instruction>,
    pub notes: Vec<(Note, usize)>,
    /// Lines of each bank, for warp index 0.
    pub usage: Vec<usize>,
}

/// What the regions of a run are like.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub geometry: ShardGeometry,
    pub units: usize,
    /// Results count as held until the region's end, not only for their instruction.
    pub counts_results_to_the_end: bool,
    /// All registers of a region lie in one bank.
    pub is_narrow: bool,
}

/// One access of a register: in which instruction, and whether it is a result.
#[derive(Clone, Copy)]
struct Access {
    instruction: usize,
    is_result: bool,
    /// Every lane is written: the value before is not needed.
    is_whole: bool,
}

/// A region that fits, of a warp whose registers hold `values`, which become those after it.
pub fn region(style: &Style, random: &mut Random, values: &mut [Value; REGISTERS]) -> Region {
    let mut most = 7;
    loop {
        let mut after = *values;
        let region = attempt(style, random, &mut after, most);
        if region.usage.iter().all(|&lines| lines <= style.geometry.lines) {
            *values = after;
            return region;
        }
        most = (most - 1).max(1);
    }
}

fn attempt(style: &Style, random: &mut Random, values: &mut [Value; REGISTERS], most: u32) -> Region {
    let all_lanes = u32::MAX >> (32 - style.geometry.lanes);
    let registers = registers(style, random);
    let mut instructions: Vec<Instruction> = Vec::new();
    let mut written = *values;
    for _ in 0..1 + random.below(most) {
        let lanes = match random.below(8) {
            0 => 0,
            1 | 2 => 1 + random.below(all_lanes),
            _ => all_lanes,
        };
        let few = if most > 2 { [0, 1, 1, 2, 2, 3] } else { [0, 0, 0, 1, 1, 1] };
        let sources = distinct(random, &registers, few, SOURCES, |r| written[r] != Value::Dead);
        let few = if most > 2 { [0, 1, 1, 1, 2, 4] } else { [0, 0, 1, 1, 1, 1] };
        let results =
            distinct(random, &registers, few, RESULTS, |r| lanes == all_lanes || written[r] != Value::Dead);
        results.iter().filter(|_| lanes != 0).for_each(|result| written[result.register] = Value::Live);
        let unit = random.below(style.units as u32) as usize;
        instructions.push(Instruction { unit, lanes, sources, results });
    }
    let mut notes = Vec::new();
    for (register, value) in values.iter_mut().enumerate() {
        let accesses = accesses_of(&instructions, register, all_lanes);
        match accesses.first() {
            None if random.chance(8) => {
                notes.push((Note::Invalidation, register));
                *value = Value::Unwritten;
            }
            None => {}
            Some(first) => {
                if !(first.is_result && first.is_whole) {
                    let invalidates = random.chance(3);
                    notes.push((
                        if invalidates { Note::InvalidatingPreload } else { Note::Preload },
                        register,
                    ));
                }
                let end = mark(random, &mut instructions, &accesses, register);
                let is_written =
                    accesses.iter().any(|a| a.is_result && instructions[a.instruction].lanes != 0);
                *value = match end {
                    Fate::Erase => Value::Dead,
                    Fate::Evict | Fate::Keep if is_written => Value::Live,
                    Fate::Evict | Fate::Keep => *value,
                };
            }
        }
    }
    for place in (1..notes.len()).rev() {
        notes.swap(place, random.below(place as u32 + 1) as usize);
    }
    let usage = usage(style, &instructions, &notes);
    Region { instructions, notes, usage }
}

/// Registers that a region uses.
fn registers(style: &Style, random: &mut Random) -> Vec<usize> {
    let (step, first) = match style.is_narrow {
        true => (style.geometry.banks, random.below(style.geometry.banks as u32) as usize),
        false => (1, 0),
    };
    (first..REGISTERS).step_by(step).collect()
}

fn distinct(
    random: &mut Random,
    registers: &[usize],
    counts: [usize; 6],
    most: usize,
    may: impl Fn(usize) -> bool,
) -> Vec<Operand> {
    let wanted = counts[random.below(6) as usize].min(most);
    let mut operands: Vec<Operand> = Vec::new();
    for _ in 0..wanted {
        let register = registers[random.below(registers.len() as u32) as usize];
        if may(register) && operands.iter().all(|other| other.register != register) {
            operands.push(Operand { register, fate: Fate::Keep });
        }
    }
    operands
}

fn accesses_of(instructions: &[Instruction], register: usize, all_lanes: u32) -> Vec<Access> {
    let mut accesses = Vec::new();
    for (i, instruction) in instructions.iter().enumerate() {
        let is_here = |operands: &[Operand]| operands.iter().any(|operand| operand.register == register);
        if is_here(&instruction.sources) {
            accesses.push(Access { instruction: i, is_result: false, is_whole: false });
        }
        if is_here(&instruction.results) {
            let is_whole = instruction.lanes == all_lanes;
            accesses.push(Access { instruction: i, is_result: true, is_whole });
        }
    }
    accesses
}

/// Marks the last access, and some of those before a write of all lanes. Gives the last one's fate.
fn mark(random: &mut Random, instructions: &mut [Instruction], accesses: &[Access], register: usize) -> Fate {
    let mut last = Fate::Keep;
    for (a, access) in accesses.iter().enumerate() {
        let fate = match accesses.get(a + 1) {
            None if random.chance(3) => Fate::Erase,
            None => Fate::Evict,
            Some(next) if next.is_whole && random.chance(2) => Fate::Erase,
            Some(_) => Fate::Keep,
        };
        let instruction = &mut instructions[access.instruction];
        let operands = if access.is_result { &mut instruction.results } else { &mut instruction.sources };
        operands.iter_mut().filter(|operand| operand.register == register).for_each(|o| o.fate = fate);
        last = fate;
    }
    last
}

/// The most lines held at once in each bank, for warp index 0. An instruction's sources and results count together.
fn usage(style: &Style, instructions: &[Instruction], notes: &[(Note, usize)]) -> Vec<usize> {
    let banks = style.geometry.banks;
    let mut held = [0_usize; REGISTERS];
    let staged = notes.iter().filter(|(note, _)| *note != Note::Invalidation);
    staged.for_each(|(_, register)| held[*register] = 1);
    let count = |held: &[usize; REGISTERS]| -> Vec<usize> {
        (0..banks).map(|bank| (0..REGISTERS).filter(|r| r % banks == bank).map(|r| held[r]).sum()).collect()
    };
    let mut most = count(&held);
    // Lines that a result holds until it is written.
    let mut to_the_end = [0_usize; REGISTERS];
    for instruction in instructions {
        let before = held;
        for result in &instruction.results {
            let erased_first = instruction
                .sources
                .iter()
                .any(|source| source.register == result.register && source.fate == Fate::Erase);
            held[result.register] = if erased_first { 2 } else { 1 };
        }
        let mut now = held;
        (0..REGISTERS).for_each(|r| now[r] = now[r].max(before[r]) + to_the_end[r]);
        most = most.iter().zip(count(&now)).map(|(most, now)| (*most).max(now)).collect();
        for source in instruction.sources.iter().filter(|source| source.fate != Fate::Keep) {
            let is_written = instruction.results.iter().any(|result| result.register == source.register);
            held[source.register] = usize::from(is_written);
        }
        for result in instruction.results.iter().filter(|result| result.fate != Fate::Keep) {
            held[result.register] = 0;
            to_the_end[result.register] += usize::from(style.counts_results_to_the_end);
        }
    }
    most
}

/// The words of metadata that say so: up to three annotations each, one word at least.
pub fn words(region: &Region) -> Vec<Vec<(Note, usize)>> {
    match region.notes.is_empty() {
        true => vec![Vec::new()],
        false => region.notes.chunks(NOTES).map(<[_]>::to_vec).collect(),
    }
}
