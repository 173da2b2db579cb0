//! Random traffic of an operand staging unit that keeps the promises of `docs/regless-pipeline.md`, beside its reference.

mod regions;

use std::collections::BTreeMap;

use num_bigint::BigUint;
use warpfile_engine::{Engine, InPort, Interpreter, Options, OutPort};
use warpfile_hdl::regless::{Fate, OperandStagingUnit, RequestKind};
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_random::Random;

use super::line_power::LinePower;
use super::staging_unit_ref::{Request, Reserved, Staged, StagingUnitReference, Tag};

/// Registers of a warp that the traffic uses.
const REGISTERS: usize = 8;
/// Cycles without anything served after which the unit is stuck.
const STUCK: usize = 400;
/// Cycles without a request while a warp ends: the one in which its lines are dropped, and one more if the value of one
/// of them is being read, to be written. After that its requests go and then the one that drops its copies.
const IDLE_AT_EXIT: usize = 2;
/// What a bank says of the power of its lines.
const POWER: [&str; 7] =
    ["request", "freed", "read_valid", "read_warp", "read_register", "read_line", "read_lanes"];

/// What of a register is under way.
#[derive(Clone, Copy, Default)]
struct Use {
    /// An annotation waits; it stages the register.
    note: bool,
    stages: bool,
    accesses: usize,
    /// An access waits that begins to hold the register.
    begins: bool,
    /// Nothing that comes later is in this region.
    ends: bool,
    /// A result is to come: its access waits, or its line is reserved.
    result: bool,
}

impl Use {
    fn is_none(&self) -> bool {
        !self.note && self.accesses == 0 && !self.result
    }
}

/// A result on its way: when it is offered first, lanes and value.
struct Result {
    reserved: Reserved,
    due: usize,
    lanes: u32,
    value: Vec<u32>,
}

struct Fill {
    tag: Tag,
    line: u64,
    value: Vec<u32>,
    due: usize,
}

/// What a run did, so that tests can ask that it did something.
#[derive(Debug, Default)]
pub struct Counts {
    pub reads: usize,
    pub results: usize,
    /// Cycles in which a result is offered and not taken.
    pub waits: usize,
    pub staged: [usize; 4],
    pub requests: [usize; 4],
    /// Cycles in which a bank waits for a line to come on.
    pub power_waits: usize,
}

pub struct Driver {
    unit: OperandStagingUnit,
    engine: Interpreter,
    inputs: BTreeMap<String, InPort>,
    outputs: BTreeMap<String, OutPort>,
    random: Random,
    reference: StagingUnitReference,
    uses: BTreeMap<Tag, Use>,
    results: Vec<Result>,
    ports: Vec<Option<Result>>,
    /// Ports whose result waits for an access that has not reached the queues.
    blocked: Vec<bool>,
    fills: Vec<Fill>,
    /// The line that comes in this cycle.
    filled: Option<(Tag, u64)>,
    /// For each bank: an access came in this cycle, and whether there was room for accesses and for annotations.
    pushed: Vec<bool>,
    room: Vec<[bool; 2]>,
    /// For each bank the warps that may hold a line more in this cycle, one bit each.
    may_hold: Vec<u64>,
    /// Memory takes a request in this cycle.
    takes: bool,
    power: Option<LinePower>,
    /// A warp that begins nothing more, and then ends.
    leaving: Option<usize>,
    exiting: Option<usize>,
    /// Cycles without a request since its end was offered.
    idle_at_exit: usize,
    last_progress: usize,
    pub counts: Counts,
}

