//! Accel-Sim traces: text in which every warp instruction of a kernel is a line.
//!
//! A trace is a `kernelslist.g` that names a file for each launch, or such a file (`.traceg`, `.traceg.xz`) alone.
//! The first pass (`survey`) rebuilds the static program, the second ([`stream`]) delivers instructions. Both read
//! the text from the disk as they go; a compressed file is first unpacked to a temporary one, since every warp is
//! read from its own place.
//!
//! What the text does not tell, and what is made of it:
//! - only the first register of a group is named: widths come from the opcode ([`opcodes`]);
//! - values, except in version 6 with `Val`: every write gets a value of its own. Of a group, the first register's
//!   value is recorded, the others' are invented;
//! - predicates up to early version 5: dependences through them are not seen;
//! - a warp that is missing executes nothing. Blocks have to be complete and in grid order.

mod body;
mod expand;
mod header;
mod line;
mod opcodes;
mod stream;
mod survey;
mod text;
mod writer;

pub use writer::write_accelsim;

use super::{TraceError, TraceFormat, TraceReport};
use crate::program::{Launches, Stream, StreamError};
use body::{BodyScanner, Event};
use header::{Generation, Header, read_header};
use line::Line;
use lzma_rust2::XzReader;
use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use stream::AccelSimStream;
use survey::survey;
use text::{LineCursor, TextFile};

/// What an `.xz` file starts with.
const XZ_MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0];
/// Memory that unpacking may take, in KiB: a little more than the dictionary of `xz -9`.
const XZ_MEMORY_KIB: u32 = 80 << 10;
/// What a packed text may become, as a multiple of its size and, if it is small, in bytes. Real traces are packed ten to a
/// hundred times smaller.
const XZ_RATIO: u64 = 1000;
const XZ_SMALL: u64 = 1 << 20;
/// Bytes unpacked at a time.
const XZ_STEP: usize = 64 << 10;
/// Characters of a line that an error shows.
const SHOWN: usize = 60;
/// Bytes read at a time from a header or a list.
const STEP: usize = 4 << 10;

/// An Accel-Sim trace opened for reading.
pub struct AccelSimTrace {
    kernels: Kernels,
    report: TraceReport,
}

/// The kernel files to come.
enum Kernels {
    /// A list, read as it is needed.
    List { directory: PathBuf, list: TextFile, cursor: LineCursor },
    /// One file.
    One(Option<PathBuf>),
}

impl AccelSimTrace {
    /// Opens a list or a kernel's trace. What is not named like a kernel's trace (`.traceg`, `.xz`) is read as a list.
    ///
    /// # Errors
    /// The file cannot be read, or it is a list that names no kernel or a kernel whose file is missing.
    pub fn open(path: &Path) -> Result<AccelSimTrace, TraceError> {
        let file = File::open(path).map_err(|error| TraceError::file(path, error))?;
        let is_kernel = (path.extension()).is_some_and(|found| found == "traceg" || found == "xz");
        let kernels = if is_kernel {
            Kernels::One(Some(path.to_path_buf()))
        } else {
            let mut list = TextFile::new(path, file);
            check_list(&mut list, path)?;
            let directory = path.parent().unwrap_or(Path::new("")).to_path_buf();
            Kernels::List { directory, list, cursor: LineCursor::new(STEP) }
        };
        Ok(AccelSimTrace { kernels, report: TraceReport::new(TraceFormat::AccelSim) })
    }

    /// The kernel files of a list, in its order; none of a kernel's trace.
    ///
    /// # Errors
    /// A line of the list is none.
    pub fn listed(&mut self) -> Result<Vec<PathBuf>, TraceError> {
        let Kernels::List { directory, list, .. } = &mut self.kernels else { return Ok(Vec::new()) };
        let mut cursor = LineCursor::new(STEP);
        let mut files = Vec::new();
        while let Some(kernel) = next_kernel(list, &mut cursor, directory)?.0 {
            files.push(kernel);
        }
        Ok(files)
    }

    /// What was noticed so far.
    pub fn report(&self) -> &TraceReport {
        &self.report
    }

    /// The next launch, as the reader's own type.
    pub(super) fn next_stream(&mut self) -> Result<Option<AccelSimStream<'_>>, TraceError> {
        let path = match &mut self.kernels {
            Kernels::One(path) => path.take(),
            Kernels::List { directory, list, cursor } => {
                let (path, copies) = next_kernel(list, cursor, directory)?;
                for _ in 0..copies {
                    self.report.warn("a memory copy of the list is skipped".to_owned());
                }
                path
            }
        };
        let Some(path) = path else { return Ok(None) };
        let mut file = TextFile::new(&path, open_text(&path)?);
        let mut cursor = LineCursor::new(STEP);
        let header = read_header(&mut file, &mut cursor, &mut self.report)?;
        let survey = survey(&mut file, &cursor, &header, &mut self.report)?;
        self.report.launches += 1;
        Ok(Some(AccelSimStream::new(file, &cursor, header, survey, &mut self.report)))
    }

    /// Whether any line of the next kernel comes with values; what is noticed on the way is left to its launch.
    fn first_kernel_has_values(&mut self) -> Result<bool, TraceError> {
        let path = match &mut self.kernels {
            Kernels::One(path) => path.clone(),
            Kernels::List { directory, list, cursor } => {
                next_kernel(list, &mut cursor.fork(STEP), directory)?.0
            }
        };
        let Some(path) = path else { return Ok(false) };
        let mut file = TextFile::new(&path, open_text(&path)?);
        let mut cursor = LineCursor::new(STEP);
        let header = read_header(&mut file, &mut cursor, &mut TraceReport::new(TraceFormat::AccelSim))?;
        if header.generation < Generation::Sixth {
            return Ok(false);
        }
        any_line_has_values(&mut file, &cursor, &header)
    }
}

