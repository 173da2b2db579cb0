//! Random warps that keep the promises of `docs/sm-pipeline.md`: a scoreboard, slots that are flushed when they are
//! given up, no read of a lane after its last read.

use std::collections::{BTreeSet, VecDeque};

use warpfile_hdl::regfile::{ExtraRead, Geometry};
use warpfile_hdl::rfc::CachedRegisterFile;

use super::cached_register_file_ref::{Flush, Inputs, Instruction, Outputs, Way, Write};
use super::register_file_cache_ref::Source;
use crate::random::Random;

/// Registers of a warp.
const REGISTERS: usize = 6;
/// Unit of the long-latency operations; unit 0 has short ones.
const LONG: u64 = 1;
/// Identifiers of instructions.
pub const ID_BITS: usize = 4;

#[derive(Clone, Debug, Default)]
struct Warp {
    slot: Option<usize>,
    /// The slot that is still being emptied.
    leaving: Option<usize>,
    /// Pending writes, and those of short operations.
    writes_under_way: usize,
    short_under_way: usize,
    ended: bool,
}

#[derive(Clone, Debug)]
struct Operation {
    warp: usize,
    instruction: Instruction,
    destination: Option<usize>,
}

#[derive(Clone, Debug)]
struct Result {
    due: u64,
    operation: Operation,
    value: Vec<u32>,
    idle: bool,
}

pub struct Traffic {
    random: Random,
    lanes: usize,
    /// Instructions offered a cycle.
    issues: usize,
    /// A warp may read and write all registers, as if renamed; if not, its own.
    shared: bool,
    /// Registers are read beside operands.
    reads_beside: bool,
    /// Per cent of cycles in which a unit is ready.
    ready: usize,
    warps: Vec<Warp>,
    /// Registers with a pending write.
    pending: BTreeSet<usize>,
    /// Lanes of each register that must not be read.
    undefined: Vec<u32>,
    slot_busy: Vec<bool>,
    free_ids: VecDeque<u64>,
    /// In program order.
    issue: VecDeque<Operation>,
    under_way: Vec<Operation>,
    /// Instructions without a result whose operands have not been delivered.
    without_result: BTreeSet<u64>,
    results: VecDeque<Result>,
    fills: VecDeque<Result>,
    flush: Option<Flush>,
    cycle: u64,
    /// No new instructions, no warp leaves its slot.
    draining: bool,
}

impl Traffic {
    pub fn new(seed: u64, warps: usize, parameters: &CachedRegisterFile) -> Traffic {
        let &CachedRegisterFile { slots, issues, shared, extra_read, gated, .. } = parameters;
        let Geometry { lanes, .. } = parameters.geometry;
        let mut random = Random(seed);
        let all = u32::MAX >> (32 - lanes);
        Traffic {
            ready: [100, 60, 25][random.below(3)],
            random,
            lanes,
            issues,
            shared,
            // Who reads beside operands knows that the row is on.
            reads_beside: extra_read != ExtraRead::None && !gated,
            warps: vec![Warp::default(); warps],
            pending: BTreeSet::new(),
            undefined: vec![all; Traffic::registers(warps)],
            slot_busy: vec![false; slots],
            free_ids: (0..1 << ID_BITS).collect(),
            issue: VecDeque::new(),
            under_way: Vec::new(),
            without_result: BTreeSet::new(),
            results: VecDeque::new(),
            fills: VecDeque::new(),
            flush: None,
            cycle: 0,
            draining: false,
        }
    }

    /// Rows of the main register file that are used.
    pub fn registers(warps: usize) -> usize {
        warps * REGISTERS
    }

    pub fn drain(&mut self) {
        self.draining = true;
    }

    pub fn is_drained(&self) -> bool {
        self.issue.is_empty()
            && self.under_way.is_empty()
            && self.without_result.is_empty()
            && self.results.is_empty()
            && self.fills.is_empty()
            && self.flush.is_none()
    }

    /// Lanes of `register` that have no defined value.
    pub fn undefined(&self, register: usize) -> u32 {
        let all = u32::MAX >> (32 - self.lanes);
        self.undefined.get(register).copied().unwrap_or(all)
    }

    /// Slots that warps hold.
    pub fn held_slots(&self) -> Vec<usize> {
        self.warps.iter().filter_map(|warp| warp.slot).collect()
    }

