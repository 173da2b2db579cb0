//! Which registers a run of instructions touches, and the lines it holds for them.

use std::collections::BTreeMap;
use std::ops::Range;

use super::regions::{BANKS, bank};
use crate::compile::function::Function;
use crate::compile::lifetime::Lifetimes;
use crate::program::PhysReg;

/// A register that a run of instructions touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The register.
    pub register: PhysReg,
    /// Its value from before is read, or kept in lanes that a soft definition leaves out.
    pub is_input: bool,
    /// Position of the first instruction that touches it.
    pub first: usize,
    /// Position of the last.
    pub last: usize,
    /// The last one writes it.
    pub written_last: bool,
}

/// Lines held at once at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// In all banks together.
    pub live: u16,
    /// In each bank, for the warp with index 0.
    pub banks: [u16; BANKS],
}

/// The registers that the instructions of a run touch, in increasing order.
///
/// Their value from before counts as an input where it is read first, and where the first access is a definition
/// that does not end it: those of live registers are soft, or they would not be live.
pub fn touched(function: &Function, lifetimes: &Lifetimes, run: Range<usize>) -> Vec<Touched> {
    let mut touched: BTreeMap<u32, Touched> = BTreeMap::new();
    for position in run.clone() {
        let access = &function.instructions[position];
        let reads = access.uses.iter().map(|&register| (register, false));
        let writes = access.definitions.iter().map(|definition| (definition.register, true));
        for (register, writes) in reads.chain(writes) {
            let entry = touched.entry(register).or_insert_with(|| Touched {
                register: PhysReg(register as u16),
                is_input: !writes || lifetimes.holds_value_before(run.start, register),
                first: position,
                last: position,
                written_last: writes,
            });
            entry.last = position;
            entry.written_last = writes;
        }
    }
    touched.into_values().collect()
}

/// The lines that a run holds for what it touches.
///
/// An input's line is held from the start, another's from the first access; to the last access, or to the end of the
/// run where that is a write, as it may come late.
pub fn lines(touched: &[Touched], run: Range<usize>) -> Lines {
    let mut changes: Vec<(usize, bool, usize)> = Vec::with_capacity(2 * touched.len());
    for register in touched {
        let from = if register.is_input { run.start } else { register.first };
        let to = if register.written_last { run.end } else { register.last + 1 };
        let bank = bank(0, register.register);
        changes.push((from, true, bank));
        changes.push((to, false, bank));
    }
    // What is given up before an instruction makes room for what that instruction takes.
    changes.sort_unstable();
    let (mut held, mut most) = (Lines::default(), Lines::default());
    for (_, takes, bank) in changes {
        if takes {
            held.live += 1;
            held.banks[bank] += 1;
            most.live = most.live.max(held.live);
            most.banks[bank] = most.banks[bank].max(held.banks[bank]);
        } else {
            held.live -= 1;
            held.banks[bank] -= 1;
        }
    }
    most
}
