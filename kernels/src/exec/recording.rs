//! What the launches of a run do, executed once and replayed any number of times.
//!
//! Whoever first asks for a block has it executed, with all blocks before it; the others find its records. So the first
//! design starts at once, and what is executed grows with the blocks and not with designs or SMs. Records stay in memory
//! up to a bound, and go to a temporary file without a name beyond it. If it is known how many readers there will be, a
//! block is forgotten when the last of them has passed it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::blocks::Blocks;
use super::print::Printed;
use super::replay::Replay;
use super::run::{Launched, PtxRun};
use super::store::Store;
use super::stream::{check_order, not_started, replays};
use crate::program::{BlockIndex, Launch, Launches, Program, Races, Stream, StreamError, WarpInstruction};

/// Bytes of records that are kept in memory if nothing else is said.
const MEMORY_BYTES: usize = 256 << 20;

/// What the launches of a run do.
#[derive(Debug)]
pub struct Recording(Mutex<Recorder>);

/// A reader of a [`Recording`], from its first launch.
#[derive(Debug)]
pub struct Replayed {
    recording: Arc<Recording>,
    /// Its number among the readers.
    reader: usize,
    /// The launch that is next.
    next: usize,
}

#[derive(Debug)]
struct Recorder {
    run: PtxRun,
    /// From the first that a reader may still ask for. All but the last have been executed to their end.
    launches: VecDeque<RecordedLaunch>,
    /// Launches before those.
    launches_passed: usize,
    /// There are no more launches.
    ended: bool,
    /// Why the run cannot go on: asked again, it says the same.
    failure: Option<String>,
    blocks: Blocks,
    /// Of each reader the first block that it may still ask for, counted through all launches.
    readers: Vec<u64>,
    /// How many readers there will be, if that is known.
    expected: Option<usize>,
}

/// A launch whose blocks are being recorded.
#[derive(Clone, Debug)]
struct RecordedLaunch {
    launched: Launched,
    /// Blocks of all launches before it.
    first: u64,
}

impl RecordedLaunch {
    /// Blocks of all launches up to it.
    fn end(&self) -> u64 {
        self.first + self.launched.prepared.launch.blocks()
    }
}

impl Recording {
    /// Of a run before its first launch.
    pub fn new(run: PtxRun) -> Recording {
        Recording::with_memory(run, MEMORY_BYTES)
    }

    /// The same with so many bytes of records in memory at most, but for what is being replayed.
    pub fn with_memory(run: PtxRun, bytes: usize) -> Recording {
        Recording(Mutex::new(Recorder {
            run,
            launches: VecDeque::new(),
            launches_passed: 0,
            ended: false,
            failure: None,
            blocks: Blocks::new(Arc::new(Store::new(bytes))),
            readers: Vec::new(),
            expected: None,
        }))
    }

