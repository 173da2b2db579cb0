//! Block dispatch, fetch, barriers, the end of warps and blocks.

use warpfile_kernels::program::InstId;

use super::super::SimError;
use super::super::blocks::Block;
use super::super::design::{Home, Metadata, WarpPlace, WarpRows};
use super::super::warp::{Head, State, Warp, each, first};
use super::{Machine, Running};

impl Machine<'_, '_> {
    /// Starts the next block of the grid if there is room; at most one a cycle.
    pub(super) fn start_block(&mut self, launch: &mut Running<'_>) -> Result<(), SimError> {
        if launch.blocks_left == 0 || launch.resident_blocks == launch.shape.resident_blocks {
            return Ok(());
        }
        let Some(slot) = self.blocks.iter().position(|block| block.index.is_none()) else {
            return Ok(());
        };
        self.execute_other_sms_blocks(launch)?;
        let index = launch.next_block;
        launch.stream.start_block(index)?;
        launch.next_block += 1;
        launch.blocks_left -= 1;
        launch.resident_blocks += 1;
        let warps = launch.shape.warps as u32;
        self.blocks[slot] = Block { index: Some(index), warps, running: warps, arrived: 0 };
        let mut number = 0;
        while let Some(Home { at, rows }) = self.home(launch, slot, number) {
            self.start_warp(launch, (at.partition, at.warp), (slot, number), rows)?;
            number += 1;
        }
        for warp_slot in 0..self.config.sm.warps as usize {
            if number == launch.shape.warps {
                break;
            }
            let (partition, warp) = self.place(warp_slot);
            if self.partitions[partition].warps.get(warp).state() == State::Empty {
                let rows = self.rows_of(launch, warp);
                self.start_warp(launch, (partition, warp), (slot, number), rows)?;
                number += 1;
            }
        }
        self.end_block_without_warps(launch, slot);
        Ok(())
    }

    /// Where a warp's registers lie if no layer has a say in it. Behind several schedulers, which often issue one instruction for
    /// two warps at once, register `r` of warp `w` is in bank `r + w`, so that they find two banks; but for the last ones, which go around its end,
    /// unless it has a multiple of the banks.
    fn rows_of(&self, launch: &Running<'_>, warp: usize) -> WarpRows {
        let (warp, rows) = (warp as u32, launch.shape.rows_per_warp);
        let first = warp * rows;
        if self.config.sm.schedulers_per_partition == 1 || rows == 0 {
            return WarpRows::from(first);
        }
        let banks = self.config.register_file.bank_groups as u32;
        let behind = (warp + banks - first % banks) % banks;
        WarpRows::rotated(first, rows, behind % rows)
    }

    /// Moves registers to where layers put them.
    pub(super) fn place_registers(&mut self) {
        for layer in &mut self.layers {
            while let Some(Home { at, rows }) = layer.placed() {
                self.partitions[at.partition].warps.set_rows(at.warp, rows);
            }
        }
    }

    /// Where a layer puts a warp of a block, if there is such a warp and a layer has a say in it.
    fn home(&self, launch: &Running<'_>, slot: usize, number: usize) -> Option<Home> {
        let layers = self.layers.iter().filter(|_| number < launch.shape.warps);
        layers.filter_map(|layer| layer.home(slot, number)).next()
    }

    /// Executes the blocks before the SM's next one, or before the end of the grid: what they leave in memory is
    /// seen by the blocks after them.
    pub(super) fn execute_other_sms_blocks(&self, launch: &mut Running<'_>) -> Result<(), SimError> {
        let blocks = launch.stream.launch().blocks();
        while launch.next_block < blocks && !self.share.contains(launch.next_block) {
            launch.stream.start_block(launch.next_block)?;
            launch.stream.finish_block(launch.next_block);
            launch.next_block += 1;
        }
        Ok(())
    }

    fn start_warp(
        &mut self,
        launch: &mut Running<'_>,
        (partition, warp): (usize, usize),
        (block, number): (usize, usize),
        rows: WarpRows,
    ) -> Result<(), SimError> {
        let index = self.blocks[block].index.unwrap_or_default();
        let at = &mut self.partitions[partition];
        at.warps.start(warp, block, number, rows);
        self.buffers.start(partition, warp);
        at.design.storage.start_warp(warp, rows, index);
        for layer in &mut self.layers {
            layer.start_warp(WarpPlace { partition, warp }, rows, index);
        }
        self.fetch(launch, partition, warp)
    }

