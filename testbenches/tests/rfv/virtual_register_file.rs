//! The virtual register file under the traffic of warps that read, write and release registers.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::regfile::Geometry;
use warpfile_hdl::rfv::VirtualRegisterFile;
use warpfile_random::config;
use warpfile_testbenches::mutation::elaborate;

use crate::recorded::Recorded;

const LANES: usize = 3;
const UNITS: usize = 3;
/// Names of each warp.
const NAMES: usize = 6;
const WARPS: usize = 3;
/// A name that never has a register.
const NOBODYS: usize = WARPS * NAMES;
/// Cycles in which nothing is taken after which a test gives up.
const PATIENCE: usize = 60;

/// A register of a warp, lane by lane; `None` where nobody has written it.
type Value = [Option<u32>; LANES];

/// An instruction of a warp: registers read, written, and dead after it; lanes.
#[derive(Clone, Debug)]
struct Instruction {
    sources: [Option<usize>; 3],
    result: Option<usize>,
    releases: Vec<usize>,
    result_dies: bool,
    lanes: u32,
    unit: usize,
    long: bool,
    /// Cycles from its operands to its result.
    latency: usize,
    value: u32,
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let source = || option::weighted(0.6, 0..NAMES);
    let operands = ([source(), source(), source()], option::weighted(0.8, 0..NAMES), vec(0..NAMES, 0..3));
    let rest = (any::<bool>(), 1..1_u32 << LANES, 0..UNITS, any::<bool>(), 0..9_usize, any::<u32>());
    (operands, rest).prop_map(|((sources, result, releases), (dies, lanes, unit, long, latency, value))| {
        let releases = releases.into_iter().filter(|name| Some(*name) != result).collect();
        Instruction { sources, result, releases, result_dies: dies, lanes, unit, long, latency, value }
    })
}

/// An instruction in flight: what its operands have to be.
struct InFlight {
    warp: usize,
    instruction: Instruction,
    operands: [Value; 3],
    /// Cycle in which its result is offered, once its operands are there.
    due: Option<usize>,
}

/// Warps that run one random instruction after the other, in order, as their scoreboards let them.
struct Warps {
    /// What each register of each warp holds, if it is alive.
    registers: BTreeMap<(usize, usize), Value>,
    /// Registers that have been the result of an instruction offered. The others read 0.
    named: BTreeSet<(usize, usize)>,
    /// Registers that a result is under way to.
    pending: Vec<(usize, usize)>,
    programs: Vec<Vec<Instruction>>,
    /// Of each warp the instruction that comes next.
    next: [usize; WARPS],
    in_flight: BTreeMap<u64, InFlight>,
    /// The instructions offered, by number, in order.
    offered: Vec<(u64, usize)>,
    numbers: u64,
}

impl Warps {
    fn new(programs: Vec<Vec<Instruction>>) -> Warps {
        Warps {
            registers: BTreeMap::new(),
            named: BTreeSet::new(),
            pending: Vec::new(),
            programs,
            next: [0; WARPS],
            in_flight: BTreeMap::new(),
            offered: Vec::new(),
            numbers: 0,
        }
    }

    fn done(&self) -> bool {
        (0..WARPS).all(|warp| self.next[warp] == self.programs[warp].len()) && self.in_flight.is_empty()
    }

    fn has_ended(&self, warp: usize) -> bool {
        self.next[warp] == self.programs[warp].len()
            && self.in_flight.values().all(|flight| flight.warp != warp)
    }

    /// A warp's next instruction, if no result is under way to a register that it reads, writes or releases.
    fn can_issue(&self, warp: usize) -> Option<Instruction> {
        let instruction = self.programs[warp].get(self.next[warp])?;
        let touched = (instruction.sources.iter().copied().flatten())
            .chain(instruction.result)
            .chain(instruction.releases.iter().copied());
        let free = touched.into_iter().all(|name| !self.pending.contains(&(warp, name)));
        free.then(|| instruction.clone())
    }

