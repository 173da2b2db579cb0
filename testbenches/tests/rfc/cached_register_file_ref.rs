//! Reference of the register file with a cache in front: what every lane of every register must read, the
//! instructions under way, and the tags of the cache. Written from Gebhart et al., §3, and the port contract in
//! `docs/sm-pipeline.md`; it follows what was taken in each cycle and does not predict when, but for writes to the main register
//! file, which wait only for a reason.

use std::collections::BTreeMap;

use warpfile_hdl::regfile::ExtraRead;
use warpfile_hdl::rfc::CachedRegisterFile;

use super::register_file_cache_ref::{CacheReference, Lanes, Rules, Source};

/// An instruction that is offered.
#[derive(Clone, Debug, Default)]
pub struct Instruction {
    pub id: u64,
    pub unit: u64,
    pub slot: usize,
    pub active: u32,
    pub sources: [Option<Source>; 3],
}

/// A result or a fill that is offered.
#[derive(Clone, Debug, Default)]
pub struct Write {
    pub slot: usize,
    /// `result_cached_i` or `fill_slot_valid_i`.
    pub in_slot: bool,
    pub register: usize,
    pub lanes: u32,
    pub value: Vec<u32>,
    pub idle: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Flush {
    pub slot: usize,
    pub discard: bool,
}

/// What goes in, in a cycle.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    pub issue: Option<Instruction>,
    /// The one after it, of a register file that takes two.
    pub second_issue: Option<Instruction>,
    pub result: Option<Write>,
    pub second_result: Option<Write>,
    pub fill: Option<Write>,
    pub flush: Option<Flush>,
    /// A register to be read beside operands.
    pub extra_read: Option<usize>,
    pub units_ready: u64,
}

impl Inputs {
    /// What is offered here, else what is offered in `other`.
    pub fn or(self, other: &Inputs) -> Inputs {
        Inputs {
            issue: self.issue.or_else(|| other.issue.clone()),
            second_issue: self.second_issue.or_else(|| other.second_issue.clone()),
            result: self.result.or_else(|| other.result.clone()),
            second_result: self.second_result.or_else(|| other.second_result.clone()),
            fill: self.fill.or_else(|| other.fill.clone()),
            flush: self.flush.or(other.flush),
            extra_read: self.extra_read.or(other.extra_read),
            units_ready: self.units_ready,
        }
    }

    fn issues(&self) -> [Option<&Instruction>; 2] {
        [self.issue.as_ref(), self.second_issue.as_ref()]
    }

    fn results(&self) -> [Option<&Write>; 2] {
        [self.result.as_ref(), self.second_result.as_ref()]
    }
}

/// What came out of one way.
#[derive(Clone, Debug, Default)]
pub struct Way {
    pub issue_taken: bool,
    pub result_taken: bool,
    /// The cache takes the result.
    pub result_enters: bool,
    /// Identifier and unit.
    pub dispatch: Option<(u64, u64)>,
    pub operands: Option<(u64, [Vec<u32>; 3])>,
    /// Lanes that the cache found for each operand of the instruction taken.
    pub found: [u32; 3],
}

/// What came out, and what the cache was seen to do.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    pub first: Way,
    /// Empty in a register file that takes one instruction.
    pub second: Way,
    pub fill_taken: bool,
    pub busy: u64,
    /// The second instruction was looked up for the first group of collectors, and the first for the second.
    pub crossed: bool,
    /// What was written to the main register file for the cache.
    pub spill: Option<(Lanes, Vec<u32>)>,
    /// An operand that gets an entry in the cache, or has one.
    pub allocated: Option<Write>,
    /// Registers of the main register file whose rows are off.
    pub off: Vec<usize>,
    /// The extra read is made in this cycle.
    pub extra_read_taken: bool,
    /// What that of the cycle before has read.
    pub extra_value: Vec<u32>,
}