    /// Fetches for warps that found no free entry before.
    pub(super) fn retry_fetches(
        &mut self,
        launch: &mut Running<'_>,
        partition: usize,
    ) -> Result<(), SimError> {
        // A fetch that ends a warp may release others from a barrier, so the set is looked at again.
        let mut not_asked = u64::MAX;
        while let Some(warp) = first(self.partitions[partition].warps.sets().fetching & not_asked) {
            self.fetch(launch, partition, warp)?;
            not_asked = u64::MAX.checked_shl(warp as u32 + 1).unwrap_or(0);
        }
        Ok(())
    }

    /// Makes a warp's next instruction visible to the hardware, or ends the warp.
    pub(super) fn fetch(
        &mut self,
        launch: &mut Running<'_>,
        partition: usize,
        warp: usize,
    ) -> Result<(), SimError> {
        let at = &mut self.partitions[partition];
        let Some(id) = at.in_flight.take() else {
            at.warps.set_state(warp, State::Fetching);
            return Ok(());
        };
        let &Warp { block, number, .. } = at.warps.get(warp);
        let block_index = self.blocks[block].index.unwrap_or_default();
        let entry = at.in_flight.get_mut(id);
        let more = launch.stream.next(block_index, number, &mut entry.instruction)?;
        if !more {
            at.in_flight.release(id);
            at.warps.set_state(warp, State::Ended);
            self.blocks[block].running -= 1;
            return self.release_barrier(launch, block);
        }
        let count = launch.kernel.instructions.len();
        let index = entry.index();
        if index >= count {
            return Err(SimError::NoSuchInstruction {
                kernel: launch.program().name.clone(),
                block: block_index,
                warp: number,
                index: entry.instruction.inst.0,
                count,
            });
        }
        entry.warp = warp;
        let decoded = &launch.kernel.instructions[index];
        let Metadata { instructions, take_slots } = decoded.metadata;
        let metadata = if take_slots { instructions } else { 0 };
        self.totals.metadata_instructions += u64::from(instructions - metadata);
        at.warps.set_head(warp, Head { id, index, metadata }, decoded.suspends, decoded.slot_class);
        let inst = InstId(index as u32);
        at.design.storage.decode(warp, inst);
        for layer in &mut self.layers {
            layer.decode(WarpPlace { partition, warp }, &at.in_flight.get(id).instruction);
        }
        Ok(())
    }

    /// A warp's barrier instruction has reached the barrier unit.
    pub(super) fn arrive(
        &mut self,
        launch: &mut Running<'_>,
        partition: usize,
        warp: usize,
    ) -> Result<(), SimError> {
        let warps = &mut self.partitions[partition].warps;
        let block = warps.get(warp).block;
        warps.set_state(warp, State::AtBarrier { arrived: true });
        self.blocks[block].arrived += 1;
        self.release_barrier(launch, block)
    }

    /// Releases a block's barrier if all its warps that have not ended are there.
    fn release_barrier(&mut self, launch: &mut Running<'_>, block: usize) -> Result<(), SimError> {
        if self.blocks[block].arrived == 0 || self.blocks[block].arrived < self.blocks[block].running {
            return Ok(());
        }
        self.blocks[block].arrived = 0;
        for partition in 0..self.partitions.len() {
            for warp in each(self.partitions[partition].warps.sets().arrived) {
                if self.partitions[partition].warps.get(warp).block == block {
                    self.fetch(launch, partition, warp)?;
                }
            }
        }
        Ok(())
    }

    /// Frees the slots of warps of which nothing is left, and of blocks of which no warp is left.
    pub(super) fn free_ended_warps(&mut self, launch: &mut Running<'_>, partition: usize) {
        let sets = self.partitions[partition].warps.sets();
        for warp in each(sets.ended & !sets.holding & !sets.flushing) {
            let at = &mut self.partitions[partition];
            if at.warps.get(warp).in_flight() > 0 {
                continue;
            }
            if at.ending >> warp & 1 == 0 {
                at.ending |= 1 << warp;
                at.design.storage.end_warp(warp);
                for layer in &mut self.layers {
                    layer.end_warp(WarpPlace { partition, warp });
                }
            }
            if at.design.storage.ending_warps() >> warp & 1 == 1 {
                continue;
            }
            at.ending &= !(1 << warp);
            let block = at.warps.get(warp).block;
            at.warps.set_state(warp, State::Empty);
            self.blocks[block].warps -= 1;
            self.end_block_without_warps(launch, block);
        }
    }

    fn end_block_without_warps(&mut self, launch: &mut Running<'_>, block: usize) {
        if self.blocks[block].warps > 0 {
            return;
        }
        if let Some(index) = self.blocks[block].index.take() {
            launch.stream.finish_block(index);
            launch.resident_blocks -= 1;
            self.totals.blocks_ended += 1;
            self.last_progress = self.now;
        }
    }
}
