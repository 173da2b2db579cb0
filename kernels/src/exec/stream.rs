//! A launch as a stream of machine instructions with the value of every operand.
//!
//! A block is executed when it is started, so what the stream delivers depends on the order of the blocks
//! alone, and is forgotten when the block ends.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::record::RecordReader;
use super::replay::Replay;
use super::run::{Launched, PtxRun};
use super::store::{BlockRecords, Store};
use crate::program::{BlockIndex, Launch, Program, Races, Stream, StreamError, WarpInstruction};

/// Bytes of a block's records that are kept in memory.
const BLOCK_BYTES: usize = 16 << 20;

/// A launch of a run.
pub struct PtxStream<'a> {
    run: &'a mut PtxRun,
    launched: Launched,
    blocks: BTreeMap<BlockIndex, Vec<Replay>>,
    started: Option<BlockIndex>,
}

impl<'a> PtxStream<'a> {
    /// The stream of the run's current launch.
    pub(super) fn new(run: &'a mut PtxRun, launched: Launched) -> Self {
        PtxStream { run, launched, blocks: BTreeMap::new(), started: None }
    }
}

impl Stream for PtxStream<'_> {
    fn program(&self) -> &Program {
        &self.launched.code.program
    }

    fn launch(&self) -> &Launch {
        &self.launched.prepared.launch
    }

    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        check_order(&self.launched, self.started, block)?;
        let store = Arc::new(Store::new(BLOCK_BYTES));
        let records = self.run.record(&self.launched, block, &store);
        let records = records.map_err(|error| StreamError(error.to_string()))?;
        self.started = Some(block);
        self.blocks.insert(block, replays(&self.launched, block, &store, records));
        Ok(())
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        let replay = self.blocks.get_mut(&block).and_then(|warps| warps.get_mut(warp));
        let replay = replay.ok_or_else(|| not_started(&self.launched, block, warp))?;
        replay.next(&self.launched, into)
    }

    fn finish_block(&mut self, block: BlockIndex) {
        self.blocks.remove(&block);
    }

    fn races(&mut self) -> Result<Option<Arc<Races>>, StreamError> {
        self.run.races_of_current().map(Some)
    }
}

/// The warps of a block before their first instructions.
pub(super) fn replays(
    launched: &Launched,
    block: BlockIndex,
    store: &Arc<Store>,
    records: BlockRecords,
) -> Vec<Replay> {
    let readers = records.into_iter().map(|pieces| RecordReader::new(store.clone(), pieces));
    readers.enumerate().map(|(warp, reader)| Replay::new(launched, block, reader, warp)).collect()
}

/// That a block may be started after the last one that was.
pub(super) fn check_order(
    launched: &Launched,
    last: Option<BlockIndex>,
    block: BlockIndex,
) -> Result<(), StreamError> {
    let blocks = launched.prepared.launch.blocks();
    if block < blocks && last.is_none_or(|last| last < block) {
        return Ok(());
    }
    Err(StreamError(format!(
        "kernel `{}`: block {block} is started after {last:?}; accepted: increasing numbers below {blocks}",
        launched.code.kernel.name
    )))
}

/// A warp was asked for too early, or is none of the block.
pub(super) fn not_started(launched: &Launched, block: BlockIndex, warp: usize) -> StreamError {
    let name = &launched.code.kernel.name;
    StreamError(format!("kernel `{name}`: warp {warp} of block {block}, which has not been started"))
}
