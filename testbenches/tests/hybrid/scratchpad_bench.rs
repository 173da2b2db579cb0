//! The register file with a scratchpad in front on the engine, followed by its reference in every cycle.

use num_bigint::BigUint;
use warpfile_engine::{Engine, Interpreter, Options, OutPort};
use warpfile_hdl::hybrid::ScratchpadHierarchy;
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_testbenches::lockstep::Pins;
use warpfile_testbenches::mutation::elaborate;
use warpfile_testbenches::testbench::Stimulus;

use super::register_cache_hierarchy_ref::has;
use crate::regfile::row_power::{Asks, RowPower};

use super::scratchpad_ref::{Inputs, Instruction, Outputs, ScratchpadReference, Transfer, Way, Write};

pub struct Bench {
    pub parameters: ScratchpadHierarchy,
    pub netlist: Netlist,
    pub engine: Interpreter,
    pub reference: ScratchpadReference,
    /// What the circuit was given.
    pub stimuli: Vec<Stimulus>,
    /// Of the main register file's rows, if they may be without.
    pub power: Option<RowPower>,
}

impl Bench {
    pub fn new(parameters: &ScratchpadHierarchy, seed: u64) -> Bench {
        let netlist = elaborate(parameters).unwrap();
        let engine = Interpreter::new(&netlist, &Options { seed, ..Options::checked() }).unwrap();
        let reference = ScratchpadReference::new(parameters);
        // Without a cache only transfers ask: what an instruction says is behind the scratchpad comes with its row on.
        let asks = match parameters.sets {
            0 => Asks { ports: [0, 1], file: None },
            _ => {
                let writers = 1 + usize::from(parameters.parallel);
                Asks { ports: [3 * parameters.issues, writers], file: Some(("backing.mrf", writers)) }
            }
        };
        let power = parameters.gated.then(|| RowPower::new(parameters.geometry, asks, seed));
        Bench { parameters: parameters.clone(), netlist, engine, reference, stimuli: Vec::new(), power }
    }

    /// A cycle, compared with the reference.
    pub fn step(&mut self, inputs: &Inputs) -> Outputs {
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
        if self.parameters.sets == 0 {
            let transferred = outputs.transfer.as_ref().filter(|transfer| transfer.taken);
            let is_off = transferred.is_some_and(|transfer| outputs.off.contains(&transfer.register));
            assert!(!is_off, "{transferred:?}, to a row that is off");
        }
        if self.parameters.sets > 0 {
            self.compare_misses(inputs, &outputs);
        }
        self.reference.follow(inputs, &outputs);
        if let Some(power) = &mut self.power {
            power.follow(&self.engine, self.reference.oldest());
        }
        assert_eq!(self.engine.violation(), None);
        outputs
    }