    fn offer(&mut self, warp: usize) {
        let Some(instruction) = self.can_issue(warp) else { return };
        self.next[warp] += 1;
        self.pending.extend(instruction.result.map(|name| (warp, name)));
        self.named.extend(instruction.result.map(|name| (warp, name)));
        let read = |name: Option<usize>| {
            let value = match name {
                Some(name) if !self.named.contains(&(warp, name)) => [Some(0); LANES],
                Some(name) => self.registers.get(&(warp, name)).copied().unwrap_or_default(),
                None => [Some(0); LANES],
            };
            // Lanes that do not execute are 0.
            std::array::from_fn(|lane| if instruction.lanes >> lane & 1 == 1 { value[lane] } else { Some(0) })
        };
        let operands = instruction.sources.map(read);
        for &name in &instruction.releases {
            self.registers.remove(&(warp, name));
        }
        // Few numbers, used again only when they are free.
        let number = (0..64).map(|k| (self.numbers + k) % 64).find(|n| !self.in_flight.contains_key(n));
        let number = number.expect("fewer instructions in flight than numbers");
        self.numbers = number + 1;
        self.in_flight.insert(number, InFlight { warp, instruction, operands, due: None });
        self.offered.push((number, warp));
    }
}

struct Bench {
    /// Instructions taken a cycle at most.
    issues: usize,
    engine: Interpreter,
    recorded: Recorded,
    warps: Warps,
    /// Warps that have ended, one bit each.
    retired: u64,
    cycle: usize,
    /// The instructions dispatched in the cycle before.
    dispatched: [Option<u64>; 2],
    /// Cycles since something last happened.
    idle: usize,
}

impl Bench {
    fn new(circuit: &VirtualRegisterFile, programs: Vec<Vec<Instruction>>) -> Bench {
        let netlist = elaborate(circuit).unwrap();
        let engine = Interpreter::new(&netlist, &Options::checked()).unwrap();
        let recorded = Recorded::new(&engine, &netlist);
        let mut bench = Bench {
            issues: circuit.issues,
            engine,
            recorded,
            warps: Warps::new(programs),
            retired: 0,
            cycle: 0,
            dispatched: [None; 2],
            idle: 0,
        };
        bench.set("unit_ready_i", (1 << UNITS) - 1);
        bench
    }

    fn set(&mut self, port: &str, value: u64) {
        self.engine.set(self.engine.input(port).unwrap(), value);
    }

    fn get(&self, port: &str) -> u64 {
        self.engine.get(self.engine.output(port).unwrap())
    }

    /// The name of what there is one of for each instruction a cycle.
    fn port(&self, name: &str, number: usize) -> String {
        if self.issues == 1 { name.to_string() } else { format!("{name}{number}") }
    }

    fn set_issues(&mut self) {
        for way in 0..self.issues {
            let issue = self.port("issue", way);
            let offer = self.warps.offered.get(way).copied();
            self.set(&format!("{issue}_valid_i"), u64::from(offer.is_some()));
            let Some((number, warp)) = offer else { continue };
            let instruction = self.warps.in_flight[&number].instruction.clone();
            let name = |register: usize| (warp * NAMES + register) as u64;
            for (port, value) in [
                ("id", number),
                ("unit", instruction.unit as u64),
                ("active", u64::from(instruction.lanes)),
                ("warp", warp as u64),
            ] {
                self.set(&format!("{issue}_{port}_i"), value);
            }
            for (k, source) in instruction.sources.into_iter().enumerate() {
                self.set(&format!("{issue}_source{k}_valid_i"), u64::from(source.is_some()));
                self.set(&format!("{issue}_source{k}_register_i"), source.map_or(0, name));
            }
            self.set(&format!("{issue}_result0_valid_i"), u64::from(instruction.result.is_some()));
            self.set(&format!("{issue}_result0_register_i"), instruction.result.map_or(0, name));
            let released = instruction.releases.iter().fold(0, |set, &register| set | 1 << name(register));
            self.set(&format!("{issue}_release_i"), released);
        }
    }

    /// The ports of results, then that of a long-latency operation, each with that which says that nothing reads it.
    fn writers(&self) -> Vec<(String, String)> {
        let results = (0..self.issues).map(|w| (self.port("result", w), self.port("result_dead", w) + "_i"));
        results.chain([("fill".to_string(), "fill_dead_i".to_string())]).collect()
    }

