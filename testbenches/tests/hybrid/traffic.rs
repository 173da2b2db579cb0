//! Random warps that keep the promises of `docs/sm-pipeline.md`: a scoreboard, no read of a lane after its last read, and
//! nothing under way of a warp that ends.

use std::collections::{BTreeSet, VecDeque};

use warpfile_hdl::hybrid::RegisterCacheHierarchy;

use super::register_cache_hierarchy_ref::{Inputs, Instruction, Outputs, Way, Write};
use super::register_cache_ref::Source;
use crate::random::Random;

/// Registers of a warp.
const REGISTERS: usize = 6;
/// Unit of the long-latency operations; unit 0 has short ones.
const LONG: u64 = 1;
/// Identifiers of instructions.
pub const ID_BITS: usize = 4;

#[derive(Clone, Debug)]
struct Warp {
    /// Registers with a pending write.
    pending: BTreeSet<usize>,
    under_way: usize,
    /// Lanes of each register that must not be read.
    undefined: [u32; REGISTERS],
}

#[derive(Clone, Debug)]
struct Operation {
    warp: usize,
    instruction: Instruction,
    destination: Option<usize>,
}

#[derive(Clone, Debug)]
struct Due {
    at: u64,
    operation: Operation,
    value: Vec<u32>,
}

/// A register that is to leave the cache, and then to be transferred from a scratchpad.
#[derive(Clone, Copy, Debug)]
struct Move {
    warp: usize,
    register: usize,
    /// It has left; what is transferred comes of an instruction that is taken later: when so many have been.
    left: Option<u64>,
}

pub struct Traffic {
    random: Random,
    /// Registers that may be told to leave in a cycle.
    leaving: usize,
    lanes: usize,
    /// Instructions offered a cycle.
    issues: usize,
    /// Per cent of cycles in which a unit is ready.
    ready: usize,
    warps: Vec<Warp>,
    free_ids: VecDeque<u64>,
    /// In program order.
    issue: VecDeque<Operation>,
    under_way: Vec<Operation>,
    /// Instructions without a result whose operands have not been delivered, and their warps.
    without_result: Vec<(u64, usize)>,
    results: VecDeque<Due>,
    fills: VecDeque<Due>,
    /// Of a cache in parallel with a scratchpad: registers that leave, and then are transferred.
    moves: [Option<Move>; 4],
    transfer: Option<(usize, Write)>,
    /// Instructions taken.
    taken: u64,
    ended: u64,
    cycle: u64,
    /// No new instructions.
    draining: bool,
}