impl Driver {
    pub fn new(netlist: &Netlist, unit: &OperandStagingUnit, seed: u64) -> Driver {
        let engine = Interpreter::new(netlist, &Options { seed, ..Options::checked() }).unwrap();
        let ports = &netlist.modules[netlist.top.index()].ports;
        let named = |direction| ports.iter().filter(move |p| p.direction == direction).map(|p| &p.name);
        let reference = StagingUnitReference::new(unit, REGISTERS);
        Driver {
            inputs: named(Direction::Input).map(|p| (p.clone(), engine.input(p).unwrap())).collect(),
            outputs: named(Direction::Output).map(|p| (p.clone(), engine.output(p).unwrap())).collect(),
            engine,
            random: Random(seed),
            uses: reference.registers.keys().map(|tag| (*tag, Use::default())).collect(),
            reference,
            results: Vec::new(),
            ports: (0..unit.writes).map(|_| None).collect(),
            blocked: vec![false; unit.writes],
            fills: Vec::new(),
            filled: None,
            pushed: vec![false; unit.geometry.banks],
            room: vec![[false; 2]; unit.geometry.banks],
            may_hold: vec![0; unit.geometry.banks],
            takes: false,
            power: unit.gated.then(|| LinePower::new(unit.geometry, seed ^ 1)),
            leaving: None,
            exiting: None,
            idle_at_exit: 0,
            last_progress: 0,
            counts: Counts::default(),
            unit: unit.clone(),
        }
    }

    /// Runs so many cycles. Ends at the first invariant that does not hold, with its name.
    pub fn run(&mut self, cycles: usize) -> std::result::Result<(), String> {
        for cycle in 0..cycles {
            self.drive(cycle);
            self.engine.step();
            if let Some(violation) = self.engine.violation() {
                return Err(violation.to_string());
            }
            self.check(cycle);
            assert!(cycle - self.last_progress < STUCK, "stuck in cycle {cycle}: {:?}", self.counts);
        }
        Ok(())
    }

    fn drive(&mut self, cycle: usize) {
        for (port, on) in self.power.as_ref().map(LinePower::inputs).unwrap_or_default() {
            self.set(&port, on);
        }
        self.exit();
        self.offer_results(cycle);
        for bank in 0..self.unit.geometry.banks {
            let access = self.choose_access(bank);
            self.push(bank, access);
            let note = self.choose_note(bank);
            self.annotate(bank, note);
            let may_hold = if self.random.chance(6) { self.random.number() } else { u64::MAX };
            let warps = (1 << self.unit.geometry.warps) - 1;
            self.may_hold[bank] = may_hold & warps;
            self.set(&format!("bank{bank}_may_hold_i"), may_hold & warps);
        }
        self.takes = !self.random.chance(3);
        self.set("memory_request_ready_i", u64::from(self.takes));
        let due = self.fills.iter().position(|fill| fill.due <= cycle);
        self.set("memory_fill_valid_i", u64::from(due.is_some()));
        let fill = due.map(|due| self.fills.remove(due));
        self.filled = fill.as_ref().map(|fill| (fill.tag, fill.line));
        if let Some(Fill { tag, line, value, .. }) = fill {
            self.set("memory_fill_warp_i", tag.0 as u64);
            self.set("memory_fill_register_i", tag.1 as u64);
            self.set("memory_fill_line_i", line);
            self.engine.set_big(self.inputs["memory_fill_value_i"], &BigUint::from_slice(&value));
        }
    }

    /// Sometimes a warp begins nothing more; it ends when nothing of it is under way.
    fn exit(&mut self) {
        if self.leaving.is_none() && self.random.chance(60) {
            self.leaving = Some(self.random.below(self.unit.geometry.warps as u32) as usize);
        }
        let idle = |(tag, one): (&Tag, &Use)| {
            self.leaving != Some(tag.0) || (one.is_none() && !self.reference.registers[tag].held)
        };
        self.exiting = self.leaving.filter(|_| self.uses.iter().all(idle));
        self.set("exit_valid_i", u64::from(self.exiting.is_some()));
        self.set("exit_warp_i", self.exiting.unwrap_or(0) as u64);
    }

