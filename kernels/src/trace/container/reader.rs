//! Reads a container.

use super::super::{TraceError, TraceFormat, TraceReport, check_launch};
use super::codec::{WarpState, decode, take_unsigned};
use super::record::{Kind, RecordFile, checksum};
use super::{END_MAGIC, HEADER_BYTES, LaunchRecord, MAGIC, PAGE_BLOCKS, VERSION, VERSIONS, check_program};
use crate::program::{BlockIndex, Launch, Launches, Program, Races, Stream, StreamError, WarpInstruction};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Three numbers and a magic.
pub(super) const TRAILER_BYTES: u64 = 32;
/// Bytes of a warp in a block's directory.
const DIRECTORY_ENTRY: usize = 16;

/// A container opened for reading.
pub struct ContainerTrace {
    file: RecordFile,
    launches: Vec<u64>,
    next: usize,
    report: TraceReport,
}

impl ContainerTrace {
    /// Opens a container and reads its contents.
    ///
    /// # Errors
    /// Another file, another version, a truncated or damaged file.
    pub fn open(path: &Path) -> Result<ContainerTrace, TraceError> {
        let mut file = RecordFile::open(path)?;
        let version = check_header(&mut file)?;
        let contents_offset = read_trailer(&mut file)?;
        let mut contents = Vec::new();
        file.read(contents_offset, Kind::Contents, &mut contents)?;
        let launches = numbers(&contents).collect();
        let mut report = TraceReport::new(TraceFormat::Warpfile);
        report.saw_version(version.to_string());
        Ok(ContainerTrace { file, launches, next: 0, report })
    }

    /// What was noticed so far.
    pub fn report(&self) -> &TraceReport {
        &self.report
    }

    /// The next launch, as the reader's own type.
    pub(in super::super) fn next_stream(&mut self) -> Result<Option<ContainerStream<'_>>, TraceError> {
        let Some(&offset) = self.launches.get(self.next) else { return Ok(None) };
        self.next += 1;
        self.open_launch(offset).map(Some)
    }

    fn open_launch(&mut self, offset: u64) -> Result<ContainerStream<'_>, TraceError> {
        let mut payload = Vec::new();
        self.file.read(offset, Kind::Launch, &mut payload)?;
        let record: LaunchRecord = serde_json::from_slice(&payload)
            .map_err(|error| self.file.error(offset, format!("launch record: {error}")))?;
        (check_program(&record.program).and_then(|()| check_launch(&record.launch)))
            .map_err(|problem| self.file.error(offset, problem))?;
        let pages = record.launch.blocks().div_ceil(PAGE_BLOCKS);
        if record.pages.len() as u64 != pages {
            let problem = format!("{} index pages; {pages} expected", record.pages.len());
            return Err(self.file.error(offset, problem));
        }
        self.report.launches += 1;
        self.report.instructions_with_values += record.instructions;
        Ok(ContainerStream {
            file: &mut self.file,
            program: record.program,
            launch: record.launch,
            pages: record.pages,
            page: None,
            blocks: BTreeMap::new(),
        })
    }
}

impl Launches for ContainerTrace {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        Ok(self.next_stream()?.map(|stream| Box::new(stream) as Box<dyn Stream + '_>))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        Ok(true)
    }
}

/// Reads the header and returns the version.
fn check_header(file: &mut RecordFile) -> Result<u32, TraceError> {
    let mut header = [0; HEADER_BYTES as usize];
    file.read_at(0, &mut header)?;
    let (magic, version) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(file.error(0, "not a warpfile trace: it must start with `WARPFILE`"));
    }
    let mut number = [0; 4];
    number.copy_from_slice(version);
    match u32::from_le_bytes(number) {
        version if VERSIONS.contains(&version) => Ok(version),
        other => Err(file.error(8, format!("version {other}; versions 1 to {VERSION} are accepted"))),
    }
}

/// Reads the trailer and returns the offset of the contents.
fn read_trailer(file: &mut RecordFile) -> Result<u64, TraceError> {
    let offset = file.bytes.saturating_sub(TRAILER_BYTES);
    let mut trailer = [0; TRAILER_BYTES as usize];
    file.read_at(offset, &mut trailer)?;
    let (numbers_part, magic) = trailer.split_at(24);
    if magic != END_MAGIC {
        return Err(file.error(offset, "no trailer: the file is truncated or was not completed"));
    }
    let parts: Vec<u64> = numbers(numbers_part).collect();
    if checksum(&numbers_part[..16], &[]) != parts[2] || parts[1] != file.bytes {
        let problem = format!(
            "the trailer is damaged or of another file (it says {} bytes, the file has {})",
            parts[1], file.bytes
        );
        return Err(file.error(offset, problem));
    }
    Ok(parts[0])
}

/// The little-endian numbers of a payload.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(8).map(|chunk| {
        let mut number = [0; 8];
        number.copy_from_slice(chunk);
        u64::from_le_bytes(number)
    })
}

/// One launch of a container.
pub(in super::super) struct ContainerStream<'a> {
    file: &'a mut RecordFile,
    program: Program,
    launch: Launch,
    pages: Vec<u64>,
    /// The page read last: its number and entries.
    page: Option<(u64, Vec<u64>)>,
    blocks: BTreeMap<BlockIndex, Vec<WarpCursor>>,
}

/// Where one running warp is.
struct WarpCursor {
    state: WarpState,
    /// Offset of the next chunk.
    next_chunk: u64,
    chunks: u64,
    chunk: Vec<u8>,
    position: usize,
    left_in_chunk: u64,
    /// Instructions not yet delivered.
    left: u64,
}