    /// Whether the cache holds a register that must leave it for an instruction.
    fn holds(&self, instruction: Option<&Instruction>) -> bool {
        let leaves = instruction.iter().flat_map(|instruction| instruction.leaves).flatten();
        self.parameters.parallel
            && leaves.into_iter().any(|register| self.cached(register).is_some_and(|(lanes, _)| lanes != 0))
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

    /// What the cache says of an operand is told, and nothing of one that is in an entry or not taken.
    fn compare_misses(&self, inputs: &Inputs, outputs: &Outputs) {
        for way in 0..self.parameters.issues {
            let n = self.number(way);
            for k in 0..3 {
                let port = format!("issue{n}_source{k}_misses_o");
                let told = self.get(&port);
                assert_eq!(told, self.get(&format!("backing.{port}")), "{port}");
                let source = inputs.issue[way].as_ref().and_then(|issue| issue.sources[k]);
                let is_behind = source.is_some_and(|source| source.entry.is_none());
                assert!(told == 0 || is_behind && outputs.way[way].issue_taken, "{port} of {source:?}");
            }
        }
    }

    fn outputs(&self, inputs: &Inputs) -> Outputs {
        let is = |path: &str| self.get(path) == 1;
        let transfer = || Transfer {
            warp: self.get("scratchpad.transfer_warp_o") as usize,
            register: self.get("scratchpad.transfer_register_o") as usize,
            lanes: self.get("scratchpad.transfer_lanes_o") as u32,
            value: self.value("scratchpad.transfer_value_o"),
            taken: is("scratchpad.transfer_ready_i"),
        };
        let way = |number: usize| {
            let there = number < self.parameters.issues;
            if there { self.way(number, inputs) } else { Way::default() }
        };
        Outputs {
            way: [way(0), way(1)],
            fill_taken: inputs.fill.is_some() && is("fill_ready_o"),
            fill_waits: inputs.fill.is_some() && is("scratchpad.fill_waits_o"),
            transfer: is("scratchpad.transfer_valid_o").then(transfer),
            off: self.power.as_ref().map_or_else(Vec::new, RowPower::off),
            busy: self.get("slot_busy_o"),
            waits: [is("entry_wait_o"), is("transfer_wait_o")],
            leave_wait: self.parameters.parallel && is("leave_wait_o"),
        }
    }

    /// The number in names of which there is one for each way.
    fn number(&self, way: usize) -> String {
        if self.parameters.issues == 1 { String::new() } else { way.to_string() }
    }

    fn way(&self, way: usize, inputs: &Inputs) -> Way {
        let n = self.number(way);
        let get = |group: &str, port: &str| self.get(&format!("{group}{n}_{port}"));
        let is = |group: &str, port: &str| get(group, port) == 1;
        let operands = || [0, 1, 2].map(|k| self.value(&format!("operands{n}_source{k}_o")));
        Way {
            issue_taken: inputs.issue[way].is_some() && is("issue", "ready_o"),
            held: self.holds(inputs.issue[way].as_ref()),
            may_enter: inputs.issue[way].is_some() && is("scratchpad.issue", "ready_o"),
            result_taken: inputs.result[way].is_some() && is("result", "ready_o"),
            may_be_written: inputs.result[way].is_some() && is("scratchpad.result", "ready_o"),
            dispatch: is("dispatch", "valid_o").then(|| (get("dispatch", "id_o"), get("dispatch", "unit_o"))),
            operands: is("operands", "valid_o").then(|| (get("operands", "id_o"), operands())),
        }
    }

    fn pins(&self, inputs: &Inputs) -> Pins {
        let mut pins = Pins::default();
        pins.set("unit_ready_i", inputs.units_ready);
        pins.set("ended_i", inputs.ended);
        for way in 0..self.parameters.issues {
            let n = self.number(way);
            if let Some(issue) = &inputs.issue[way] {
                set_issue(&mut pins, &format!("issue{n}"), issue);
            }
            if let Some(write) = &inputs.result[way] {
                let group = format!("result{n}");
                set_write(&mut pins, &group, write);
                pins.set(&format!("{group}_warp_i"), write.warp);
                if let Some((slot, entry)) = write.place {
                    pins.set(&format!("{group}_entry_valid_i"), 1u8);
                    pins.set(&format!("{group}_slot_i"), slot);
                    pins.set(&format!("{group}_entry_i"), entry);
                    pins.set(&format!("{group}_live_out_i"), u8::from(write.live_out));
                }
            }
        }
        if let Some(fill) = &inputs.fill {
            set_write(&mut pins, "fill", fill);
            pins.set("fill_warp_i", fill.warp);
        }
        pins
    }

    fn row(&self, table: &str, row: usize) -> Vec<u32> {
        let mut lanes = self.engine.peek_row(table, row as u32, "value").unwrap().to_u32_digits();
        lanes.resize(self.parameters.geometry.lanes, 0);
        lanes
    }

    /// Lanes of a register that the cache holds, and where; none without a cache.
    fn cached(&self, register: usize) -> Option<(u32, Vec<u32>)> {
        for (line, set) in (0..2).flat_map(|line| (0..self.parameters.sets).map(move |set| (line, set))) {
            let table = format!("backing.cache.line{line}");
            let field =
                |name| u64::try_from(self.engine.peek_row(&table, set as u32, name).unwrap()).unwrap();
            let valid = self.get(&format!("{table}_valid_q")) >> set & 1 == 1;
            if valid && field("register") as usize == register {
                return Some((field("held") as u32, self.row("backing.cache.values", 2 * set + line)));
            }
        }
        None
    }

    /// The backing store has the newest value of the lanes of each register that `behind` says. Takes a cycle after the last
    /// write, which is seen only then.
    pub fn compare_state(&mut self, behind: impl Fn(usize) -> u32) {
        self.step(&Inputs::default());
        let banks = self.parameters.geometry.banks;
        for (register, expected) in self.reference.registers.iter().enumerate() {
            let main = self.row(&format!("backing.mrf.bank{}.registers", register % banks), register / banks);
            let cached = self.cached(register);
            for lane in (0..expected.len()).filter(|&lane| has(behind(register), lane)) {
                let found = match &cached {
                    Some((lanes, value)) if has(*lanes, lane) => value[lane],
                    _ => main[lane],
                };
                assert_eq!(found, expected[lane], "register {register}, lane {lane}");
            }
        }
    }
}

fn set_issue(pins: &mut Pins, group: &str, issue: &Instruction) {
    pins.set(&format!("{group}_valid_i"), 1u8);
    pins.set(&format!("{group}_id_i"), issue.id);
    pins.set(&format!("{group}_unit_i"), issue.unit);
    pins.set(&format!("{group}_active_i"), issue.active);
    pins.set(&format!("{group}_slot_i"), issue.slot);
    pins.set(&format!("{group}_writes_i"), issue.written.map_or(0u64, |entry| 1 << entry));
    for (number, register) in issue.leaves.iter().enumerate() {
        if let Some(register) = register {
            pins.set(&format!("{group}_leave{number}_valid_i"), 1u8);
            pins.set(&format!("{group}_leave{number}_register_i"), *register);
        }
    }
    if let Some((source, entry)) = issue.copy {
        pins.set(&format!("{group}_copy_valid_i"), 1u8);
        pins.set(&format!("{group}_copy_source_i"), source);
        pins.set(&format!("{group}_copy_entry_i"), entry);
    }
    for (k, source) in issue.sources.iter().enumerate() {
        // Without an operand its entry means nothing.
        let is_in_entry = source.is_none() && (issue.id + k as u64).is_multiple_of(2);
        pins.set(&format!("{group}_source{k}_entry_valid_i"), u8::from(is_in_entry));
        let Some(source) = source else { continue };
        pins.set(&format!("{group}_source{k}_valid_i"), 1u8);
        pins.set(&format!("{group}_source{k}_register_i"), source.register);
        pins.set(&format!("{group}_source{k}_last_read_i"), u8::from(source.last_read));
        if let Some(entry) = source.entry {
            pins.set(&format!("{group}_source{k}_entry_valid_i"), 1u8);
            pins.set(&format!("{group}_source{k}_entry_i"), entry);
        }
    }
}

fn set_write(pins: &mut Pins, group: &str, write: &Write) {
    pins.set(&format!("{group}_valid_i"), 1u8);
    pins.set(&format!("{group}_register_i"), write.register);
    pins.set(&format!("{group}_lanes_i"), write.lanes);
    pins.set(&format!("{group}_value_i"), BigUint::from_slice(&write.value));
}