    pub fn inputs(&mut self) -> Inputs {
        let due = |queue: &VecDeque<Result>, place| queue.get(place).filter(|r| r.due <= self.cycle).cloned();
        let result = |place| {
            due(&self.results, place).map(|r: Result| {
                let warp = &self.warps[r.operation.warp];
                self.write(&r, warp.slot.is_some())
            })
        };
        let (result, second_result) = (result(0), if self.issues > 1 { result(1) } else { None });
        let fill = due(&self.fills, 0).map(|r| {
            let warp = &self.warps[r.operation.warp];
            self.write(&r, warp.slot.or(warp.leaving).is_some())
        });
        let (ready, draining) = (self.ready, self.draining);
        let units_ready = (0..2).map(|u| u64::from(draining || self.random.chance(ready)) << u).sum();
        let mut issues = self.issue.iter().map(|operation| operation.instruction.clone());
        let (issue, second_issue) = (issues.next(), issues.next());
        let reads_beside = self.reads_beside && !draining && self.random.chance(60);
        let extra_read = reads_beside.then(|| self.random.below(self.undefined.len()));
        let extra_read = extra_read.filter(|&register| self.undefined[register] == 0);
        let flush = self.flush.take();
        Inputs { issue, second_issue, result, second_result, fill, flush, extra_read, units_ready }
    }

    fn write(&self, result: &Result, in_slot: bool) -> Write {
        let Operation { warp, instruction, destination } = &result.operation;
        let Warp { slot, leaving, .. } = self.warps[*warp];
        Write {
            slot: slot.or(leaving).unwrap_or(0),
            in_slot,
            register: destination.unwrap(),
            lanes: instruction.active,
            value: result.value.clone(),
            idle: result.idle,
        }
    }

    pub fn follow(&mut self, inputs: &Inputs, outputs: &Outputs) {
        for slot in 0..self.slot_busy.len() {
            let flushed_now = inputs.flush.is_some_and(|flush| flush.slot == slot);
            if self.slot_busy[slot] && !flushed_now && outputs.busy >> slot & 1 == 0 {
                self.slot_busy[slot] = false;
                for warp in self.warps.iter_mut().filter(|warp| warp.leaving == Some(slot)) {
                    warp.leaving = None;
                }
            }
        }
        self.finish(outputs);
        for way in [&outputs.first, &outputs.second] {
            if way.issue_taken {
                self.under_way.extend(self.issue.pop_front());
            }
        }
        for way in [&outputs.first, &outputs.second] {
            self.dispatch(way);
        }
        if !self.draining {
            let gives_up = self.give_up();
            self.enter();
            self.renew();
            for _ in self.issue.len()..self.issues {
                self.pick(gives_up);
            }
        }
        self.cycle += 1;
    }

    /// Results and operands that came out end their instructions.
    fn finish(&mut self, outputs: &Outputs) {
        for way in [&outputs.first, &outputs.second] {
            if let Some((id, _)) = &way.operands
                && self.without_result.remove(id)
            {
                self.free_ids.push_back(*id);
            }
        }
        let mut written = Vec::new();
        for (place, way) in [&outputs.first, &outputs.second].into_iter().enumerate().rev() {
            written.extend(if way.result_taken { self.results.remove(place) } else { None });
        }
        written.extend(if outputs.fill_taken { self.fills.pop_front() } else { None });
        for Result { operation, .. } in written {
            let Operation { warp, instruction, destination } = operation;
            let (warp, register) = (&mut self.warps[warp], destination.unwrap());
            self.pending.remove(&register);
            self.undefined[register] &= !instruction.active;
            warp.writes_under_way -= 1;
            warp.short_under_way -= usize::from(instruction.unit != LONG);
            self.free_ids.push_back(instruction.id);
        }
    }

    /// A dispatched instruction gives its result after the latency of its unit.
    fn dispatch(&mut self, way: &Way) {
        let Some((id, _)) = way.dispatch else { return };
        let index = self.under_way.iter().position(|operation| operation.instruction.id == id).unwrap();
        let operation = self.under_way.remove(index);
        if operation.destination.is_none() {
            self.without_result.insert(id);
            return;
        }
        let value = (0..self.lanes).map(|_| self.random.next() as u32).collect();
        let idle = self.random.chance(25);
        let long = operation.instruction.unit == LONG;
        // Half of the long operations are over at once: their fills meet instructions that have still to read.
        let longest = if long && self.random.chance(50) { 40 } else { 6 };
        let latency = self.random.below(longest) as u64;
        let queue = if long { &mut self.fills } else { &mut self.results };
        queue.push_back(Result { due: self.cycle + 1 + latency, operation, value, idle });
    }

