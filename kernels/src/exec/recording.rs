//! What the launches of a run do, executed once and replayed any number of times.
//!
//! Whoever first asks for a block has it executed, with all blocks before it; the others find its records. So the first
//! design starts at once, and what is executed grows with the blocks and not with designs or SMs. Records stay in memory
//! up to a bound, and go to a temporary file without a name from there on.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::print::Printed;
use super::replay::Replay;
use super::run::{Launched, PtxRun};
use super::store::{BlockRecords, Store};
use super::stream::{check_order, not_started, replays};
use crate::program::{BlockIndex, Launch, Launches, Program, Stream, StreamError, WarpInstruction};

/// Bytes of records that are kept in memory if nothing else is said.
const MEMORY_BYTES: usize = 256 << 20;

/// What the launches of a run do.
#[derive(Debug)]
pub struct Recording(Mutex<Recorder>);

/// A reader of a [`Recording`], from its first launch.
#[derive(Debug)]
pub struct Replayed {
    recording: Arc<Recording>,
    next: usize,
}

#[derive(Debug)]
struct Recorder {
    run: PtxRun,
    /// All but the last have been executed to their end.
    launches: Vec<RecordedLaunch>,
    /// There are no more launches.
    ended: bool,
    /// Why the run cannot go on: asked again, it says the same.
    failure: Option<String>,
    store: Arc<Store>,
}

/// A launch with the records of its first blocks.
#[derive(Debug)]
struct RecordedLaunch {
    launched: Launched,
    blocks: Vec<BlockRecords>,
}

impl Recording {
    /// Of a run before its first launch.
    pub fn new(run: PtxRun) -> Recording {
        Recording::with_memory(run, MEMORY_BYTES)
    }

    /// The same with so many bytes of records in memory at most, but for what is being replayed.
    pub fn with_memory(run: PtxRun, bytes: usize) -> Recording {
        let store = Arc::new(Store::new(bytes));
        Recording(Mutex::new(Recorder { run, launches: Vec::new(), ended: false, failure: None, store }))
    }

    /// Its launches, from the first.
    pub fn replay(self: &Arc<Self>) -> Replayed {
        Replayed { recording: self.clone(), next: 0 }
    }

    /// Executes what is left of the run, and looks at what it has come to.
    ///
    /// # Errors
    /// Whatever ends a launch early.
    pub fn at_end<T>(&self, look: impl FnOnce(&PtxRun) -> T) -> Result<T, StreamError> {
        let mut recorder = self.lock();
        while !recorder.ended {
            recorder.advance()?;
        }
        Ok(look(&recorder.run))
    }

    /// Looks at the run as it is.
    pub fn now<T>(&self, look: impl FnOnce(&PtxRun) -> T) -> T {
        look(&self.lock().run)
    }

    /// What the kernels executed so far have printed.
    pub fn printed(&self) -> Printed {
        self.lock().run.printed().clone()
    }

    /// Bytes of records in the temporary file.
    pub fn spilled_bytes(&self) -> u64 {
        self.lock().store.spilled_bytes()
    }

    /// A thread that has ended in the middle of a block leaves a failure, so that what it was about to change is not read.
    fn lock(&self) -> MutexGuard<'_, Recorder> {
        self.0.lock().unwrap_or_else(|poisoned: PoisonError<MutexGuard<'_, Recorder>>| {
            let mut recorder = poisoned.into_inner();
            recorder.failure.get_or_insert_with(|| "another thread has failed".to_owned());
            recorder
        })
    }
}

impl Recorder {
    /// A launch; `None` after the last.
    fn launch(&mut self, number: usize) -> Result<Option<Launched>, StreamError> {
        while number >= self.launches.len() {
            if self.ended {
                return Ok(None);
            }
            self.advance()?;
        }
        Ok(Some(self.launches[number].launched.clone()))
    }

    /// Ends the current launch and goes on to the next, if there is one.
    fn advance(&mut self) -> Result<(), StreamError> {
        self.check()?;
        if let Some(last) = self.launches.last() {
            let (number, blocks) = (self.launches.len() - 1, last.launched.prepared.launch.blocks());
            self.execute(number, blocks)?;
        }
        let next = self.run.advance();
        match self.noticing(next)? {
            Some(launched) => self.launches.push(RecordedLaunch { launched, blocks: Vec::new() }),
            None => self.ended = true,
        }
        Ok(())
    }

    /// Executes and records the blocks of a launch before `end` that have not been.
    fn execute(&mut self, launch: usize, end: BlockIndex) -> Result<(), StreamError> {
        while (self.launches[launch].blocks.len() as u64) < end {
            self.check()?;
            let RecordedLaunch { launched, blocks } = &self.launches[launch];
            let records = self.run.record(launched, blocks.len() as u64, &self.store);
            let records = self.noticing(records)?;
            self.launches[launch].blocks.push(records);
        }
        Ok(())
    }

    /// That nothing has failed.
    fn check(&self) -> Result<(), StreamError> {
        self.failure.clone().map_or(Ok(()), |failure| Err(StreamError(failure)))
    }

    /// Keeps a failure: what it has left half done is not gone on with.
    fn noticing<T, E: ToString>(&mut self, result: Result<T, E>) -> Result<T, StreamError> {
        result.map_err(|error| {
            let failure = error.to_string();
            self.failure = Some(failure.clone());
            StreamError(failure)
        })
    }
}

impl Launches for Replayed {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        let number = self.next;
        let Some(launched) = self.recording.lock().launch(number)? else { return Ok(None) };
        self.next += 1;
        Ok(Some(Box::new(RecordedStream {
            recording: &self.recording,
            number,
            launched,
            blocks: BTreeMap::new(),
            started: None,
        })))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        Ok(true)
    }
}

/// A launch of a recording.
struct RecordedStream<'r> {
    recording: &'r Recording,
    /// Of the launch.
    number: usize,
    launched: Launched,
    /// Blocks that have started and not finished; `None` as long as nothing of them has been asked for.
    blocks: BTreeMap<BlockIndex, Option<Vec<Replay>>>,
    started: Option<BlockIndex>,
}

impl RecordedStream<'_> {
    fn open(&self, block: BlockIndex) -> Vec<Replay> {
        let (records, store) = {
            let recorder = self.recording.lock();
            (recorder.launches[self.number].blocks[block as usize].clone(), recorder.store.clone())
        };
        replays(&self.launched, block, &store, records)
    }
}

impl Stream for RecordedStream<'_> {
    fn program(&self) -> &Program {
        &self.launched.code.program
    }

    fn launch(&self) -> &Launch {
        &self.launched.prepared.launch
    }

    /// Blocks of which nothing is asked for, because another SM has them, cost no more than this.
    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        check_order(&self.launched, self.started, block)?;
        self.started = Some(block);
        self.blocks.insert(block, None);
        self.recording.lock().execute(self.number, block + 1)
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        if let Some(None) = self.blocks.get(&block) {
            let opened = self.open(block);
            self.blocks.insert(block, Some(opened));
        }
        let warps = self.blocks.get_mut(&block).and_then(Option::as_mut);
        let replay = warps.and_then(|warps| warps.get_mut(warp));
        let replay = replay.ok_or_else(|| not_started(&self.launched, block, warp))?;
        replay.next(&self.launched, into)
    }

    fn finish_block(&mut self, block: BlockIndex) {
        self.blocks.remove(&block);
    }
}