    fn offer_results(&mut self, cycle: usize) {
        for p in 0..self.ports.len() {
            if self.ports[p].is_none() {
                let due = self.results.iter().position(|result| result.due <= cycle);
                self.ports[p] = due.map(|due| self.results.remove(due));
            }
            self.blocked[p] = self.random.chance(8);
            self.set(&format!("write{p}_valid_i"), u64::from(self.ports[p].is_some()));
            self.set(&format!("write{p}_blocked_i"), u64::from(self.blocked[p]));
            let Some(Result { reserved, lanes, value, .. }) = &self.ports[p] else { continue };
            let (Reserved { tag, line, fate }, lanes) = (*reserved, *lanes);
            let value = BigUint::from_slice(value);
            self.set(&format!("write{p}_warp_i"), tag.0 as u64);
            self.set(&format!("write{p}_register_i"), tag.1 as u64);
            self.set(&format!("write{p}_line_i"), line);
            self.set(&format!("write{p}_fate_i"), fate as u64);
            self.set(&format!("write{p}_lanes_i"), u64::from(lanes));
            self.engine.set_big(self.inputs[&format!("write{p}_value_i")], &value);
        }
    }

    fn check(&mut self, cycle: usize) {
        for p in 0..self.ports.len() {
            let ready = self.get(&format!("write{p}_ready_o")) == 1;
            assert_eq!(ready, self.is_taken(p), "write{p}_ready_o in cycle {cycle}");
            self.counts.waits += usize::from(self.ports[p].is_some() && !ready);
        }
        for bank in 0..self.unit.geometry.banks {
            self.check_bank(bank, cycle);
        }
        self.take_results();
        if let Some((tag, line)) = self.filled {
            self.reference.fill(tag, line);
        }
        self.take_request(cycle);
        self.check_power();
    }

    /// What is said of power is what the banks say, and which line is filled.
    fn check_power(&mut self) {
        let Some(mut power) = self.power.take() else { return };
        for (bank, output) in
            (0..self.unit.geometry.banks).flat_map(|bank| POWER.map(|output| (bank, output)))
        {
            let inner = self.engine.probe(&format!("bank{bank}.power_{output}_o")).unwrap();
            let said = self.get(&format!("power_bank{bank}_{output}_o"));
            assert_eq!(said, self.engine.get(inner), "{output} of bank {bank}");
        }
        let filled =
            ["valid", "warp", "register", "line"].map(|of| self.get(&format!("power_filled_{of}_o")));
        match self.filled {
            Some(((warp, register), line)) => assert_eq!(filled, [1, warp as u64, register as u64, line]),
            None => assert_eq!(filled[0], 0),
        }
        power.follow(|port| self.get(port));
        self.counts.power_waits = power.waits;
        self.power = Some(power);
    }

    /// Whether the result at port `p` has to be taken: it is the first of its bank that need not wait, and no line comes.
    fn is_taken(&self, p: usize) -> bool {
        let bank_of = |p: usize| {
            let result = self.ports[p].as_ref()?;
            let tag = result.reserved.tag;
            let bank = self.reference.bank(tag);
            // What is pushed in this cycle is not older.
            let accesses = &self.reference.accesses[bank];
            let older = accesses.len() - usize::from(self.pushed[bank]);
            let is_read = accesses.iter().take(older).any(|access| access.reads && access.tag == tag);
            (!is_read && !self.blocked[p]).then_some(bank)
        };
        let Some(bank) = bank_of(p) else { return false };
        let line = self.ports[p].as_ref().map_or(0, |result| result.reserved.line);
        if self.power.as_ref().is_some_and(|power| !power.is_on(bank, line)) {
            return false;
        }
        let is_filled = self.filled.is_some_and(|(tag, _)| self.reference.bank(tag) == bank);
        !is_filled && (0..p).all(|other| bank_of(other) != Some(bank))
    }