/// An instruction whose operands have not been delivered.
#[derive(Clone, Debug)]
struct UnderWay {
    unit: u64,
    taken_in: u64,
    operands: [Vec<u32>; 3],
    /// Registers that it reads.
    reads: [Option<usize>; 3],
    /// Slot and entry of the cache that operands are read from.
    entries: Vec<(usize, usize)>,
    dispatched: bool,
}

/// How often the interesting things happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    pub hits: usize,
    /// Operands of which the cache had some executing lanes.
    pub partial_hits: usize,
    pub evictions: usize,
    /// Registers written back by a flush.
    pub flushed: usize,
    pub discards: usize,
    /// Operands offered to the cache and taken, by position.
    pub allocated: [usize; 3],
    /// Offers on first ports that were not taken.
    pub waits: [usize; 3],
    /// Two instructions, and two results for the cache, that were taken together.
    pub pairs: [usize; 2],
    /// Two results that were taken together for one slot.
    pub in_one_slot: usize,
    /// Copies of shared registers that a write has ended in other slots.
    pub ended: usize,
    /// Results of active warps that went to the main register file alone, since their entry was still to be read.
    pub past: usize,
    /// Registers read beside operands.
    pub extra_reads: usize,
}

pub struct RegisterFileReference {
    pub seen: Seen,
    bypass_idle: bool,
    liveness: bool,
    shared: bool,
    access_cycles: u64,
    lanes: usize,
    banks: usize,
    pub cache: CacheReference,
    /// What each lane of each register must read.
    pub registers: Vec<Vec<u32>>,
    under_way: BTreeMap<u64, UnderWay>,
    flushing: Vec<bool>,
    /// Operands that may get an entry in the cache.
    worth_an_entry: Vec<Candidate>,
    /// What each group of collectors has dispatched.
    delivers: [Option<u64>; 2],
    extra_read: ExtraRead,
    /// The extra read of the cycle before was refused.
    extra_refused: bool,
    /// What it has read, if not.
    extra: Option<Vec<u32>>,
    cycle: u64,
}

/// An operand of which no lane was found in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    position: usize,
    slot: usize,
    lanes: Lanes,
    idle: bool,
}

pub fn has(lanes: u32, lane: usize) -> bool {
    lanes >> lane & 1 == 1
}

impl RegisterFileReference {
    pub fn new(parameters: &CachedRegisterFile) -> RegisterFileReference {
        let &CachedRegisterFile { geometry, replacement, liveness, evict_idle_first, shared, .. } =
            parameters;
        let rules = Rules { replacement, liveness, evict_idle_first, shared };
        RegisterFileReference {
            seen: Seen::default(),
            bypass_idle: parameters.bypass_idle,
            liveness,
            shared,
            access_cycles: parameters.access_cycles as u64,
            lanes: geometry.lanes,
            banks: geometry.banks,
            cache: CacheReference::new(rules, parameters.slots, parameters.entries),
            registers: vec![vec![0; geometry.lanes]; geometry.banks * geometry.rows],
            under_way: BTreeMap::new(),
            flushing: vec![false; parameters.slots],
            worth_an_entry: Vec::new(),
            delivers: [None; 2],
            extra_read: parameters.extra_read,
            extra_refused: false,
            extra: None,
            cycle: 0,
        }
    }

    /// Nothing is under way that was offered before.
    pub fn is_quiet(&self) -> bool {
        self.under_way.is_empty() && !self.flushing.contains(&true)
    }

    /// The cycle in which the oldest instruction was taken whose operands are not out.
    pub fn oldest(&self) -> Option<u64> {
        self.under_way.values().map(|instruction| instruction.taken_in).min()
    }

