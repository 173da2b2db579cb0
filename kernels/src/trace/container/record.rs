//! Checksummed, compressed records.

use super::super::TraceError;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use twox_hash::XxHash64;

/// Kind, lengths and checksum.
pub(super) const HEAD_BYTES: u64 = 17;
/// Decompression window accepted: what bounds the decoder's memory.
const MAX_WINDOW_BYTES: u64 = 8 << 20;

/// What a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Chunk,
    Directory,
    Page,
    Launch,
    Contents,
}

impl Kind {
    fn code(self) -> u8 {
        match self {
            Kind::Chunk => 1,
            Kind::Directory => 2,
            Kind::Page => 3,
            Kind::Launch => 4,
            Kind::Contents => 5,
        }
    }

    /// Bytes accepted for the payload, uncompressed.
    pub fn max_bytes(self) -> u32 {
        match self {
            Kind::Chunk | Kind::Directory | Kind::Page => 64 << 10,
            Kind::Launch | Kind::Contents => 64 << 20,
        }
    }
}

/// Hash of a record's head and payload, or of a trailer.
pub(super) fn checksum(head: &[u8], payload: &[u8]) -> u64 {
    XxHash64::oneshot(XxHash64::oneshot(0, head), payload)
}

/// Appends records to a file.
pub(super) struct RecordWriter<W> {
    pub file: W,
    /// Bytes written.
    pub offset: u64,
}

impl<W: Write> RecordWriter<W> {
    /// Writes bytes that belong to no record.
    pub fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Writes a record and returns its offset.
    pub fn append(&mut self, kind: Kind, payload: &[u8]) -> std::io::Result<u64> {
        if payload.len() > kind.max_bytes() as usize {
            let problem = format!(
                "a {kind:?} record of {} bytes; at most {} are possible",
                payload.len(),
                kind.max_bytes()
            );
            return Err(std::io::Error::other(problem));
        }
        let start = self.offset;
        let stored = compress_to_vec(payload, CompressionLevel::Fastest);
        let mut head = vec![kind.code()];
        head.extend((payload.len() as u32).to_le_bytes());
        head.extend((stored.len() as u32).to_le_bytes());
        let sum = checksum(&head, &stored);
        self.put(&head)?;
        self.put(&sum.to_le_bytes())?;
        self.put(&stored)?;
        Ok(start)
    }
}

/// Reads records of a file.
pub(super) struct RecordFile {
    pub path: PathBuf,
    file: File,
    /// Bytes of the file when it was opened.
    pub bytes: u64,
    stored: Vec<u8>,
}

impl RecordFile {
    pub fn open(path: &Path) -> Result<RecordFile, TraceError> {
        let file = File::open(path).map_err(|error| TraceError::file(path, error))?;
        let bytes = file.metadata().map_err(|error| TraceError::file(path, error))?.len();
        Ok(RecordFile { path: path.to_path_buf(), file, bytes, stored: Vec::new() })
    }

    /// An error that names the file and a place in it.
    pub fn error(&self, offset: u64, problem: impl std::fmt::Display) -> TraceError {
        TraceError::file(&self.path, format!("at byte {offset}: {problem}"))
    }

    /// Fills a buffer from an offset.
    pub fn read_at(&mut self, offset: u64, into: &mut [u8]) -> Result<(), TraceError> {
        let end = offset.checked_add(into.len() as u64);
        if end.is_none_or(|end| end > self.bytes) {
            let problem =
                format!("{} bytes expected, the file ends at {}: truncated", into.len(), self.bytes);
            return Err(self.error(offset, problem));
        }
        (self.file.seek(SeekFrom::Start(offset)))
            .and_then(|_| self.file.read_exact(into))
            .map_err(|error| self.error(offset, error))
    }

    /// Reads the record at an offset into `payload` and returns the offset behind it.
    pub fn read(&mut self, offset: u64, kind: Kind, payload: &mut Vec<u8>) -> Result<u64, TraceError> {
        let mut head = [0; HEAD_BYTES as usize];
        self.read_at(offset, &mut head)?;
        if head[0] != kind.code() {
            let problem = format!("a record of kind {}; {} ({kind:?}) expected", head[0], kind.code());
            return Err(self.error(offset, problem));
        }
        let raw_bytes = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        let stored_bytes = u64::from(u32::from_le_bytes([head[5], head[6], head[7], head[8]]));
        if raw_bytes > kind.max_bytes() {
            let problem =
                format!("a {kind:?} record of {raw_bytes} bytes; at most {} are accepted", kind.max_bytes());
            return Err(self.error(offset, problem));
        }
        let start = offset + HEAD_BYTES;
        if start + stored_bytes > self.bytes {
            let problem =
                format!("a record of {stored_bytes} bytes, the file ends at {}: truncated", self.bytes);
            return Err(self.error(offset, problem));
        }
        let mut stored = std::mem::take(&mut self.stored);
        stored.clear();
        stored.reserve_exact(stored_bytes as usize);
        stored.resize(stored_bytes as usize, 0);
        self.read_at(start, &mut stored)?;
        let mut sum = [0; 8];
        sum.copy_from_slice(&head[9..]);
        let found = checksum(&head[..9], &stored);
        if found != u64::from_le_bytes(sum) {
            let problem =
                format!("checksum {found:016x} where {:016x} is recorded: damaged", u64::from_le_bytes(sum));
            return Err(self.error(offset, problem));
        }
        let outcome = decompress(&stored, raw_bytes, payload);
        self.stored = stored;
        outcome.map_err(|problem| self.error(offset, problem))?;
        Ok(start + stored_bytes)
    }

    /// Bytes held.
    #[cfg(test)]
    pub fn held_bytes(&self) -> usize {
        self.stored.capacity()
    }
}

fn decompress(stored: &[u8], raw_bytes: u32, payload: &mut Vec<u8>) -> Result<(), String> {
    payload.clear();
    payload.reserve_exact((raw_bytes as usize).min(Kind::Chunk.max_bytes() as usize) + 1);
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(MAX_WINDOW_BYTES);
    let frame = StreamingDecoder::new_with_decoder(stored, decoder)
        .map_err(|error| format!("not a zstd frame: {error}"))?;
    frame
        .take(u64::from(raw_bytes) + 1)
        .read_to_end(payload)
        .map_err(|error| format!("zstd frame: {error}"))?;
    if payload.len() != raw_bytes as usize {
        return Err(format!("{} bytes decompressed; {raw_bytes} announced", payload.len()));
    }
    Ok(())
}
