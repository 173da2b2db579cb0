//! Instructions that have been fetched: a few of each warp, for one warp of the SM a cycle.
//!
//! After GPGPU-Sim's SM (`shader_core_ctx::fetch`, `decode`), which fetches two instructions of a warp whose buffer is empty, warp
//! after warp, and lets the warp issue them from the second cycle on. Misses of its instruction cache are not modelled.

use super::super::warp::WarpSet;

/// The instruction buffers of the SM's warps.
pub(in super::super) struct InstructionBuffers {
    /// Instructions fetched at once; `None` if each warp's next instruction is always there.
    width: Option<u8>,
    /// Instructions in the buffer, by partition and warp slot.
    buffered: Vec<Vec<u8>>,
    /// Warps whose buffer is empty, by partition.
    empty: Vec<WarpSet>,
    /// Partition and slot of the warp whose instructions are decoded in the next cycle.
    decoding: Option<(usize, usize)>,
    /// Number in the SM behind that of the warp fetched for last.
    next: usize,
}

impl InstructionBuffers {
    /// `width`: instructions fetched at once, 0 for no limit; `warps`: slots of a partition.
    pub fn new(width: u64, partitions: usize, warps: usize) -> InstructionBuffers {
        InstructionBuffers {
            width: (width > 0).then_some(width as u8),
            buffered: vec![vec![0; warps]; partitions],
            empty: vec![WarpSet::MAX; partitions],
            decoding: None,
            next: 0,
        }
    }

    /// Warps of a partition that have no instruction to issue.
    pub fn empty(&self, partition: usize) -> WarpSet {
        if self.width.is_some() { self.empty[partition] } else { 0 }
    }

    /// A warp starts: its buffer is empty.
    pub fn start(&mut self, partition: usize, warp: usize) {
        self.buffered[partition][warp] = 0;
        self.empty[partition] |= 1 << warp;
    }

    /// An instruction is issued. `leaves`: what is behind it in the buffer may not be the warp's next.
    pub fn issue(&mut self, partition: usize, warp: usize, leaves: bool) {
        if self.width.is_none() {
            return;
        }
        let left = &mut self.buffered[partition][warp];
        *left = if leaves { 0 } else { left.saturating_sub(1) };
        if *left == 0 {
            self.empty[partition] |= 1 << warp;
        }
    }

    /// Ends a cycle: what has been fetched in the one before is in its buffer from the next on, and the next warp without
    /// instructions is fetched for. `alive`: of each partition, the warps that have further instructions.
    pub fn end_cycle(&mut self, alive: impl Fn(usize) -> WarpSet) {
        let Some(width) = self.width else { return };
        if let Some((partition, warp)) = self.decoding.take() {
            self.buffered[partition][warp] = width;
            self.empty[partition] &= !(1 << warp);
        }
        let (partitions, warps) = (self.empty.len(), self.buffered[0].len());
        let slots = partitions * warps;
        let wants = |number: &usize| {
            let (partition, warp) = (number % partitions, number / partitions);
            (self.empty[partition] & alive(partition)) >> warp & 1 == 1
        };
        if let Some(number) = (self.next..slots).chain(0..self.next).find(wants) {
            self.decoding = Some((number % partitions, number / partitions));
            self.next = (number + 1) % slots;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: WarpSet = 0b111;

    /// Partition and slot of the warps that have instructions in each cycle; each issues one in the cycle that it may.
    fn issued(buffers: &mut InstructionBuffers, cycles: usize) -> Vec<Vec<(usize, usize)>> {
        let cycle = |_| {
            let ready: Vec<(usize, usize)> = (0..2)
                .flat_map(|partition| (0..3).map(move |warp| (partition, warp)))
                .filter(|&(partition, warp)| buffers.empty(partition) >> warp & 1 == 0)
                .collect();
            for &(partition, warp) in &ready {
                buffers.issue(partition, warp, false);
            }
            buffers.end_cycle(|_| ALL);
            ready
        };
        (0..cycles).map(cycle).collect()
    }

    #[test]
    fn one_warp_of_the_sm_is_fetched_for_in_each_cycle_and_issues_from_the_second_on() {
        let mut buffers = InstructionBuffers::new(2, 2, 3);
        let turns = issued(&mut buffers, 9);
        let of = |cycle: usize| turns[cycle].clone();
        assert_eq!([of(0), of(1)], [vec![], vec![]]);
        assert_eq!(of(2), [(0, 0)]);
        // Each has two instructions, and another comes in each cycle.
        assert_eq!(of(3), [(0, 0), (1, 0)]);
        assert_eq!(of(4), [(0, 1), (1, 0)]);
        assert_eq!(of(7), [(0, 2), (1, 2)]);
        assert_eq!(of(8), [(0, 0), (1, 2)]);
    }

    #[test]
    fn a_branch_takes_what_is_behind_it_away() {
        let mut buffers = InstructionBuffers::new(4, 2, 3);
        (0..2).for_each(|_| buffers.end_cycle(|partition| if partition == 1 { 0b010 } else { 0 }));
        assert_eq!(buffers.empty(1) & ALL, 0b101);
        buffers.issue(1, 1, false);
        assert_eq!(buffers.empty(1) & ALL, 0b101);
        buffers.issue(1, 1, true);
        assert_eq!(buffers.empty(1) & ALL, ALL);
    }

    #[test]
    fn a_warp_that_starts_has_nothing_of_the_one_before_and_without_a_limit_none_waits() {
        let mut buffers = InstructionBuffers::new(4, 2, 3);
        (0..2).for_each(|_| buffers.end_cycle(|partition| if partition == 0 { 0b001 } else { 0 }));
        assert_eq!(buffers.empty(0) & ALL, 0b110);
        buffers.start(0, 0);
        assert_eq!(buffers.empty(0) & ALL, ALL);
        assert_eq!(InstructionBuffers::new(0, 2, 3).empty(1), 0);
    }
}
