//! The register working set: how many warp-wide registers are accessed in windows of cycles.

use serde::{Deserialize, Serialize};

/// Registers accessed in windows of cycles, which follow each other from the first cycle of a run, over launches; one
/// that the run does not complete is left out. A register of a warp slot counts once a window, however often it is
/// read or written there: a read in the cycle in which the operand is delivered, a write in the cycle in which the
/// operand storage takes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkingSet {
    /// Cycles of a window.
    pub window_cycles: u64,
    /// Windows completed.
    pub windows: u64,
    /// Warp-wide registers accessed in a window, summed over windows.
    pub registers: u64,
    /// Most in a window.
    pub most_registers: u64,
}

impl WorkingSet {
    /// Warp-wide registers accessed in the mean window; `None` without windows.
    pub fn mean_registers(&self) -> Option<f64> {
        (self.windows > 0).then(|| self.registers as f64 / self.windows as f64)
    }

    /// Adds the windows of another SM.
    pub(super) fn add(&mut self, other: &WorkingSet) {
        let WorkingSet { window_cycles: _, windows, registers, most_registers } = other;
        self.windows += windows;
        self.registers += registers;
        self.most_registers = self.most_registers.max(*most_registers);
    }
}

/// Counts the working set while a run goes on.
pub(super) struct WorkingSetCounter {
    partitions: usize,
    /// Warp slots of a partition.
    warps: usize,
    /// Registers accessed in this window: bit (register × warps + warp) × partitions + partition.
    seen: Vec<u64>,
    cycles: u64,
    registers: u64,
    counted: WorkingSet,
}

impl WorkingSetCounter {
    pub fn new(window_cycles: u64, partitions: usize, warps: usize) -> WorkingSetCounter {
        let counted = WorkingSet { window_cycles, ..WorkingSet::default() };
        WorkingSetCounter { partitions, warps, seen: Vec::new(), cycles: 0, registers: 0, counted }
    }

    /// Makes room for a kernel's registers; those of the kernel before stay where they are.
    pub fn start_kernel(&mut self, registers_per_thread: u16) {
        let words = (usize::from(registers_per_thread) * self.warps * self.partitions).div_ceil(64);
        self.seen.resize(words.max(self.seen.len()), 0);
    }

    /// A register of a partition's warp slot is read or written.
    pub fn access(&mut self, partition: usize, warp: usize, register: usize) {
        let position = (register * self.warps + warp) * self.partitions + partition;
        let (word, bit) = (position / 64, 1 << (position % 64));
        self.registers += u64::from(self.seen[word] & bit == 0);
        self.seen[word] |= bit;
    }

    pub fn end_cycle(&mut self) {
        self.cycles += 1;
        if self.cycles < self.counted.window_cycles {
            return;
        }
        self.counted.windows += 1;
        self.counted.registers += self.registers;
        self.counted.most_registers = self.counted.most_registers.max(self.registers);
        self.seen.fill(0);
        (self.cycles, self.registers) = (0, 0);
    }

    pub fn counted(&self) -> WorkingSet {
        self.counted
    }
}

#[cfg(test)]
mod tests {
    use super::{WorkingSet, WorkingSetCounter};

    #[test]
    fn a_register_counts_once_a_window_for_each_warp() {
        let mut counter = WorkingSetCounter::new(2, 2, 3);
        counter.start_kernel(40);
        let cycles: [&[(usize, usize, usize)]; 5] = [
            &[(0, 0, 0), (1, 0, 0), (0, 2, 39)],
            &[(0, 2, 39), (1, 2, 39), (0, 0, 0)],
            &[(0, 0, 0)],
            &[],
            &[(1, 1, 1)],
        ];
        for accesses in cycles {
            for &(partition, warp, register) in accesses {
                counter.access(partition, warp, register);
            }
            counter.end_cycle();
        }
        let expected = WorkingSet { window_cycles: 2, windows: 2, registers: 4 + 1, most_registers: 4 };
        assert_eq!(counter.counted(), expected);
        assert_eq!(expected.mean_registers(), Some(2.5));
    }

    #[test]
    fn a_window_goes_on_over_the_next_kernel() {
        let mut counter = WorkingSetCounter::new(2, 1, 64);
        for registers in [2, 8] {
            counter.start_kernel(registers);
            counter.access(0, 63, 1);
            counter.end_cycle();
        }
        assert_eq!(counter.counted().registers, 1);
    }
}
