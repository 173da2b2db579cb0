//! Warps that run random regions on a shard, with every operand compared: what an SM does, without its details.

mod checks;

use std::collections::{BTreeMap, VecDeque};

use num_bigint::BigUint;
use warpfile_engine::{Engine, InPort, Interpreter, Options, OutPort};
use warpfile_hdl::regless::{Fate, ISSUES, NOTES, Note, RESULTS, RegLessShard, RequestKind, SOURCES};
use warpfile_hdl::rtl::netlist::Direction;
use warpfile_random::Random;
use warpfile_testbenches::mutation::elaborate;

use crate::recorded::Recorded;

use super::memory_ref::{Fill, MemoryReference};
use super::random_region::{Instruction, REGISTERS, Region, Style, Value, region, words};

/// Cycles without anything taken or dispatched after which the shard is stuck.
const STUCK: u64 = 1000;
/// Cycles in which units take nothing, and then take what they get, if they halt.
const HALT: u64 = 30;

/// A word of metadata on its way to the shard.
struct Word {
    notes: Vec<(Note, usize)>,
    first: bool,
    last: bool,
    usage: Vec<usize>,
}

struct Warp {
    /// At compile time, at the end of the regions made so far.
    known: [Value; REGISTERS],
    /// As the issued instructions leave them.
    values: Vec<Vec<u32>>,
    /// Registers with a write under way.
    pending: [bool; REGISTERS],
    words: VecDeque<Word>,
    /// The next region, whose words are being sent.
    next: Option<Region>,
    /// What is left of the region that runs.
    running: VecDeque<Instruction>,
    /// The region has been begun, and its end has been seen.
    was_inactive: bool,
    regions_left: usize,
    waits_until: u64,
}

/// An issued instruction.
struct Flight {
    warp: usize,
    instruction: Instruction,
    sources: Vec<Vec<u32>>,
    results: Vec<Vec<u32>>,
}

/// A result on its way to a port.
struct Write {
    due: u64,
    warp: usize,
    register: usize,
    line: u64,
    fate: Fate,
    lanes: u32,
    value: Vec<u32>,
}

/// What a run did, so that tests can ask that it did something.
#[derive(Debug, Default)]
pub struct Counts {
    pub instructions: u64,
    pub dual_issues: u64,
    pub hits: u64,
    pub unwritten: u64,
    pub fetched: u64,
    pub exits: u64,
    pub cycles: u64,
    /// Fetches, writes, invalidations and drops.
    pub requests: [u64; 4],
    pub of_compressed_lines: u64,
    pub compressor_hits: u64,
    /// For each bank: cycles in which an access does not get into its queue.
    pub queue_full: Vec<u64>,
    /// For each unit that halts: how often an instruction waits since its read unit is full.
    pub unit_full: Vec<u64>,
    /// For each port: cycles in which a result waits.
    pub result_waits: Vec<u64>,
}