impl Launches for AccelSimTrace {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        Ok(self.next_stream()?.map(|stream| Box::new(stream) as Box<dyn Stream + '_>))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        Ok(self.first_kernel_has_values()?)
    }
}

fn any_line_has_values(file: &mut TextFile, start: &LineCursor, header: &Header) -> Result<bool, TraceError> {
    let mut scanner = BodyScanner::new(start.fork(STEP), &header.launch);
    let mut line = Line::default();
    loop {
        match scanner.next(file)? {
            Event::Block(_) | Event::BlockEnd => {}
            Event::Warp { .. } => {
                while let Some(text) = scanner.instruction(file)? {
                    let parsed = line.parse(text, header);
                    parsed.map_err(|problem| file.error(scanner.cursor.line(), problem))?;
                    if line.has_values {
                        return Ok(true);
                    }
                }
            }
            Event::End => return Ok(false),
        }
    }
}

/// The next kernel file that a list names, and how many memory copies are before it, which do not concern us. Commands
/// are those of Accel-Sim; it passes over what it does not know, and here that would be a launch that is lost.
fn next_kernel(
    list: &mut TextFile,
    cursor: &mut LineCursor,
    directory: &Path,
) -> Result<(Option<PathBuf>, u64), TraceError> {
    let mut copies = 0;
    while let Some(line) = cursor.next_filled(list)? {
        if line.starts_with("kernel") {
            return Ok((Some(directory.join(line)), copies));
        }
        if !line.starts_with("Memcpy") {
            let found = line.escape_debug().take(SHOWN).collect::<String>();
            // It may be no list at all.
            let others = match cursor.line() {
                1 => "; or a `.traceg` or `.traceg.xz` file, or a container starting with `WARPFILE`",
                _ => "",
            };
            let problem = format!("found `{found}`; accepted: `kernel….traceg`, `Memcpy…`{others}");
            return Err(list.error(cursor.line(), problem));
        }
        copies += 1;
    }
    Ok((None, copies))
}

/// Checks that a list names kernels and that their files are there, before anything runs.
fn check_list(list: &mut TextFile, path: &Path) -> Result<(), TraceError> {
    let directory = path.parent().unwrap_or(Path::new(""));
    let mut cursor = LineCursor::new(STEP);
    let mut kernels = 0u64;
    while let Some(kernel) = next_kernel(list, &mut cursor, directory)?.0 {
        if !kernel.is_file() {
            let problem = format!("the kernel's trace {} is not there", kernel.display());
            return Err(list.error(cursor.line(), problem));
        }
        kernels += 1;
    }
    if kernels == 0 {
        return Err(TraceError::file(
            path,
            "not a trace: a list with lines `kernel….traceg`, a `.traceg` or `.traceg.xz` file, or a container \
             starting with `WARPFILE` is accepted",
        ));
    }
    Ok(())
}

/// Opens a kernel's trace as text; a compressed one is unpacked to a temporary file.
fn open_text(path: &Path) -> Result<File, TraceError> {
    let wrap = |error: std::io::Error| TraceError::file(path, error);
    let mut file = File::open(path).map_err(wrap)?;
    let mut start = Vec::new();
    (&mut file).take(XZ_MAGIC.len() as u64).read_to_end(&mut start).map_err(wrap)?;
    file.rewind().map_err(wrap)?;
    if start != XZ_MAGIC {
        return Ok(file);
    }
    let packed_bytes = file.metadata().map_err(wrap)?.len();
    let most = packed_bytes.saturating_mul(XZ_RATIO).max(XZ_SMALL);
    let in_folder = |error: std::io::Error| {
        let folder = std::env::temp_dir();
        TraceError::file(
            &folder,
            format!("no temporary file for {} (TMPDIR names another folder): {error}", path.display()),
        )
    };
    let mut text = tempfile::tempfile().map_err(in_folder)?;
    let mut unpacked = XzReader::new_mem_limit(BufReader::new(file), true, XZ_MEMORY_KIB);
    let mut buffer = vec![0; XZ_STEP];
    let mut bytes = 0;
    loop {
        let read = match unpacked.read(&mut buffer) {
            Ok(0) => return Ok(text),
            Ok(read) => read,
            Err(error) => return Err(TraceError::file(path, format!("while unpacking: {error}"))),
        };
        bytes += read as u64;
        if bytes > most {
            let problem = format!(
                "unpacks to more than {most} bytes; at most {XZ_RATIO} times its own {packed_bytes} are accepted \
                 (a text that was unpacked before, `.traceg`, may have any length)"
            );
            return Err(TraceError::file(path, problem));
        }
        text.write_all(&buffer[..read]).map_err(in_folder)?;
    }
}
