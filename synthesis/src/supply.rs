//! Memories whose rows are not always ON: what drives their sleep transistors, and what that makes of their leakage.

use std::collections::BTreeSet;

use warpfile_sim::energy::structure::{PowerGating, RowCycles};

use crate::gates::MemoryGate;

/// How the supply of rows was gated while a circuit ran.
#[derive(Clone, Debug)]
pub struct Supply {
    /// The circuits whose memories have the rows.
    pub circuits: Vec<&'static str>,
    /// What states and changes of state take.
    pub gating: PowerGating,
    /// The rows that are driven.
    pub driven: u64,
    /// Their states in the cycles of the run.
    pub rows: RowCycles,
}

impl Supply {
    /// Whether it is a memory's.
    pub fn is_of(&self, gate: &MemoryGate) -> bool {
        let is = |circuit: &&str| {
            let parameters = gate.module.strip_prefix(*circuit);
            parameters.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        self.circuits.iter().any(is)
    }

    /// How many of the driven rows are in these memories, as a part of all: a row lies across the memories of an instance.
    pub fn part<'g>(&self, memories: impl Iterator<Item = (&'g MemoryGate, u32)>) -> f64 {
        let instance = |path: &'g str| path.rsplit_once('.').map_or(path, |(instance, _)| instance);
        let rows: BTreeSet<(&str, u32)> = memories.map(|(gate, rows)| (instance(&gate.path), rows)).collect();
        let rows: u64 = rows.iter().map(|&(_, rows)| u64::from(rows)).sum();
        rows as f64 / self.driven.max(1) as f64
    }
}

/// Rows in each state in a cycle, one bit a row.
#[derive(Clone, Copy, Debug)]
pub struct RowStates<'w> {
    /// ON.
    pub on: &'w [u64],
    /// In SLEEP.
    pub sleep: &'w [u64],
    /// OFF.
    pub off: &'w [u64],
    /// Waking up, from SLEEP or OFF.
    pub waking: &'w [u64],
}

/// Counts states of rows, cycle by cycle.
#[derive(Clone, Debug, Default)]
pub struct RowStateCounter {
    counted: RowCycles,
    /// Rows ON, in SLEEP and OFF in the cycle before, a word each; empty before the first.
    before: Vec<[u64; 3]>,
}

impl RowStateCounter {
    /// Counts a cycle. A row that wakes up leaks as one that is ON; its change of state is that to ON.
    pub fn cycle(&mut self, states: RowStates<'_>) {
        let RowStates { on, sleep, off, waking } = states;
        let count = |rows: u64| u64::from(rows.count_ones());
        let counted = &mut self.counted;
        for (word, before) in self.before.iter().enumerate() {
            let [was_on, was_sleep, was_off] = *before;
            counted.sleep_transitions += count(was_on & sleep[word] | was_sleep & on[word]);
            counted.off_transitions += count(was_off ^ off[word]);
        }
        self.before.clear();
        for word in 0..on.len() {
            counted.on += count(on[word] | waking[word]);
            counted.sleep += count(sleep[word] & !waking[word]);
            counted.off += count(off[word] & !waking[word]);
            self.before.push([on[word], sleep[word], off[word]]);
        }
    }

    /// What has been counted.
    pub fn counted(&self) -> RowCycles {
        self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_wakes_up_leaks_as_on_and_changes_its_state_when_it_is() {
        let mut counter = RowStateCounter::default();
        // Two rows: the first from OFF over ON to SLEEP, the second stays in SLEEP until it is switched off.
        for (on, sleep, off, waking) in
            [(0, 0b10, 0b01, 0), (0, 0b10, 0b01, 0b01), (0b01, 0b10, 0, 0), (0, 0b01, 0b10, 0)]
        {
            counter.cycle(RowStates { on: &[on], sleep: &[sleep], off: &[off], waking: &[waking] });
        }
        let expected = RowCycles { on: 2, sleep: 4, off: 2, sleep_transitions: 1, off_transitions: 2 };
        assert_eq!(counter.counted(), expected);
    }
}