    /// Compares a cycle with what it may do; panics where it differs.
    pub fn follow(&mut self, inputs: &Inputs, outputs: &Outputs) {
        let waits = [
            inputs.issue.is_some() && !outputs.first.issue_taken,
            inputs.result.is_some() && !outputs.first.result_taken,
            inputs.fill.is_some() && !outputs.fill_taken,
        ];
        for (count, waits) in self.seen.waits.iter_mut().zip(waits) {
            *count += usize::from(waits);
        }
        for (group, way) in [&outputs.first, &outputs.second].into_iter().enumerate() {
            self.deliver(group, way);
            self.dispatch(inputs, group, way);
        }
        let units = [&outputs.first, &outputs.second].map(|way| way.dispatch.map(|(_, unit)| unit));
        assert!(units[0].is_none() || units[0] != units[1], "cycle {}: two for one unit", self.cycle);
        let busy = |slot| outputs.busy >> slot & 1 == 1;
        for slot in (0..self.flushing.len()).filter(|&slot| !busy(slot)) {
            if self.flushing[slot] {
                assert_eq!(
                    self.cache.dirty(slot),
                    [],
                    "cycle {}: slot {slot} not busy and dirty",
                    self.cycle
                );
                self.cache.empty(slot);
                self.flushing[slot] = false;
            }
        }
        self.follow_extra_read(inputs, outputs);
        let results = self.results(inputs, outputs);
        // Results are as one after the other; the operand of this cycle comes in place of the last.
        let mut cache = self.cache.clone();
        let mut evicted = Vec::new();
        let mut target = |write: &Write| {
            let way = cache.target(write.slot, write.register);
            evicted.extend(cache.evicted(write.slot, way, write.register));
            cache.write(write.slot, way, write.written(), write.idle);
            way
        };
        let targets = results.map(|result| result.filter(|(_, cached)| *cached).map(|(w, _)| target(w)));
        let new = |operand: &&Write| !self.cache.has_entry(operand.slot, operand.register);
        let allocated = outputs.allocated.as_ref();
        let target_of_operand = allocated.filter(new).map(target);
        assert!(evicted.len() <= 1, "cycle {}: two registers are evicted", self.cycle);
        self.spill(evicted.pop(), outputs);
        self.forget_flushed(inputs);
        self.take_instructions(inputs, outputs);
        self.check_waits(inputs, outputs);
        if let Some(fill) = inputs.fill.as_ref().filter(|_| outputs.fill_taken) {
            if fill.in_slot || self.shared {
                self.cache.invalidate(fill.slot, fill.written());
            }
            self.end_others(fill);
            self.set(fill);
        }
        for ((result, _), target) in results.into_iter().zip(targets).filter_map(|(r, t)| Some((r?, t))) {
            match target {
                Some(way) => self.cache.write(result.slot, way, result.written(), result.idle),
                None => self.cache.invalidate(result.slot, result.written()),
            }
            self.end_others(result);
            self.set(result);
        }
        if let Some(operand) = allocated {
            self.allocate(operand, target_of_operand);
        }
        self.forget_written(inputs);
        if let Some(flush) = inputs.flush {
            assert!(busy(flush.slot), "cycle {}: flushed and not busy", self.cycle);
            if flush.discard {
                self.seen.discards += 1;
                self.cache.empty(flush.slot);
            } else {
                self.flushing[flush.slot] = true;
            }
        }
        self.cycle += 1;
    }

