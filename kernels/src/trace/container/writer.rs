//! Writes a container, block by block.

use super::super::output::OutputFile;
use super::super::{MAX_WARPS, TraceError, TraceSummary, check_launch};
use super::codec::{WarpState, encode, put_unsigned};
use super::record::{Kind, RecordWriter, checksum};
use super::{END_MAGIC, LaunchRecord, MAGIC, PAGE_BLOCKS, VERSION, check_program};
use crate::program::{Launches, Stream, WarpInstruction};
use std::path::Path;

/// Bytes of coded instructions after which a chunk is written.
const CHUNK_BYTES: usize = 32 << 10;

/// Writes every launch to a container, which appears under its name once it is complete.
///
/// # Errors
/// The stream ends with an error or does not fit its program, or the file cannot be written.
pub fn write_warpfile(launches: &mut dyn Launches, path: &Path) -> Result<TraceSummary, TraceError> {
    let failed = |error| TraceError::file(path, error);
    let mut writer = ContainerWriter {
        path,
        records: RecordWriter { file: OutputFile::create(path).map_err(failed)?, offset: 0 },
        summary: TraceSummary::default(),
        warp_instruction: WarpInstruction::default(),
    };
    writer.write(launches)?;
    writer.records.file.publish().map_err(failed)?;
    Ok(writer.summary)
}

struct ContainerWriter<'a> {
    path: &'a Path,
    records: RecordWriter<OutputFile>,
    summary: TraceSummary,
    warp_instruction: WarpInstruction,
}

impl ContainerWriter<'_> {
    fn write(&mut self, launches: &mut dyn Launches) -> Result<(), TraceError> {
        let mut header = MAGIC.to_vec();
        header.extend(VERSION.to_le_bytes());
        self.put(&header)?;
        let mut contents = Vec::new();
        while let Some(mut stream) = launches.next_launch()? {
            contents.extend(self.write_launch(stream.as_mut())?.to_le_bytes());
            self.summary.launches += 1;
        }
        let contents_offset = self.append(Kind::Contents, &contents)?;
        let mut trailer = contents_offset.to_le_bytes().to_vec();
        trailer.extend((self.records.offset + super::reader::TRAILER_BYTES).to_le_bytes());
        let sum = checksum(&trailer, &[]);
        trailer.extend(sum.to_le_bytes());
        trailer.extend(END_MAGIC);
        self.put(&trailer)?;
        self.summary.bytes = self.records.offset;
        Ok(())
    }

    /// Writes one launch and returns the offset of its launch record.
    fn write_launch(&mut self, stream: &mut dyn Stream) -> Result<u64, TraceError> {
        let program = stream.program().clone();
        let launch = stream.launch().clone();
        (check_program(&program).and_then(|()| check_launch(&launch)))
            .map_err(|problem| TraceError::file(self.path, problem))?;
        let instructions_before = self.summary.instructions;
        let mut pages = Vec::new();
        let mut page = Vec::new();
        for block in 0..launch.blocks() {
            page.extend(self.write_block(stream, block, launch.warps_per_block())?.to_le_bytes());
            if (block + 1) % PAGE_BLOCKS == 0 || block + 1 == launch.blocks() {
                pages.push(self.append(Kind::Page, &page)?);
                page.clear();
            }
        }
        self.summary.blocks += launch.blocks();
        let instructions = self.summary.instructions - instructions_before;
        let record = serde_json::to_vec(&LaunchRecord { program, launch, pages, instructions })
            .map_err(|error| TraceError::file(self.path, error))?;
        self.append(Kind::Launch, &record)
    }

    /// Writes one block and returns the offset of its directory.
    fn write_block(&mut self, stream: &mut dyn Stream, block: u64, warps: usize) -> Result<u64, TraceError> {
        debug_assert!(warps <= MAX_WARPS);
        stream.start_block(block)?;
        let mut directory = Vec::new();
        for warp in 0..warps {
            directory.extend(self.records.offset.to_le_bytes());
            directory.extend(self.write_warp(stream, block, warp)?.to_le_bytes());
        }
        stream.finish_block(block);
        self.append(Kind::Directory, &directory)
    }

    /// Writes the chunks of one warp and returns its instruction count.
    fn write_warp(&mut self, stream: &mut dyn Stream, block: u64, warp: usize) -> Result<u64, TraceError> {
        let mut state = WarpState::default();
        let (mut chunk, mut in_chunk) = (Vec::new(), 0);
        let (mut chunks, mut instructions) = (0, 0);
        while stream.next(block, warp, &mut self.warp_instruction)? {
            encode(stream.program(), &mut state, &self.warp_instruction, &mut chunk)
                .map_err(|problem| TraceError::file(self.path, problem))?;
            in_chunk += 1;
            instructions += 1;
            if chunk.len() >= CHUNK_BYTES {
                self.write_chunk([block, warp as u64, chunks, in_chunk], &chunk)?;
                chunk.clear();
                in_chunk = 0;
                chunks += 1;
            }
        }
        if in_chunk > 0 {
            self.write_chunk([block, warp as u64, chunks, in_chunk], &chunk)?;
        }
        self.summary.instructions += instructions;
        Ok(instructions)
    }

    fn write_chunk(&mut self, numbers: [u64; 4], coded: &[u8]) -> Result<(), TraceError> {
        let mut payload = Vec::with_capacity(coded.len() + 40);
        for number in numbers {
            put_unsigned(&mut payload, number);
        }
        payload.extend(coded);
        self.append(Kind::Chunk, &payload).map(drop)
    }

    fn append(&mut self, kind: Kind, payload: &[u8]) -> Result<u64, TraceError> {
        self.records.append(kind, payload).map_err(|error| TraceError::file(self.path, error))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.records.put(bytes).map_err(|error| TraceError::file(self.path, error))
    }
}