    /// The same for so many readers and no more: what all of them have passed is forgotten.
    pub fn for_readers(mut self, readers: usize) -> Recording {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).expected = Some(readers);
        self
    }

    /// Its launches, from the first.
    ///
    /// # Panics
    /// There are as many readers as it is [for](Recording::for_readers).
    pub fn replay(self: &Arc<Self>) -> Replayed {
        let mut recorder = self.lock();
        let reader = recorder.readers.len();
        assert!(
            recorder.expected.is_none_or(|expected| reader < expected),
            "a recording for {reader} readers is asked for another"
        );
        recorder.readers.push(0);
        drop(recorder);
        Replayed { recording: self.clone(), reader, next: 0 }
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
        self.lock().blocks.store().spilled_bytes()
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
    fn launch(&mut self, number: usize) -> Result<Option<RecordedLaunch>, StreamError> {
        while number >= self.launches_passed + self.launches.len() {
            if self.ended {
                return Ok(None);
            }
            self.advance()?;
        }
        // A reader asks for the launch after the one that it is in, which is not passed before it has said so.
        let launch = number.checked_sub(self.launches_passed).and_then(|at| self.launches.get(at));
        launch.cloned().map(Some).ok_or_else(|| StreamError(format!("launch {number} is gone")))
    }

    /// Ends the current launch and goes on to the next, if there is one.
    fn advance(&mut self) -> Result<(), StreamError> {
        self.check()?;
        let end = self.launches.back().map_or(0, RecordedLaunch::end);
        self.execute(end)?;
        let next = self.run.advance();
        match self.noticing(next)? {
            Some(launched) => self.launches.push_back(RecordedLaunch { launched, first: end }),
            None => self.ended = true,
        }
        Ok(())
    }

    /// Executes and records the blocks before `end`, which is within the current launch, that have not been.
    fn execute(&mut self, end: u64) -> Result<(), StreamError> {
        while self.blocks.executed() < end {
            self.check()?;
            let Some(RecordedLaunch { launched, first }) = self.launches.back() else { return Ok(()) };
            let records = self.run.record(launched, self.blocks.executed() - first, self.blocks.store());
            let records = self.noticing(records)?;
            let kept = self.blocks.push(records);
            self.noticing(kept)?;
        }
        Ok(())
    }

    /// A reader will not ask for blocks before this one any more.
    fn pass(&mut self, reader: usize, block: u64) {
        self.readers[reader] = block;
        if self.expected == Some(self.readers.len()) {
            let all = self.readers.iter().copied().min().unwrap_or_default();
            self.blocks.pass(all);
            // The last launch may have blocks that are still to be executed.
            while self.launches.len() > 1 && self.launches[0].end() <= all {
                self.launches.pop_front();
                self.launches_passed += 1;
            }
        }
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
        let launch = {
            let mut recorder = self.recording.lock();
            let Some(launch) = recorder.launch(self.next)? else {
                recorder.pass(self.reader, u64::MAX);
                return Ok(None);
            };
            recorder.pass(self.reader, launch.first);
            launch
        };
        let number = self.next;
        self.next += 1;
        let (recording, reader) = (&*self.recording, self.reader);
        Ok(Some(Box::new(RecordedStream {
            recording,
            reader,
            number,
            launch,
            blocks: BTreeMap::new(),
            started: None,
        })))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        Ok(true)
    }
}

impl Drop for Replayed {
    fn drop(&mut self) {
        self.recording.lock().pass(self.reader, u64::MAX);
    }
}

/// A launch of a recording.
struct RecordedStream<'r> {
    recording: &'r Recording,
    reader: usize,
    /// Number of the launch.
    number: usize,
    launch: RecordedLaunch,
    /// Blocks that have started and not finished; `None` as long as nothing of them has been asked for.
    blocks: BTreeMap<BlockIndex, Option<Vec<Replay>>>,
    started: Option<BlockIndex>,
}

impl RecordedStream<'_> {
    fn open(&self, block: BlockIndex) -> Result<Vec<Replay>, StreamError> {
        let (records, store) = {
            let mut recorder = self.recording.lock();
            (recorder.blocks.get(self.launch.first + block), recorder.blocks.store().clone())
        };
        Ok(replays(&self.launch.launched, block, &store, records.map_err(StreamError)?))
    }
}

impl Stream for RecordedStream<'_> {
    fn program(&self) -> &Program {
        &self.launch.launched.code.program
    }

    fn launch(&self) -> &Launch {
        &self.launch.launched.prepared.launch
    }

    /// Blocks of which nothing is asked for, because another SM has them, cost no more than this.
    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        check_order(&self.launch.launched, self.started, block)?;
        self.started = Some(block);
        self.blocks.insert(block, None);
        let first = self.launch.first;
        let unfinished = self.blocks.keys().next().copied().unwrap_or(block);
        let mut recorder = self.recording.lock();
        recorder.pass(self.reader, first + unfinished);
        recorder.execute(first + block + 1)
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        if let Some(None) = self.blocks.get(&block) {
            let opened = self.open(block)?;
            self.blocks.insert(block, Some(opened));
        }
        let launched = &self.launch.launched;
        let warps = self.blocks.get_mut(&block).and_then(Option::as_mut);
        let replay = warps.and_then(|warps| warps.get_mut(warp));
        let replay = replay.ok_or_else(|| not_started(launched, block, warp))?;
        replay.next(launched, into)
    }

    fn finish_block(&mut self, block: BlockIndex) {
        self.blocks.remove(&block);
    }

    fn races(&mut self) -> Result<Option<Arc<Races>>, StreamError> {
        self.recording.lock().run.races(self.number).map(Some)
    }
}
