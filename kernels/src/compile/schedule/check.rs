//! That every dependence of the source order holds in the new one.
//!
//! Knows nothing of how the order was found: a value is named by the instruction that wrote it, and each instruction must
//! read, and leave behind, what it did before; accesses to memory that may meet keep their order.

use std::collections::BTreeMap;

use super::super::cfg::{Block, Cfg};
use super::super::effect::Effect;
use crate::ptx::ir::{Instruction, Kernel, Reg};

/// An order that breaks a dependence: an error of this compiler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// Not each instruction of a block once.
    #[error("the block from instruction {first} on is not the same instructions in another order")]
    NoPermutation {
        /// The first instruction of the block.
        first: usize,
    },
    /// A register has another value.
    #[error("{reader} gets another value of `{register}`")]
    Value {
        /// The instruction that reads it, or the end of a block.
        reader: String,
        /// The register.
        register: String,
    },
    /// Two accesses to memory, or exchanges with others, have changed places.
    #[error("instructions {first} and {second} have changed places")]
    Effects {
        /// The earlier one in the source.
        first: usize,
        /// The later one.
        second: usize,
    },
}

/// The instruction that wrote what each register holds; without an entry it is what it was before the block. A guarded
/// write leaves the old value in some lanes, which is the same if the writer is and read the same.
type Writers = BTreeMap<Reg, usize>;

/// What each instruction of a block finds in the registers that it reads or writes.
type Found = BTreeMap<usize, Vec<Option<usize>>>;

/// Compares an order of a kernel's instructions with the source.
pub(super) fn check(kernel: &Kernel, cfg: &Cfg, order: &[usize]) -> Result<(), ScheduleError> {
    cfg.block_ids().try_for_each(|block| check_block(kernel, cfg, block, order))
}

fn check_block(kernel: &Kernel, cfg: &Cfg, block: Block, order: &[usize]) -> Result<(), ScheduleError> {
    let range = cfg.block(block).instructions.clone();
    let new = order.get(range.clone()).unwrap_or_default();
    let mut sorted = new.to_vec();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(range.clone()) {
        return Err(ScheduleError::NoPermutation { first: range.start });
    }
    let (found, left) = run(kernel, range.clone());
    let (found_now, left_now) = run(kernel, new.iter().copied());
    let name = |register: Reg| kernel.registers[register.index()].name.clone();
    for position in range {
        let instruction = &kernel.instructions[position];
        let pairs = found[&position].iter().zip(&found_now[&position]);
        if let Some((register, _)) =
            registers(instruction).zip(pairs).find(|(_, (before, now))| before != now)
        {
            let reader = format!("instruction {position} (line {})", instruction.line);
            return Err(ScheduleError::Value { reader, register: name(register) });
        }
    }
    if let Some((register, _)) = left.iter().find(|(register, writer)| left_now.get(register) != Some(writer))
    {
        return Err(ScheduleError::Value { reader: "the end of a block".into(), register: name(*register) });
    }
    check_effects(kernel, new)
}

/// Registers that an instruction reads, or writes over.
fn registers(instruction: &Instruction) -> impl Iterator<Item = Reg> + '_ {
    instruction.uses().chain(instruction.definitions())
}

/// Whose values instructions find if they come in this order, and whose are there after them.
fn run(kernel: &Kernel, order: impl Iterator<Item = usize>) -> (Found, Writers) {
    let mut writers = Writers::new();
    let mut found = Found::new();
    for position in order {
        let instruction = &kernel.instructions[position];
        let here = registers(instruction).map(|register| writers.get(&register).copied()).collect();
        found.insert(position, here);
        writers.extend(instruction.definitions().map(|register| (register, position)));
    }
    (found, writers)
}

/// Of each pair of instructions that have changed places: that it does not matter.
fn check_effects(kernel: &Kernel, order: &[usize]) -> Result<(), ScheduleError> {
    let effects = effects(kernel, order);
    // The last place at which something earlier than each place's instruction comes: few are overtaken, and by little.
    let mut earliest_behind = vec![usize::MAX; effects.len() + 1];
    for index in (0..effects.len()).rev() {
        earliest_behind[index] = earliest_behind[index + 1].min(effects[index].0);
    }
    for (index, (late, effect)) in effects.iter().enumerate() {
        let mut behind = index + 1;
        while earliest_behind[behind] < *late {
            let (early, other) = &effects[behind];
            if early < late && other.is_before(effect) {
                return Err(ScheduleError::Effects { first: *early, second: *late });
            }
            behind += 1;
        }
    }
    Ok(())
}

/// The instructions of an order that do something to memory or to other lanes.
fn effects(kernel: &Kernel, order: &[usize]) -> Vec<(usize, Effect)> {
    let mut writers = Writers::new();
    let mut effects = Vec::new();
    for &position in order {
        let instruction = &kernel.instructions[position];
        let base = instruction.address.and_then(|address| address.register());
        let version = base.and_then(|base| writers.get(&base).copied());
        let effect = Effect::of(kernel, instruction, version);
        if effect != Effect::None {
            effects.push((position, effect));
        }
        writers.extend(instruction.definitions().map(|register| (register, position)));
    }
    effects
}
