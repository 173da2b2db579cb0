//! The register file with its cache on the engine, followed by its reference in every cycle.

use num_bigint::BigUint;
use warpfile_engine::{Engine, Interpreter, Options, OutPort};
use warpfile_hdl::hybrid::RegisterCacheHierarchy;
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_testbenches::lockstep::Pins;
use warpfile_testbenches::mutation::elaborate;
use warpfile_testbenches::testbench::Stimulus;

use super::register_cache_hierarchy_ref::{
    HierarchyReference, Inputs, Instruction, Outputs, Way, Write, has,
};
use super::register_cache_ref::Lanes;
use crate::regfile::row_power::{Asks, RowPower};

pub struct Bench {
    pub parameters: RegisterCacheHierarchy,
    pub netlist: Netlist,
    pub engine: Interpreter,
    pub reference: HierarchyReference,
    /// What the circuit was given.
    pub stimuli: Vec<Stimulus>,
    /// What was offered last at each port: it stays there when nothing is offered any more.
    last: Inputs,
    /// Of the main register file's rows, if they may be without.
    pub power: Option<RowPower>,
}

impl Bench {
    pub fn new(parameters: &RegisterCacheHierarchy, seed: u64) -> Bench {
        let netlist = elaborate(parameters).unwrap();
        let engine = Interpreter::new(&netlist, &Options { seed, ..Options::checked() }).unwrap();
        let reference = HierarchyReference::new(parameters);
        let (parameters, last) = (parameters.clone(), Inputs::default());
        let writers = 1 + usize::from(parameters.parallel);
        let asks = Asks { ports: [3 * parameters.issues, writers], file: Some(("mrf", writers)) };
        let power = parameters.gated.then(|| RowPower::new(parameters.geometry, asks, seed));
        Bench { parameters, netlist, engine, reference, stimuli: Vec::new(), last, power }
    }

    /// A cycle, compared with the reference.
    pub fn step(&mut self, inputs: &Inputs) -> Outputs {
        for (last, new) in self.last.issue.iter_mut().zip(&inputs.issue) {
            *last = new.clone().or_else(|| last.take());
        }
        for (last, new) in self.last.result.iter_mut().zip(&inputs.result) {
            *last = new.clone().or_else(|| last.take());
        }
        self.last.fill = inputs.fill.clone().or_else(|| self.last.fill.take());
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
        let crossed = self.parameters.issues == 2 && is("turn_q");
        let way = |number: usize| {
            let there = number < self.parameters.issues;
            if there { self.way(number, crossed, inputs) } else { Way::default() }
        };
        Outputs {
            way: [way(0), way(1)],
            fill_taken: inputs.fill.is_some() && is("fill_ready_o"),
            crossed,
            off: self.power.as_ref().map_or_else(Vec::new, RowPower::off),
            spill: (is("cache.spill_valid_o") && is("cache.spill_ready_i")).then(spill),
            copied: std::array::from_fn(|port| {
                let n = self.number(port);
                self.parameters.read_allocates
                    && port < self.parameters.issues
                    && is(&format!("cache.copies{port}"))
                    && is(&format!("cache.write_taken{n}"))
            }),
            held: std::array::from_fn(|number| {
                inputs.leave[number].is_some() && is(&format!("leave{number}_held_o"))
            }),
            transfer_taken: inputs.transfer.is_some() && is("transfer_ready_o"),
        }
    }

    /// The number in names of which there is one for each way.
    fn number(&self, way: usize) -> String {
        if self.parameters.issues == 1 { String::new() } else { way.to_string() }
    }

    fn way(&self, way: usize, crossed: bool, inputs: &Inputs) -> Way {
        let n = self.number(way);
        let get = |group: &str, port: &str| self.get(&format!("{group}{n}_{port}"));
        let is = |group: &str, port: &str| get(group, port) == 1;
        let issue_taken = inputs.issue[way].is_some() && is("issue", "ready_o");
        let group = self.number(way ^ usize::from(crossed));
        let found = |k| {
            let lanes = || self.get(&format!("cache.lookup{group}_source{k}_lanes_o")) as u32;
            if issue_taken { lanes() } else { 0 }
        };
        let operands = || [0, 1, 2].map(|k| self.value(&format!("operands{n}_source{k}_o")));
        let cached = [0, 1, 2].map(|k| self.get(&format!("cache.operand{}_lanes_o", 3 * way + k)) as u32);
        let misses = [0, 1, 2].map(|k| self.get(&format!("issue{n}_source{k}_misses_o")) == 1);
        Way {
            misses,
            cached,
            issue_taken,
            result_taken: inputs.result[way].is_some() && is("result", "ready_o"),
            dispatch: is("dispatch", "valid_o").then(|| (get("dispatch", "id_o"), get("dispatch", "unit_o"))),
            operands: is("operands", "valid_o").then(|| (get("operands", "id_o"), operands())),
            found: [0, 1, 2].map(found),
        }
    }