    fn check_bank(&mut self, bank: usize, cycle: usize) {
        let listed = self.of_bank(bank, "held_listed") as usize;
        assert_eq!(listed, self.reference.listed(bank), "lines of bank {bank} in cycle {cycle}");
        let room = ["push_ready", "note_ready"].map(|name| self.of_bank(bank, name) == 1);
        assert_eq!(room, self.room[bank], "queues of bank {bank} in cycle {cycle}");
        self.check_value(bank, cycle);
        let (served, held) = (self.of_bank(bank, "served_valid") == 1, self.of_bank(bank, "held_warp"));
        let (mut more, mut less, mut warp) = (false, false, None);
        if served {
            let (tag, begins, ends) = self.serve_access(bank, cycle);
            let may_hold = self.may_hold[bank] >> tag.0 & 1 == 1;
            assert!(may_hold || !begins, "{tag:?} is held in bank {bank} in cycle {cycle}");
            (more, less, warp) = (begins, ends, Some(tag.0));
        }
        let staged = self.serve_note(bank);
        if let Some(tag) = staged {
            assert!(!served, "bank {bank} serves an access and an annotation in cycle {cycle}");
            (more, warp) = (self.reference.registers[&tag].held, Some(tag.0));
        }
        let said = ["held_more", "held_less"].map(|name| self.of_bank(bank, name) == 1);
        assert_eq!(said, [more, less], "bank {bank} in cycle {cycle}");
        assert!(!(more || less) || Some(held as usize) == warp, "bank {bank} in cycle {cycle}");
        if served || staged.is_some() {
            assert_eq!(self.of_bank(bank, "tags_used"), 1);
            self.last_progress = cycle;
        }
    }

    /// The value of the source that was served in the cycle before.
    fn check_value(&mut self, bank: usize, cycle: usize) {
        let read = self.reference.read[bank].take();
        assert_eq!(self.of_bank(bank, "value_valid") == 1, read.is_some(), "bank {bank} in cycle {cycle}");
        let Some((access, expected)) = read else { return };
        assert_eq!(self.of_bank(bank, "value_place"), access.place);
        for lane in (0..expected.len()).filter(|lane| access.lanes >> lane & 1 == 1) {
            let found = self.engine.lane(self.outputs[&format!("bank{bank}_value_value_o")], lane);
            assert_eq!(found, expected[lane], "lane {lane} of {access:?} in cycle {cycle}");
        }
        self.counts.reads += 1;
    }

    /// The oldest access is served. Gives its register, and whether its warp holds a line more, or less.
    fn serve_access(&mut self, bank: usize, cycle: usize) -> (Tag, bool, bool) {
        let access = *self.reference.accesses[bank].front().expect("what is served waits");
        let said = ["served_warp", "served_place", "served_reads", "served_reserves"];
        let [warp, place, reads, reserves] = said.map(|name| self.of_bank(bank, name));
        assert_eq!((warp, place), (access.tag.0 as u64, access.place), "{access:?}");
        assert_eq!((reads == 1, reserves == 1), (access.reads, access.reserves), "{access:?}");
        let (reserved, more, less) = self.reference.serve(bank, self.of_bank(bank, "served_line"));
        let one = self.uses.get_mut(&access.tag).unwrap();
        one.accesses -= 1;
        one.begins &= !more;
        if let Some(reserved) = reserved {
            let due = cycle + 1 + self.random.below(12) as usize;
            let value = (0..self.unit.geometry.lanes).map(|_| self.random.number() as u32).collect();
            self.results.push(Result { reserved, due, lanes: access.lanes, value });
        }
        self.settle(access.tag);
        (access.tag, more, less)
    }

    /// The oldest annotation, if it is served. Gives its register.
    fn serve_note(&mut self, bank: usize) -> Option<Tag> {
        let staged = ["done", "hit", "unwritten", "fetched"];
        let staged = staged.map(|name| self.of_bank(bank, &format!("staged_{name}")) == 1);
        let said = match staged {
            [true, false, false, false] => Staged::Invalidated,
            [true, true, false, false] => Staged::Hit,
            [true, false, true, false] => Staged::Unwritten,
            [false, false, false, true] => Staged::Fetched,
            [false, false, false, false] => return None,
            _ => panic!("bank {bank}: {staged:?}"),
        };
        let (_, tag) = *self.reference.notes[bank].front().expect("what is served waits");
        assert_eq!(self.of_bank(bank, "staged_warp"), tag.0 as u64);
        self.reference.stage(bank, said);
        let one = self.uses.get_mut(&tag).unwrap();
        (one.note, one.stages) = (false, false);
        self.counts.staged[said as usize] += 1;
        Some(tag)
    }

