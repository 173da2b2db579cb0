//! Pipeline log: a row for each warp instruction with the cycles that it spends waiting, at its operands, executing and at
//! writeback, in the format of Kanata, which Konata draws.
//!
//! A [`Layer`] that only looks: it meets the pipeline at the points at which every layer does.
//!
//! | stage | from | to |
//! |---|---|---|
//! | `Wt` | it has been decoded: its warp waits for the scheduler | the pick |
//! | `Op` | the pick | its operands have been delivered |
//! | `Ex` | its operands have been delivered | its first result is written, or it is done |
//! | `Wb` | its first result has been written | nothing is left to do |
//!
//! Source of the format: Shioya, "Kanata log format", version 4 (<https://github.com/shioyadan/Konata>).

use std::collections::VecDeque;
use std::io::{self, Write};
use std::ops::Range;

use warpfile_kernels::program::{BlockIndex, InstId, WarpInstruction};

use super::SimError;
use super::design::{Layer, WarpPlace, WarpRows};
use crate::mechanisms::Compiled;

/// A pipeline log to write.
pub struct PipelineLog<'a> {
    /// Where it goes.
    pub writer: &'a mut dyn Write,
    /// Instructions that are decoded in these cycles are in it; all if `None`.
    pub cycles: Option<Range<u64>>,
}

/// Writes a [`PipelineLog`].
pub(super) struct PipelineLogger<'a> {
    writer: &'a mut dyn Write,
    cycles: Range<u64>,
    now: u64,
    /// The cycle that the log has come to.
    written_to: u64,
    /// Instructions logged so far.
    rows: u64,
    /// Those that have retired.
    retired: u64,
    kernel: String,
    /// Address and text of each instruction.
    texts: Vec<(u32, String)>,
    /// By partition and warp slot.
    warps: Vec<Vec<Warp>>,
    /// Warps of the block that started last, so far.
    started: (BlockIndex, usize),
    /// Why it cannot be written, from the cycle that noticed.
    failed: Option<io::Error>,
}

/// A warp slot's warp.
#[derive(Default)]
struct Warp {
    block: BlockIndex,
    /// Its number in the block.
    number: usize,
    /// Logged instructions that have not retired, in program order.
    rows: VecDeque<Row>,
}

struct Row {
    id: u64,
    inst: InstId,
    stage: Stage,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Waits,
    Operands,
    Executes,
    WritesBack,
    /// It has retired, and has still to get operands that nobody needs.
    Retired,
}

impl Stage {
    /// As in the log.
    fn name(self) -> &'static str {
        match self {
            Stage::Waits => "Wt",
            Stage::Operands => "Op",
            Stage::Executes => "Ex",
            Stage::WritesBack => "Wb",
            Stage::Retired => "",
        }
    }
}

impl<'a> PipelineLogger<'a> {
    /// A log for so many partitions of so many warps each.
    pub fn new(log: PipelineLog<'a>, partitions: usize, warps: usize) -> PipelineLogger<'a> {
        let of_partition = || (0..warps).map(|_| Warp::default()).collect();
        let mut logger = PipelineLogger {
            writer: log.writer,
            cycles: log.cycles.unwrap_or(0..u64::MAX),
            now: 0,
            written_to: 0,
            rows: 0,
            retired: 0,
            kernel: String::new(),
            texts: Vec::new(),
            warps: (0..partitions).map(|_| of_partition()).collect(),
            started: (BlockIndex::MAX, 0),
            failed: None,
        };
        logger.line(format_args!("Kanata\t0004\nC=\t0"));
        logger
    }

    /// Writes a line, in the cycle that is under way.
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        if self.failed.is_some() {
            return;
        }
        let passed = self.now - self.written_to;
        let time = if passed > 0 { writeln!(self.writer, "C\t{passed}") } else { Ok(()) };
        self.written_to = self.now;
        self.failed = time.and_then(|()| writeln!(self.writer, "{line}")).err();
    }

    /// The first instruction of a warp that is `inst` and has come as far as `from` becomes one of the stage `to`.
    fn moves(&mut self, at: WarpPlace, inst: InstId, from: Range<Stage>, to: Stage) {
        let rows = &mut self.warps[at.partition][at.warp].rows;
        if let Some(row) = rows.iter_mut().find(|row| row.inst == inst && from.contains(&row.stage)) {
            row.stage = to;
            let id = row.id;
            self.line(format_args!("S\t{id}\t0\t{}", to.name()));
        }
    }