    /// The results that were taken, and whether they go to the cache.
    fn results<'i>(&mut self, inputs: &'i Inputs, outputs: &Outputs) -> [Option<(&'i Write, bool)>; 2] {
        let offered = inputs.results().map(|result| result.map(|write| (write, self.is_cached(write))));
        let taken = [outputs.first.result_taken, outputs.second.result_taken];
        if self.shared {
            return [
                offered[0]
                    .filter(|_| taken[0])
                    .map(|(write, cached)| (write, cached && self.enters(write, inputs, outputs))),
                None,
            ];
        }
        if let [Some((first, true)), Some((second, true))] = offered {
            let in_order = first.slot != second.slot || taken[0] || !taken[1];
            assert!(in_order, "cycle {}: the second result for slot {} comes first", self.cycle, first.slot);
            self.seen.pairs[1] += usize::from(taken == [true; 2]);
            self.seen.in_one_slot += usize::from(taken == [true; 2] && first.slot == second.slot);
        }
        [offered[0].filter(|_| taken[0]), offered[1].filter(|_| taken[1])]
    }

    /// A result of shared registers enters the cache unless its entry has still to be read, also by an instruction that is looked
    /// up in the same cycle.
    fn enters(&mut self, write: &Write, inputs: &Inputs, outputs: &Outputs) -> bool {
        let entry = (write.slot, self.cache.target(write.slot, write.register));
        let new = inputs.issue.as_ref().filter(|_| outputs.first.issue_taken);
        let new = new.map(|issue| self.entries(issue, outputs.first.found)).unwrap_or_default();
        let is_read = self.under_way.values().map(|other| &other.entries).chain([&new]);
        let is_read = is_read.into_iter().any(|entries| entries.contains(&entry));
        let enters = outputs.first.result_enters;
        assert!(enters || is_read, "cycle {}: register {} enters no entry", self.cycle, write.register);
        self.seen.past += usize::from(!enters);
        enters
    }

    /// What other slots have of a shared register that is written ends.
    fn end_others(&mut self, write: &Write) {
        if self.shared {
            self.seen.ended += self.cache.end_others(write.slot, write.register);
        }
    }

    /// A register that is read beside operands has what is written before this cycle.
    fn follow_extra_read(&mut self, inputs: &Inputs, outputs: &Outputs) {
        if let Some(expected) = self.extra.take() {
            assert_eq!(outputs.extra_value, expected, "cycle {}: extra read", self.cycle);
        }
        let taken = inputs.extra_read.filter(|_| outputs.extra_read_taken);
        let must_be_taken = match self.extra_read {
            ExtraRead::None | ExtraRead::AfterOperands => false,
            ExtraRead::InTurn => self.extra_refused,
            ExtraRead::BeforeOperands => true,
        };
        self.extra_refused = inputs.extra_read.is_some() && taken.is_none();
        assert!(!(must_be_taken && self.extra_refused), "cycle {}: the extra read comes first", self.cycle);
        self.seen.extra_reads += usize::from(taken.is_some());
        self.extra = taken.map(|register| self.registers[register].clone());
    }

    /// Whether a result goes to the cache.
    fn is_cached(&self, write: &Write) -> bool {
        write.in_slot && !(self.bypass_idle && write.idle)
    }

    /// A write to the main register file waits only for its row, for an instruction that has still to read the register, or for
    /// a write before it to the same bank: of the cache, of a result, and last of the fill. It is never made while its row is
    /// off.
    fn check_waits(&self, inputs: &Inputs, outputs: &Outputs) {
        let bank = |register: usize| register % self.banks;
        let mut written: Vec<usize> = outputs.spill.iter().map(|(lanes, _)| bank(lanes.register)).collect();
        let results = inputs.results().into_iter().zip([&outputs.first, &outputs.second]);
        let past = results.filter_map(|(result, way)| Some((result?, way.result_taken)));
        let past = past.filter(|(result, _)| self.shared || !self.is_cached(result));
        for (write, taken) in past.chain(inputs.fill.as_ref().map(|fill| (fill, outputs.fill_taken))) {
            let is_off = outputs.off.contains(&write.register);
            assert!(!(taken && is_off), "cycle {}: R{} is written and off", self.cycle, write.register);
            let is_read = || self.under_way.values().any(|other| other.reads.contains(&Some(write.register)));
            assert!(
                taken || written.contains(&bank(write.register)) || is_read() || is_off,
                "cycle {}: a write of register {} waits for nothing",
                self.cycle,
                write.register
            );
            if taken {
                written.push(bank(write.register));
            }
        }
    }

    fn take_instructions(&mut self, inputs: &Inputs, outputs: &Outputs) {
        let [first, second] = inputs.issues();
        assert!(
            outputs.first.issue_taken || !outputs.second.issue_taken,
            "cycle {}: second alone",
            self.cycle
        );
        self.seen.pairs[0] += usize::from(outputs.second.issue_taken);
        let ways = [(first, &outputs.first), (second, &outputs.second)];
        let taken = ways.map(|(instruction, way)| instruction.filter(|_| way.issue_taken));
        // Both find what is there before the cycle; what they do to the entries is done group after group.
        for (instruction, (_, way)) in taken.iter().zip(ways) {
            if let Some(instruction) = instruction {
                self.take(instruction, way.found);
            }
        }
        let groups = if outputs.crossed { [1, 0] } else { [0, 1] };
        for (instruction, found) in groups.map(|way| (taken[way], ways[way].1.found)) {
            if let Some(Instruction { slot, active, sources, .. }) = instruction {
                self.cache.use_operands(*slot, *active, sources, found);
            }
        }
    }

    /// An operand is allocated with the value its register has, and not in a slot that is flushed. One whose register
    /// had an entry before the cycle gets no other, even if a result takes that entry now.
    fn allocate(&mut self, operand: &Write, way: Option<usize>) {
        let (cycle, &Write { slot, register, lanes, ref value, idle, .. }) = (self.cycle, operand);
        assert!(!self.flushing[slot], "cycle {cycle}: slot {slot} is flushed");
        assert_ne!(lanes, 0, "cycle {cycle}: register {register} without lanes");
        for lane in (0..self.lanes).filter(|&lane| has(lanes, lane)) {
            let expected = self.registers[register][lane];
            assert_eq!(value[lane], expected, "cycle {cycle}: allocated register {register}, lane {lane}");
        }
        let is_it = |candidate: &Candidate| {
            (candidate.slot, candidate.lanes, candidate.idle) == (slot, operand.written(), idle)
        };
        let Some(found) = self.worth_an_entry.iter().position(is_it) else {
            panic!("cycle {cycle}: {operand:x?} is allocated, of {:x?}", self.worth_an_entry)
        };
        let position = self.worth_an_entry.remove(found).position;
        if let Some(way) = way {
            self.cache.allocate(slot, way, operand.written(), idle);
        }
        self.seen.allocated[position] += 1;
    }

    /// What was looked up before a slot is flushed gets no entry there.
    fn forget_flushed(&mut self, inputs: &Inputs) {
        let Some(flush) = inputs.flush else { return };
        self.worth_an_entry.retain(|operand| operand.slot != flush.slot);
    }

    /// What is written gets no entry with its old value.
    fn forget_written(&mut self, inputs: &Inputs) {
        let written: Vec<usize> = inputs
            .results()
            .into_iter()
            .chain([inputs.fill.as_ref()])
            .flatten()
            .map(|w| w.register)
            .collect();
        self.worth_an_entry.retain(|operand| !written.contains(&operand.lanes.register));
    }

    /// Operands come in the cycle after the dispatch, and are what the registers held at issue.
    fn deliver(&mut self, group: usize, way: &Way) {
        let cycle = self.cycle;
        assert_eq!(
            way.operands.as_ref().map(|(id, _)| *id),
            self.delivers[group].take(),
            "cycle {cycle}: operands"
        );
        if let Some((id, operands)) = &way.operands {
            let expected = self.under_way.remove(id).unwrap();
            assert_eq!(operands, &expected.operands, "cycle {cycle}: operands of instruction {id}");
        }
    }

    fn dispatch(&mut self, inputs: &Inputs, group: usize, way: &Way) {
        let Some((id, unit)) = way.dispatch else { return };
        let cycle = self.cycle;
        let Some(instruction) = self.under_way.get_mut(&id) else {
            panic!("cycle {cycle}: instruction {id} is not under way")
        };
        assert_eq!(unit, instruction.unit, "cycle {cycle}: unit of instruction {id}");
        assert!(inputs.units_ready >> unit & 1 == 1, "cycle {cycle}: unit {unit} is not ready");
        assert!(!instruction.dispatched, "cycle {cycle}: instruction {id} is dispatched twice");
        assert!(cycle >= instruction.taken_in + self.access_cycles, "cycle {cycle}: too early");
        instruction.dispatched = true;
        self.delivers[group] = Some(id);
    }

    /// A spill makes room for what is written in this cycle, or else belongs to a flush.
    fn spill(&mut self, evicted: Option<Lanes>, outputs: &Outputs) {
        let cycle = self.cycle;
        let spilled = outputs.spill.as_ref().map(|(lanes, _)| *lanes);
        if let Some((Lanes { register, lanes }, value)) = &outputs.spill {
            for lane in (0..self.lanes).filter(|&lane| has(*lanes, lane)) {
                let expected = self.registers[*register][lane];
                assert_eq!(value[lane], expected, "cycle {cycle}: spilled register {register}, lane {lane}");
            }
        }
        if evicted.is_some() {
            self.seen.evictions += 1;
            assert_eq!(spilled, evicted, "cycle {cycle}: evicted");
        } else if let Some(spilled) = spilled {
            let mut flushing = (0..self.flushing.len()).filter(|&slot| self.flushing[slot]);
            let slot = flushing.find(|&slot| self.cache.dirty(slot).contains(&spilled));
            let slot = slot.unwrap_or_else(|| panic!("cycle {cycle}: nobody asked to spill {spilled:x?}"));
            self.cache.clean(slot, spilled.register);
            self.seen.flushed += 1;
        }
    }

    fn take(&mut self, instruction: &Instruction, lanes: [u32; 3]) {
        let Instruction { id, unit, slot, active, sources } = instruction;
        let found = self.cache.look_up(*slot, *active, sources);
        assert_eq!(lanes, found, "cycle {}: lanes found for {instruction:x?}", self.cycle);
        for lanes in found.into_iter().filter(|&lanes| lanes != 0) {
            self.seen.hits += usize::from(lanes == *active);
            self.seen.partial_hits += usize::from(lanes != *active);
        }
        for (position, source) in sources.iter().enumerate() {
            let Some(source) = source.filter(|source| !(self.liveness && source.last_read)) else { continue };
            if found[position] == 0 {
                let lanes = Lanes { register: source.register, lanes: *active };
                self.worth_an_entry.push(Candidate { position, slot: *slot, lanes, idle: source.idle });
            }
        }
        let operands = sources.map(|source| {
            let value = |lane| source.map_or(0, |source| self.registers[source.register][lane]);
            (0..self.lanes).map(|lane| if has(*active, lane) { value(lane) } else { 0 }).collect()
        });
        let reads = sources.map(|source| source.map(|source| source.register));
        let entries = self.entries(instruction, found);
        let new = UnderWay { unit: *unit, taken_in: self.cycle, operands, reads, entries, dispatched: false };
        assert!(self.under_way.insert(*id, new).is_none(), "identifier {id} is in use");
    }

    /// Slot and entry of the operands that were found.
    fn entries(&self, instruction: &Instruction, found: [u32; 3]) -> Vec<(usize, usize)> {
        let sources = instruction.sources.iter().zip(found).filter(|(_, found)| *found != 0);
        let registers = sources.filter_map(|(source, _)| source.map(|source| source.register));
        let slot = instruction.slot;
        registers.map(|register| (slot, self.cache.target(slot, register))).collect()
    }

    fn set(&mut self, write: &Write) {
        for lane in (0..self.lanes).filter(|&lane| has(write.lanes, lane)) {
            self.registers[write.register][lane] = write.value[lane];
        }
    }
}

impl Write {
    fn written(&self) -> Lanes {
        Lanes { register: self.register, lanes: self.lanes }
    }
}
