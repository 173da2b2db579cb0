//! The records of blocks, numbered through all launches of a run, from when a block is executed until nobody asks for it
//! any more.
//!
//! What is kept of a block beside its pieces is some 100 bytes for each warp. It counts among what the store keeps in
//! memory and goes to its file with the rest, so that memory does not grow with the number of blocks. Where it is in the file
//! says an index, a file as well: an entry a block.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use super::store::{BlockRecords, FilePlace, Piece, Store, cannot_keep, cannot_read_back};

/// Bytes of memory that a block, a warp of it, and a piece of that take beside the records, with what the allocator adds:
/// a node of the tree; a vector; an entry of that, counts of references and a vector.
const BLOCK_BYTES: usize = 96;
const WARP_BYTES: usize = 48;
const PIECE_BYTES: usize = 96;
/// Shorter pieces are written with what is said of their block: 128 KiB a block at most, which has 32 warps.
const INLINE_BYTES: usize = 4096;
/// Bytes of an entry of the index: where what is said of a block begins, and its length.
const ENTRY_BYTES: usize = 12;
/// Stands for the length of a piece that is elsewhere in the file.
const ELSEWHERE: u32 = u32::MAX;

/// Keeps blocks.
#[derive(Debug)]
pub(super) struct Blocks {
    store: Arc<Store>,
    /// Blocks executed so far.
    executed: u64,
    /// Nobody asks for blocks before this one any more.
    passed: u64,
    /// Blocks of which the store's file has nothing but pieces.
    memory: BTreeMap<u64, BlockRecords>,
    /// Of the others, where the file says what they are.
    index: Option<File>,
    /// Behind the last block of which there is something in the file.
    in_file: u64,
}

impl Blocks {
    /// None yet.
    pub(super) fn new(store: Arc<Store>) -> Blocks {
        Blocks { store, executed: 0, passed: 0, memory: BTreeMap::new(), index: None, in_file: 0 }
    }

    /// Where pieces are kept.
    pub(super) fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Blocks executed so far.
    pub(super) fn executed(&self) -> u64 {
        self.executed
    }

    /// Keeps what the next block has done, whose pieces the store has.
    ///
    /// # Errors
    /// If a temporary file cannot be made or is full; says so for the user.
    pub(super) fn push(&mut self, records: BlockRecords) -> Result<(), String> {
        let number = self.executed;
        self.executed += 1;
        if number < self.passed {
            self.release(&records);
            self.clear_passed();
            return Ok(());
        }
        if self.store.reserve(directory_bytes(&records)) {
            let pieces = || records.iter().flatten();
            if pieces().any(|piece| matches!(piece, Piece::File(_))) {
                self.in_file = self.executed;
            }
            self.memory.insert(number, records);
            return Ok(());
        }
        self.in_file = self.executed;
        let place = self.store.spill(&self.directory(records)?)?;
        self.write_entry(number, place).map_err(|error| cannot_keep(&error))
    }

    /// What a block has done.
    ///
    /// # Errors
    /// If it cannot be read back; says so for the user.
    pub(super) fn get(&mut self, number: u64) -> Result<BlockRecords, String> {
        if let Some(records) = self.memory.get(&number) {
            return Ok(records.clone());
        }
        let place = self.read_entry(number).map_err(|error| cannot_read_back(&error))?;
        let directory = self.store.read(&Piece::File(place))?;
        parse(&directory).ok_or_else(|| cannot_read_back(&"the temporary file has been changed"))
    }

    /// Nobody will ask for blocks before this one.
    pub(super) fn pass(&mut self, number: u64) {
        self.passed = self.passed.max(number);
        while let Some(first) = self.memory.first_entry().filter(|first| *first.key() < self.passed) {
            let records = first.remove();
            self.store.release(directory_bytes(&records));
            self.release(&records);
        }
        self.clear_passed();
    }

