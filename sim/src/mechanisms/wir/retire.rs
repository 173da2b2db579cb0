//! Results on their way to a register: which they get, whether it holds them already, when they are written.

use warpfile_kernels::program::{InstId, LaneMask, LaneValues};

use crate::sm::design::{WarpSlot, Write};

/// A result that has been taken, and what its destination has been mapped to so far.
#[derive(Clone, Debug)]
pub struct Arrived {
    pub id: u16,
    pub inst: InstId,
    pub result: usize,
    pub warp: WarpSlot,
    pub logical: u32,
    pub lanes: LaneMask,
    pub values: LaneValues,
    /// The slot of the active set that its warp had, and whether it still has it.
    pub active_slot: Option<usize>,
    pub is_active: bool,
    /// It comes from a long-latency operation.
    pub long: bool,
    /// It may enter a signature.
    pub signs: bool,
    /// The row of the reuse buffer that the instruction has reserved.
    pub row: Option<usize>,
    pub old: Option<u32>,
    pub pinned: bool,
    /// Its value has been looked up and has no register: it is looked up again when one is free.
    pub missed: bool,
}

impl Arrived {
    pub fn is_convergent(&self) -> bool {
        self.lanes == LaneMask::MAX
    }
}

/// What has to happen next to a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A register is looked up in the verify cache.
    Seek(u32),
    /// A register is read and compared with it.
    Verify(u32),
    /// The destination's register is read, to be copied into another in the lanes that do not execute.
    Move { from: u32, to: u32 },
    /// What has been read is written there.
    Copy { to: u32, values: LaneValues },
    /// It is written.
    Write(u32),
    /// The register that was found cannot be shared: it needs one of its own.
    Allocate,
    /// A register has it. `shared`: from before.
    Done { register: u32, shared: bool },
}

/// A result that is verified or written.
#[derive(Clone, Debug)]
pub struct Slot {
    pub arrived: Arrived,
    pub step: Step,
    /// The read has been taken: the value is there in the next cycle.
    pub reading: bool,
    /// The register that it holds.
    pub held: Option<u32>,
    /// The new mapping is pinned.
    pub pins: bool,
    pub age: u64,
}

impl Slot {
    /// The register that it asks to be read.
    pub fn read(&self) -> Option<u32> {
        match self.step {
            Step::Verify(register) | Step::Move { from: register, .. } => (!self.reading).then_some(register),
            Step::Seek(_) | Step::Copy { .. } | Step::Write(_) | Step::Allocate | Step::Done { .. } => None,
        }
    }

    /// The registers whose rows it is about to access, or accesses until it retires.
    pub fn rows(&self) -> [Option<u32>; 2] {
        match self.step {
            Step::Verify(register) => [Some(register), None],
            Step::Move { from, to } => [Some(from), Some(to)],
            Step::Copy { to, .. } => [Some(to), None],
            Step::Write(register) | Step::Done { register, shared: false } => [Some(register), None],
            Step::Seek(_) | Step::Allocate | Step::Done { shared: true, .. } => [None; 2],
        }
    }

    /// The write that it asks for. What is copied is not what its warp reads next.
    pub fn write(&self) -> Option<Write<'_>> {
        let Arrived { id, inst, result, warp, lanes, active_slot: slot, is_active, .. } = self.arrived;
        let (row, lanes, values, cached) = match &self.step {
            Step::Copy { to, values } => (*to, !lanes, values, false),
            Step::Write(register) => (*register, lanes, &self.arrived.values, is_active),
            Step::Seek(_) | Step::Verify(_) | Step::Move { .. } | Step::Allocate | Step::Done { .. } => {
                return None;
            }
        };
        Some(Write { id, inst, result, warp, row, lanes, values, slot, cached })
    }
}

/// Results that are verified or written, and the one before them that is looked up in the value signature buffer.
pub struct Retiring {
    pub arrived: Option<Arrived>,
    pub slots: Vec<Option<Slot>>,
}

impl Retiring {
    pub fn new(slots: usize) -> Retiring {
        Retiring { arrived: None, slots: vec![None; slots] }
    }

    pub fn has_free_slot(&self) -> bool {
        self.slots.iter().any(Option::is_none)
    }

    /// A result enters in cycle `age`, the only one of the scheduler.
    pub fn enter(&mut self, age: u64, arrived: Arrived, step: Step, held: Option<u32>, pins: bool) {
        if let Some(free) = self.slots.iter_mut().find(|slot| slot.is_none()) {
            *free = Some(Slot { arrived, step, reading: false, held, pins, age });
        }
    }

    /// A slot of the active set is emptied: who had it has it no longer.
    pub fn leave(&mut self, active_slot: usize) {
        let all = self.slots.iter_mut().flatten().map(|slot| &mut slot.arrived).chain(&mut self.arrived);
        for arrived in all.filter(|arrived| arrived.active_slot == Some(active_slot)) {
            arrived.is_active = false;
        }
    }

    /// The oldest slot of which something holds.
    pub fn oldest(&self, holds: impl Fn(&Slot) -> bool) -> Option<usize> {
        let slots = self.slots.iter().enumerate();
        let found = slots.filter_map(|(index, slot)| {
            slot.as_ref().filter(|slot| holds(slot)).map(|slot| (slot.age, index))
        });
        found.min().map(|(_, index)| index)
    }

    /// Registers that slots have still to write.
    pub fn unwritten(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().flatten().filter_map(Slot::write).map(|write| write.row)
    }

    pub fn slot(&self, index: Option<usize>) -> Option<&Slot> {
        self.slots.get(index?)?.as_ref()
    }

    pub fn slot_mut(&mut self, index: Option<usize>) -> Option<&mut Slot> {
        self.slots.get_mut(index?)?.as_mut()
    }
}
