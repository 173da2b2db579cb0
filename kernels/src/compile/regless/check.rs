//! Checks regions without knowing how they were made: runs warps on a staging unit that does only what it is told.
//!
//! The unit is as unhelpful as it may be: whatever may be evicted is evicted at once, a line that no preload filled
//! holds nothing in the lanes that nobody wrote, and what is declared dead is gone everywhere. For each register of a
//! warp it knows in which lanes the line and the copy in memory hold the program's value. It demands that
//!
//! - a warp enters regions at their first instruction and runs them to their last;
//! - every register that is read or written is staged or being written first, and in the lanes that are read it
//!   holds the program's value: so nothing live was lost, erased or invalidated;
//! - each line is given up by the end of its region, and never are more held than the region declares, in each bank
//!   and in all; a result's line is given up at the end of the region, as its write may come late.
//!
//! After regalloc2's checker. [`check_recorded`] runs what a stream recorded.

use super::super::executed::follow_warps;
use super::regions::{BANKS, Fate, Region, RegionId, Regions};
use crate::program::{Instruction, LaneMask, MAX_RESULTS, PhysReg, Program, Stream, StreamError};

/// A promise that regions do not keep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`, instruction {instruction} (`{text}`), region {}: {broken}", region.0)]
pub struct BrokenPromise {
    /// The kernel.
    pub kernel: String,
    /// Position of the instruction.
    pub instruction: usize,
    /// The instruction as printed.
    pub text: String,
    /// The region it is in.
    pub region: RegionId,
    /// What is wrong.
    pub broken: Broken,
}

/// What is wrong with a region or its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The warp is in the middle of another region, or comes into the middle of this one.
    #[error("is entered or left in the middle")]
    NotRunAsOne,
    /// A register is read that has no line.
    #[error("R{} is read but not staged", .0.0)]
    NotStaged(PhysReg),
    /// A register is read in lanes that the line does not hold.
    #[error("R{} is read in lanes {lanes:08x} that it lost", register.0)]
    LanesLost {
        /// The register.
        register: PhysReg,
        /// The lanes.
        lanes: LaneMask,
    },
    /// A line is held for a register whose last access is over.
    #[error("R{} is still held at the end", .0.0)]
    StillHeld(PhysReg),
    /// A register that is held is invalidated or preloaded.
    #[error("R{} is preloaded twice or preloaded and invalidated", .0.0)]
    PreloadedTwice(PhysReg),
    /// More lines are held than declared.
    #[error("{held} lines are held, {declared} declared")]
    TooManyLines {
        /// Held.
        held: u16,
        /// Declared.
        declared: u16,
    },
    /// More lines of a bank are held than declared.
    #[error("{held} lines of bank {bank} are held, {declared} declared")]
    TooManyBankLines {
        /// The bank.
        bank: usize,
        /// Held.
        held: u16,
        /// Declared.
        declared: u16,
    },
    /// A long-latency result and its first use are in one region.
    #[error("R{} is waited for in the region that loads it", .0.0)]
    WaitsForLoad(PhysReg),
    /// A mark at an operand that the instruction does not have, or two for one register.
    #[error("a mark has no operand")]
    MarkWithoutOperand,
}

/// One register of a warp. Masks tell the lanes in which a copy holds the program's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Row {
    line: Option<Line>,
    /// The copy in memory.
    memory: LaneMask,
    /// Being loaded by the region at hand.
    loading: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Line {
    holds: LaneMask,
    dirty: bool,
    /// Given up at the end of the region, and how.
    late: Option<LateFate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LateFate {
    Evict,
    Erase,
}

/// A warp on the unhelpful staging unit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Warp {
    rows: Vec<Row>,
    /// The instruction that has to come next, inside a region.
    next: Option<usize>,
}

impl Warp {
    /// A warp of a program before its first instruction.
    pub fn new(program: &Program) -> Warp {
        Warp { rows: vec![Row::default(); usize::from(program.registers_per_thread)], next: None }
    }

    /// Executes an instruction in some lanes. `known` are the lanes of each source that the program has written.
    ///
    /// # Errors
    /// The first promise that is not kept.
    pub fn step(
        &mut self,
        program: &Program,
        regions: &Regions,
        position: usize,
        active: LaneMask,
        known: &[LaneMask],
    ) -> Result<(), BrokenPromise> {
        let region = regions.region_of[position];
        self.try_step(program, regions, position, active, known).map_err(|broken| BrokenPromise {
            kernel: program.name.clone(),
            instruction: position,
            text: program.instructions[position].text.clone(),
            region,
            broken,
        })
    }

    fn try_step(
        &mut self,
        program: &Program,
        regions: &Regions,
        position: usize,
        active: LaneMask,
        known: &[LaneMask],
    ) -> Result<(), Broken> {
        let region = &regions.regions[regions.region_of[position].index()];
        let (start, end) = (region.instructions.start as usize, region.instructions.end as usize);
        match self.next {
            Some(next) if next != position => return Err(Broken::NotRunAsOne),
            None if position != start => return Err(Broken::NotRunAsOne),
            None => self.enter(region)?,
            Some(_) => {}
        }
        let instruction = &program.instructions[position];
        self.read(instruction, active, known)?;
        self.write(instruction, active)?;
        self.check_lines(region)?;
        self.give_up(instruction, regions, position)?;
        self.next = (position + 1 < end).then_some(position + 1);
        if self.next.is_none() { self.leave() } else { Ok(()) }
    }

