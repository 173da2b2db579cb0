//! Random warps that keep the promises of `docs/sm-pipeline.md` and of the compiler: a scoreboard of registers, no read where
//! the newest value is not, and slots that change hands when nothing of them is to come.

use std::collections::{BTreeSet, VecDeque};

use warpfile_hdl::hybrid::ScratchpadHierarchy;

use super::scratchpad_ref::{Inputs, Instruction, Operand, Outputs, Way, Write};
use crate::random::Random;

/// Registers of a warp.
const REGISTERS: usize = 6;
/// Unit of the long-latency operations; unit 0 has short ones.
const LONG: u64 = 1;
/// Identifiers of instructions.
pub const ID_BITS: usize = 5;

#[derive(Clone, Debug)]
struct Warp {
    slot: Option<usize>,
    /// Registers with a pending write.
    pending: BTreeSet<usize>,
    under_way: usize,
    /// Lanes of each register whose newest value is in the backing store, or comes there.
    backing: [u32; REGISTERS],
    /// What each entry of its slice holds: a register, and lanes of its newest value.
    entries: Vec<Option<(usize, u32)>>,
}

#[derive(Clone, Debug)]
struct Operation {
    warp: usize,
    instruction: Instruction,
    destination: Option<usize>,
    live_out: bool,
}

#[derive(Clone, Debug)]
struct Due {
    at: u64,
    operation: Operation,
    value: Vec<u32>,
}

pub struct Traffic {
    random: Random,
    lanes: usize,
    issues: usize,
    parallel: bool,
    /// Per cent of cycles in which a unit is ready.
    ready: usize,
    /// Most results are in entries and live-out, and the unit of the few long-latency operations is seldom ready: what their
    /// operands are read from stays as it is for long.
    is_heavy: bool,
    warps: Vec<Warp>,
    free_slots: Vec<usize>,
    busy: u64,
    free_ids: VecDeque<u64>,
    /// In program order.
    issue: VecDeque<Operation>,
    under_way: Vec<Operation>,
    /// Instructions without a result whose operands have not been delivered, and their warps.
    without_result: Vec<(u64, usize)>,
    results: VecDeque<Due>,
    fills: VecDeque<Due>,
    ended: u64,
    cycle: u64,
    draining: bool,
}