impl Traffic {
    pub fn new(seed: u64, parameters: &RegisterCacheHierarchy) -> Traffic {
        let mut random = Random(seed);
        let lanes = parameters.geometry.lanes;
        let new = Warp { pending: BTreeSet::new(), under_way: 0, undefined: [all(lanes); REGISTERS] };
        Traffic {
            ready: [100, 60, 25][random.below(3)],
            random,
            leaving: if parameters.parallel { 2 * parameters.issues } else { 0 },
            moves: [None; 4],
            transfer: None,
            taken: 0,
            lanes,
            issues: parameters.issues,
            warps: vec![new; parameters.warps],
            free_ids: (0..1 << ID_BITS).collect(),
            issue: VecDeque::new(),
            under_way: Vec::new(),
            without_result: Vec::new(),
            results: VecDeque::new(),
            fills: VecDeque::new(),
            ended: 0,
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
        self.issue.is_empty() && self.warps.iter().all(|warp| warp.under_way == 0)
    }

    /// Lanes of a register that nobody reads.
    pub fn undefined(&self, register: usize) -> u32 {
        let warp = self.warps.get(register / REGISTERS);
        warp.map_or(all(self.lanes), |warp| warp.undefined[register % REGISTERS])
    }

    pub fn inputs(&mut self) -> Inputs {
        let due =
            |queue: &VecDeque<Due>, place: usize| queue.get(place).filter(|r| r.at <= self.cycle).map(write);
        let second = self.issues > 1;
        let result = [due(&self.results, 0), due(&self.results, 1).filter(|_| second)];
        let fill = due(&self.fills, 0);
        let issue = [0, 1].map(|place| self.issue.get(place).map(|operation| operation.instruction.clone()));
        let (ready, draining) = (self.ready, self.draining);
        let units_ready = (0..2).map(|u| u64::from(draining || self.random.chance(ready)) << u).sum();
        let leave = self.moves.map(|told| told.filter(|told| told.left.is_none()).map(|told| told.row()));
        let transfer = self.transfer.as_ref().map(|(_, write)| write.clone());
        Inputs { issue, result, fill, ended: std::mem::take(&mut self.ended), units_ready, leave, transfer }
    }

    pub fn follow(&mut self, outputs: &Outputs) {
        self.finish(outputs);
        for way in &outputs.way {
            if way.issue_taken {
                self.taken += 1;
                self.under_way.extend(self.issue.pop_front());
            }
        }
        for way in &outputs.way {
            self.dispatch(way);
        }
        self.follow_moves(outputs);
        if !self.draining {
            self.start_move();
            self.end_warps();
            for _ in self.issue.len()..self.issues {
                self.pick();
            }
        }
        self.cycle += 1;
    }

    /// Results and operands that came out end their instructions.
    fn finish(&mut self, outputs: &Outputs) {
        for way in &outputs.way {
            let Some((id, _)) = &way.operands else { continue };
            if let Some(place) = self.without_result.iter().position(|(other, _)| other == id) {
                let (id, warp) = self.without_result.remove(place);
                self.warps[warp].under_way -= 1;
                self.free_ids.push_back(id);
            }
        }
        let mut written = Vec::new();
        for (place, way) in outputs.way.iter().enumerate().rev() {
            written.extend(if way.result_taken { self.results.remove(place) } else { None });
        }
        written.extend(if outputs.fill_taken { self.fills.pop_front() } else { None });
        for Due { operation: Operation { warp, instruction, destination }, .. } in written {
            let (warp, register) = (&mut self.warps[warp], destination.unwrap());
            warp.pending.remove(&register);
            warp.undefined[register] &= !instruction.active;
            warp.under_way -= 1;
            self.free_ids.push_back(instruction.id);
        }
    }

    /// What has left the cache may be transferred, one at a time; a transfer that is taken ends its move.
    fn follow_moves(&mut self, outputs: &Outputs) {
        if let Some((number, write)) = self.transfer.take_if(|_| outputs.transfer_taken) {
            let Move { warp, register, .. } = self.moves[number].take().unwrap();
            let warp = &mut self.warps[warp];
            warp.pending.remove(&register);
            warp.undefined[register] &= !write.lanes;
            warp.under_way -= 1;
        }
        for (told, held) in self.moves.iter_mut().zip(outputs.held) {
            if let Some(told) = told.as_mut().filter(|told| told.left.is_none() && !held) {
                told.left = Some(self.taken + self.issue.len() as u64 + 1);
            }
        }
        let nothing_reads = self.issue.is_empty() && self.under_way.is_empty();
        let may_move = |told: Move| told.left.is_some_and(|from| self.taken >= from || nothing_reads);
        let left = (0..4).find(|&number| self.moves[number].is_some_and(may_move));
        let (None, Some(number)) = (&self.transfer, left) else { return };
        if self.draining || self.random.chance(40) {
            let Move { warp, .. } = self.moves[number].unwrap();
            let all = all(self.lanes);
            let lanes = if self.random.chance(50) { all } else { self.random.next() as u32 & all };
            let value = (0..self.lanes).map(|_| self.random.next() as u32).collect();
            let register = self.moves[number].unwrap().row();
            self.transfer = Some((number, Write { warp, register, lanes, value }));
        }
    }

    /// A register without a pending write is told to leave; nobody reads it until it is transferred.
    fn start_move(&mut self) {
        let free = (0..self.leaving).find(|&number| self.moves[number].is_none());
        let (index, register) = (self.random.below(self.warps.len()), self.random.below(REGISTERS));
        let (Some(number), true) = (free, self.random.chance(20)) else { return };
        let warp = &mut self.warps[index];
        if warp.pending.insert(register) {
            warp.under_way += 1;
            self.moves[number] = Some(Move { warp: index, register, left: None });
        }
    }

    /// A dispatched instruction gives its result after the latency of its unit.
    fn dispatch(&mut self, way: &Way) {
        let Some((id, _)) = way.dispatch else { return };
        let index = self.under_way.iter().position(|operation| operation.instruction.id == id).unwrap();
        let operation = self.under_way.remove(index);
        if operation.destination.is_none() {
            self.without_result.push((id, operation.warp));
            return;
        }
        let value = (0..self.lanes).map(|_| self.random.next() as u32).collect();
        let long = operation.instruction.unit == LONG;
        // Half of the long operations are over at once: their fills meet instructions that have still to read.
        let longest = if long && self.random.chance(50) { 40 } else { 6 };
        let latency = self.random.below(longest) as u64;
        let queue = if long { &mut self.fills } else { &mut self.results };
        queue.push_back(Due { at: self.cycle + 1 + latency, operation, value });
    }

    /// A warp of which nothing is under way may end; another gets its registers.
    fn end_warps(&mut self) {
        let index = self.random.below(self.warps.len());
        let issues = self.issue.iter().any(|operation| operation.warp == index);
        if self.warps[index].under_way == 0 && !issues && self.random.chance(15) {
            self.warps[index].undefined = [all(self.lanes); REGISTERS];
            self.ended |= 1 << index;
        }
    }

    /// A warp issues.
    fn pick(&mut self) {
        let index = self.random.below(self.warps.len());
        let Some(id) = self.free_ids.pop_front() else { return };
        let all = u64::from(all(self.lanes));
        let active = if self.random.chance(50) { all } else { self.random.next() & all } as u32;
        let unit = if self.random.chance(25) { LONG } else { 0 };
        let sources = [0, 1, 2].map(|_| self.source(index, active));
        let register = self.destination(index);
        let warp = &mut self.warps[index];
        for source in sources.iter().flatten().filter(|source| source.last_read) {
            warp.undefined[source.register % REGISTERS] |= active;
        }
        let writes = active != 0 && self.random.chance(80) && !warp.pending.contains(&register);
        if writes {
            warp.pending.insert(register);
        }
        warp.under_way += 1;
        let instruction = Instruction { warp: index, id, unit, active, sources };
        self.issue.push_back(Operation { warp: index, instruction, destination: writes.then_some(register) });
    }

    /// Half the time a register that an earlier instruction of the warp, which is still under way, reads.
    fn destination(&mut self, index: usize) -> usize {
        let earlier = self.issue.iter().chain(&self.under_way).filter(|operation| operation.warp == index);
        let read: Vec<usize> = earlier
            .flat_map(|operation| operation.instruction.sources.iter().flatten().map(|s| s.register))
            .collect();
        match read.get(self.random.below(2 * read.len().max(1))) {
            Some(register) => register % REGISTERS,
            None => self.random.below(REGISTERS),
        }
    }

    /// A register of the warp without a pending write, all executing lanes of which may be read.
    fn source(&mut self, index: usize, active: u32) -> Option<Source> {
        let register = self.random.below(REGISTERS);
        let warp = &self.warps[index];
        let defined = warp.undefined[register] & active == 0;
        if active == 0 || !defined || warp.pending.contains(&register) || self.random.chance(10) {
            return None;
        }
        let last_read = self.random.chance(25);
        let elsewhere = last_read && self.random.chance(30);
        Some(Source { register: index * REGISTERS + register, last_read, elsewhere })
    }
}

impl Move {
    /// Its row of the main register file.
    fn row(self) -> usize {
        self.warp * REGISTERS + self.register
    }
}

fn all(lanes: usize) -> u32 {
    u32::MAX >> (32 - lanes)
}

fn write(due: &Due) -> Write {
    let Operation { warp, instruction, destination } = &due.operation;
    Write {
        warp: *warp,
        register: warp * REGISTERS + destination.unwrap(),
        lanes: instruction.active,
        value: due.value.clone(),
    }
}
