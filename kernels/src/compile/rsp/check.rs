//! Checks a placement without knowing how it was made: runs warps on entries and registers that know their lanes.
//!
//! For each register of a warp it knows in which lanes the backing store holds the program's value, a live-out's as soon as
//! it is written since who reads it waits; and for each entry which register it was written for last, and in which lanes it
//! holds that register's value. Entries are empty when the warp enters a strand. It demands that
//!
//! - a warp enters strands at their first instruction, and goes forward in one, nowhere over a point where it may lose its
//!   slice: a barrier, a consumer of a long-latency result;
//! - every register is read where its value was written last, in all lanes that are read;
//! - no late result comes to an entry; one operand of an instruction at most is copied, and from the backing store.
//!
//! After regalloc2's checker. [`check_recorded`] runs what a stream recorded.

use super::super::executed::follow_warps;
use super::placement::{Placement, Places};
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
    /// A strand is entered in the middle, or goes back, or over a point where the warp may lose its slice.
    #[error("the strand is entered or goes on where it must not")]
    NotRunAsOne,
    /// A register is read in lanes in which its value is elsewhere.
    #[error("R{} is read in lanes {lanes:08x} that are elsewhere", register.0)]
    Elsewhere {
        /// The register.
        register: PhysReg,
        /// The lanes.
        lanes: LaneMask,
    },
    /// A result that comes late to an entry.
    #[error("R{} comes late to an entry", .0.0)]
    Late(PhysReg),
    /// Two operands are copied, or one that has an entry.
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
}

/// A warp with its registers and entries.
#[derive(Clone, Debug)]
pub struct Warp {
    /// For each register the lanes in which the backing store holds the program's value, or will before it is read.
    backing: Vec<LaneMask>,
    entries: Vec<Option<Entry>>,
    /// The instruction before, and its strand.
    before: Option<(usize, usize)>,
}

impl Warp {
    /// A warp of a program before its first instruction, with so many entries.
    pub fn new(program: &Program, entries: u8) -> Warp {
        Warp {
            backing: vec![0; usize::from(program.registers_per_thread)],
            entries: vec![None; usize::from(entries)],
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
        let goes_on = self.before.is_some_and(|(before, of)| of == strand && before < position);
        let may_lose_slice = program.instructions[position].suspends
            || self
                .before
                .is_some_and(|(before, _)| program.instructions[before].operation == Operation::Barrier);
        if !is_first && (may_lose_slice || !goes_on) {
            return Err(Broken::NotRunAsOne);
        }
        if is_first {
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
        let mut copies = places.sources.iter().filter(|place| place.copied_to.is_some());
        if copies.next().is_some_and(|place| place.entry.is_some()) || copies.next().is_some() {
            return Err(Broken::BadCopy);
        }
        for ((source, place), &known) in instruction.sources.iter().zip(places.sources).zip(known) {
            let register = source.register;
            let holds = match place.entry {
                None => self.backing[usize::from(register.0)],
                Some(entry) => {
                    let entry = self.entry(entry)?.filter(|entry| entry.register == register);
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
                self.put(entry, source.register, active & self.backing[usize::from(source.register.0)])?;
            }
        }
        Ok(())
    }

    fn write(&mut self, instruction: &Instruction, places: &Places, active: LaneMask) -> Result<(), Broken> {
        for (result, place) in instruction.results.iter().zip(places.results) {
            let register = result.register;
            if place.entry.is_some() && instruction.operation.has_long_latency() {
                return Err(Broken::Late(register));
            }
            for entry in self.entries.iter_mut().flatten().filter(|entry| entry.register == register) {
                entry.holds &= !active;
            }
            let backing = &mut self.backing[usize::from(register.0)];
            let is_there = place.entry.is_none() || place.live_out;
            *backing = if is_there { *backing | active } else { *backing & !active };
            if let Some(entry) = place.entry {
                self.put(entry, register, active)?;
            }
        }
        Ok(())
    }

    fn entry(&self, entry: u8) -> Result<Option<Entry>, Broken> {
        self.entries.get(usize::from(entry)).copied().ok_or(Broken::NoSuchEntry)
    }

    /// Writes lanes of a register into an entry; what it held of another register is gone.
    fn put(&mut self, entry: u8, register: PhysReg, lanes: LaneMask) -> Result<(), Broken> {
        let kept = self.entry(entry)?.filter(|old| old.register == register).map_or(0, |old| old.holds);
        self.entries[usize::from(entry)] = Some(Entry { register, holds: kept | lanes });
        Ok(())
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

/// Runs every warp of a launch; `program` is the stream's, its registers mapped to so many entries. Returns how many
/// instructions were checked.
///
/// # Errors
/// The first promise that is not kept, or the stream's error.
pub fn check_recorded(
    stream: &mut dyn Stream,
    program: &Program,
    placement: &Placement,
    entries: u8,
) -> Result<u64, CheckError> {
    follow_warps(
        stream,
        || Warp::new(program, entries),
        |warp, executed| {
            let position = executed.inst.0 as usize;
            Ok(warp.step(program, placement, position, executed.active, &executed.defined)?)
        },
        |_| Ok(()),
    )
}
