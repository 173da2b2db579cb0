//! Register lines on their way between the partitions' operand storage and the L1.
//!
//! A storage offers one request at a time. The L1 takes it in the cycle in which it is offered or later; the storage
//! learns of it in the cycle after, so that one storage has a request taken every other cycle at most. If the L1 takes
//! one request a cycle, storages and data take turns.

use super::super::design::{FilledLine, Line, LineRequest};
use super::Machine;

/// Lines on their way to a partition that there is room for from the start.
const FETCHES: usize = 256;

/// A partition's side of the L1.
pub(super) struct LinePort {
    /// The L1 has taken the request that the storage offers.
    granted: bool,
    /// Lines on their way to the storage, and the cycles in which they are there.
    fetched: Vec<(u64, FilledLine)>,
}

impl LinePort {
    pub fn new() -> LinePort {
        LinePort { granted: false, fetched: Vec::with_capacity(FETCHES) }
    }

    /// Whether the request offered is taken in this cycle.
    pub fn take_grant(&mut self) -> bool {
        std::mem::take(&mut self.granted)
    }

    /// A line that is there by cycle `now`: of several the one that was there first.
    pub fn take_due(&mut self, now: u64) -> Option<FilledLine> {
        let due = self.fetched.iter().enumerate().filter(|(_, (at, _))| *at <= now);
        let (first, _) = due.min_by_key(|(_, (at, _))| *at)?;
        Some(self.fetched.remove(first).1)
    }
}

impl Machine<'_, '_> {
    /// One cycle of the L1: data and register lines, each first in its turn.
    pub(super) fn access_l1(&mut self) {
        if self.partitions[0].line_port.is_none() {
            self.send_transactions();
        } else if self.lines_first {
            self.request_lines();
            self.send_transactions();
            self.lines_first = false;
        } else {
            self.send_transactions();
            self.request_lines();
            self.lines_first = true;
        }
    }

    /// Performs the requests that the partitions offer, as many as the L1 takes.
    fn request_lines(&mut self) {
        let count = self.partitions.len();
        for index in self.in_turn() {
            let partition = &mut self.partitions[index];
            let Some(port) = &mut partition.line_port else { continue };
            let Some(offered) = partition.design.storage.line_request().filter(|_| !port.granted) else {
                continue;
            };
            let of_sm = |line: Line| Line { warp: line.warp * count + index, ..line };
            let request = match offered {
                LineRequest::Fetch { line, invalidates, tag } => {
                    LineRequest::Fetch { line: of_sm(line), invalidates, tag }
                }
                LineRequest::Write { line, values } => LineRequest::Write { line: of_sm(line), values },
                LineRequest::Invalidate { line } => LineRequest::Invalidate { line: of_sm(line) },
                LineRequest::Drop { warp } => LineRequest::Drop { warp: warp * count + index },
            };
            let Some(taken) = self.memory.request_line(self.now, &request) else { continue };
            port.granted = true;
            if let (Some(fetched), LineRequest::Fetch { line, tag, .. }) = (taken, offered) {
                let filled = FilledLine { line, tag, values: fetched.values };
                port.fetched.push((fetched.at.max(self.now + 1), filled));
            }
            self.last_progress = self.now;
        }
    }
}