    /// Offers the results that are due, each port the oldest of its kind.
    fn set_writes(&mut self) -> Vec<Option<u64>> {
        let due = |long: bool| {
            let cycle = self.cycle;
            let of_kind = self.warps.in_flight.iter().filter(move |(_, flight)| {
                flight.instruction.long == long && flight.due.is_some_and(|due| due <= cycle)
            });
            of_kind.map(|(&number, _)| number)
        };
        let mut short = due(false);
        let mut offered: Vec<_> = (0..self.issues).map(|_| short.next()).collect();
        offered.push(due(true).next());
        for ((port, dead), number) in self.writers().into_iter().zip(offered.iter().copied()) {
            self.set(&format!("{port}_valid_i"), u64::from(number.is_some()));
            let Some(number) = number else {
                // Names with and without a register: nobody looks at them.
                self.set(&format!("{port}_register_i"), (self.cycle % (NOBODYS + 1)) as u64);
                continue;
            };
            let flight = &self.warps.in_flight[&number];
            let (warp, instruction) = (flight.warp, flight.instruction.clone());
            let register = instruction.result.expect("only what writes has a result that is due");
            self.set(&format!("{port}_register_i"), (warp * NAMES + register) as u64);
            self.set(&format!("{port}_lanes_i"), u64::from(instruction.lanes));
            let value = BigUint::from_slice(&[instruction.value; LANES]);
            self.engine.set_big(self.engine.input(&format!("{port}_value_i")).unwrap(), &value);
            self.set(&dead, u64::from(instruction.result_dies));
        }
        offered
    }

    /// Picks an instruction of a warp that may take the register it needs, and the next of the same warp.
    fn pick(&mut self, preferred: usize) {
        let admitted = self.get("limits_admitted_o");
        let candidates = (0..WARPS).map(|k| (preferred + k) % WARPS);
        let may = |bench: &Bench, warp: usize| {
            let may_write = admitted >> warp & 1 == 1;
            (bench.warps.can_issue(warp)).is_some_and(|instruction| instruction.result.is_none() || may_write)
        };
        let picked = candidates.into_iter().find(|&warp| may(self, warp));
        let Some(warp) = picked.filter(|_| self.warps.offered.len() < self.issues) else { return };
        self.warps.offer(warp);
        if self.warps.offered.len() < self.issues && may(self, warp) {
            self.warps.offer(warp);
        }
    }

    /// Each warp is a block of its own, and there are no barriers.
    fn set_limits(&mut self) {
        let ended =
            (0..WARPS).filter(|&warp| self.warps.has_ended(warp)).fold(0, |all, warp| all | 1 << warp);
        let newly: u64 = ended & !self.retired;
        self.retired = ended;
        let names = (0..WARPS * NAMES).filter(|name| newly >> (name / NAMES) & 1 == 1);
        self.set("retire_i", names.fold(0, |all, name| all | 1 << name));
        let left = !ended & ((1 << WARPS) - 1);
        let asking = left & !self.get("limits_admitted_o");
        self.set("limits_oldest_i", left & left.wrapping_neg());
        self.set("limits_turn_i", asking & asking.wrapping_neg());
        self.set("limits_ended_i", newly);
        self.set("limits_claim_i", NAMES as u64);
    }

    fn step(&mut self, preferred: usize) {
        self.set_limits();
        self.set_issues();
        let writes = self.set_writes();
        let before = self.warps.in_flight.len();
        self.engine.step();
        self.recorded.take(&self.engine);
        assert_eq!(self.engine.violation(), None);
        let is_ready = |way: &usize| self.get(&(self.port("issue", *way) + "_ready_o")) == 1;
        let count = (0..self.warps.offered.len()).take_while(is_ready).count();
        let waits = self.get("register_wait_o") == 1;
        assert!(!waits || (!self.warps.offered.is_empty() && count == 0), "who is taken does not wait");
        self.warps.offered.drain(..count);
        for way in 0..self.issues {
            self.check_operands(way);
            self.check_dispatch(way);
        }
        for ((port, _), number) in self.writers().into_iter().zip(writes) {
            if let Some(number) = number.filter(|_| self.get(&format!("{port}_ready_o")) == 1) {
                self.written(number);
            }
        }
        let moves = count > 0 || before != self.warps.in_flight.len();
        self.idle = if moves { 0 } else { self.idle + 1 };
        self.cycle += 1;
        self.pick(preferred);
    }

    /// Steps until all warps have ended. Gives how often results were offered, counted in each cycle.
    fn run(&mut self) -> usize {
        let mut offered = 0;
        while !self.warps.done() {
            let is_due = |flight: &InFlight| flight.due.is_some_and(|due| due <= self.cycle);
            offered += self.warps.in_flight.values().filter(|flight| is_due(flight)).count();
            self.step(0);
            assert!(self.idle < PATIENCE, "nothing moves: {:?}", self.warps.offered);
        }
        offered
    }