    /// The region that held the register has let it go: another one may begin.
    fn settle(&mut self, tag: Tag) {
        if !self.reference.registers[&tag].held {
            let one = self.uses.get_mut(&tag).unwrap();
            one.ends &= one.accesses > 0 || one.result;
        }
    }

    fn take_results(&mut self) {
        let banks = 0..self.unit.geometry.banks;
        let mut less: Vec<Option<usize>> = vec![None; self.unit.geometry.banks];
        for p in 0..self.ports.len() {
            let taken = self.get(&format!("write{p}_ready_o")) == 1;
            let Some(result) = self.ports[p].take_if(|_| taken) else { continue };
            let Result { reserved, lanes, value, .. } = result;
            if reserved.fate != Fate::Keep {
                less[self.reference.bank(reserved.tag)] = Some(reserved.tag.0);
            }
            self.reference.write(&reserved, lanes, &value);
            self.uses.get_mut(&reserved.tag).unwrap().result = false;
            self.settle(reserved.tag);
            self.counts.results += 1;
        }
        for bank in banks {
            let found = self.get(&format!("bank{bank}_held_written_less_o")) == 1;
            let warp = self.get(&format!("bank{bank}_held_written_warp_o")) as usize;
            assert_eq!(found.then_some(warp), less[bank], "bank {bank}");
        }
    }

    fn take_request(&mut self, cycle: usize) {
        let taken = self.takes;
        let exits = self.get("exit_ready_o") == 1;
        if self.get("memory_request_valid_o") == 0 {
            assert!(!exits, "a warp ends without a request");
            self.idle_at_exit += usize::from(self.exiting.is_some());
            assert!(self.idle_at_exit <= IDLE_AT_EXIT, "a warp waits for nothing in cycle {cycle}");
            return;
        }
        let get = |name: &str| self.get(&format!("memory_request_{name}_o"));
        let kind = RequestKind::of_code(get("kind")).unwrap();
        assert_eq!(get("compressed"), 0);
        let register = if kind == RequestKind::Drop { 0 } else { get("register") as usize };
        let fetches = kind == RequestKind::Fetch;
        let lanes = self.unit.geometry.lanes;
        let value = (0..lanes).map(|lane| self.engine.lane(self.outputs["memory_request_value_o"], lane));
        let request = Request {
            kind,
            tag: (get("warp") as usize, register),
            line: if fetches { get("line") } else { 0 },
            invalidates: fetches && get("invalidates") == 1,
            value: if kind == RequestKind::Write { value.collect() } else { Vec::new() },
        };
        self.reference.offer(&request, self.exiting);
        assert_eq!(exits, taken && kind == RequestKind::Drop);
        if !taken {
            return;
        }
        self.last_progress = cycle;
        self.counts.requests[kind as usize] += 1;
        let (Request { tag, line, .. }, fetched) = self.reference.take();
        if let Some(value) = fetched {
            let due = cycle + 1 + self.random.below(20) as usize;
            self.fills.push(Fill { tag, line, value, due });
        }
        if exits {
            let of_warp = self.uses.iter_mut().filter(|(tag, _)| Some(tag.0) == self.exiting);
            of_warp.for_each(|(_, one)| *one = Use::default());
            (self.leaving, self.exiting, self.idle_at_exit) = (None, None, 0);
        }
    }

    fn set(&mut self, port: &str, value: u64) {
        self.engine.set(self.inputs[port], value);
    }

    fn of_bank(&self, bank: usize, output: &str) -> u64 {
        self.get(&format!("bank{bank}_{output}_o"))
    }

    fn get(&self, port: &str) -> u64 {
        self.engine.get(self.outputs[port])
    }
}
