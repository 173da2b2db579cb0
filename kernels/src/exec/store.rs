//! Where records are kept: in memory up to a bound, from there on packed in a temporary file without a name.
//!
//! The records of a warp come in pieces of a stated size. A kernel may run for as long as it wants: what it needs of memory
//! is the bound, a piece of each warp that is being executed or replayed, and some bytes for each piece in the file.

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
    /// So many bytes of the file, from this one.
    File {
        at: u64,
        bytes: u32,
    },
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
        let mut kept = self.lock();
        if records.len() <= kept.room {
            kept.room -= records.len();
            records.shrink_to_fit();
            return Ok(Piece::Memory(Arc::new(records)));
        }
        kept.room = 0;
        kept.append(&lz4_flex::compress_prepend_size(&records)).map_err(|error| {
            let folder = std::env::temp_dir();
            format!(
                "cannot keep what the kernel does in {} (TMPDIR names another): {error}",
                folder.display()
            )
        })
    }

    /// The records of a piece.
    ///
    /// # Errors
    /// If the temporary file cannot be read back; says so for the user.
    pub(super) fn read(&self, piece: &Piece) -> Result<Arc<Vec<u8>>, String> {
        let (at, bytes) = match piece {
            Piece::Memory(records) => return Ok(records.clone()),
            Piece::File { at, bytes } => (*at, *bytes as usize),
        };
        let packed = self.lock().read(at, bytes);
        let records = packed.and_then(|packed| {
            lz4_flex::decompress_size_prepended(&packed).map_err(|error| io::Error::other(error.to_string()))
        });
        records.map(Arc::new).map_err(|error| format!("cannot read back what the kernel does: {error}"))
    }

    /// What a thread that has failed leaves is whole: bytes count when they have been written.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn append(&mut self, packed: &[u8]) -> io::Result<Piece> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile()?),
        };
        let at = self.file_bytes;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(packed)?;
        self.file_bytes += packed.len() as u64;
        Ok(Piece::File { at, bytes: packed.len() as u32 })
    }

    fn read(&mut self, at: u64, bytes: usize) -> io::Result<Vec<u8>> {
        let file = self.file.as_mut().ok_or_else(|| io::Error::other("the file is gone"))?;
        file.seek(SeekFrom::Start(at))?;
        let mut packed = vec![0; bytes];
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