    /// The inputs; what is not offered stands at its port without `valid`.
    fn pins(&self, inputs: &Inputs) -> Pins {
        let mut pins = Pins::default();
        pins.set("unit_ready_i", inputs.units_ready);
        pins.set("ended_i", inputs.ended);
        for way in 0..self.parameters.issues {
            let n = self.number(way);
            if let Some(shown) = &self.last.issue[way] {
                let warp = self.parameters.read_allocates;
                set_issue(&mut pins, &format!("issue{n}"), inputs.issue[way].is_some(), shown, warp);
            }
            if let Some(shown) = &self.last.result[way] {
                set_write(&mut pins, &format!("result{n}"), inputs.result[way].is_some(), shown);
                pins.set(&format!("result_warp{n}_i"), shown.warp);
            }
        }
        for (number, register) in inputs.leave.iter().enumerate() {
            if let Some(register) = register {
                pins.set(&format!("leave{number}_valid_i"), 1u8);
                pins.set(&format!("leave{number}_register_i"), *register);
            }
        }
        if let Some(transfer) = &inputs.transfer {
            set_write(&mut pins, "transfer", true, transfer);
        }
        if let Some(shown) = &self.last.fill {
            set_write(&mut pins, "fill", inputs.fill.is_some(), shown);
            pins.set("fill_warp_i", shown.warp);
        }
        pins
    }

    fn row(&self, table: &str, row: usize) -> Vec<u32> {
        let mut lanes = self.engine.peek_row(table, row as u32, "value").unwrap().to_u32_digits();
        lanes.resize(self.parameters.geometry.lanes, 0);
        lanes
    }

    /// Lines and values of the cache and of the main register file are the reference's, except for lanes of
    /// `undefined` (one mask a register). Takes a cycle after the last write, which is seen only then.
    pub fn compare_state(&mut self, undefined: &[u32]) {
        self.step(&Inputs::default());
        for (set, lines) in self.reference.cache.sets.iter().enumerate() {
            for (number, line) in lines.iter().enumerate() {
                let valid = self.get(&format!("cache.line{number}_valid_q")) >> set & 1 == 1;
                assert_eq!(valid, line.register.is_some(), "line {number} of set {set}");
                let field = |name| {
                    let value =
                        self.engine.peek_row(&format!("cache.line{number}"), set as u32, name).unwrap();
                    u64::try_from(value).unwrap()
                };
                let Some(register) = line.register else { continue };
                let kept = [field("register") as usize, field("warp") as usize, field("held") as usize];
                assert_eq!(kept, [register, line.warp, line.held as usize]);
                let clean = if self.parameters.read_allocates {
                    self.engine.peek_row(&format!("cache.clean{number}"), set as u32, "lanes").unwrap()
                } else {
                    BigUint::default()
                };
                let clean = u32::try_from(clean).unwrap() & line.held;
                assert_eq!(clean, line.clean & line.held, "clean lanes of line {number} of set {set}");
            }
        }
        let banks = self.parameters.geometry.banks;
        for (register, expected) in self.reference.registers.iter().enumerate() {
            let main = self.row(&format!("mrf.bank{}.registers", register % banks), register / banks);
            for lane in (0..expected.len()).filter(|&lane| !has(undefined[register], lane)) {
                let found = match self.reference.cache.holder(register, lane) {
                    Some((set, line)) => {
                        if has(self.reference.cache.line((set, line)).clean, lane) {
                            assert_eq!(main[lane], expected[lane], "clean register {register}, lane {lane}");
                        }
                        self.row("cache.values", 2 * set + line)[lane]
                    }
                    None => main[lane],
                };
                assert_eq!(found, expected[lane], "register {register}, lane {lane}");
            }
        }
    }
}

fn set_issue(pins: &mut Pins, group: &str, valid: bool, issue: &Instruction, warp: bool) {
    pins.set(&format!("{group}_valid_i"), u8::from(valid));
    pins.set(&format!("{group}_id_i"), issue.id);
    pins.set(&format!("{group}_unit_i"), issue.unit);
    pins.set(&format!("{group}_active_i"), issue.active);
    if warp {
        pins.set(&format!("{group}_warp_i"), issue.warp);
    }
    for (k, source) in issue.sources.iter().enumerate() {
        if let Some(source) = source {
            pins.set(&format!("{group}_source{k}_valid_i"), u8::from(!source.elsewhere));
            pins.set(&format!("{group}_source{k}_register_i"), source.register);
            pins.set(&format!("{group}_source{k}_last_read_i"), u8::from(source.last_read));
        }
    }
}

fn set_write(pins: &mut Pins, group: &str, valid: bool, write: &Write) {
    pins.set(&format!("{group}_valid_i"), u8::from(valid));
    pins.set(&format!("{group}_register_i"), write.register);
    pins.set(&format!("{group}_lanes_i"), write.lanes);
    pins.set(&format!("{group}_value_i"), BigUint::from_slice(&write.value));
}