    /// Gives the files' room back once nothing in them will be asked for.
    fn clear_passed(&mut self) {
        if self.passed >= self.in_file && self.store.spilled_bytes() > 0 {
            self.store.clear_file();
            self.index = None;
        }
    }

    /// Gives back the memory of a block's pieces.
    fn release(&self, records: &BlockRecords) {
        for piece in records.iter().flatten() {
            if let Piece::Memory(bytes) = piece {
                self.store.release(bytes.len());
            }
        }
    }

    /// What is said of a block in the file; pieces that are in memory go there as well.
    fn directory(&self, records: BlockRecords) -> Result<Vec<u8>, String> {
        let mut directory = Vec::new();
        directory.extend((records.len() as u32).to_le_bytes());
        for pieces in records {
            directory.extend((pieces.len() as u32).to_le_bytes());
            for piece in pieces {
                let place = match piece {
                    Piece::File(place) => place,
                    Piece::Memory(bytes) => {
                        self.store.release(bytes.len());
                        if bytes.len() < INLINE_BYTES {
                            directory.extend((bytes.len() as u32).to_le_bytes());
                            directory.extend_from_slice(&bytes);
                            continue;
                        }
                        self.store.spill(&bytes)?
                    }
                };
                directory.extend(ELSEWHERE.to_le_bytes());
                directory.extend(entry(place));
            }
        }
        Ok(directory)
    }

    fn write_entry(&mut self, number: u64, place: FilePlace) -> io::Result<()> {
        let index = match &mut self.index {
            Some(index) => index,
            None => self.index.insert(tempfile::tempfile()?),
        };
        index.seek(SeekFrom::Start(number * ENTRY_BYTES as u64))?;
        index.write_all(&entry(place))
    }

    fn read_entry(&mut self, number: u64) -> io::Result<FilePlace> {
        let index = self.index.as_mut().ok_or_else(|| io::Error::other("the block is gone"))?;
        index.seek(SeekFrom::Start(number * ENTRY_BYTES as u64))?;
        let mut entry = [0; ENTRY_BYTES];
        index.read_exact(&mut entry)?;
        Ok(place(entry))
    }
}

/// Bytes of memory that a block takes beside its records.
fn directory_bytes(records: &BlockRecords) -> usize {
    let pieces: usize = records.iter().map(Vec::len).sum();
    BLOCK_BYTES + WARP_BYTES * records.len() + PIECE_BYTES * pieces
}

/// An entry of the index.
fn entry(FilePlace { at, bytes }: FilePlace) -> [u8; ENTRY_BYTES] {
    let mut entry = [0; ENTRY_BYTES];
    entry[..8].copy_from_slice(&at.to_le_bytes());
    entry[8..].copy_from_slice(&bytes.to_le_bytes());
    entry
}

fn place(entry: [u8; ENTRY_BYTES]) -> FilePlace {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = entry;
    FilePlace { at: u64::from_le_bytes([a, b, c, d, e, f, g, h]), bytes: u32::from_le_bytes([i, j, k, l]) }
}

/// What [`Blocks::directory`] wrote; `None` if it is something else.
fn parse(mut directory: &[u8]) -> Option<BlockRecords> {
    let warps = number(&mut directory)?;
    let warp = |directory: &mut &[u8]| {
        let pieces = number(directory)?;
        (0..pieces).map(|_| piece(directory)).collect()
    };
    (0..warps).map(|_| warp(&mut directory)).collect()
}

fn number(directory: &mut &[u8]) -> Option<u32> {
    directory.split_off(..4)?.try_into().ok().map(u32::from_le_bytes)
}

fn piece(directory: &mut &[u8]) -> Option<Piece> {
    match number(directory)? {
        ELSEWHERE => directory.split_off(..ENTRY_BYTES)?.try_into().ok().map(place).map(Piece::File),
        bytes => directory.split_off(..bytes as usize).map(|bytes| Piece::Memory(Arc::new(bytes.to_vec()))),
    }
}