    fn row(&mut self, register: PhysReg) -> &mut Row {
        &mut self.rows[usize::from(register.0)]
    }

    fn enter(&mut self, region: &Region) -> Result<(), Broken> {
        for &register in &region.cache_invalidations {
            *self.row(register) = Row::default();
        }
        for preload in &region.preloads {
            let row = self.row(preload.register);
            if row.line.is_some() || region.cache_invalidations.contains(&preload.register) {
                return Err(Broken::PreloadedTwice(preload.register));
            }
            row.line = Some(Line { holds: row.memory, dirty: false, late: None });
            if preload.invalidates {
                row.memory = 0;
            }
        }
        self.check_lines(region)
    }

    fn read(
        &mut self,
        instruction: &Instruction,
        active: LaneMask,
        known: &[LaneMask],
    ) -> Result<(), Broken> {
        for (source, &known) in instruction.sources.iter().zip(known) {
            let register = source.register;
            let row = self.row(register);
            let line = row.line.filter(|line| line.late.is_none()).ok_or(Broken::NotStaged(register))?;
            if row.loading {
                return Err(Broken::WaitsForLoad(register));
            }
            let lanes = active & known & !line.holds;
            if lanes != 0 {
                return Err(Broken::LanesLost { register, lanes });
            }
        }
        Ok(())
    }

    fn write(&mut self, instruction: &Instruction, active: LaneMask) -> Result<(), Broken> {
        for result in &instruction.results {
            let row = self.row(result.register);
            if row.loading {
                return Err(Broken::WaitsForLoad(result.register));
            }
            let line = row.line.get_or_insert(Line { holds: 0, dirty: false, late: None });
            line.holds |= active;
            line.dirty = true;
            row.memory &= !active;
            row.loading = instruction.operation.has_long_latency();
        }
        Ok(())
    }

    fn check_lines(&self, region: &Region) -> Result<(), Broken> {
        let (mut held, mut of_bank) = (0, [0; BANKS]);
        for (register, _) in self.rows.iter().enumerate().filter(|(_, row)| row.line.is_some()) {
            held += 1;
            of_bank[register % BANKS] += 1;
        }
        if held > region.live {
            return Err(Broken::TooManyLines { held, declared: region.live });
        }
        for (bank, (held, declared)) in of_bank.into_iter().zip(region.bank_lines).enumerate() {
            if held > u16::from(declared) {
                return Err(Broken::TooManyBankLines { bank, held, declared: u16::from(declared) });
            }
        }
        Ok(())
    }

    /// What the marks of an instruction say: reads are over now, writes may come as late as the region's end.
    fn give_up(
        &mut self,
        instruction: &Instruction,
        regions: &Regions,
        position: usize,
    ) -> Result<(), Broken> {
        let marks = &regions.marks[position];
        for (operand, fate) in marks.sources.into_iter().enumerate().filter(|(_, fate)| *fate != Fate::Keep) {
            let source = instruction.sources.get(operand).ok_or(Broken::MarkWithoutOperand)?;
            let row = self.row(source.register);
            match fate {
                Fate::Keep => {}
                Fate::Evict => row.evict(),
                Fate::Erase => *row = Row::default(),
            }
        }
        for operand in 0..MAX_RESULTS {
            let late = match marks.results[operand] {
                Fate::Keep => continue,
                Fate::Evict => LateFate::Evict,
                Fate::Erase => LateFate::Erase,
            };
            let result = instruction.results.get(operand).ok_or(Broken::MarkWithoutOperand)?;
            let line = self.row(result.register).line.as_mut().ok_or(Broken::MarkWithoutOperand)?;
            line.late = Some(late);
        }
        Ok(())
    }

    fn leave(&mut self) -> Result<(), Broken> {
        for (register, row) in self.rows.iter_mut().enumerate() {
            row.loading = false;
            match row.line.map(|line| line.late) {
                None => {}
                Some(None) => return Err(Broken::StillHeld(PhysReg(register as u16))),
                Some(Some(LateFate::Evict)) => row.evict(),
                Some(Some(LateFate::Erase)) => *row = Row::default(),
            }
        }
        Ok(())
    }
}

impl Row {
    fn evict(&mut self) {
        if let Some(line) = self.line.take().filter(|line| line.dirty) {
            self.memory = line.holds;
        }
    }
}

/// Why a recorded execution could not be checked to its end.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A promise is not kept.
    #[error(transparent)]
    Broken(#[from] BrokenPromise),
    /// The stream ended with an error.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

/// Runs every warp of a launch on the unhelpful staging unit; `program` is the stream's, perhaps renumbered. Returns
/// how many instructions were checked.
///
/// # Errors
/// The first promise that is not kept, or the stream's error.
pub fn check_recorded(
    stream: &mut dyn Stream,
    program: &Program,
    regions: &Regions,
) -> Result<u64, CheckError> {
    follow_warps(
        stream,
        || Warp::new(program),
        |warp, executed| {
            let position = executed.inst.0 as usize;
            Ok(warp.step(program, regions, position, executed.active, &executed.defined)?)
        },
        |_| Ok(()),
    )
}
