//! The second pass: what every warp of a kernel's trace executes, with the value of every operand.

use super::super::registers::{WarpRegisters, lanes};
use super::super::{TraceError, TraceReport};
use super::body::{BodyScanner, Event, instruction};
use super::expand::MAX_BYTES;
use super::header::Header;
use super::line::{Line, Listed};
use super::survey::Survey;
use super::text::{LineCursor, TextFile};
use crate::program::{
    BlockIndex, InstId, LANES, LaneMask, LaneValues, Launch, PhysReg, Program, Stream, StreamError,
    WarpInstruction,
};
use std::collections::BTreeMap;

/// Bytes read at a time for one warp, and for finding blocks.
const WARP_STEP: usize = 4 << 10;
const SCAN_STEP: usize = 64 << 10;

/// One launch of an Accel-Sim trace.
pub(in super::super) struct AccelSimStream<'a> {
    file: TextFile,
    header: Header,
    survey: Survey,
    scanner: BodyScanner,
    blocks: BTreeMap<BlockIndex, Vec<Option<WarpCursor>>>,
    report: &'a mut TraceReport,
}

/// Where one running warp is.
struct WarpCursor {
    cursor: LineCursor,
    /// Lines not yet read.
    left: u64,
    /// The line being delivered.
    line: Line,
    /// The first of the line's machine instructions.
    first: u32,
    /// Those not yet delivered: the next and the one after the last.
    parts: std::ops::Range<u32>,
    registers: WarpRegisters,
    /// Writes so far, each of which has a value of its own.
    version: u64,
    warp_id: u64,
}

impl<'a> AccelSimStream<'a> {
    /// A stream of a surveyed trace; `start` is behind the header.
    pub(super) fn new(
        file: TextFile,
        start: &LineCursor,
        header: Header,
        survey: Survey,
        report: &'a mut TraceReport,
    ) -> AccelSimStream<'a> {
        let scanner = BodyScanner::new(start.fork(SCAN_STEP), &header.launch);
        AccelSimStream { file, header, survey, scanner, blocks: BTreeMap::new(), report }
    }

    /// Goes to a block and finds its warps; one that the trace does not have has no instructions.
    fn open_block(&mut self, block: BlockIndex) -> Result<Vec<Option<WarpCursor>>, TraceError> {
        let warps = self.header.launch.warps_per_block();
        let mut found: Vec<Option<WarpCursor>> = Vec::new();
        found.resize_with(warps, || None);
        let mut inside = false;
        loop {
            match self.scanner.next(&mut self.file)? {
                Event::Block(passed) => inside = passed == block,
                Event::Warp { warp, instructions } if inside => {
                    let warp_id = block * warps as u64 + warp as u64;
                    let cursor = self.scanner.cursor.fork(WARP_STEP);
                    found[warp] = Some(WarpCursor::new(cursor, instructions, warp_id));
                }
                Event::Warp { .. } => {}
                Event::BlockEnd if inside => return Ok(found),
                Event::BlockEnd => {}
                Event::End => {
                    let problem = format!("block {block} was started before a later one");
                    return Err(TraceError::file(&self.file.path, problem));
                }
            }
        }
    }

    fn advance(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, TraceError> {
        let Some(cursor) = self.blocks.get_mut(&block).and_then(|warps| warps.get_mut(warp)) else {
            let problem = format!("warp {warp} of block {block} is not running");
            return Err(TraceError::file(&self.file.path, problem));
        };
        let Some(cursor) = cursor else { return Ok(false) };
        if cursor.parts.is_empty() && !cursor.read_line(&mut self.file, &self.header, &self.survey)? {
            return Ok(false);
        }
        let Some(position) = cursor.parts.next() else { return Ok(false) };
        cursor.deliver(InstId(position), &self.survey.program, into, self.report);
        Ok(true)
    }

    /// Bytes held for the running blocks and for finding the next.
    #[cfg(test)]
    pub fn held_bytes(&self) -> usize {
        let warps = self.blocks.values().flatten().flatten();
        let each = warps.map(|warp| warp.cursor.held_bytes() + warp.registers.held_bytes());
        self.scanner.cursor.held_bytes() + each.sum::<usize>()
    }
}

impl WarpCursor {
    fn new(cursor: LineCursor, instructions: u64, warp_id: u64) -> WarpCursor {
        WarpCursor {
            cursor,
            left: instructions,
            line: Line::default(),
            first: 0,
            parts: 0..0,
            registers: WarpRegisters::default(),
            version: 0,
            warp_id,
        }
    }

