//! Instructions that a design answers instead of executing them.

use super::super::SimError;
use super::super::error::Compared;
use super::super::kernel::{Action, Decoded, MemoryKind};
use super::back::retire;
use super::{Machine, Running};

impl Machine<'_, '_> {
    /// An instruction has been answered: its results are compared with the kernel's, and nothing of it is left to do.
    pub(super) fn take_answer(
        &mut self,
        launch: &Running<'_>,
        partition: usize,
        id: u16,
        port: usize,
    ) -> Result<(), SimError> {
        let at = &mut self.partitions[partition];
        let entry = at.in_flight.get_mut(id);
        let warp = entry.warp;
        let decoded = &launch.kernel.instructions[entry.index()];
        if !may_be_answered(decoded) {
            let text = &launch.program().instructions[entry.index()].text;
            return Err(SimError::circuit(
                self.config,
                format!("it answers `{text}`, which does more than to write registers"),
            ));
        }
        let results = decoded.results.len();
        if let Err(mismatch) =
            self.oracle.check_results(&entry.instruction, results, &at.outputs.answers[port])
        {
            return Err(self.wrong(launch, partition, id, (Compared::Result, mismatch)));
        }
        entry.delivered = true;
        for &result in &decoded.results {
            at.scoreboard.clear(warp, usize::from(result));
        }
        for &predicate in &decoded.predicate_results {
            at.scoreboard.clear(warp, launch.kernel.predicate_bit(predicate));
        }
        if decoded.is_long() {
            at.warps.dispatch_long(warp);
        }
        at.finish(id, &launch.kernel);
        retire(&mut self.layers, partition, at, id);
        self.totals.answered_instructions += 1;
        self.last_progress = self.now;
        Ok(())
    }
}

/// Whether an instruction does nothing but to write registers.
fn may_be_answered(decoded: &Decoded) -> bool {
    let acts = match decoded.action {
        Action::Alu
        | Action::Sfu
        | Action::Double
        | Action::Texture
        | Action::Shared { .. }
        | Action::Constant => false,
        Action::Memory { kind, .. } => kind != MemoryKind::Load,
        Action::Branch | Action::Barrier | Action::Fence | Action::Release => true,
    };
    !acts && !decoded.results.is_empty() && (decoded.predicate_results.is_empty() || decoded.is_function)
}
