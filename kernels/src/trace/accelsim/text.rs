//! Lines of a text file, read from any place with a small buffer.

use super::super::TraceError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes accepted in a line; the longest the format can need is below 8 KiB.
const MAX_LINE_BYTES: usize = 64 << 10;

/// A text file that cursors read from.
pub(super) struct TextFile {
    /// Its name in messages.
    pub path: PathBuf,
    file: File,
}

impl TextFile {
    /// Wraps an open file whose messages name `path`.
    pub fn new(path: &Path, file: File) -> TextFile {
        TextFile { path: path.to_path_buf(), file }
    }

    /// An error at a line.
    pub fn error(&self, line: u64, problem: impl ToString) -> TraceError {
        TraceError::line(&self.path, line, problem)
    }

    /// Appends up to `bytes` bytes at an offset to `buffer` and tells how many there were.
    fn read_at(&mut self, offset: u64, bytes: usize, buffer: &mut Vec<u8>) -> Result<usize, TraceError> {
        (self.file.seek(SeekFrom::Start(offset)))
            .and_then(|_| (&mut self.file).take(bytes as u64).read_to_end(buffer))
            .map_err(|error| TraceError::file(&self.path, error))
    }
}

/// A place in a text file.
#[derive(Clone)]
pub(super) struct LineCursor {
    /// Bytes read at a time.
    step: usize,
    /// Offset in the file of the buffer's end.
    end: u64,
    buffer: Vec<u8>,
    /// The last line in the buffer.
    last: std::ops::Range<usize>,
    /// Where the next line starts in the buffer.
    start: usize,
    /// Number of the last line that was read, from 1.
    line: u64,
    line_is_ended: bool,
}

impl LineCursor {
    /// A cursor at the start of a file that reads `step` bytes at a time.
    pub fn new(step: usize) -> LineCursor {
        LineCursor { step, end: 0, buffer: Vec::new(), last: 0..0, start: 0, line: 0, line_is_ended: false }
    }

    /// Another cursor at the same place, with a buffer of its own.
    pub fn fork(&self, step: usize) -> LineCursor {
        let offset = self.end - (self.buffer.len() - self.start) as u64;
        LineCursor {
            step,
            end: offset,
            buffer: Vec::new(),
            last: 0..0,
            start: 0,
            line: self.line,
            line_is_ended: false,
        }
    }

    /// Number of the last line that was read, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next line without its end, or `None` at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read, the line is too long or not UTF-8.
    pub fn next<'a>(&'a mut self, file: &mut TextFile) -> Result<Option<&'a str>, TraceError> {
        let mut searched = self.start;
        let end = loop {
            if let Some(found) = self.buffer[searched..].iter().position(|&byte| byte == b'\n') {
                break searched + found;
            }
            if self.buffer.len() - self.start > MAX_LINE_BYTES {
                let problem = format!("a line of more than {MAX_LINE_BYTES} bytes");
                return Err(file.error(self.line + 1, problem));
            }
            self.buffer.drain(..self.start);
            self.start = 0;
            searched = self.buffer.len();
            let bytes = file.read_at(self.end, self.step, &mut self.buffer)?;
            self.end += bytes as u64;
            if bytes == 0 {
                break searched;
            }
        };
        if self.start == end && end == self.buffer.len() {
            return Ok(None);
        }
        self.line += 1;
        self.line_is_ended = end < self.buffer.len();
        self.last = self.start..end;
        self.start = self.buffer.len().min(end + 1);
        self.last_line().map(Some).map_err(|error| file.error(self.line, error))
    }

    /// The next line that is not blank.
    ///
    /// # Errors
    /// As [`LineCursor::next`].
    pub fn next_filled<'a>(&'a mut self, file: &mut TextFile) -> Result<Option<&'a str>, TraceError> {
        while let Some(text) = self.next(file)? {
            // A borrow that is returned from inside the loop would last for all of it, so the line is taken again.
            if !text.is_empty() {
                return self.last_line().map(Some).map_err(|error| file.error(self.line, error));
            }
        }
        Ok(None)
    }

    /// Whether the line that was read last ends with an end of line, not with the file.
    pub fn line_is_ended(&self) -> bool {
        self.line_is_ended
    }

    /// The line read last is read again.
    pub fn back(&mut self) {
        self.start = self.last.start;
        self.line -= 1;
    }

    fn last_line(&self) -> Result<&str, String> {
        std::str::from_utf8(&self.buffer[self.last.clone()])
            .map(str::trim)
            .map_err(|error| format!("not UTF-8 text: {error}"))
    }

    /// Bytes held.
    #[cfg(test)]
    pub fn held_bytes(&self) -> usize {
        self.buffer.capacity()
    }
}