pub struct Driver {
    shard: RegLessShard,
    pub style: Style,
    /// All units halt again and again.
    pub halts: bool,
    pub engine: Interpreter,
    /// What the shard was given.
    pub recorded: Recorded,
    inputs: BTreeMap<String, InPort>,
    outputs: BTreeMap<String, OutPort>,
    /// What is counted, and which output of each bank says that it happens.
    events: Vec<(&'static str, Vec<OutPort>)>,
    /// The same of the compressor; without one nothing happens there.
    compressor_events: Vec<(&'static str, Option<OutPort>)>,
    /// For each bank: an access is offered to its queue, and there is room.
    pushes: Vec<[OutPort; 2]>,
    /// The instruction that each unit has dispatched in the cycle before.
    dispatched: Vec<Option<u64>>,
    random: Random,
    pub memory: MemoryReference,
    warps: Vec<Warp>,
    flights: BTreeMap<u64, Flight>,
    /// Instructions offered, by identifier.
    offered: Vec<u64>,
    /// Results, and those that a port offers.
    writes: Vec<Write>,
    ports: Vec<Option<Write>>,
    exiting: Option<usize>,
    /// The warp of which a word of metadata is offered.
    sender: Option<usize>,
    /// The warp and the register of the line that comes in this cycle.
    filled: Option<(usize, usize)>,
    /// The warp and the register that was read last.
    read_last: Option<(usize, usize)>,
    last_progress: u64,
    pub counts: Counts,
}

impl Driver {
    pub fn new(shard: &RegLessShard, counts_results_to_the_end: bool, seed: u64) -> Driver {
        let netlist = elaborate(shard).unwrap_or_else(|errors| panic!("{errors}"));
        let engine = Interpreter::new(&netlist, &Options { seed, ..Options::checked() }).unwrap();
        let top = &netlist.modules[netlist.top.index()];
        let mut random = Random(seed);
        let warps = (0..shard.geometry.warps)
            .map(|_| Warp {
                known: [Value::Unwritten; REGISTERS],
                values: vec![vec![0; shard.geometry.lanes]; REGISTERS],
                pending: [false; REGISTERS],
                words: VecDeque::new(),
                next: None,
                running: VecDeque::new(),
                was_inactive: true,
                regions_left: 1 + random.below(12) as usize,
                waits_until: 0,
            })
            .collect();
        let named = |direction| top.ports.iter().filter(move |p| p.direction == direction).map(|p| &p.name);
        let of_banks = |event: &str| {
            let path = |bank: usize| format!("staging.bank{bank}_{event}_o");
            (0..shard.geometry.banks).map(|bank| engine.probe(&path(bank)).unwrap()).collect::<Vec<_>>()
        };
        let events = [
            ("preload_hit_o", "staged_hit"),
            ("preload_unwritten_o", "staged_unwritten"),
            ("preload_fetched_o", "staged_fetched"),
            ("tag_access_o", "tags_used"),
        ];
        let compressor_events = [("compressor_hit_o", "hit_o"), ("compressor_miss_o", "miss_o")];
        let of_compressor = |output: &str| {
            let path = format!("compressor.{output}");
            (shard.compressor_lines > 0).then(|| engine.probe(&path).unwrap())
        };
        let push = |bank: usize| {
            let paths =
                [format!("distributor.push{bank}_valid_o"), format!("staging.bank{bank}_push_ready_o")];
            paths.map(|path| engine.probe(&path).unwrap())
        };
        let counts = Counts {
            queue_full: vec![0; shard.geometry.banks],
            unit_full: vec![0; shard.units],
            result_waits: vec![0; shard.writes],
            ..Counts::default()
        };
        Driver {
            pushes: (0..shard.geometry.banks).map(push).collect(),
            compressor_events: compressor_events.map(|(event, output)| (event, of_compressor(output))).into(),
            dispatched: vec![None; shard.units],
            events: events.map(|(event, of_bank)| (event, of_banks(of_bank))).into(),
            shard: shard.clone(),
            halts: false,
            style: Style {
                geometry: shard.geometry,
                units: shard.units,
                counts_results_to_the_end,
                is_narrow: false,
            },
            inputs: named(Direction::Input).map(|p| (p.clone(), engine.input(p).unwrap())).collect(),
            outputs: named(Direction::Output).map(|p| (p.clone(), engine.output(p).unwrap())).collect(),
            recorded: Recorded::new(&engine, &netlist),
            engine,
            random,
            memory: MemoryReference::default(),
            warps,
            flights: BTreeMap::new(),
            offered: Vec::new(),
            writes: Vec::new(),
            ports: (0..shard.writes).map(|_| None).collect(),
            exiting: None,
            sender: None,
            filled: None,
            read_last: None,
            last_progress: 0,
            counts,
        }
    }

    pub fn run(&mut self, cycles: u64) {
        for cycle in 0..cycles {
            self.offer(cycle);
            let fill = self.memory.fill(cycle);
            self.offer_fill(fill.as_ref());
            let takes_request = !self.random.chance(3);
            self.step(cycle, takes_request);
        }
        self.counts.cycles += cycles;
        (self.counts.requests, self.counts.of_compressed_lines) = (self.memory.taken, self.memory.compressed);
    }

    /// What the SM offers in a cycle; memory is not asked yet.
    pub fn offer(&mut self, cycle: u64) {
        let active = self.get("active_o");
        self.sender = self.offer_metadata();
        self.offer_waiting(cycle);
        self.offer_exit();
        self.offer_instructions(active);
        self.offer_writes(cycle);
        let halts = self.halts && cycle / HALT % 2 == 1;
        for unit in 0..self.shard.units {
            let is_busy = self.random.chance(4) || halts;
            self.set(&format!("unit{unit}_ready_i"), u64::from(!is_busy));
        }
    }

    /// Runs the cycle and takes what the shard gives.
    pub fn step(&mut self, cycle: u64, takes_request: bool) {
        self.set("memory_request_ready_i", u64::from(takes_request));
        self.engine.step();
        self.recorded.take(&self.engine);
        assert!(self.engine.violation().is_none(), "{:?} in cycle {cycle}", self.engine.violation());

        if let Some(warp) = self.sender.filter(|_| self.get("metadata_ready_o") == 1) {
            self.warps[warp].words.pop_front();
        }
        self.take_instructions(cycle);
        if self.halts && (cycle + 1).is_multiple_of(2 * HALT) {
            self.check_room(cycle);
        }
        self.take_writes(cycle);
        self.take_operands(cycle);
        self.take_request(cycle, takes_request);
        self.follow_warps(cycle);
        self.check_events();
        self.count_full_queues();
        self.counts.hits += u64::from(self.get("preload_hit_o").count_ones());
        self.counts.unwritten += u64::from(self.get("preload_unwritten_o").count_ones());
        self.counts.compressor_hits += self.get("compressor_hit_o");
        self.counts.fetched += u64::from(self.get("preload_fetched_o").count_ones());
        assert!(cycle - self.last_progress < STUCK, "stuck in cycle {cycle}: {:?}", self.counts);
    }

    /// Offers the next word of some warp; makes regions when a warp needs one, sometimes while one runs.
    fn offer_metadata(&mut self) -> Option<usize> {
        for warp in &mut self.warps {
            let wants = warp.next.is_none() && warp.regions_left > 0;
            if wants && self.random.chance(if warp.running.is_empty() { 3 } else { 12 }) {
                let region = region(&self.style, &mut self.random, &mut warp.known);
                let notes = words(&region);
                let last = notes.len() - 1;
                warp.words = (notes.into_iter().enumerate())
                    .map(|(w, notes)| Word {
                        notes,
                        first: w == 0,
                        last: w == last,
                        usage: region.usage.clone(),
                    })
                    .collect();
                warp.next = Some(region);
            }
        }
        let senders: Vec<usize> =
            (0..self.warps.len()).filter(|&w| !self.warps[w].words.is_empty()).collect();
        let sender = (!senders.is_empty()).then(|| senders[self.random.below(senders.len() as u32) as usize]);
        self.set("metadata_valid_i", u64::from(sender.is_some()));
        let warp = sender?;
        let Word { notes, first, last, usage } = &self.warps[warp].words[0];
        let bits = self.shard.geometry.line_count_bits();
        let packed = usage.iter().rev().fold(0_u64, |packed, &lines| packed << bits | lines as u64);
        let (first, last, notes) = (u64::from(*first), u64::from(*last), notes.clone());
        self.set("metadata_warp_i", warp as u64);
        self.set("metadata_first_i", first);
        self.set("metadata_last_i", last);
        self.set("metadata_usage_i", packed);
        for k in 0..NOTES {
            let note = notes.get(k);
            self.set(&format!("metadata_note{k}_valid_i"), u64::from(note.is_some()));
            let (kind, register) = note.copied().unwrap_or((Note::Preload, 0));
            self.set(&format!("metadata_note{k}_kind_i"), kind as u64);
            self.set(&format!("metadata_note{k}_register_i"), register as u64);
        }
        Some(warp)
    }

    fn offer_waiting(&mut self, cycle: u64) {
        let waits = |warp: &Warp| warp.waits_until > cycle;
        let mask = (self.warps.iter().enumerate()).map(|(w, warp)| u64::from(waits(warp)) << w).sum();
        self.set("waiting_i", mask);
    }

    /// A warp that has run all its regions and is inactive ends.
    fn offer_exit(&mut self) {
        let inactive = self.get("inactive_o");
        if self.exiting.is_none() && self.engine.cycle() > 0 {
            let ended = |w: &usize| {
                let warp = &self.warps[*w];
                let over = warp.regions_left == 0 && warp.next.is_none() && warp.running.is_empty();
                over && warp.was_inactive && inactive >> w & 1 == 1
            };
            self.exiting = (0..self.warps.len()).find(ended);
        }
        self.set("exit_valid_i", u64::from(self.exiting.is_some()));
        self.set("exit_warp_i", self.exiting.unwrap_or(0) as u64);
    }

    /// Picks instructions of active warps whose registers have no write under way.
    fn offer_instructions(&mut self, active: u64) {
        while self.offered.len() < ISSUES && self.flights.len() < 1 << self.shard.id_bits {
            let from = self.random.below(self.warps.len() as u32) as usize;
            let in_turn = (0..self.warps.len()).map(|w| (w + from) % self.warps.len());
            let can_issue = |&w: &usize| {
                let warp = &self.warps[w];
                let is_active = warp.was_inactive && active >> w & 1 == 1;
                let ready = warp.running.front().is_some_and(|instruction| {
                    let registers = instruction.sources.iter().chain(&instruction.results);
                    registers.into_iter().all(|operand| !warp.pending[operand.register])
                });
                is_active && ready
            };
            let Some(w) = in_turn.into_iter().find(can_issue).filter(|_| !self.random.chance(5)) else {
                break;
            };
            let id = (0..).find(|id| !self.flights.contains_key(id)).unwrap();
            let flight = self.execute(w);
            self.flights.insert(id, flight);
            self.offered.push(id);
        }
        for i in 0..ISSUES {
            let id = self.offered.get(i).copied();
            self.set(&format!("issue{i}_valid_i"), u64::from(id.is_some()));
            if let Some(id) = id {
                self.drive_instruction(i, id);
            }
        }
    }

    /// Executes the next instruction of a warp.
    fn execute(&mut self, w: usize) -> Flight {
        let lanes = self.shard.geometry.lanes;
        let warp = &mut self.warps[w];
        let instruction = warp.running.pop_front().unwrap();
        if warp.running.is_empty() {
            warp.was_inactive = false;
        }
        let masked = |value: &[u32]| -> Vec<u32> {
            let lane =
                |(lane, value): (usize, &u32)| if instruction.lanes >> lane & 1 == 1 { *value } else { 0 };
            value.iter().enumerate().map(lane).collect()
        };
        let sources =
            instruction.sources.iter().map(|source| masked(&warp.values[source.register])).collect();
        // A value that is dead leaves nothing behind.
        for source in instruction.sources.iter().filter(|source| source.fate == Fate::Erase) {
            warp.values[source.register] = vec![0; lanes];
        }
        let results = instruction.results.iter().map(|result| {
            let value = random_value(&mut self.random, lanes);
            for lane in (0..lanes).filter(|lane| instruction.lanes >> lane & 1 == 1) {
                warp.values[result.register][lane] = value[lane];
            }
            warp.pending[result.register] = instruction.lanes != 0;
            value
        });
        let results = results.collect();
        Flight { warp: w, sources, results, instruction }
    }

    fn drive_instruction(&mut self, i: usize, id: u64) {
        let flight = &self.flights[&id];
        let (warp, instruction) = (flight.warp, flight.instruction.clone());
        let later = self.offered[i + 1..].iter().any(|other| self.flights[other].warp == warp);
        let last = !self.warps[warp].was_inactive && !later;
        self.set(&format!("issue{i}_id_i"), id);
        self.set(&format!("issue{i}_unit_i"), instruction.unit as u64);
        self.set(&format!("issue{i}_warp_i"), warp as u64);
        self.set(&format!("issue{i}_last_i"), u64::from(last));
        self.set(&format!("issue{i}_lanes_i"), u64::from(instruction.lanes));
        for k in 0..SOURCES {
            let source = instruction.sources.get(k);
            self.set(&format!("issue{i}_source{k}_valid_i"), u64::from(source.is_some()));
            self.set(&format!("issue{i}_source{k}_register_i"), source.map_or(0, |s| s.register as u64));
            self.set(&format!("issue{i}_source{k}_fate_i"), source.map_or(0, |s| s.fate as u64));
        }
        for k in 0..RESULTS {
            let result = instruction.results.get(k);
            self.set(&format!("issue{i}_result{k}_valid_i"), u64::from(result.is_some()));
            self.set(&format!("issue{i}_result{k}_register_i"), result.map_or(0, |r| r.register as u64));
            self.set(&format!("issue{i}_result{k}_fate_i"), result.map_or(0, |r| r.fate as u64));
            self.set(&format!("issue{i}_result{k}_written_i"), u64::from(instruction.lanes != 0));
        }
    }

    fn take_instructions(&mut self, cycle: u64) {
        let taken: Vec<bool> =
            (0..self.offered.len()).map(|i| self.get(&format!("issue{i}_ready_o")) == 1).collect();
        let count = taken.iter().filter(|&&taken| taken).count();
        assert!(taken.first() != Some(&false) || count == 0, "the second was taken before the first");
        for id in self.offered.drain(..count) {
            let Flight { warp, instruction, .. } = &self.flights[&id];
            let last = instruction.sources.last().map(|source| (*warp, source.register));
            self.read_last = last.or(self.read_last);
        }
        self.counts.instructions += count as u64;
        self.counts.dual_issues += u64::from(count == 2);
        if count > 0 {
            self.last_progress = cycle;
        }
    }

    fn offer_writes(&mut self, cycle: u64) {
        for p in 0..self.ports.len() {
            if self.ports[p].is_none() {
                let due = self.writes.iter().position(|write| write.due <= cycle);
                self.ports[p] = due.map(|due| self.writes.remove(due));
            }
            self.set(&format!("write{p}_valid_i"), u64::from(self.ports[p].is_some()));
            let Some(write) = &self.ports[p] else {
                // A read of the register that is not offered here keeps no other port waiting.
                let (warp, register) = self.read_last.unwrap_or_default();
                self.set(&format!("write{p}_warp_i"), warp as u64);
                self.set(&format!("write{p}_register_i"), register as u64);
                continue;
            };
            let &Write { warp, register, line, fate, lanes, .. } = write;
            let value = BigUint::from_slice(&write.value);
            self.set(&format!("write{p}_warp_i"), warp as u64);
            self.set(&format!("write{p}_register_i"), register as u64);
            self.set(&format!("write{p}_line_i"), line);
            self.set(&format!("write{p}_fate_i"), fate as u64);
            self.set(&format!("write{p}_lanes_i"), u64::from(lanes));
            self.engine.set_big(self.inputs[&format!("write{p}_value_i")], &value);
        }
    }

    fn take_writes(&mut self, cycle: u64) {
        let expected: Vec<bool> = (0..self.ports.len()).map(|p| self.is_taken(p)).collect();
        for (p, expected) in expected.into_iter().enumerate() {
            let taken = self.get(&format!("write{p}_ready_o")) == 1;
            // Which lines the compressor gives is not known here.
            if self.shard.compressor_lines == 0 {
                assert_eq!(taken, expected, "write{p}_ready_o in cycle {cycle}");
            }
            self.counts.result_waits[p] += u64::from(self.ports[p].is_some() && !taken);
            if let Some(write) = self.ports[p].take_if(|_| taken) {
                self.warps[write.warp].pending[write.register] = false;
            }
        }
    }

    /// Compares the operands of what was dispatched, and sends results on their way.
    fn take_operands(&mut self, cycle: u64) {
        for unit in 0..self.shard.units {
            let reserves = |k: usize| self.get(&format!("unit{unit}_operands_result{k}_reserved_o"));
            let reserved: u64 = (0..RESULTS).map(reserves).sum();
            let number = |port: &str| {
                let is_there = self.get(&format!("unit{unit}_{port}_valid_o")) == 1;
                is_there.then(|| self.get(&format!("unit{unit}_{port}_id_o")))
            };
            let (dispatched, out) = (number("dispatch"), number("operands"));
            assert_eq!(out, self.dispatched[unit], "operands come a cycle after the dispatch, cycle {cycle}");
            self.dispatched[unit] = dispatched;
            if self.get(&format!("unit{unit}_operands_valid_o")) == 0 {
                assert_eq!(reserved, 0, "lines for no instruction in cycle {cycle}");
                continue;
            }
            self.last_progress = cycle;
            let id = self.get(&format!("unit{unit}_operands_id_o"));
            let flight = self.flights.remove(&id).unwrap_or_else(|| panic!("{id} is not under way"));
            assert!(!self.offered.contains(&id), "{id} is dispatched before it is taken");
            assert_eq!(reserved, flight.results.len() as u64, "lines of {id} in cycle {cycle}");
            for (k, expected) in flight.sources.iter().enumerate() {
                let found = self.lanes(&format!("unit{unit}_operands_source{k}_o"));
                let register = flight.instruction.sources[k].register;
                assert_eq!(&found, expected, "R{register} of warp {} in cycle {cycle}", flight.warp);
            }
            for (k, value) in flight.results.into_iter().enumerate() {
                let result = flight.instruction.results[k];
                let line = self.get(&format!("unit{unit}_operands_result{k}_line_o"));
                assert_eq!(self.get(&format!("unit{unit}_operands_result{k}_reserved_o")), 1);
                if flight.instruction.lanes != 0 {
                    let latency = if self.random.chance(4) { 60 } else { 6 };
                    self.writes.push(Write {
                        due: cycle + 1 + u64::from(self.random.below(latency)),
                        warp: flight.warp,
                        register: result.register,
                        line,
                        fate: result.fate,
                        lanes: flight.instruction.lanes,
                        value,
                    });
                }
            }
        }
    }

    pub fn offer_fill(&mut self, fill: Option<&Fill>) {
        self.set("memory_fill_valid_i", u64::from(fill.is_some()));
        self.filled = fill.map(|fill| (fill.tag.0, fill.tag.1));
        let Some(fill) = fill else { return };
        self.set("memory_fill_warp_i", fill.tag.0 as u64);
        self.set("memory_fill_register_i", fill.tag.1 as u64);
        self.set("memory_fill_compressed_i", u64::from(fill.tag.2));
        self.set("memory_fill_line_i", fill.line);
        self.engine.set_big(self.inputs["memory_fill_value_i"], &BigUint::from_slice(&fill.value));
    }

    fn take_request(&mut self, cycle: u64, takes: bool) {
        if !takes || self.get("memory_request_valid_o") == 0 {
            return;
        }
        let kinds = [RequestKind::Fetch, RequestKind::Write, RequestKind::Invalidate, RequestKind::Drop];
        let kind = kinds[self.get("memory_request_kind_o") as usize];
        let [warp, register, compressed] =
            ["warp", "register", "compressed"].map(|field| self.get(&format!("memory_request_{field}_o")));
        let tag = (warp as usize, register as usize, compressed == 1);
        let line = self.get("memory_request_line_o");
        let invalidates = self.get("memory_request_invalidates_o") == 1;
        if kind == RequestKind::Fetch {
            assert_eq!(invalidates, self.invalidates(tag), "fetch of {tag:?} in cycle {cycle}");
        }
        let value = self.lanes("memory_request_value_o");
        self.memory.take((kind, tag, line, invalidates), value, cycle, &mut self.random);
    }

    /// Regions begin and end, warps begin again after their exit.
    fn follow_warps(&mut self, cycle: u64) {
        let active = self.get("active_o");
        if let Some(w) = self.exiting.filter(|_| self.get("exit_ready_o") == 1) {
            let lanes = self.shard.geometry.lanes;
            self.exiting = None;
            self.counts.exits += 1;
            self.last_progress = cycle;
            self.warps[w].known = [Value::Unwritten; REGISTERS];
            self.warps[w].values = vec![vec![0; lanes]; REGISTERS];
            self.warps[w].regions_left = 1 + self.random.below(12) as usize;
        }
        for (w, warp) in self.warps.iter_mut().enumerate() {
            let is_active = active >> w & 1 == 1;
            if !warp.was_inactive && !is_active {
                warp.was_inactive = true;
                if self.random.chance(4) {
                    warp.waits_until = cycle + u64::from(self.random.below(60));
                }
            }
            let begins = warp.was_inactive && is_active && warp.running.is_empty() && warp.words.is_empty();
            if let Some(region) = warp.next.take_if(|_| begins) {
                for (note, register) in &region.notes {
                    if *note == Note::Invalidation {
                        warp.values[*register] = vec![0; self.shard.geometry.lanes];
                    }
                }
                warp.running = region.instructions.into();
                warp.regions_left -= 1;
                self.last_progress = cycle;
            }
        }
    }

    fn set(&mut self, port: &str, value: u64) {
        self.engine.set(self.inputs[port], value);
    }

    fn get(&self, port: &str) -> u64 {
        self.engine.get(self.outputs[port])
    }

    fn lanes(&self, port: &str) -> Vec<u32> {
        (0..self.shard.geometry.lanes).map(|lane| self.engine.lane(self.outputs[port], lane)).collect()
    }
}

/// A value that often has a short form.
fn random_value(random: &mut Random, lanes: usize) -> Vec<u32> {
    let base = random.number() as u32;
    let stride = random.below(3);
    match random.chance(3) {
        true => (0..lanes).map(|_| random.number() as u32).collect(),
        false => (0..lanes as u32).map(|lane| base.wrapping_add(stride * lane)).collect(),
    }
}
