//! Checks an allocation without knowing how it was made.
//!
//! For every point of the code it computes which virtual values each register is known to hold:
//!
//! - at the start nothing is held and every value is *undefined*; reading an undefined value is no error, as
//!   nothing depends on what it gives;
//! - writing value `v` to register `r`: `r` holds `v` alone, and older copies of `v` elsewhere are stale;
//! - writing it under a guard: `r` still holds `v` afterwards only if it did before, or `v` was undefined
//!   (lanes that are switched off keep what they had); all else that `r` held is lost;
//! - a copy from `a` to `b` that was removed: what holds `a` now holds `b` too, nothing else does;
//! - where paths meet, a register holds what it holds on each of them, undefined values counting as held.
//!
//! A read of `v` from a register that does not hold it is an error. After regalloc2's checker.

use std::collections::BTreeSet;

use super::bitset::BitSet;
use super::cfg::{Block, Cfg};

/// One instruction as allocated. Values and registers are numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// Value and the register it is read from.
    pub reads: Vec<(u32, u32)>,
    /// Value, the register it is written to, and whether lanes may be switched off.
    pub writes: Vec<(u32, u32, bool)>,
    /// The instruction was a copy (from, to, whether lanes may be switched off) and was removed.
    pub removed_copy: Option<(u32, u32, bool)>,
}

/// An allocation that gives an instruction a wrong value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocationError {
    /// A register that does not hold the value on every path.
    #[error("instruction {instruction} reads value v{value} from R{register}, which may hold something else")]
    WrongValue {
        /// Position in the code.
        instruction: usize,
        /// The value wanted.
        value: u32,
        /// The register read.
        register: u32,
    },
    /// Two results in one register.
    #[error("instruction {instruction} writes two results to R{register}")]
    ResultsOverlap {
        /// Position in the code.
        instruction: usize,
        /// The register.
        register: u32,
    },
}

/// Checks code whose values are in `registers` registers.
///
/// # Errors
/// The first instruction, in program order, that is given a wrong value.
pub fn check(code: &[Placed], cfg: &Cfg, registers: usize) -> Result<(), AllocationError> {
    let wanted = wanted(code, cfg);
    let mut states: Vec<Option<State>> = vec![None; cfg.blocks().len()];
    states[0] = Some(State { held: vec![BTreeSet::new(); registers], defined: BitSet::default() });
    let mut work = vec![Block(0)];
    while let Some(block) = work.pop() {
        let Some(mut state) = states[block.index()].clone() else { continue };
        for placed in &code[cfg.block(block).instructions.clone()] {
            state.step(placed);
        }
        for &successor in &cfg.block(block).successors {
            let slot = &mut states[successor.index()];
            let mut met = slot.as_ref().map_or_else(|| state.clone(), |before| before.meet(&state));
            met.keep(&wanted[successor.index()]);
            if slot.as_ref() != Some(&met) {
                *slot = Some(met);
                work.push(successor);
            }
        }
    }
    for (block, state) in cfg.blocks().iter().zip(states) {
        let Some(mut state) = state else { continue };
        for instruction in block.instructions.clone() {
            state.check(instruction, &code[instruction])?;
            state.step(&code[instruction]);
        }
    }
    Ok(())
}

/// For each block the values whose state at its start matters: read from there on, or partly overwritten, before they
/// are written whole. The others need not be kept. It is found here once more: a mistake of [`super::liveness`] would be
/// in the allocation too.
fn wanted(code: &[Placed], cfg: &Cfg) -> Vec<BitSet> {
    let mut wanted = vec![BitSet::default(); cfg.blocks().len()];
    let mut work: Vec<Block> = cfg.block_ids().collect();
    while let Some(block) = work.pop() {
        let mut here = BitSet::default();
        for successor in &cfg.block(block).successors {
            here.union_with(&wanted[successor.index()]);
        }
        for placed in code[cfg.block(block).instructions.clone()].iter().rev() {
            let copied = placed.removed_copy.map(|(_, to, guarded)| (to, guarded));
            for (value, partly) in
                placed.writes.iter().map(|&(value, _, guarded)| (value, guarded)).chain(copied)
            {
                if partly {
                    here.insert(value as usize);
                } else {
                    here.remove(value as usize);
                }
            }
            let source = placed.removed_copy.map(|(from, _, _)| from);
            for value in placed.reads.iter().map(|&(value, _)| value).chain(source) {
                here.insert(value as usize);
            }
        }
        if wanted[block.index()].union_with(&here) {
            work.extend(&cfg.block(block).predecessors);
        }
    }
    wanted
}

/// What is known at a point.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    held: Vec<BTreeSet<u32>>,
    /// Values that have been written on some path: the others are undefined.
    defined: BitSet,
}

