//! What the launches of a run do, executed once and replayed any number of times.
//!
//! Whoever first asks for a block has it executed, with all blocks before it; the others find its records. So the first
//! design starts at once, and what is executed grows with the blocks and not with designs or SMs. Records stay in memory
//! up to a bound, and go to a temporary file without a name from there on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::record::{BlockRecords, RecordReader};
use super::replay::Replay;
use super::run::{Launched, PtxRun};
use super::stream::{check_order, not_started};
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
    store: Store,
}

/// A launch with the records of its first blocks.
#[derive(Debug)]
struct RecordedLaunch {
    launched: Launched,
    blocks: Vec<Place>,
}

/// Where the records of a block are.
#[derive(Debug)]
enum Place {
    Memory(Arc<BlockRecords>),
    /// At this byte of the file, so many bytes for each warp.
    File {
        at: u64,
        warps: Vec<usize>,
    },
}

impl Recording {
    /// Of a run before its first launch.
    pub fn new(run: PtxRun) -> Recording {
        Recording::with_memory(run, MEMORY_BYTES)
    }

    /// The same with so many bytes of records in memory at most, but for those of the blocks that are being replayed.
    pub fn with_memory(run: PtxRun, bytes: usize) -> Recording {
        let store = Store { room: bytes, file: None, file_bytes: 0 };
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

    /// Bytes of records in the temporary file.
    pub fn spilled_bytes(&self) -> u64 {
        self.lock().store.file_bytes
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
            let records = self.run.record(launched, blocks.len() as u64);
            let records = self.noticing(records)?;
            let place = self.store.keep(records);
            let place = self.noticing(place)?;
            self.launches[launch].blocks.push(place);
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

/// Keeps records.
#[derive(Debug)]
struct Store {
    /// Bytes of memory left.
    room: usize,
    file: Option<File>,
    file_bytes: u64,
}

impl Store {
    fn keep(&mut self, mut records: BlockRecords) -> Result<Place, String> {
        let bytes: usize = records.iter().map(Vec::len).sum();
        if bytes <= self.room {
            self.room -= bytes;
            records.iter_mut().for_each(Vec::shrink_to_fit);
            return Ok(Place::Memory(Arc::new(records)));
        }
        self.room = 0;
        let at = self.file_bytes;
        self.append(&records).map_err(|error| {
            let folder = std::env::temp_dir();
            format!(
                "cannot keep what the kernel does in {} (TMPDIR names another): {error}",
                folder.display()
            )
        })?;
        self.file_bytes += bytes as u64;
        Ok(Place::File { at, warps: records.iter().map(Vec::len).collect() })
    }

    fn append(&mut self, records: &BlockRecords) -> std::io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        file.seek(SeekFrom::Start(self.file_bytes))?;
        records.iter().try_for_each(|warp| file.write_all(warp))
    }

    fn read(&mut self, place: &Place) -> Result<Arc<BlockRecords>, String> {
        let (at, warps) = match place {
            Place::Memory(records) => return Ok(records.clone()),
            Place::File { at, warps } => (*at, warps),
        };
        let missing = || std::io::Error::other("the file is gone");
        let mut read = || -> std::io::Result<BlockRecords> {
            let file = self.file.as_mut().ok_or_else(missing)?;
            file.seek(SeekFrom::Start(at))?;
            warps
                .iter()
                .map(|&bytes| {
                    let mut warp = vec![0; bytes];
                    file.read_exact(&mut warp).map(|()| warp)
                })
                .collect()
        };
        read().map(Arc::new).map_err(|error| format!("cannot read back what the kernel does: {error}"))
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
    fn open(&self, block: BlockIndex) -> Result<Vec<Replay>, StreamError> {
        let records = {
            let recorder = &mut *self.recording.lock();
            let place = &recorder.launches[self.number].blocks[block as usize];
            recorder.store.read(place).map_err(StreamError)?
        };
        let replay =
            |warp| Replay::new(&self.launched, block, RecordReader::new(records.clone(), warp), warp);
        Ok((0..records.len()).map(replay).collect())
    }
}

impl Stream for RecordedStream<'_> {
    fn program(&self) -> &Program {
        &self.launched.code.compiled.program
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
            let opened = self.open(block)?;
            self.blocks.insert(block, Some(opened));
        }
        let warps = self.blocks.get_mut(&block).and_then(Option::as_mut);
        let replay = warps.and_then(|warps| warps.get_mut(warp));
        let replay = replay.ok_or_else(|| not_started(&self.launched, block, warp))?;
        Ok(replay.next(&self.launched, into))
    }

    fn finish_block(&mut self, block: BlockIndex) {
        self.blocks.remove(&block);
    }
}
