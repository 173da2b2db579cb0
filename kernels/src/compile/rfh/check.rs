//! Checks a placement without knowing how it was made: runs warps on entries and registers that know their lanes.
//!
//! For each register of a warp it knows in which lanes the main register file holds the program's value, and for each
//! entry which register it was written for last, and in which lanes it holds that register's value. Entries are empty
//! when the warp enters a strand. A result is under way until an instruction reads or writes its register. It demands
//! that
//!
//! - a warp enters strands at their first instruction, and goes on in one in program order;
//! - every register is read where its value was written last, in all lanes that are read;
//! - no result is under way to an entry that is written for another register, read, or lost;
//! - the last result file is used by arithmetic instructions alone, and no late result comes to an entry.
//!
//! After regalloc2's checker. [`check_recorded`] runs what a stream recorded.

use super::super::executed::follow_warps;
use super::placement::{Placement, Places, Upper};
use crate::program::{Instruction, LaneMask, Operation, PhysReg, Program, Stream, StreamError};

/// A promise that a placement does not keep.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`, instruction {instruction} (`{text}`): {broken}")]
pub struct BrokenPromise {
    /// The kernel.
    pub kernel: String,
    /// Position of the instruction.
    pub instruction: usize,
    /// The instruction as printed.
    pub text: String,
    /// What is wrong.
    pub broken: Broken,
}

/// What is wrong with a placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A strand is entered in the middle, or goes on over a point where the warp may be suspended.
    #[error("the strand is entered or goes on where it must not")]
    NotRunAsOne,
    /// A register is read in lanes in which the level does not hold its value.
    #[error("R{} is read in lanes {lanes:08x} that are elsewhere", register.0)]
    Elsewhere {
        /// The register.
        register: PhysReg,
        /// The lanes.
        lanes: LaneMask,
    },
    /// A result is under way to an entry that is used for something else or given up.
    #[error("a result of R{} is still under way to the entry", .0.0)]
    UnderWay(PhysReg),
    /// The last result file is used by another unit.
    #[error("R{} is in the last result file, which the unit does not have", .0.0)]
    NotByAlu(PhysReg),
    /// A result that comes late, or one without a place.
    #[error("R{} is written nowhere, or late to an entry", .0.0)]
    BadResult(PhysReg),
    /// Two operands are copied, or one that is not read from the main register file.
    #[error("more than one operand is copied, or one that has an entry")]
    BadCopy,
    /// An entry that there is not.
    #[error("there is no such entry")]
    NoSuchEntry,
}

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    register: PhysReg,
    holds: LaneMask,
    /// A result for it may not have come yet.
    under_way: bool,
}

/// A warp with its registers and entries.
#[derive(Clone, Debug)]
pub struct Warp {
    /// For each register the lanes in which the main register file holds the program's value.
    main: Vec<LaneMask>,
    /// The last result file, then the operand register file.
    entries: Vec<Option<Entry>>,
    /// The instruction before, and its strand.
    before: Option<(usize, usize)>,
}

impl Warp {
    /// A warp of a program before its first instruction, with so many entries in the operand register file.
    pub fn new(program: &Program, orf_entries: u8) -> Warp {
        Warp {
            main: vec![0; usize::from(program.registers_per_thread)],
            entries: vec![None; 1 + usize::from(orf_entries)],
            before: None,
        }
    }

    /// Executes an instruction in some lanes. `known` are the lanes of each source that the program has written.
    ///
    /// # Errors
    /// The first promise that is not kept.
    pub fn step(
        &mut self,
        program: &Program,
        placement: &Placement,
        position: usize,
        active: LaneMask,
        known: &[LaneMask],
    ) -> Result<(), BrokenPromise> {
        let instruction = &program.instructions[position];
        let broken = |broken| BrokenPromise {
            kernel: program.name.clone(),
            instruction: position,
            text: instruction.text.clone(),
            broken,
        };
        self.enter(program, placement, position).map_err(broken)?;
        let places = &placement.places[position];
        self.read(instruction, places, active, known).map_err(broken)?;
        self.write(instruction, places, active).map_err(broken)
    }

    fn enter(&mut self, program: &Program, placement: &Placement, position: usize) -> Result<(), Broken> {
        let strand = placement.strands.partition_point(|strand| strand.end as usize <= position);
        let is_first = placement.strands[strand].start as usize == position;
        let goes_on = self.before == position.checked_sub(1).map(|before| (before, strand));
        let suspended = program.instructions[position].suspends
            || self
                .before
                .is_some_and(|(before, _)| program.instructions[before].operation == Operation::Barrier);
        if !is_first && (suspended || !goes_on) {
            return Err(Broken::NotRunAsOne);
        }
        if is_first {
            if let Some(entry) = self.entries.iter().flatten().find(|entry| entry.under_way) {
                return Err(Broken::UnderWay(entry.register));
            }
            self.entries.fill(None);
        }
        self.before = Some((position, strand));
        Ok(())
    }

