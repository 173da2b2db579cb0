//! Reference of the operand staging unit: every register with its value, and what the unit may say of it. Written from
//! Kloosterman et al., §5.2, and the contract in `docs/regless-pipeline.md`, not from the circuit.
//!
//! It does not know how long the unit takes, and not which clean line has been given to another register. Everything else
//! that the unit says has to be what it expects.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use warpfile_hdl::regless::{Fate, Note, OperandStagingUnit, RequestKind};

/// A warp and its register.
pub type Tag = (usize, usize);

/// An access on its way through the queue of its bank.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub tag: Tag,
    pub reads: bool,
    pub reserves: bool,
    pub fate: Fate,
    pub lanes: u32,
    pub written: bool,
    pub place: u64,
}

/// A result whose line is reserved.
#[derive(Clone, Copy, Debug)]
pub struct Reserved {
    pub tag: Tag,
    pub line: u64,
    pub fate: Fate,
}

/// A request to memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub kind: RequestKind,
    pub tag: Tag,
    /// Of a fetch: where the line goes.
    pub line: u64,
    /// Of a fetch.
    pub invalidates: bool,
    /// Of a write.
    pub value: Vec<u32>,
}

/// What the unit says when it has served an annotation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Staged {
    Invalidated,
    Hit,
    Unwritten,
    Fetched,
}

#[derive(Clone, Debug, Default)]
pub struct Register {
    /// What a read gives; `None` if the value is dead.
    pub value: Option<Vec<u32>>,
    /// A region holds the line.
    pub held: bool,
    /// The line has the value: it has been filled or written, or there is none and it reads as 0.
    pub readable: bool,
    pub line: Option<u64>,
    /// The value is in no copy in memory.
    changed: bool,
    /// The unit may still have the register's line.
    may_be_here: bool,
    /// Values that have left the region's hold changed, and may be written back.
    released: Vec<Vec<u32>>,
}

pub struct StagingUnitReference {
    unit: OperandStagingUnit,
    pub registers: BTreeMap<Tag, Register>,
    pub accesses: Vec<VecDeque<Access>>,
    pub notes: Vec<VecDeque<(Note, Tag)>>,
    /// For each bank the source served in the cycle before, and its value.
    pub read: Vec<Option<(Access, Vec<u32>)>>,
    /// Copies in memory.
    pub copies: BTreeMap<Tag, Vec<u32>>,
    /// Copies that a request on its way drops.
    forgotten: BTreeSet<Tag>,
    /// For each bank the fetch or invalidation that has to come.
    expected: Vec<VecDeque<(RequestKind, Tag, bool)>>,
    /// The request that is offered and not taken.
    offered: Option<Request>,
}

impl StagingUnitReference {
    /// Warps use registers 0 to `registers` - 1; none has been written.
    pub fn new(unit: &OperandStagingUnit, registers: usize) -> StagingUnitReference {
        let g = unit.geometry;
        let tags = (0..g.warps).flat_map(|warp| (0..registers).map(move |register| (warp, register)));
        let unwritten = Register { value: Some(vec![0; g.lanes]), ..Register::default() };
        StagingUnitReference {
            unit: unit.clone(),
            registers: tags.map(|tag| (tag, unwritten.clone())).collect(),
            accesses: vec![VecDeque::new(); g.banks],
            notes: vec![VecDeque::new(); g.banks],
            read: vec![None; g.banks],
            copies: BTreeMap::new(),
            forgotten: BTreeSet::new(),
            expected: vec![VecDeque::new(); g.banks],
            offered: None,
        }
    }

    pub fn bank(&self, (warp, register): Tag) -> usize {
        (warp + register) % self.unit.geometry.banks
    }

    /// Lines of a bank that no region holds.
    pub fn listed(&self, bank: usize) -> usize {
        let held = self.registers.iter().filter(|(tag, register)| register.held && self.bank(**tag) == bank);
        self.unit.geometry.lines - held.count()
    }

    fn register(&mut self, tag: Tag) -> &mut Register {
        self.registers.get_mut(&tag).expect("a register of the traffic")
    }

    /// A region ceases to hold the line.
    fn end(&mut self, tag: Tag, fate: Fate) {
        let register = self.register(tag);
        match fate {
            Fate::Keep => {}
            Fate::Evict => {
                register.held = false;
                register.released.extend(register.value.clone().filter(|_| register.changed));
            }
            Fate::Erase => {
                // A line that the register had before may wait to be written back.
                let released = std::mem::take(&mut register.released);
                *register = Register { released, ..Register::default() };
            }
        }
    }

    /// The bank has served its oldest access, on `line`. Gives the result that is to come, and whether the warp holds a
    /// line more, or less.
    pub fn serve(&mut self, bank: usize, line: u64) -> (Option<Reserved>, bool, bool) {
        let access = self.accesses[bank].pop_front().expect("what is served waits");
        let Access { tag, reads, reserves, fate, lanes, written, .. } = access;
        let before = self.registers[&tag].clone();
        let vanishes = !written && fate != Fate::Keep;
        let more = reserves && !before.held && !vanishes;
        if before.held {
            assert_eq!(before.line.unwrap_or(line), line, "the line of R{} of warp {}", tag.1, tag.0);
        }
        if reads {
            assert!(before.held, "R{} of warp {} is read and not held", tag.1, tag.0);
            let value = before.value.clone().expect("no dead value is read");
            self.read[bank] = (lanes != 0).then_some((access, value));
        }
        if more {
            let on_it = |(other, register): (&Tag, &Register)| {
                self.bank(*other) == bank && register.held && register.line == Some(line)
            };
            assert!(!self.registers.iter().any(on_it), "line {line} of bank {bank} is held");
            let register = self.register(tag);
            (register.held, register.may_be_here, register.readable) = (true, true, false);
        }
        if before.held || more {
            self.register(tag).line = Some(line);
        }
        let less = before.held && !(reserves && written) && fate != Fate::Keep;
        if less {
            self.end(tag, fate);
        }
        ((reserves && written).then_some(Reserved { tag, line, fate }), more, less)
    }

