//! How long ago a register was accessed when it is read, and which structure serves the read (Bailey et al., Fig. 12).

use crate::counters;
use crate::counters::{Counters, Counts};
use crate::sm::RunReport;

/// Name of the group of counters.
pub const DISTANCE_COUNTERS: &str = "read_distances";

/// Classes of distances: class `k` is of 2^`k` to 2^(`k` + 1) - 1 cycles, the first one of 0, too, the last one of all others.
pub const DISTANCES: usize = 16;

counters! {
    /// Reads by cycles since the last access to the same register.
    pub struct Distances {
        /// 0 or 1.
        from_0: sum("reads"),
        /// 2 or 3.
        from_2: sum("reads"),
        /// 4 to 7.
        from_4: sum("reads"),
        /// 8 to 15.
        from_8: sum("reads"),
        /// 16 to 31.
        from_16: sum("reads"),
        /// 32 to 63.
        from_32: sum("reads"),
        /// 64 to 127.
        from_64: sum("reads"),
        /// 128 to 255.
        from_128: sum("reads"),
        /// 256 to 511.
        from_256: sum("reads"),
        /// 512 to 1,023.
        from_512: sum("reads"),
        /// 1,024 to 2,047.
        from_1024: sum("reads"),
        /// 2,048 to 4,095.
        from_2048: sum("reads"),
        /// 4,096 to 8,191.
        from_4096: sum("reads"),
        /// 8,192 to 16,383.
        from_8192: sum("reads"),
        /// 16,384 to 32,767.
        from_16384: sum("reads"),
        /// 32,768 and more.
        from_32768: sum("reads"),
    }
}

counters! {
    /// Register reads by the structure that serves them and by cycles since the last access to the same register. A read that
    /// a cache serves in a part of its lanes counts for the main register file, and so does the first access to a register.
    pub struct ReadDistances {
        /// The scratchpad.
        rsp: group(Distances),
        /// The cache.
        rc: group(Distances),
        /// The main register file.
        mrf: group(Distances),
    }
}

impl Distances {
    /// Every class, nearest first: the counters in the order of their declaration.
    pub fn classes(&self) -> [u64; DISTANCES] {
        let counters: &dyn Counters = self;
        let mut reads = counters.leaves().into_iter().map(|(.., reads)| reads);
        std::array::from_fn(|_| reads.next().unwrap_or_default())
    }

    fn of(classes: [u64; DISTANCES]) -> Distances {
        let mut distances = Distances::default();
        let counters: &mut dyn Counters = &mut distances;
        for ((name, ..), reads) in counters.leaves().into_iter().zip(classes) {
            counters.set(&name, reads);
        }
        distances
    }
}

/// What serves a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    Scratchpad,
    Cache,
    Main,
}

/// Follows the accesses to the registers of a scheduler.
pub struct LastAccesses {
    /// For each row of the main register file the cycle after its last access; 0 if there was none.
    rows: Vec<u64>,
    /// For each server the reads of each class.
    reads: [[u64; DISTANCES]; 3],
    cycle: u64,
}

impl LastAccesses {
    /// Of a file of so many rows.
    pub fn new(rows: usize) -> LastAccesses {
        LastAccesses { rows: vec![0; rows], reads: [[0; DISTANCES]; 3], cycle: 0 }
    }

    /// The next cycle begins.
    pub fn step(&mut self) {
        self.cycle += 1;
    }

    /// A row is read.
    pub fn read(&mut self, row: u32, server: Server) {
        let last = std::mem::replace(&mut self.rows[row as usize], self.cycle + 1);
        let class = if last == 0 { DISTANCES - 1 } else { class(self.cycle + 1 - last) };
        self.reads[server as usize][class] += 1;
    }

    /// A row is written.
    pub fn write(&mut self, row: u32) {
        self.rows[row as usize] = self.cycle + 1;
    }

    /// Rows are another warp's from now on.
    pub fn forget(&mut self, rows: std::ops::Range<usize>) {
        self.rows[rows].fill(0);
    }

    /// Adds what has been counted.
    pub fn count(&self, into: &mut Counts) {
        let [rsp, rc, mrf] = self.reads.map(Distances::of);
        into.add(DISTANCE_COUNTERS, &ReadDistances { rsp, rc, mrf });
    }
}

/// The class of a distance in cycles.
fn class(cycles: u64) -> usize {
    (cycles.max(1).ilog2() as usize).min(DISTANCES - 1)
}

/// Those of a run.
pub fn read_distances(report: &RunReport) -> ReadDistances {
    report.counters.get(DISTANCE_COUNTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_classed_by_the_cycles_since_the_last_access() {
        let mut last = LastAccesses::new(2);
        last.write(0);
        (0..5).for_each(|_| last.step());
        last.read(0, Server::Scratchpad);
        last.step();
        last.read(0, Server::Cache);
        last.read(1, Server::Main);
        last.forget(0..1);
        last.read(0, Server::Main);
        let mut counts = Counts::default();
        last.count(&mut counts);
        let found: ReadDistances = counts.get(DISTANCE_COUNTERS);
        assert_eq!(found.rsp, Distances { from_4: 1, ..Distances::default() });
        assert_eq!(found.rc, Distances { from_0: 1, ..Distances::default() });
        assert_eq!(found.mrf, Distances { from_32768: 2, ..Distances::default() });
    }

    #[test]
    fn the_classes_are_powers_of_two() {
        let classes: Vec<usize> = [0, 1, 2, 3, 4, 32_767, 32_768, u64::MAX].map(class).to_vec();
        assert_eq!(classes, [0, 0, 1, 1, 2, 14, 15, 15]);
    }

    #[test]
    fn classes_come_back_in_their_order() {
        let classes = std::array::from_fn(|class| class as u64);
        assert_eq!(Distances::of(classes).classes(), classes);
    }
}
