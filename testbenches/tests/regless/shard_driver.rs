//! Warps that run random regions on a shard, with every operand compared: what an SM does, without its details.

mod checks;
mod offer;
mod take;

use std::collections::{BTreeMap, VecDeque};

use warpfile_engine::{Engine, InPort, Interpreter, Options, OutPort};
use warpfile_hdl::regless::{Fate, Note, RegLessShard};
use warpfile_hdl::rtl::netlist::Direction;
use warpfile_random::Random;
use warpfile_testbenches::mutation::elaborate;

use crate::recorded::Recorded;

use super::line_power::LinePower;
use super::memory_ref::MemoryReference;
use super::random_region::{Instruction, REGISTERS, Region, Style, Value};

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
    /// Cycles in which a bank waits for a line to come on.
    pub power_waits: usize,
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
    power: Option<LinePower>,
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
            power: shard.gated.then(|| LinePower::new(shard.geometry, seed ^ 1)),
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
        for (port, on) in self.power.as_ref().map(LinePower::inputs).unwrap_or_default() {
            self.set(&port, on);
        }
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
        self.check_power();
        self.count_full_queues();
        self.counts.hits += u64::from(self.get("preload_hit_o").count_ones());
        self.counts.unwritten += u64::from(self.get("preload_unwritten_o").count_ones());
        self.counts.compressor_hits += self.get("compressor_hit_o");
        self.counts.fetched += u64::from(self.get("preload_fetched_o").count_ones());
        assert!(cycle - self.last_progress < STUCK, "stuck in cycle {cycle}: {:?}", self.counts);
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