impl ContainerStream<'_> {
    fn directory_of(&mut self, block: BlockIndex) -> Result<u64, TraceError> {
        let number = block / PAGE_BLOCKS;
        let offset = self.pages[number as usize];
        if self.page.as_ref().is_none_or(|(held, _)| *held != number) {
            let mut payload = Vec::new();
            self.file.read(offset, Kind::Page, &mut payload)?;
            self.page = Some((number, numbers(&payload).collect()));
        }
        let entry =
            (self.page.as_ref()).and_then(|(_, page)| page.get((block % PAGE_BLOCKS) as usize).copied());
        entry.ok_or_else(|| self.file.error(offset, format!("no entry for block {block}")))
    }

    fn open_block(&mut self, block: BlockIndex) -> Result<Vec<WarpCursor>, TraceError> {
        let offset = self.directory_of(block)?;
        let mut directory = Vec::new();
        self.file.read(offset, Kind::Directory, &mut directory)?;
        let warps = self.launch.warps_per_block();
        if directory.len() != warps * DIRECTORY_ENTRY {
            let found = directory.len() / DIRECTORY_ENTRY;
            let problem = format!("directory of {found} warps; {warps} expected");
            return Err(self.file.error(offset, problem));
        }
        Ok(directory
            .chunks_exact(DIRECTORY_ENTRY)
            .map(|entry| {
                let mut entry = numbers(entry);
                WarpCursor {
                    state: WarpState::default(),
                    next_chunk: entry.next().unwrap_or(0),
                    chunks: 0,
                    chunk: Vec::new(),
                    position: 0,
                    left_in_chunk: 0,
                    left: entry.next().unwrap_or(0),
                }
            })
            .collect())
    }

    fn advance(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, TraceError> {
        let cursor = self.blocks.get_mut(&block).and_then(|warps| warps.get_mut(warp));
        let Some(cursor) = cursor else {
            let problem = format!("warp {warp} of block {block} is not running");
            return Err(TraceError::file(&self.file.path, problem));
        };
        if cursor.left == 0 {
            return Ok(false);
        }
        if cursor.left_in_chunk == 0 {
            cursor.read_chunk(self.file, block, warp)?;
        }
        let mut input = &cursor.chunk[cursor.position..];
        decode(&self.program, &mut cursor.state, &mut input, into).map_err(|problem| {
            TraceError::file(
                &self.file.path,
                format!("block {block}, warp {warp}, chunk {}: {problem}", cursor.chunks - 1),
            )
        })?;
        cursor.position = cursor.chunk.len() - input.len();
        cursor.left_in_chunk -= 1;
        cursor.left -= 1;
        Ok(true)
    }
}

#[cfg(test)]
impl ContainerStream<'_> {
    /// Bytes held for the running blocks and the file, the launch record apart.
    pub fn held_bytes(&self) -> usize {
        let warps = self.blocks.values().flatten();
        let page = self.page.as_ref().map_or(0, |(_, page)| page.capacity() * 8);
        let cursors: usize =
            warps.map(|warp| warp.chunk.capacity() + warp.state.registers.held_bytes()).sum();
        self.file.held_bytes() + page + cursors
    }
}

impl WarpCursor {
    fn read_chunk(
        &mut self,
        file: &mut RecordFile,
        block: BlockIndex,
        warp: usize,
    ) -> Result<(), TraceError> {
        let offset = self.next_chunk;
        self.next_chunk = file.read(offset, Kind::Chunk, &mut self.chunk)?;
        let mut input = self.chunk.as_slice();
        let mut found = [0; 4];
        for number in &mut found {
            *number = take_unsigned(&mut input).map_err(|problem| file.error(offset, problem))?;
        }
        let [found_block, found_warp, found_chunk, count] = found;
        if [found_block, found_warp, found_chunk] != [block, warp as u64, self.chunks] {
            let problem = format!(
                "chunk {found_chunk} of block {found_block}, warp {found_warp}; \
                 chunk {} of block {block}, warp {warp} expected",
                self.chunks
            );
            return Err(file.error(offset, problem));
        }
        if count == 0 || count > self.left {
            let problem = format!("chunk of {count} instructions; 1 to {} expected", self.left);
            return Err(file.error(offset, problem));
        }
        self.position = self.chunk.len() - input.len();
        self.left_in_chunk = count;
        self.chunks += 1;
        Ok(())
    }
}

impl Stream for ContainerStream<'_> {
    fn program(&self) -> &Program {
        &self.program
    }

    fn launch(&self) -> &Launch {
        &self.launch
    }

    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        if block >= self.launch.blocks() {
            let problem = format!("block {block} of a grid of {}", self.launch.blocks());
            return Err(TraceError::file(&self.file.path, problem).into());
        }
        let warps = self.open_block(block)?;
        self.blocks.insert(block, warps);
        Ok(())
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        Ok(self.advance(block, warp, into)?)
    }

    fn finish_block(&mut self, block: BlockIndex) {
        self.blocks.remove(&block);
    }

    fn races(&mut self) -> Result<Option<Arc<Races>>, StreamError> {
        let mut again = ContainerStream {
            file: self.file,
            program: self.program.clone(),
            launch: self.launch.clone(),
            pages: self.pages.clone(),
            page: None,
            blocks: BTreeMap::new(),
        };
        Races::of(&mut again).map(|races| Some(Arc::new(races)))
    }
}
