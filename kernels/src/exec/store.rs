//! Where records are kept: in memory up to a bound, beyond it packed in a temporary file without a name.
//!
//! The records of a warp come in pieces of a stated size. A kernel may run for as long as it wants: what it needs of memory
//! is the bound, a piece of each warp that is being executed or replayed, and some bytes for each piece in the file.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes from which the records of a warp are a piece.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// Keeps pieces of records.
#[derive(Debug)]
pub(super) struct Store(Mutex<Kept>);

#[derive(Debug)]
struct Kept {
    /// Bytes of memory left.
    room: usize,
    file: Option<File>,
    file_bytes: u64,
}

/// Some records of a warp, or where they are.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Memory(Arc<Vec<u8>>),
    File(FilePlace),
}

/// So many bytes of the file, from this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FilePlace {
    pub(super) at: u64,
    pub(super) bytes: u32,
}

/// The records of a block: the pieces of each warp.
pub(super) type BlockRecords = Vec<Vec<Piece>>;

impl Store {
    /// With so many bytes of records in memory at most.
    pub(super) fn new(room: usize) -> Store {
        Store(Mutex::new(Kept { room, file: None, file_bytes: 0 }))
    }

    /// Bytes in the temporary file.
    pub(super) fn spilled_bytes(&self) -> u64 {
        self.lock().file_bytes
    }

    /// Keeps a piece.
    ///
    /// # Errors
    /// If the temporary file cannot be made or is full; says so for the user.
    pub(super) fn keep(&self, mut records: Vec<u8>) -> Result<Piece, String> {
        if !self.reserve(records.len()) {
            return self.spill(&records).map(Piece::File);
        }
        records.shrink_to_fit();
        Ok(Piece::Memory(Arc::new(records)))
    }

    /// Takes so many bytes of memory, if there are as many left.
    pub(super) fn reserve(&self, bytes: usize) -> bool {
        let mut kept = self.lock();
        let left = kept.room.checked_sub(bytes);
        kept.room = left.unwrap_or(kept.room);
        left.is_some()
    }

    /// Gives back bytes of memory that were taken.
    pub(super) fn release(&self, bytes: usize) {
        self.lock().room += bytes;
    }

    /// Writes a piece to the file.
    ///
    /// # Errors
    /// If the temporary file cannot be made or is full; says so for the user.
    pub(super) fn spill(&self, records: &[u8]) -> Result<FilePlace, String> {
        let packed = lz4_flex::compress_prepend_size(records);
        self.lock().append(&packed).map_err(|error| cannot_keep(&error))
    }

    /// Gives back the room of the file, of which nothing is read any more.
    pub(super) fn clear_file(&self) {
        let mut kept = self.lock();
        (kept.file, kept.file_bytes) = (None, 0);
    }

    /// The records of a piece.
    ///
    /// # Errors
    /// If the temporary file cannot be read back; says so for the user.
    pub(super) fn read(&self, piece: &Piece) -> Result<Arc<Vec<u8>>, String> {
        let place = match piece {
            Piece::Memory(records) => return Ok(records.clone()),
            Piece::File(place) => *place,
        };
        let packed = self.lock().read(place);
        let records = packed.and_then(|packed| {
            lz4_flex::decompress_size_prepended(&packed).map_err(|error| io::Error::other(error.to_string()))
        });
        records.map(Arc::new).map_err(|error| cannot_read_back(&error))
    }

    /// What a thread that has failed leaves is whole: bytes count when they have been written.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// That a temporary file cannot be made or is full, for the user.
pub(super) fn cannot_keep(error: &dyn Display) -> String {
    let folder = std::env::temp_dir();
    format!("cannot keep what the kernel does in {} (TMPDIR names another): {error}", folder.display())
}

/// That what is in a temporary file cannot be had back, for the user.
pub(super) fn cannot_read_back(error: &dyn Display) -> String {
    format!("cannot read back what the kernel does: {error}")
}

impl Kept {
    fn append(&mut self, packed: &[u8]) -> io::Result<FilePlace> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        let at = self.file_bytes;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(packed)?;
        self.file_bytes += packed.len() as u64;
        Ok(FilePlace { at, bytes: packed.len() as u32 })
    }

    fn read(&mut self, FilePlace { at, bytes }: FilePlace) -> io::Result<Vec<u8>> {
        let file = self.file.as_mut().ok_or_else(|| io::Error::other("the file is gone"))?;
        file.seek(SeekFrom::Start(at))?;
        let mut packed = vec![0; bytes as usize];
        file.read_exact(&mut packed).map(|()| packed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Store;

    proptest! {
        #[test]
        fn pieces_are_read_as_they_were_kept(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..2000), 1..20),
            room in 0..20_000_usize,
        ) {
            let store = Store::new(room);
            let kept: Vec<_> = pieces.iter().map(|piece| store.keep(piece.clone()).unwrap()).collect();
            for (piece, expected) in kept.iter().zip(&pieces).rev() {
                prop_assert_eq!(&*store.read(piece).unwrap(), expected);
            }
            let all: usize = pieces.iter().map(Vec::len).sum();
            prop_assert_eq!(store.spilled_bytes() > 0, all > room);
        }
    }
}
