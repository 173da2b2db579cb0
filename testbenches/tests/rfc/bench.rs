//! The register file with its cache on the engine, followed by its reference in every cycle.

use num_bigint::BigUint;
use warpfile_engine::{Engine, Interpreter, Options, OutPort};
use warpfile_hdl::rfc::CachedRegisterFile;
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_testbenches::lockstep::Pins;
use warpfile_testbenches::mutation::elaborate;
use warpfile_testbenches::testbench::Stimulus;

use super::cached_register_file_ref::{Inputs, Outputs, RegisterFileReference, Write, has};
use super::register_file_cache_ref::Lanes;

pub struct Bench {
    parameters: CachedRegisterFile,
    pub netlist: Netlist,
    pub engine: Interpreter,
    pub reference: RegisterFileReference,
    /// What the circuit was given.
    pub stimuli: Vec<Stimulus>,
    /// What was offered last at each port: it stays there when nothing is offered any more.
    last: Inputs,
}

fn lanes_of(lanes: &[u32]) -> BigUint {
    BigUint::from_slice(lanes)
}

impl Bench {
    pub fn new(parameters: &CachedRegisterFile, seed: u64) -> Bench {
        let netlist = elaborate(parameters).unwrap();
        let engine = Interpreter::new(&netlist, &Options { seed, ..Options::checked() }).unwrap();
        let reference = RegisterFileReference::new(parameters);
        let (parameters, last) = (parameters.clone(), Inputs::default());
        Bench { parameters, netlist, engine, reference, stimuli: Vec::new(), last }
    }

    /// A cycle, compared with the reference.
    pub fn step(&mut self, inputs: &Inputs) -> Outputs {
        self.last = inputs.clone().or(&self.last);
        let pins = pins(inputs, &self.last);
        let module = &self.netlist.modules[self.netlist.top.index()];
        let ports = module.ports.iter().filter(|port| port.direction == Direction::Input);
        let values: Vec<BigUint> = ports
            .map(|port| {
                let value = pins.get(&port.name).cloned().unwrap_or_default();
                self.engine.set_big(self.engine.input(&port.name).unwrap(), &value);
                value
            })
            .collect();
        self.stimuli.push(Stimulus { reset: false, inputs: values });
        self.engine.step();
        let outputs = self.outputs(inputs);
        self.reference.follow(inputs, &outputs);
        assert_eq!(self.engine.violation(), None);
        outputs
    }

    fn probe(&self, path: &str) -> OutPort {
        self.engine.probe(path).unwrap()
    }

    fn get(&self, path: &str) -> u64 {
        self.engine.get(self.probe(path))
    }

    fn value(&self, path: &str) -> Vec<u32> {
        let port = self.probe(path);
        (0..self.parameters.geometry.lanes).map(|lane| self.engine.lane(port, lane)).collect()
    }

    fn outputs(&self, inputs: &Inputs) -> Outputs {
        let is = |path: &str| self.get(path) == 1;
        let spill = || {
            let lanes = self.get("cache.spill_lanes_o") as u32;
            let register = self.get("cache.spill_register_o") as usize;
            (Lanes { register, lanes }, self.value("cache.spill_value_o"))
        };
        let operands = || [0, 1, 2].map(|k| self.value(&format!("operands_source{k}_o")));
        let issue_taken = inputs.issue.is_some() && is("issue_ready_o");
        let found =
            |k| if issue_taken { self.get(&format!("cache.lookup_source{k}_lanes_o")) as u32 } else { 0 };
        Outputs {
            issue_taken,
            result_taken: inputs.result.is_some() && is("result_ready_o"),
            fill_taken: inputs.fill.is_some() && is("fill_ready_o"),
            dispatch: is("dispatch_valid_o")
                .then(|| (self.get("dispatch_id_o"), self.get("dispatch_unit_o"))),
            operands: is("operands_valid_o").then(|| (self.get("operands_id_o"), operands())),
            busy: self.get("slot_busy_o"),
            found: [0, 1, 2].map(found),
            allocated: self.allocated(),
            spill: (is("cache.spill_valid_o") && is("cache.spill_ready_i")).then(spill),
        }
    }

    /// The operand that the cache takes in this cycle.
    fn allocated(&self) -> Option<Write> {
        let is = |path: &str| self.get(path) == 1;
        let taken = self.parameters.allocate_sources
            && is("cache.result_valid_i")
            && is("cache.result_clean_i")
            && is("cache.result_ready_o");
        taken.then(|| Write {
            slot: self.get("cache.result_slot_i") as usize,
            in_slot: true,
            register: self.get("cache.result_register_i") as usize,
            lanes: self.get("cache.result_lanes_i") as u32,
            value: self.value("cache.result_value_i"),
            idle: is("cache.result_idle_i"),
        })
    }