impl State {
    /// Forgets all values but these.
    fn keep(&mut self, wanted: &BitSet) {
        for held in &mut self.held {
            held.retain(|&value| wanted.contains(value as usize));
        }
        self.defined.intersect_with(wanted);
    }

    fn is_undefined(&self, value: u32) -> bool {
        !self.defined.contains(value as usize)
    }

    fn holds(&self, register: usize, value: u32) -> bool {
        self.held[register].contains(&value) || self.is_undefined(value)
    }

    fn check(&self, instruction: usize, placed: &Placed) -> Result<(), AllocationError> {
        for &(value, register) in &placed.reads {
            if !self.holds(register as usize, value) {
                return Err(AllocationError::WrongValue { instruction, value, register });
            }
        }
        for (position, &(_, register, _)) in placed.writes.iter().enumerate() {
            if placed.writes[..position].iter().any(|&(_, other, _)| other == register) {
                return Err(AllocationError::ResultsOverlap { instruction, register });
            }
        }
        Ok(())
    }

    fn step(&mut self, placed: &Placed) {
        if let Some((from, to, guarded)) = placed.removed_copy {
            self.copy(from, to, guarded);
        }
        for &(value, register, guarded) in &placed.writes {
            let stays = !guarded || self.holds(register as usize, value);
            for held in &mut self.held {
                held.remove(&value);
            }
            self.held[register as usize] = if stays { BTreeSet::from([value]) } else { BTreeSet::new() };
            self.defined.insert(value as usize);
        }
    }

    fn copy(&mut self, from: u32, to: u32, guarded: bool) {
        for register in 0..self.held.len() {
            let has_old = !guarded || self.holds(register, to);
            if self.holds(register, from) && has_old {
                self.held[register].insert(to);
            } else {
                self.held[register].remove(&to);
            }
        }
        self.defined.insert(to as usize);
    }

    fn meet(&self, other: &State) -> State {
        let held = self
            .held
            .iter()
            .zip(&other.held)
            .map(|(ours, theirs)| {
                let in_both = |value: &&u32| {
                    (ours.contains(value) || self.is_undefined(**value))
                        && (theirs.contains(value) || other.is_undefined(**value))
                };
                ours.union(theirs).filter(in_both).copied().collect()
            })
            .collect();
        let mut defined = self.defined.clone();
        defined.union_with(&other.defined);
        State { held, defined }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::cfg::Flow;

    fn write(value: u32, register: u32) -> Placed {
        Placed { writes: vec![(value, register, false)], ..Placed::default() }
    }

    fn read(value: u32, register: u32) -> Placed {
        Placed { reads: vec![(value, register)], ..Placed::default() }
    }

    fn straight(code: &[Placed]) -> Result<(), AllocationError> {
        check(code, &Cfg::new(&vec![Flow::Next; code.len()]).unwrap(), 4)
    }

    #[test]
    fn a_value_overwritten_before_its_read_is_found() {
        let wrong = AllocationError::WrongValue { instruction: 2, value: 0, register: 1 };
        assert_eq!(straight(&[write(0, 1), write(1, 1), read(0, 1)]), Err(wrong));
        assert_eq!(straight(&[write(0, 1), write(1, 2), read(0, 1)]), Ok(()));
    }

    #[test]
    fn a_guarded_write_keeps_only_its_own_old_value() {
        let guarded = |value, register| Placed { writes: vec![(value, register, true)], ..Placed::default() };
        assert_eq!(straight(&[write(0, 1), guarded(0, 1), read(0, 1)]), Ok(()));
        assert!(straight(&[write(0, 2), guarded(0, 1), read(0, 1)]).is_err());
        assert!(straight(&[write(1, 1), guarded(0, 1), read(1, 1)]).is_err());
    }

    #[test]
    fn a_removed_copy_makes_two_names_for_one_register() {
        let copy = Placed { removed_copy: Some((0, 1, false)), ..Placed::default() };
        assert_eq!(straight(&[write(0, 1), copy.clone(), read(1, 1), read(0, 1)]), Ok(()));
        assert!(straight(&[write(0, 1), copy, write(0, 1), read(1, 1)]).is_err());
    }

    #[test]
    fn a_value_held_on_one_path_only_is_not_held() {
        let branch = Flow::To { targets: vec![1, 2], exits: false };
        let cfg = Cfg::new(&[branch, Flow::Next, Flow::Next]).unwrap();
        let code = [write(0, 1), write(1, 1), read(0, 1)];
        assert!(check(&code, &cfg, 4).is_err());
    }

    #[test]
    fn two_results_need_two_registers() {
        let both = Placed { writes: vec![(0, 1, false), (1, 1, false)], ..Placed::default() };
        assert!(straight(&[both]).is_err());
    }
}