    fn read(
        &mut self,
        instruction: &Instruction,
        places: &Places,
        active: LaneMask,
        known: &[LaneMask],
    ) -> Result<(), Broken> {
        for source in &instruction.sources {
            self.wait_for(source.register);
        }
        let mut copies = places.sources.iter().filter(|place| place.copied_to.is_some());
        let alone = copies.next().is_none_or(|place| place.upper.is_none()) && copies.next().is_none();
        if !alone {
            return Err(Broken::BadCopy);
        }
        for ((source, place), &known) in instruction.sources.iter().zip(places.sources).zip(known) {
            let register = source.register;
            let holds = match place.upper {
                None => self.main[usize::from(register.0)],
                Some(upper) => {
                    may_have(instruction, register, upper)?;
                    let entry = self.entry(upper)?.filter(|entry| entry.register == register);
                    entry.map_or(0, |entry| entry.holds)
                }
            };
            let lanes = active & known & !holds;
            if lanes != 0 {
                return Err(Broken::Elsewhere { register, lanes });
            }
        }
        for (source, place) in instruction.sources.iter().zip(places.sources) {
            if let Some(entry) = place.copied_to {
                let holds = active & self.main[usize::from(source.register.0)];
                let new = Entry { register: source.register, holds, under_way: false };
                self.replace(Upper::Orf(entry), new)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, instruction: &Instruction, places: &Places, active: LaneMask) -> Result<(), Broken> {
        let late = instruction.operation.has_long_latency();
        for (result, place) in instruction.results.iter().zip(places.results) {
            let register = result.register;
            self.wait_for(register);
            if place.upper.is_none() && !place.main || place.upper.is_some() && late {
                return Err(Broken::BadResult(register));
            }
            let main = &mut self.main[usize::from(register.0)];
            *main = if place.main { *main | active } else { *main & !active };
            let mut kept = 0;
            for (number, entry) in self.entries.iter_mut().enumerate() {
                if let Some(entry) = entry.as_mut().filter(|entry| entry.register == register) {
                    entry.holds &= !active;
                    if place.upper.is_some_and(|upper| index(upper) == number) {
                        kept = entry.holds;
                    }
                }
            }
            if let Some(upper) = place.upper {
                may_have(instruction, register, upper)?;
                self.replace(upper, Entry { register, holds: kept | active, under_way: true })?;
            }
        }
        Ok(())
    }

    /// An instruction that reads or writes a register is issued when its results have come.
    fn wait_for(&mut self, register: PhysReg) {
        for entry in self.entries.iter_mut().flatten().filter(|entry| entry.register == register) {
            entry.under_way = false;
        }
    }

    fn entry(&self, upper: Upper) -> Result<Option<Entry>, Broken> {
        self.entries.get(index(upper)).copied().ok_or(Broken::NoSuchEntry)
    }

    fn replace(&mut self, upper: Upper, new: Entry) -> Result<(), Broken> {
        if let Some(old) = self.entry(upper)?.filter(|old| old.under_way) {
            return Err(Broken::UnderWay(old.register));
        }
        self.entries[index(upper)] = Some(new);
        Ok(())
    }
}

fn index(upper: Upper) -> usize {
    match upper {
        Upper::Lrf => 0,
        Upper::Orf(entry) => 1 + usize::from(entry),
    }
}

/// Only arithmetic instructions have the last result file.
fn may_have(instruction: &Instruction, register: PhysReg, upper: Upper) -> Result<(), Broken> {
    let by_alu = matches!(instruction.operation, Operation::Alu | Operation::Double);
    if upper == Upper::Lrf && !by_alu { Err(Broken::NotByAlu(register)) } else { Ok(()) }
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

/// Runs every warp of a launch; `program` is the stream's, its values placed in so many entries. Returns how many
/// instructions were checked.
///
/// # Errors
/// The first promise that is not kept, or the stream's error.
pub fn check_recorded(
    stream: &mut dyn Stream,
    program: &Program,
    placement: &Placement,
    orf_entries: u8,
) -> Result<u64, CheckError> {
    follow_warps(
        stream,
        || Warp::new(program, orf_entries),
        |warp, executed| {
            let position = executed.inst.0 as usize;
            Ok(warp.step(program, placement, position, executed.active, &executed.defined)?)
        },
        |_| Ok(()),
    )
}