    /// A row of the main register file.
    pub fn main_register(&self, register: usize) -> Vec<u32> {
        let banks = self.parameters.geometry.banks;
        let table = format!("mrf.bank{}.registers", register % banks);
        self.row(&table, register / banks)
    }

    fn row(&self, table: &str, row: usize) -> Vec<u32> {
        let mut lanes = self.engine.peek_row(table, row as u32, "value").unwrap().to_u32_digits();
        lanes.resize(self.parameters.geometry.lanes, 0);
        lanes
    }

    /// Tags, lanes and values of the cache and of the main register file are the reference's, except for lanes of
    /// `undefined` (one mask a register). Takes a cycle after the last write, which is seen only then.
    pub fn compare_state(&mut self, undefined: &[u32]) {
        let mut operands_kept = 0..10;
        while self.step(&Inputs::default()).allocated.is_some() {
            assert!(operands_kept.next().is_some(), "operands are allocated without end");
        }
        let slot_bits = self.parameters.slots.next_power_of_two().trailing_zeros().max(1);
        for (slot, entries) in self.reference.cache.slots.iter().enumerate() {
            for (way, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.held != 0) {
                let field = |name| {
                    let value = self.engine.peek_row(&format!("cache.way{way}"), slot as u32, name).unwrap();
                    u64::try_from(value).unwrap()
                };
                let tag = (field("register") as usize, field("held") as u32, field("dirty") as u32);
                assert_eq!((Some(tag.0), tag.1, tag.2), (entry.register, entry.held, entry.dirty));
            }
        }
        for (register, expected) in self.reference.registers.iter().enumerate() {
            let main = self.main_register(register);
            for lane in (0..expected.len()).filter(|&lane| !has(undefined[register], lane)) {
                let found = match self.reference.cache.holder(register, lane) {
                    Some((slot, way)) => self.row("cache.values", (way << slot_bits) + slot)[lane],
                    None => main[lane],
                };
                assert_eq!(found, expected[lane], "register {register}, lane {lane}");
            }
        }
    }
}

/// The inputs; what is not offered stands at its port without `valid`.
fn pins(inputs: &Inputs, payload: &Inputs) -> Pins {
    let mut pins = Pins::default();
    pins.set("unit_ready_i", inputs.units_ready);
    if let Some(issue) = &payload.issue {
        pins.set("issue_valid_i", u8::from(inputs.issue.is_some()));
        pins.set("issue_id_i", issue.id);
        pins.set("issue_unit_i", issue.unit);
        pins.set("issue_slot_i", issue.slot);
        pins.set("issue_active_i", issue.active);
        for (k, source) in issue.sources.iter().enumerate() {
            if let Some(source) = source {
                pins.set(&format!("issue_source{k}_valid_i"), 1u8);
                pins.set(&format!("issue_source{k}_register_i"), source.register);
                pins.set(&format!("issue_source{k}_last_read_i"), u8::from(source.last_read));
                pins.set(&format!("issue_source{k}_idle_i"), u8::from(source.idle));
            }
        }
    }
    let mut write = |group: &str, valid: bool, write: &Write| {
        pins.set(&format!("{group}_valid_i"), u8::from(valid));
        pins.set(&format!("{group}_register_i"), write.register);
        pins.set(&format!("{group}_lanes_i"), write.lanes);
        pins.set(&format!("{group}_value_i"), lanes_of(&write.value));
        pins.set(&format!("{group}_slot_i"), write.slot);
    };
    if let Some(result) = &payload.result {
        write("result", inputs.result.is_some(), result);
    }
    if let Some(fill) = &payload.fill {
        write("fill", inputs.fill.is_some(), fill);
        pins.set("fill_slot_valid_i", u8::from(fill.in_slot));
    }
    if let Some(result) = &payload.result {
        pins.set("result_cached_i", u8::from(result.in_slot));
        pins.set("result_idle_i", u8::from(result.idle));
    }
    if let Some(flush) = payload.flush {
        pins.set("flush_valid_i", u8::from(inputs.flush.is_some()));
        pins.set("flush_slot_i", flush.slot);
        pins.set("flush_discard_i", u8::from(flush.discard));
    }
    pins
}