    /// What is dispatched goes to its unit.
    fn check_dispatch(&mut self, way: usize) {
        let port = self.port("dispatch", way);
        let is_dispatched = self.get(&format!("{port}_valid_o")) == 1;
        let number = is_dispatched.then(|| self.get(&format!("{port}_id_o")));
        if let Some(number) = number {
            let unit = self.warps.in_flight[&number].instruction.unit;
            assert_eq!(self.get(&format!("{port}_unit_o")), unit as u64);
        }
        self.dispatched[way] = number;
    }

    /// Operands come a cycle after the dispatch, and are what the registers held.
    fn check_operands(&mut self, way: usize) {
        let operands = self.port("operands", way);
        let is_out = self.get(&format!("{operands}_valid_o")) == 1;
        let number = is_out.then(|| self.get(&format!("{operands}_id_o")));
        assert_eq!(number, self.dispatched[way]);
        if !is_out {
            return;
        }
        let number = self.get(&format!("{operands}_id_o"));
        let flight = self.warps.in_flight.get_mut(&number).expect("it was taken");
        for (k, operand) in flight.operands.iter().enumerate() {
            let port = self.engine.output(&format!("{operands}_source{k}_o")).unwrap();
            let found = self.engine.get_big(port);
            for (lane, expected) in operand.iter().enumerate() {
                let Some(expected) = *expected else { continue };
                let found = (&found >> (32 * lane)) & BigUint::from(u32::MAX);
                assert_eq!(found, BigUint::from(expected), "operand {k}, lane {lane}");
            }
        }
        if flight.instruction.result.is_some() {
            flight.due = Some(self.cycle + flight.instruction.latency);
        } else {
            self.warps.in_flight.remove(&number);
        }
    }

    fn written(&mut self, number: u64) {
        let flight = self.warps.in_flight.remove(&number).expect("it was offered");
        let InFlight { warp, instruction, .. } = flight;
        let register = instruction.result.expect("it writes");
        self.warps.pending.retain(|pending| *pending != (warp, register));
        if instruction.result_dies {
            self.warps.registers.remove(&(warp, register));
        } else {
            let value = self.warps.registers.entry((warp, register)).or_default();
            for (lane, value) in value.iter_mut().enumerate() {
                if instruction.lanes >> lane & 1 == 1 {
                    *value = Some(instruction.value);
                }
            }
        }
    }
}

fn geometries() -> impl Strategy<Value = Geometry> {
    let sizes = (0..3_u32, 2..9_usize).prop_map(|(banks, rows)| (1 << banks, rows));
    let enough = sizes.prop_filter("a warp fits", |(banks, rows)| banks * rows >= NAMES);
    enough.prop_map(|(banks, rows)| Geometry { banks, rows, lanes: LANES, lanes_per_cluster: 1 })
}

fn circuit(geometry: Geometry, collectors: usize) -> VirtualRegisterFile {
    VirtualRegisterFile {
        names: NOBODYS + 1,
        warps: WARPS,
        geometry,
        collectors,
        access_cycles: 3,
        id_bits: 6,
        units: UNITS,
        issues: 2,
    }
}

proptest! {
    #![proptest_config(config(96))]
    /// However few registers there are, every warp comes to its end, and every operand is what its register held.
    #[test]
    fn operands_are_what_the_warps_registers_hold(
        geometry in geometries(),
        collectors in 2..5_usize,
        issues in 1..3_usize,
        programs in vec(vec(instruction(), 0..40), WARPS),
        preferred in vec(0..WARPS, 16),
    ) {
        let circuit = VirtualRegisterFile { issues, ..circuit(geometry, collectors) };
        let mut bench = Bench::new(&circuit, programs);
        while !bench.warps.done() {
            bench.step(preferred[bench.cycle % preferred.len()]);
            prop_assert!(bench.idle < PATIENCE, "nothing moves: {:?}", bench.warps.offered);
        }
        // What is left of the registers comes back.
        for _ in 0..WARPS * NAMES {
            bench.step(0);
        }
        prop_assert_eq!(bench.get("held_o"), 0);
    }
}

proptest! {
    #![proptest_config(config(2))]
    #[test]
    fn the_verilog_does_the_same(
        geometry in geometries(),
        issues in 1..3_usize,
        programs in vec(vec(instruction(), 10..20), WARPS),
    ) {
        let circuit = VirtualRegisterFile { issues, ..circuit(geometry, 2) };
        let mut bench = Bench::new(&circuit, programs);
        while !bench.warps.done() {
            bench.step(bench.cycle % WARPS);
            prop_assert!(bench.idle < PATIENCE, "nothing moves: {:?}", bench.warps.offered);
        }
        bench.recorded.replay_on_verilog(&elaborate(&circuit).unwrap(), Options::checked().seed);
    }
}

