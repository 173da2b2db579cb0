//! The L1 in a design that keeps registers in memory: one request a cycle, of a partition's storage or of the loads and
//! stores.
//!
//! What a storage offers, which of the offers passes and what L1 says to it are all of one cycle, so this comes before
//! the storages' cycle. An instruction dispatched in that cycle asks for the port from the next one on, when its
//! operands are there; how long a load takes is the same as in a design without register lines.

use super::super::design::{FilledLine, LinePort, LineRequest, Offer};
use super::super::memory::LineAnswer;
use super::Machine;

/// Lines on their way that there is room for from the start.
pub(super) const ON_THEIR_WAY: usize = 1024;
/// Cycles from an instruction's dispatch to the first in which it asks for the port.
const AFTER_DISPATCH: u64 = 1;

impl Machine<'_, '_> {
    /// One cycle of the port, and of the L1 behind it. An instruction without transactions does not ask for the port.
    pub(super) fn access_l1(&mut self) {
        if !self.memory.has_transaction() {
            self.send_transactions(AFTER_DISPATCH);
        }
        let due = self.take_due();
        let Some(mut port) = self.line_port.take() else { return };
        for (shard, partition) in self.partitions.iter_mut().enumerate() {
            port.set_request(shard, partition.design.storage.line_request().as_ref());
        }
        port.set_data(self.memory.has_transaction());
        port.set_fill(due.as_ref());
        let taken = self.serve(port.as_mut());
        port.end_cycle(taken);
        self.line_port = Some(port);
    }

    /// Has the L1 perform what it is offered; gives whether it takes it.
    fn serve(&mut self, port: &mut dyn LinePort) -> bool {
        let request = match port.offer() {
            Some(Offer::Line(request)) => request,
            Some(Offer::Data) => return self.send_transactions(AFTER_DISPATCH),
            None => return false,
        };
        let Some(answer) = self.memory.request_line(self.now, &request) else { return false };
        if let (LineAnswer::Fetched(fetched), LineRequest::Fetch { line, tag, .. }) = (answer, request) {
            let filled = FilledLine { line, tag, values: fetched.values };
            self.lines.push((fetched.at.max(self.now + 1), filled));
        }
        self.last_progress = self.now;
        true
    }

    /// A line that is there: of several the one that was there first.
    fn take_due(&mut self) -> Option<FilledLine> {
        let due = self.lines.iter().enumerate().filter(|(_, (at, _))| *at <= self.now);
        let (first, _) = due.min_by_key(|(_, (at, _))| *at)?;
        Some(self.lines.remove(first).1)
    }
}