    /// Reads the next line; `false` after the last.
    fn read_line(
        &mut self,
        file: &mut TextFile,
        header: &Header,
        survey: &Survey,
    ) -> Result<bool, TraceError> {
        if self.left == 0 {
            return Ok(false);
        }
        let Some(text) = instruction(&mut self.cursor, &mut self.left, file)? else {
            return Ok(false);
        };
        let parsed = self.line.parse(text, header);
        let found = parsed
            .and_then(|()| survey.template_of(&self.line).ok_or_else(|| "the file has changed".to_string()));
        let template = found.map_err(|problem| file.error(self.cursor.line(), problem))?;
        self.first = template.first;
        self.parts = template.first..template.first + template.parts;
        Ok(true)
    }

    fn deliver(
        &mut self,
        inst: InstId,
        program: &Program,
        into: &mut WarpInstruction,
        report: &mut TraceReport,
    ) {
        let instruction = &program.instructions[inst.0 as usize];
        let line_parts = &program.instructions[self.first as usize..self.parts.end as usize];
        // What writes none lists what it reads on either side.
        let writes = line_parts.last().is_some_and(|part| part.operation.may_write_registers());
        let read = if writes { Side::Source } else { Side::Both };
        let active = self.line.mask;
        into.inst = inst;
        into.active = active;
        for (slot, source) in instruction.sources.iter().enumerate() {
            report.contradicting_lanes += u64::from(self.trust_recorded(read, source.register));
            let (values, defined) = self.registers.read(source.register);
            into.sources[slot] = *values;
            into.defined[slot] = defined & active;
            if let Some(recorded) = recorded(&self.line, read, source.register) {
                for lane in lanes(active & !defined) {
                    into.sources[slot][lane] = recorded[lane];
                }
            }
        }
        for (slot, result) in instruction.results.iter().enumerate() {
            self.version += 1;
            into.results[slot] = match recorded(&self.line, Side::Result, result.register) {
                Some(values) => *values,
                None => invented(self.warp_id, result.register, self.version),
            };
            self.registers.write(result.register, active, &into.results[slot]);
        }
        if instruction.operation.accesses_memory() {
            let before = &line_parts[..(inst.0 - self.first) as usize];
            let accesses_before = before.iter().filter(|part| part.operation.accesses_memory()).count();
            let offset = accesses_before as u64 * u64::from(MAX_BYTES);
            into.addresses = match self.line.memory_bytes {
                0 => [0; LANES],
                _bytes => self.line.addresses.map(|address| address.wrapping_add(offset)),
            };
        }
        match self.line.has_values {
            true => report.instructions_with_values += 1,
            false => report.instructions_without_values += 1,
        }
    }

    /// Forgets what was last written to a register in the lanes where the trace records another value for a read of
    /// it, and returns how many those are.
    fn trust_recorded(&mut self, read: Side, register: PhysReg) -> u32 {
        let Some(recorded) = recorded(&self.line, read, register) else { return 0 };
        let (values, defined) = self.registers.read(register);
        let mut wrong: LaneMask = 0;
        for lane in lanes(defined & self.line.mask) {
            wrong |= LaneMask::from(values[lane] != recorded[lane]) << lane;
        }
        if wrong != 0 {
            self.registers.forget(register, wrong);
        }
        wrong.count_ones()
    }
}

/// Which of a line's lists a register is looked for in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Source,
    Result,
    Both,
}

/// The value that a line records for a register it lists.
fn recorded(line: &Line, side: Side, register: PhysReg) -> Option<&LaneValues> {
    if !line.has_values {
        return None;
    }
    let (listed, values) = match side {
        Side::Source => (&line.sources, &line.source_values),
        Side::Result => (&line.results, &line.result_values),
        Side::Both => {
            return recorded(line, Side::Source, register).or_else(|| recorded(line, Side::Result, register));
        }
    };
    let position = listed.iter().position(|&operand| operand == Listed::Vector(register.0))?;
    values.get(position)
}

/// A value for a write of a trace without values: different for every warp, register, write and lane, so that a
/// stale operand, one of another register or warp, or one shifted by lanes does not go unnoticed.
fn invented(warp: u64, register: PhysReg, version: u64) -> LaneValues {
    let write = mix(mix(warp << 16 | u64::from(register.0)) ^ version);
    std::array::from_fn(|lane| (mix(write ^ lane as u64) >> 32) as u32)
}

/// The finaliser of splitmix64: a bijection of 64 bits that spreads every bit.
fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

impl Stream for AccelSimStream<'_> {
    fn program(&self) -> &Program {
        &self.survey.program
    }

    fn launch(&self) -> &Launch {
        &self.header.launch
    }

    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        if block >= self.header.launch.blocks() {
            let problem = format!("block {block} of a grid of {}", self.header.launch.blocks());
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
}