/// An instruction of all lanes that reads and writes nothing.
fn plain() -> Instruction {
    Instruction {
        sources: [None; 3],
        result: None,
        releases: Vec::new(),
        result_dies: false,
        lanes: 0b111,
        unit: 0,
        long: false,
        latency: 0,
        value: 0,
    }
}

#[test]
fn results_of_different_banks_are_taken_in_one_cycle() {
    // Of eight registers a number has as many bits as there are lanes.
    for rows in [4, 8] {
        let geometry = Geometry { banks: 2, rows, lanes: LANES, lanes_per_cluster: 1 };
        let writes = |register: usize| Instruction {
            result: Some(register),
            unit: register,
            value: register as u32 + 1,
            ..plain()
        };
        let reads = Instruction { sources: [Some(0), Some(1), None], ..plain() };
        let program = vec![writes(0), writes(1), reads];
        let mut bench = Bench::new(&circuit(geometry, 4), vec![program, Vec::new(), Vec::new()]);
        let mut taken = Vec::new();
        while !bench.warps.done() {
            let before = bench.warps.pending.len();
            bench.step(0);
            taken.push(before.saturating_sub(bench.warps.pending.len()));
            assert!(bench.idle < PATIENCE, "nothing moves: {:?}", bench.warps.offered);
        }
        assert!(taken.contains(&2), "{taken:?}");
    }
}

#[test]
fn a_result_waits_until_earlier_instructions_have_read_its_register() {
    let geometry = Geometry { banks: 1, rows: 8, lanes: LANES, lanes_per_cluster: 1 };
    let writes = |register: usize, value: u32| Instruction { result: Some(register), value, ..plain() };
    let reads = |registers: [usize; 3]| Instruction { sources: registers.map(Some), ..plain() };
    let mut program: Vec<Instruction> = (0..6).map(|register| writes(register, register as u32)).collect();
    program.extend([[0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5]].map(reads));
    program.extend([writes(5, 9), reads([5, 5, 5])]);
    let mut bench = Bench::new(&circuit(geometry, 4), vec![program, Vec::new(), Vec::new()]);
    assert!(bench.run() > 7, "the last of seven results is offered more than once");
}

#[test]
fn a_result_waits_for_no_name_at_another_port() {
    let geometry = Geometry { banks: 2, rows: 8, lanes: LANES, lanes_per_cluster: 1 };
    // In the cycle of the result the other ports have the names that there are, one after the other.
    for latency in 0..=NOBODYS {
        let writes = Instruction { result: Some(0), latency, ..plain() };
        let mut bench = Bench::new(&circuit(geometry, 2), vec![vec![writes], Vec::new(), Vec::new()]);
        assert_eq!(bench.run(), 1, "latency {latency}: nothing else is under way");
    }
}

#[test]
fn who_may_take_registers_is_what_the_limits_say() {
    let geometry = Geometry { banks: 2, rows: 8, lanes: LANES, lanes_per_cluster: 1 };
    let admitted = |limits: &[(&str, u64)]| {
        let mut bench = Bench::new(&circuit(geometry, 2), vec![Vec::new(); WARPS]);
        for (name, value) in limits {
            bench.set(&format!("limits_{name}_i"), *value);
        }
        bench.engine.step();
        bench.set("limits_turn_i", 0b100);
        bench.engine.step();
        bench.get("limits_admitted_o")
    };
    let block = [("oldest", 0b011), ("turn", 0b011)];
    assert_eq!(admitted(&[block[0], block[1], ("claim", 5)]), 0b111, "of 16 registers");
    assert_eq!(admitted(&[block[0], block[1], ("claim", 6)]), 0b011);
    assert_eq!(admitted(&[block[0], block[1], ("claim", 9)]), 0b001);
    assert_eq!(admitted(&[block[0], block[1], ("claim", 9), ("quota", 8)]), 0);
    assert_eq!(admitted(&[block[0], block[1], ("claim", 5), ("parked", 0b010)]), 0b101, "it does not ask");
    assert_eq!(admitted(&[block[0], block[1], ("claim", 5), ("ended", 0b001)]), 0b110);
}