impl Traffic {
    pub fn new(seed: u64, parameters: &ScratchpadHierarchy) -> Traffic {
        let mut random = Random(seed);
        let new = Warp {
            slot: None,
            pending: BTreeSet::new(),
            under_way: 0,
            backing: [0; REGISTERS],
            entries: vec![None; parameters.entries],
        };
        Traffic {
            ready: [100, 60, 25][random.below(3)],
            is_heavy: random.chance(50),
            random,
            lanes: parameters.geometry.lanes,
            issues: parameters.issues,
            parallel: parameters.parallel,
            warps: vec![new; parameters.warps],
            free_slots: (0..parameters.slots).collect(),
            busy: 0,
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

    /// Lanes of a register whose newest value must be in the backing store.
    pub fn behind(&self, register: usize) -> u32 {
        self.warps.get(register / REGISTERS).map_or(0, |warp| warp.backing[register % REGISTERS])
    }

    pub fn inputs(&mut self) -> Inputs {
        let due =
            |queue: &VecDeque<Due>, place: usize| queue.get(place).filter(|r| r.at <= self.cycle).map(write);
        let second = self.issues > 1;
        let result = [due(&self.results, 0), due(&self.results, 1).filter(|_| second)];
        let fill = due(&self.fills, 0);
        let offered = |place: usize| self.issue.get(place).map(|operation| operation.instruction.clone());
        let issue = [offered(0), offered(1).filter(|_| second)];
        let draining = self.draining;
        let ready = [self.ready, if self.is_heavy { 5 } else { self.ready }];
        let units_ready = (0..2).map(|u| u64::from(draining || self.random.chance(ready[u])) << u).sum();
        Inputs { issue, result, fill, ended: std::mem::take(&mut self.ended), units_ready }
    }

    pub fn follow(&mut self, outputs: &Outputs) {
        self.busy = outputs.busy;
        self.finish(outputs);
        for way in &outputs.way {
            if way.issue_taken {
                self.under_way.extend(self.issue.pop_front());
            }
        }
        for way in &outputs.way {
            self.dispatch(way);
        }
        if !self.draining {
            self.change_strands();
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
        for Due { operation: Operation { warp, instruction, destination, .. }, .. } in written {
            let warp = &mut self.warps[warp];
            warp.pending.remove(&destination.unwrap());
            warp.under_way -= 1;
            self.free_ids.push_back(instruction.id);
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
        let longest = if long && self.random.chance(50) { 40 } else { 6 };
        let latency = self.random.below(longest) as u64;
        let queue = if long { &mut self.fills } else { &mut self.results };
        queue.push_back(Due { at: self.cycle + 1 + latency, operation, value });
    }

    /// A warp may begin a strand; then it may also lose its slot, or end, when nothing of either is to come. Slots are given
    /// to warps that have none.
    fn change_strands(&mut self) {
        let index = self.random.below(self.warps.len());
        if self.issue.iter().any(|operation| operation.warp == index) {
            return;
        }
        let (begins, leaves) = (self.random.chance(15), self.random.chance(50));
        let (busy, warp) = (self.busy, &mut self.warps[index]);
        match warp.slot {
            None => warp.slot = self.free_slots.pop(),
            Some(slot) if begins => {
                warp.entries.fill(None);
                // What came in this cycle is seen by `busy` in the next one: nothing may be under way at all.
                if leaves && warp.under_way == 0 && busy >> slot & 1 == 0 {
                    warp.slot = None;
                    self.free_slots.insert(0, slot);
                    if self.random.chance(40) {
                        warp.backing = [0; REGISTERS];
                        self.ended |= 1 << index;
                    }
                }
            }
            Some(_) => {}
        }
    }

    /// A warp that has a slot issues.
    fn pick(&mut self) {
        let index = self.random.below(self.warps.len());
        let Some(slot) = self.warps[index].slot else { return };
        let Some(id) = self.free_ids.pop_front() else { return };
        let all = u64::from(all(self.lanes));
        let active = if self.random.chance(50) { all } else { self.random.next() & all } as u32;
        let unit = if self.random.chance(if self.is_heavy { 8 } else { 25 }) { LONG } else { 0 };
        let mut sources = [0, 1, 2].map(|_| self.source(index, active));
        let copy = self.copy(index, active, &mut sources);
        let destination = self.destination(index, active);
        let (mapped, lives_on) = if self.is_heavy { (80, 90) } else { (60, 50) };
        let goes_to_entry = unit != LONG && self.random.chance(mapped);
        let entry = self.random.below(self.warps[index].entries.len());
        let written =
            destination.filter(|_| goes_to_entry && copy.map(|(_, to)| to) != Some(entry)).map(|_| entry);
        let live_out = written.is_some() && self.random.chance(lives_on);
        let warp = &mut self.warps[index];
        if let Some(register) = destination {
            for (held, lanes) in warp.entries.iter_mut().flatten() {
                *lanes &= if *held == register { !active } else { u32::MAX };
            }
            let backing = &mut warp.backing[register];
            *backing = if written.is_none() || live_out { *backing | active } else { *backing & !active };
            if let Some(entry) = written {
                hold(&mut warp.entries[entry], register, active);
            }
            warp.pending.insert(register);
        }
        warp.under_way += 1;
        let leaves = if self.parallel {
            let copied = copy.and_then(|(k, _)| sources[k]).map(|source| source.register);
            [copied, destination.filter(|_| live_out).map(|register| index * REGISTERS + register)]
        } else {
            [None; 2]
        };
        let instruction = Instruction { id, unit, active, slot, sources, copy, written, leaves };
        self.issue.push_back(Operation { warp: index, instruction, destination, live_out });
    }

    /// An operand of the backing store is copied to an entry.
    fn copy(
        &mut self,
        index: usize,
        active: u32,
        sources: &mut [Option<Operand>; 3],
    ) -> Option<(usize, usize)> {
        let k = self.random.below(3);
        let entry = self.random.below(self.warps[index].entries.len());
        let wanted = self.random.chance(60);
        let source =
            sources[k].as_mut().filter(|source| source.entry.is_none() && wanted && !source.last_read)?;
        hold(&mut self.warps[index].entries[entry], source.register % REGISTERS, active);
        Some((k, entry))
    }

    /// A register without a pending write.
    fn destination(&mut self, index: usize, active: u32) -> Option<usize> {
        let register = self.random.below(REGISTERS);
        let writes = active != 0 && self.random.chance(80) && !self.warps[index].pending.contains(&register);
        writes.then_some(register)
    }

    /// A register of the warp without a pending write, where the newest value of all executing lanes is.
    fn source(&mut self, index: usize, active: u32) -> Option<Operand> {
        let register = self.random.below(REGISTERS);
        let prefers_entry = self.random.chance(70);
        let ends = self.random.chance(15);
        let warp = &mut self.warps[index];
        if active == 0 || warp.pending.contains(&register) {
            return None;
        }
        let holds = |entry: &Option<(usize, u32)>| {
            entry.is_some_and(|(held, lanes)| held == register && active & !lanes == 0)
        };
        let entry = warp.entries.iter().position(holds);
        let is_behind = active & !warp.backing[register] == 0;
        let entry = entry.filter(|_| prefers_entry || !is_behind);
        if entry.is_none() && !is_behind {
            return None;
        }
        let last_read = ends;
        if last_read {
            warp.backing[register] &= !active;
            for (held, lanes) in warp.entries.iter_mut().flatten() {
                *lanes &= if *held == register { !active } else { u32::MAX };
            }
        }
        Some(Operand { register: index * REGISTERS + register, entry, last_read })
    }
}

/// An entry gets lanes of a register.
fn hold(entry: &mut Option<(usize, u32)>, register: usize, lanes: u32) {
    let kept = entry.filter(|(held, _)| *held == register).map_or(0, |(_, lanes)| lanes);
    *entry = Some((register, kept | lanes));
}

fn all(lanes: usize) -> u32 {
    u32::MAX >> (32 - lanes)
}

fn write(due: &Due) -> Write {
    let Operation { warp, instruction, destination, live_out } = &due.operation;
    Write {
        warp: *warp,
        register: warp * REGISTERS + destination.unwrap(),
        lanes: instruction.active,
        value: due.value.clone(),
        place: instruction.written.map(|entry| (instruction.slot, entry)),
        live_out: *live_out,
    }
}