    /// At most one warp is suspended or ends; its slot is flushed in the next cycle.
    fn give_up(&mut self) -> Option<usize> {
        let index = self.random.below(self.warps.len());
        let in_issue = self.issue.iter().any(|operation| operation.warp == index);
        let all = u32::MAX >> (32 - self.lanes);
        let warp = &mut self.warps[index];
        let slot = warp.slot.filter(|_| !in_issue && self.random.chance(8))?;
        let discard = warp.short_under_way == 0 && self.random.chance(80);
        warp.slot = None;
        warp.leaving = Some(slot);
        if discard {
            warp.ended = true;
            self.undefined[index * REGISTERS..][..REGISTERS].fill(all);
        }
        self.slot_busy[slot] = true;
        self.flush = Some(Flush { slot, discard });
        Some(index)
    }

    fn enter(&mut self) {
        let held = self.held_slots();
        let free = (0..self.slot_busy.len()).find(|slot| !held.contains(slot) && !self.slot_busy[*slot]);
        let index = self.random.below(self.warps.len());
        let warp = &mut self.warps[index];
        if let (Some(slot), None, None, false) = (free, warp.slot, warp.leaving, warp.ended) {
            warp.slot = Some(slot);
        }
    }

    /// The registers of a warp that has ended are given to another.
    fn renew(&mut self) {
        for warp in self.warps.iter_mut().filter(|warp| warp.ended) {
            if warp.writes_under_way == 0 && warp.leaving.is_none() {
                *warp = Warp::default();
            }
        }
    }

    /// An active warp issues, if one is found at once; a warp that has just got its slot issues from the next cycle on.
    fn pick(&mut self, gives_up: Option<usize>) {
        let held: Vec<(usize, usize)> = (0..self.warps.len())
            .filter_map(|index| self.warps[index].slot.map(|slot| (index, slot)))
            .collect();
        let Some(&(index, slot)) = held.get(self.random.below(self.slot_busy.len())) else { return };
        if gives_up == Some(index) {
            return;
        }
        let Some(id) = self.free_ids.pop_front() else { return };
        let all = u64::from(u32::MAX >> (32 - self.lanes));
        let active = if self.random.chance(50) { all } else { self.random.next() & all } as u32;
        let long = self.random.chance(25);
        let unit = if long { LONG } else { 0 };
        let sources = [0, 1, 2].map(|_| self.source(index, active));
        let register = self.destination(index);
        // Of shared registers the main register file has what has been read last.
        for source in sources.iter().flatten().filter(|source| source.last_read && !self.shared) {
            self.undefined[source.register] |= active;
        }
        let writes = active != 0 && self.random.chance(80) && !self.pending.contains(&register);
        let writes = writes && !(self.shared && self.is_read_by_others(index, register));
        let slot = if self.shared && self.random.chance(10) {
            self.random.below(self.slot_busy.len())
        } else {
            slot
        };
        let warp = &mut self.warps[index];
        if writes {
            self.pending.insert(register);
            warp.writes_under_way += 1;
            warp.short_under_way += usize::from(!long);
        }
        let instruction = Instruction { id, unit, slot, active, sources };
        self.issue.push_back(Operation { warp: index, instruction, destination: writes.then_some(register) });
    }

    /// Half the time a register that an earlier instruction of the warp, which is still under way, reads.
    fn destination(&mut self, index: usize) -> usize {
        let earlier = self.issue.iter().chain(&self.under_way).filter(|operation| operation.warp == index);
        let read: Vec<usize> = earlier
            .flat_map(|operation| operation.instruction.sources.iter().flatten().map(|s| s.register))
            .collect();
        match read.get(self.random.below(2 * read.len().max(1))) {
            Some(register) => *register,
            None => self.register(index),
        }
    }

    /// A register that a warp may read and write.
    fn register(&mut self, index: usize) -> usize {
        if self.shared {
            self.random.below(self.undefined.len())
        } else {
            index * REGISTERS + self.random.below(REGISTERS)
        }
    }

    /// Whether instructions of other warps have still to read a register: then it would not be given away.
    fn is_read_by_others(&self, index: usize, register: usize) -> bool {
        let others = self.issue.iter().chain(&self.under_way).filter(|operation| operation.warp != index);
        let mut sources = others.flat_map(|operation| operation.instruction.sources.iter().flatten());
        sources.any(|source| source.register == register)
    }

    /// A register of the warp without a pending write, all executing lanes of which may be read.
    fn source(&mut self, index: usize, active: u32) -> Option<Source> {
        let register = self.register(index);
        let defined = self.undefined[register] & active == 0;
        if active == 0 || !defined || self.pending.contains(&register) || self.random.chance(10) {
            return None;
        }
        let (last_read, idle) = (self.random.chance(25), self.random.chance(20));
        Some(Source { register, last_read, idle })
    }
}
