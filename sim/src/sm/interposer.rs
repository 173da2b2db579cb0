//! What stands between the SM and the operand storage of a partition.

use warpfile_engine::Engine;
use warpfile_kernels::program::{BlockIndex, InstId, PhysReg, Program};

use super::SimError;
use super::design::{
    LineRequest, Metadata, OperandStorage, RowUses, StorageInputs, StorageOutputs, WarpRows, WarpSlot,
};
use super::report::PortActivity;
use crate::counters::Counts;
use crate::mechanisms::Compiled;

/// A mechanism in front of a partition's operand storage. All that passes between the SM and the storage passes here, so it
/// may
///
/// - rename: change rows of [`Issue::sources`](super::design::Issue::sources) and of
///   [`Write::row`](super::design::Write::row);
/// - delay: offer an instruction or a result later, since what is not taken stays offered;
/// - take a result and have it written later ([`StorageOutputs::written`]);
/// - choose where a result goes, or that it need not be written: take it, and offer the storage another write, or none;
/// - inject: offer the storage instructions and results of its own, under the number of the instruction that they go
///   before, and keep what is dispatched and delivered for them to itself;
/// - answer an instruction instead of executing it ([`StorageOutputs::answered`]): the answer is compared with the kernel's
///   results.
///
/// What it does not change it passes on, which is what every method does if it is left out.
pub trait Interposer {
    /// As [`OperandStorage::operand_cycles`].
    fn operand_cycles(&self, storage: &dyn OperandStorage) -> u64 {
        storage.operand_cycles()
    }

    /// As [`OperandStorage::start_kernel`].
    ///
    /// # Errors
    /// The program is not one that can be run.
    fn start_kernel(
        &mut self,
        storage: &mut dyn OperandStorage,
        kernel: &Compiled<'_>,
    ) -> Result<(), SimError> {
        storage.start_kernel(kernel)
    }

    /// As [`OperandStorage::registers_per_warp`].
    fn registers_per_warp(&self, storage: &dyn OperandStorage, program: &Program) -> u64 {
        storage.registers_per_warp(program)
    }

    /// As [`OperandStorage::row_uses`].
    fn row_uses(&self, storage: &dyn OperandStorage, inst: InstId) -> RowUses {
        storage.row_uses(inst)
    }

    /// As [`OperandStorage::decode`].
    fn decode(&mut self, storage: &mut dyn OperandStorage, warp: WarpSlot, inst: InstId) {
        storage.decode(warp, inst);
    }

    /// As [`OperandStorage::pick`].
    fn pick(&mut self, storage: &mut dyn OperandStorage, warp: WarpSlot, inst: InstId) {
        storage.pick(warp, inst);
    }

    /// As [`OperandStorage::start_warp`].
    fn start_warp(
        &mut self,
        storage: &mut dyn OperandStorage,
        warp: WarpSlot,
        rows: WarpRows,
        block: BlockIndex,
    ) {
        storage.start_warp(warp, rows, block);
    }

    /// As [`OperandStorage::held_warps`].
    fn held_warps(&self, storage: &dyn OperandStorage) -> u64 {
        storage.held_warps()
    }

    /// As [`OperandStorage::cycle`].
    ///
    /// # Errors
    /// A circuit does what it must not.
    fn cycle(
        &mut self,
        storage: &mut dyn OperandStorage,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
    ) -> Result<(), SimError> {
        storage.cycle(inputs, outputs)
    }

    /// As [`OperandStorage::end_warp`].
    fn end_warp(&mut self, storage: &mut dyn OperandStorage, warp: WarpSlot) {
        storage.end_warp(warp);
    }

    /// As [`OperandStorage::ending_warps`].
    fn ending_warps(&self, storage: &dyn OperandStorage) -> u64 {
        storage.ending_warps()
    }

    /// Adds what it has counted so far, by group; the storage adds its own.
    fn count(&self, _into: &mut Counts) {}

    /// Its circuits by their names, for waveforms; none if it is behavioural.
    fn circuits(&self) -> Vec<(&'static str, &dyn Engine)> {
        Vec::new()
    }
}

/// An operand storage with something in front of it.
pub struct Interposed<'a> {
    /// In front.
    pub interposer: Box<dyn Interposer + 'a>,
    /// Behind it.
    pub storage: Box<dyn OperandStorage + 'a>,
}

impl OperandStorage for Interposed<'_> {
    fn operand_cycles(&self) -> u64 {
        self.interposer.operand_cycles(&*self.storage)
    }

    fn dispatches(&self) -> usize {
        self.storage.dispatches()
    }

    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.interposer.start_kernel(&mut *self.storage, kernel)
    }

    fn metadata(&self, inst: InstId) -> Metadata {
        self.storage.metadata(inst)
    }

    fn row_uses(&self, inst: InstId) -> RowUses {
        self.interposer.row_uses(&*self.storage, inst)
    }

    fn waits_for(&self, inst: InstId) -> &[PhysReg] {
        self.storage.waits_for(inst)
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        self.interposer.registers_per_warp(&*self.storage, program)
    }

    fn decode(&mut self, warp: WarpSlot, inst: InstId) {
        self.interposer.decode(&mut *self.storage, warp, inst);
    }

    fn pick(&mut self, warp: WarpSlot, inst: InstId) {
        self.interposer.pick(&mut *self.storage, warp, inst);
    }

    fn start_warp(&mut self, warp: WarpSlot, rows: WarpRows, block: BlockIndex) {
        self.interposer.start_warp(&mut *self.storage, warp, rows, block);
    }

    fn held_warps(&self) -> u64 {
        self.interposer.held_warps(&*self.storage)
    }

    fn suspendable_warps(&self) -> u64 {
        self.storage.suspendable_warps()
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        self.interposer.cycle(&mut *self.storage, inputs, outputs)
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.interposer.end_warp(&mut *self.storage, warp);
    }

    fn ending_warps(&self) -> u64 {
        self.interposer.ending_warps(&*self.storage)
    }

    fn line_request(&mut self) -> Option<LineRequest<'_>> {
        self.storage.line_request()
    }

    fn count(&self, into: &mut Counts) {
        self.storage.count(into);
        self.interposer.count(into);
    }

    fn activity(&self) -> Vec<PortActivity> {
        self.storage.activity()
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        self.storage.circuit()
    }

    fn circuits_in_front(&self) -> Vec<(&'static str, &dyn Engine)> {
        self.storage.circuits_in_front().into_iter().chain(self.interposer.circuits()).collect()
    }
}
