//! The SIMT stack of a warp: which lanes execute where, and where they meet again.
//!
//! Lanes that part at a branch reconverge at its immediate postdominator. Of the paths, the one whose first
//! instruction comes first in the program runs first.

use crate::program::LaneMask;

/// No reconvergence point: the lanes meet only at the end of the kernel.
const NEVER: u32 = u32::MAX;

/// A path that a warp has still to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Path {
    /// Next instruction.
    next: u32,
    /// Where the path ends and its lanes join those below.
    until: u32,
    lanes: LaneMask,
}

/// The paths of a warp; the last one executes.
#[derive(Clone, Debug)]
pub(super) struct Stack {
    paths: Vec<Path>,
}

impl Stack {
    /// All lanes at the first instruction.
    pub(super) fn new(lanes: LaneMask) -> Stack {
        Stack { paths: vec![Path { next: 0, until: NEVER, lanes }] }
    }

    /// The next instruction and the lanes on its path; `None` when all lanes have exited.
    pub(super) fn top(&mut self) -> Option<(u32, LaneMask)> {
        while let Some(path) = self.paths.last() {
            if path.lanes != 0 && path.next != path.until {
                return Some((path.next, path.lanes));
            }
            self.paths.pop();
        }
        None
    }

    /// Lanes that have not exited.
    pub(super) fn live(&self) -> LaneMask {
        self.paths.iter().fold(0, |lanes, path| lanes | path.lanes)
    }

    /// Goes on to an instruction, on the whole path.
    pub(super) fn go_to(&mut self, next: u32) {
        if let Some(path) = self.paths.last_mut() {
            path.next = next;
        }
    }

    /// Ends lanes.
    pub(super) fn exit(&mut self, lanes: LaneMask) {
        for path in &mut self.paths {
            path.lanes &= !lanes;
        }
    }

    /// Parts the lanes of the path: `targets` are instructions in ascending order, with the lanes that go
    /// there; at least two have lanes.
    pub(super) fn diverge(&mut self, targets: &[(u32, LaneMask)], reconvergence: Option<u32>) {
        let Some(path) = self.paths.pop() else {
            return;
        };
        let until = reconvergence.unwrap_or(path.until);
        if let Some(reconvergence) = reconvergence.filter(|&at| at != path.until) {
            self.paths.push(Path { next: reconvergence, ..path });
        }
        for &(next, lanes) in targets.iter().rev() {
            if lanes != 0 && next != until {
                self.paths.push(Path { next, until, lanes });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Stack;

    #[test]
    fn both_arms_run_before_the_join() {
        let mut stack = Stack::new(0b1111);
        stack.diverge(&[(1, 0b0011), (5, 0b1100)], Some(9));
        assert_eq!(stack.top(), Some((1, 0b0011)));
        stack.go_to(9);
        assert_eq!(stack.top(), Some((5, 0b1100)));
        stack.go_to(9);
        assert_eq!(stack.top(), Some((9, 0b1111)));
    }

    #[test]
    fn a_loop_left_lane_by_lane_does_not_grow_the_stack() {
        let mut stack = Stack::new(0xffff_ffff);
        for lane in 0..31 {
            let staying = 0xffff_ffff << (lane + 1);
            let (_, lanes) = stack.top().unwrap();
            stack.diverge(&[(0, lanes & staying), (7, lanes & !staying)], Some(7));
            assert!(stack.paths.len() <= 2);
        }
        stack.go_to(7);
        assert_eq!(stack.top(), Some((7, 0xffff_ffff)));
    }

    #[test]
    fn exited_lanes_do_not_come_back_at_the_join() {
        let mut stack = Stack::new(0b1111);
        stack.diverge(&[(1, 0b0011), (5, 0b1100)], Some(9));
        stack.exit(0b0011);
        assert_eq!(stack.top(), Some((5, 0b1100)));
        stack.go_to(9);
        assert_eq!(stack.top(), Some((9, 0b1100)));
        assert_eq!(stack.live(), 0b1100);
    }

    #[test]
    fn paths_that_never_meet_run_one_after_the_other() {
        let mut stack = Stack::new(0b11);
        stack.diverge(&[(1, 0b01), (5, 0b10)], None);
        assert_eq!(stack.top(), Some((1, 0b01)));
        stack.exit(0b01);
        assert_eq!(stack.top(), Some((5, 0b10)));
        stack.exit(0b10);
        assert_eq!(stack.top(), None);
    }
}