    /// Takes an instruction out; `flushed` if it was never executed.
    fn retires(&mut self, id: u64, flushed: bool) {
        let order = self.retired;
        self.retired += 1;
        self.line(format_args!("R\t{id}\t{order}\t{}", u8::from(flushed)));
    }
}

impl Layer for PipelineLogger<'_> {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.kernel.clone_from(&kernel.program.name);
        let instructions = kernel.program.instructions.iter();
        self.texts = instructions.map(|instruction| (instruction.pc, instruction.text.clone())).collect();
        self.started = (BlockIndex::MAX, 0);
        Ok(())
    }

    fn start_warp(&mut self, at: WarpPlace, _rows: WarpRows, block: BlockIndex) {
        let number = if self.started.0 == block { self.started.1 } else { 0 };
        self.started = (block, number + 1);
        let warp = &mut self.warps[at.partition][at.warp];
        (warp.block, warp.number) = (block, number);
    }

    fn decode(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        if !self.cycles.contains(&self.now) {
            return;
        }
        let id = self.rows;
        self.rows += 1;
        let row = Row { id, inst: instruction.inst, stage: Stage::Waits };
        let warp = &mut self.warps[at.partition][at.warp];
        warp.rows.push_back(row);
        let (block, number) = (warp.block, warp.number);
        let slot = at.warp * self.warps.len() + at.partition;
        self.line(format_args!("I\t{id}\t{id}\t{slot}"));
        // Texts are taken out while they are written.
        let texts = std::mem::take(&mut self.texts);
        if let Some((pc, text)) = texts.get(instruction.inst.0 as usize) {
            self.line(format_args!("L\t{id}\t0\t{block}.{number} {pc:#x}: {text}"));
        }
        self.texts = texts;
        let kernel = std::mem::take(&mut self.kernel);
        self.line(format_args!(
            "L\t{id}\t1\tkernel {kernel}, block {block}, warp {number}, scheduler {}, slot {}, lanes {:08x}",
            at.partition, at.warp, instruction.active
        ));
        self.kernel = kernel;
        self.line(format_args!("S\t{id}\t0\t{}", Stage::Waits.name()));
    }

    fn issue(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        self.moves(at, instruction.inst, Stage::Waits..Stage::Operands, Stage::Operands);
    }

    fn read(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let rows = &mut self.warps[at.partition][at.warp].rows;
        let reads = |row: &Row| matches!(row.stage, Stage::Operands | Stage::WritesBack | Stage::Retired);
        let first = rows.iter().position(|row| row.inst == instruction.inst && reads(row));
        match first.map(|position| (position, rows[position].stage)) {
            Some((position, Stage::Retired)) => drop(rows.remove(position)),
            Some((_, Stage::Operands)) => {
                self.moves(at, instruction.inst, Stage::Operands..Stage::Executes, Stage::Executes);
            }
            Some(_) | None => {}
        }
    }

    fn written(&mut self, at: WarpPlace, instruction: &WarpInstruction, _result: usize) {
        self.moves(at, instruction.inst, Stage::Operands..Stage::WritesBack, Stage::WritesBack);
    }

    fn retire(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let rows = &mut self.warps[at.partition][at.warp].rows;
        let is_it = |row: &Row| {
            row.inst == instruction.inst && (Stage::Operands..Stage::Retired).contains(&row.stage)
        };
        let Some(position) = rows.iter().position(is_it) else { return };
        let id = rows[position].id;
        if rows[position].stage == Stage::Operands {
            rows[position].stage = Stage::Retired;
        } else {
            rows.remove(position);
        }
        self.retires(id, false);
    }

    fn end_warp(&mut self, at: WarpPlace) {
        while let Some(row) = self.warps[at.partition][at.warp].rows.pop_front() {
            if row.stage != Stage::Retired {
                self.retires(row.id, row.stage == Stage::Waits);
            }
        }
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        self.now += 1;
        self.failed.take().map_or(Ok(()), |error| Err(SimError::PipelineLog(error)))
    }
}
