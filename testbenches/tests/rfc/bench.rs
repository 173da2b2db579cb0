//! The register file with its cache on the engine, followed by its reference in every cycle.

use num_bigint::BigUint;
use warpfile_engine::{Engine, Interpreter, Options, OutPort};
use warpfile_hdl::regfile::ExtraRead;
use warpfile_hdl::rfc::CachedRegisterFile;
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_testbenches::lockstep::Pins;
use warpfile_testbenches::mutation::elaborate;
use warpfile_testbenches::testbench::Stimulus;

use super::cached_register_file_ref::{Inputs, Instruction, Outputs, RegisterFileReference, Way, Write, has};
use super::register_file_cache_ref::Lanes;
use crate::regfile::row_power::{Asks, RowPower};

pub struct Bench {
    pub parameters: CachedRegisterFile,
    pub netlist: Netlist,
    pub engine: Interpreter,
    pub reference: RegisterFileReference,
    /// What the circuit was given.
    pub stimuli: Vec<Stimulus>,
    /// What was offered last at each port: it stays there when nothing is offered any more.
    last: Inputs,
    /// Of the main register file's rows, if they may be without.
    pub power: Option<RowPower>,
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
        let writers = parameters.writers();
        let asks = Asks { ports: [3 * parameters.issues, writers], file: Some(("mrf", writers)) };
        let power = parameters.gated.then(|| RowPower::new(parameters.geometry, asks, seed));
        Bench { parameters, netlist, engine, reference, stimuli: Vec::new(), last, power }
    }

    /// A cycle, compared with the reference.
    pub fn step(&mut self, inputs: &Inputs) -> Outputs {
        self.last = inputs.clone().or(&self.last);
        let mut pins = self.pins(inputs);
        if let Some(power) = &self.power {
            power.set(&mut pins);
        }
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
        if let Some(power) = &mut self.power {
            power.follow(&self.engine, self.reference.oldest());
        }
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
        let CachedRegisterFile { shared, extra_read, .. } = self.parameters;
        let has_extra = extra_read != ExtraRead::None;
        let two = self.parameters.issues == 2;
        let crossed = two && is("turn_q");
        let way = |number, issue, result| self.way(number, crossed, issue, result);
        Outputs {
            first: way(0, inputs.issue.is_some(), inputs.result.is_some()),
            second: if two {
                way(1, inputs.second_issue.is_some(), inputs.second_result.is_some())
            } else {
                Way::default()
            },
            fill_taken: inputs.fill.is_some() && is("fill_ready_o"),
            busy: self.get("slot_busy_o"),
            crossed,
            allocated: self.allocated(),
            off: self.power.as_ref().map_or_else(Vec::new, RowPower::off),
            spill: (!shared && is("cache.spill_valid_o") && is("cache.spill_ready_i")).then(spill),
            extra_read_taken: has_extra && inputs.extra_read.is_some() && is("extra_read_ready_o"),
            extra_value: if has_extra { self.value("extra_read_value_o") } else { Vec::new() },
        }
    }

    /// The number in names of which there is one for each way.
    fn number(&self, way: usize) -> String {
        if self.parameters.issues == 1 { String::new() } else { way.to_string() }
    }

    /// What came out of a way that was offered an instruction and a result, or not.
    fn way(&self, way: usize, crossed: bool, issue: bool, result: bool) -> Way {
        let n = self.number(way);
        let get = |group: &str, port: &str| self.get(&format!("{group}{n}_{port}"));
        let is = |group: &str, port: &str| get(group, port) == 1;
        let issue_taken = issue && is("issue", "ready_o");
        let group = self.number(way ^ usize::from(crossed));
        let found = |k| {
            let lanes = || self.get(&format!("cache.lookup{group}_source{k}_lanes_o")) as u32;
            if issue_taken { lanes() } else { 0 }
        };
        let operands = || [0, 1, 2].map(|k| self.value(&format!("operands{n}_source{k}_o")));
        Way {
            issue_taken,
            result_taken: result && is("result", "ready_o"),
            result_enters: ["valid_i", "ready_o"].iter().all(|port| is("cache.result", port)),
            dispatch: is("dispatch", "valid_o").then(|| (get("dispatch", "id_o"), get("dispatch", "unit_o"))),
            operands: is("operands", "valid_o").then(|| (get("operands", "id_o"), operands())),
            found: [0, 1, 2].map(found),
        }
    }

    /// The operand that the cache takes in this cycle.
    fn allocated(&self) -> Option<Write> {
        let n = self.number(self.parameters.issues - 1);
        let get = |port: &str| self.get(&format!("cache.result{port}"));
        let taken = self.parameters.allocate_sources
            && get(&format!("{n}_valid_i")) == 1
            && get("_clean_i") == 1
            && get(&format!("{n}_ready_o")) == 1;
        taken.then(|| Write {
            slot: get(&format!("_slot{n}_i")) as usize,
            in_slot: true,
            register: get(&format!("{n}_register_i")) as usize,
            lanes: get(&format!("{n}_lanes_i")) as u32,
            value: self.value(&format!("cache.result{n}_value_i")),
            idle: get(&format!("_idle{n}_i")) == 1,
        })
    }

    /// The inputs; what is not offered stands at its port without `valid`.
    fn pins(&self, inputs: &Inputs) -> Pins {
        let mut pins = Pins::default();
        pins.set("unit_ready_i", inputs.units_ready);
        let payload = &self.last;
        let issues = [(&inputs.issue, &payload.issue), (&inputs.second_issue, &payload.second_issue)];
        let results = [(&inputs.result, &payload.result), (&inputs.second_result, &payload.second_result)];
        for (way, ((issue, shown), (result, written))) in issues.into_iter().zip(results).enumerate() {
            let n = self.number(way);
            if let Some(shown) = shown {
                set_issue(&mut pins, &format!("issue{n}"), issue.is_some(), shown);
            }
            if let Some(written) = written {
                set_write(&mut pins, &format!("result{n}"), result.is_some(), written);
                pins.set(&format!("result_slot{n}_i"), written.slot);
                pins.set(&format!("result_cached{n}_i"), u8::from(written.in_slot));
                pins.set(&format!("result_idle{n}_i"), u8::from(written.idle));
            }
        }
        if let Some(fill) = &payload.fill {
            set_write(&mut pins, "fill", inputs.fill.is_some(), fill);
            pins.set("fill_slot_i", fill.slot);
            pins.set("fill_slot_valid_i", u8::from(fill.in_slot));
        }
        if let Some(register) = payload.extra_read.filter(|_| self.parameters.extra_read != ExtraRead::None) {
            pins.set("extra_read_valid_i", u8::from(inputs.extra_read.is_some()));
            pins.set("extra_read_register_i", register);
        }
        if let Some(flush) = payload.flush {
            pins.set("flush_valid_i", u8::from(inputs.flush.is_some()));
            pins.set("flush_slot_i", flush.slot);
            pins.set("flush_discard_i", u8::from(flush.discard));
        }
        pins
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
                let holders = self.reference.cache.holders(register, lane);
                let copy =
                    |&(slot, way): &(usize, usize)| self.row("cache.values", (way << slot_bits) + slot)[lane];
                let mut found: Vec<u32> = holders.iter().map(copy).collect();
                if self.parameters.shared || holders.is_empty() {
                    found.push(main[lane]);
                }
                let is_right = found.iter().all(|&value| value == expected[lane]);
                assert!(is_right, "register {register}, lane {lane}: {found:x?}, {:x}", expected[lane]);
            }
        }
    }
}

fn set_issue(pins: &mut Pins, group: &str, valid: bool, issue: &Instruction) {
    pins.set(&format!("{group}_valid_i"), u8::from(valid));
    pins.set(&format!("{group}_id_i"), issue.id);
    pins.set(&format!("{group}_unit_i"), issue.unit);
    pins.set(&format!("{group}_slot_i"), issue.slot);
    pins.set(&format!("{group}_active_i"), issue.active);
    for (k, source) in issue.sources.iter().enumerate() {
        if let Some(source) = source {
            pins.set(&format!("{group}_source{k}_valid_i"), 1u8);
            pins.set(&format!("{group}_source{k}_register_i"), source.register);
            pins.set(&format!("{group}_source{k}_last_read_i"), u8::from(source.last_read));
            pins.set(&format!("{group}_source{k}_idle_i"), u8::from(source.idle));
        }
    }
}

fn set_write(pins: &mut Pins, group: &str, valid: bool, write: &Write) {
    pins.set(&format!("{group}_valid_i"), u8::from(valid));
    pins.set(&format!("{group}_register_i"), write.register);
    pins.set(&format!("{group}_lanes_i"), write.lanes);
    pins.set(&format!("{group}_value_i"), lanes_of(&write.value));
}