    /// A result has been taken.
    pub fn write(&mut self, result: &Reserved, lanes: u32, value: &[u32]) {
        let none = vec![0; self.unit.geometry.lanes];
        let register = self.register(result.tag);
        assert!(register.held && register.line == Some(result.line));
        let old = register.value.get_or_insert(none);
        for lane in (0..value.len()).filter(|lane| lanes >> lane & 1 == 1) {
            old[lane] = value[lane];
        }
        (register.changed, register.readable) = (true, true);
        self.end(result.tag, result.fate);
    }

    /// The bank has served its oldest annotation, and says how.
    pub fn stage(&mut self, bank: usize, said: Staged) {
        let (note, tag) = self.notes[bank].pop_front().expect("what is served waits");
        let name = format!("{note:?} of R{} of warp {}", tag.1, tag.0);
        let copy = self.copies.get(&tag).filter(|_| !self.forgotten.contains(&tag)).cloned();
        let zero = vec![0; self.unit.geometry.lanes];
        let register = self.register(tag);
        let invalidates = copy.is_some() && note != Note::Preload;
        let mut expected = invalidates.then_some((RequestKind::Invalidate, tag, false));
        match said {
            Staged::Invalidated => {
                assert_eq!(note, Note::Invalidation, "{name}");
                *register = Register { value: Some(zero), ..Register::default() };
            }
            Staged::Hit => {
                assert!(register.may_be_here, "{name}: nothing is here");
                // What was released last is held again. Before it there may be a line of the register that waits to be
                // written back.
                if register.changed {
                    register.released.pop();
                }
                register.changed |= invalidates;
                register.readable = true;
            }
            Staged::Unwritten => {
                assert!(copy.is_none(), "{name}: memory has a copy");
                assert_eq!(register.value.as_ref(), Some(&zero), "{name}: the value is lost");
                (register.readable, register.line) = (true, None);
                register.released.clear();
            }
            Staged::Fetched => {
                assert_eq!(copy, register.value, "{name}: another value comes");
                register.changed = note == Note::InvalidatingPreload;
                (register.readable, register.line) = (false, None);
                register.released.clear();
                expected = Some((RequestKind::Fetch, tag, invalidates));
            }
        }
        let stages = said != Staged::Invalidated;
        assert_eq!(stages, note != Note::Invalidation, "{name}");
        if stages {
            (register.held, register.may_be_here) = (true, true);
        }
        if invalidates {
            self.forgotten.insert(tag);
        }
        self.expected[bank].extend(expected);
    }

    /// A fetched line has come.
    pub fn fill(&mut self, tag: Tag, line: u64) {
        let register = self.register(tag);
        (register.readable, register.line) = (true, Some(line));
    }

    /// The unit offers a request; `exiting` is the warp that ends.
    pub fn offer(&mut self, request: &Request, exiting: Option<usize>) {
        if let Some(offered) = &self.offered {
            assert_eq!(offered, request, "a request that is not taken stays");
            return;
        }
        self.offered = Some(request.clone());
        let (tag, kind) = (request.tag, request.kind);
        let bank = self.bank(tag);
        match kind {
            RequestKind::Fetch | RequestKind::Invalidate => {
                let expected = self.expected[bank].pop_front();
                assert_eq!(expected, Some((kind, tag, request.invalidates)), "bank {bank}");
            }
            RequestKind::Write => {
                let released = &mut self.register(tag).released;
                let place = released.iter().position(|value| *value == request.value);
                let place = place.unwrap_or_else(|| panic!("{request:?} is none of {released:?}"));
                released.drain(..=place);
            }
            RequestKind::Drop => {
                assert_eq!(exiting, Some(tag.0), "a warp that has not ended is dropped");
                assert!(self.expected.iter().flatten().all(|(_, other, _)| other.0 != tag.0));
            }
        }
    }

    /// Memory takes the request that is offered. Gives the value that is fetched.
    pub fn take(&mut self) -> (Request, Option<Vec<u32>>) {
        let request = self.offered.take().expect("a request is offered");
        let tag = request.tag;
        let mut fetched = None;
        match request.kind {
            RequestKind::Fetch => {
                fetched = self.copies.get(&tag).cloned();
                assert!(fetched.is_some(), "{request:?}: there is no copy");
                if request.invalidates {
                    self.copies.remove(&tag);
                    self.forgotten.remove(&tag);
                }
            }
            RequestKind::Write => {
                self.copies.insert(tag, request.value.clone());
                let register = self.register(tag);
                // The line went with the request, unless the register has got another one.
                register.may_be_here &= register.held || !register.released.is_empty();
                register.changed &= register.held || !register.released.is_empty();
            }
            RequestKind::Invalidate => {
                assert!(self.copies.remove(&tag).is_some(), "{request:?}: there is no copy");
                self.forgotten.remove(&tag);
            }
            RequestKind::Drop => {
                self.copies.retain(|other, _| other.0 != tag.0);
                let unwritten =
                    Register { value: Some(vec![0; self.unit.geometry.lanes]), ..Register::default() };
                let of_warp = self.registers.iter_mut().filter(|(other, _)| other.0 == tag.0);
                of_warp.for_each(|(_, register)| *register = unwritten.clone());
            }
        }
        (request, fetched)
    }
}
