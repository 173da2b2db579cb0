//! Runs the gates of a mapped circuit beside the engine and counts what changes.
//!
//! Two-valued and without delays: in each cycle the gates settle level by level, and only those are evaluated whose
//! inputs changed. So a net changes at most once in a cycle, and glitches are not seen. Outputs are compared with the
//! engine's in every cycle in which they mean anything: the gates come from the Verilog by another way than the engine
//! from the netlist.

use num_bigint::BigUint;
use thiserror::Error;
use warpfile_engine::{Engine, EngineError, OutPort};

use crate::gates::{Gates, Net, ONE};
use crate::memories::{MemoryState, MemoryUse};
use crate::sram::Memory;

/// Changes and times of every net, and uses of every memory.
#[derive(Clone, Debug)]
pub struct Activity {
    /// Cycles counted.
    pub cycles: u64,
    /// Changes by net; the clock's are not among them.
    pub toggles: Vec<u64>,
    /// Cycles in which the net was 1, by net.
    pub ones: Vec<u64>,
    /// Uses by memory, in the order of the gates.
    pub memories: Vec<MemoryUse>,
}

/// The gates do not compute what the engine does, or cannot stand beside it.
#[derive(Debug, Error)]
pub enum ActivityError {
    /// An output differs.
    #[error("cycle {cycle}: {output} is {gates:#x} in the gates, {engine:#x} in the engine")]
    Differs {
        /// Cycle, from 0.
        cycle: u64,
        /// The output.
        output: String,
        /// By the gates.
        gates: BigUint,
        /// By the engine.
        engine: BigUint,
    },
    /// The engine is of another circuit.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// The gates of a circuit beside an engine of it.
pub struct GateSimulator<'g> {
    gates: &'g Gates<'g>,
    values: Vec<bool>,
    /// Gates by net that reads them.
    users: Vec<Vec<u32>>,
    /// Gates to be evaluated, by level; and whether each is among them.
    pending: Vec<Vec<u32>>,
    is_pending: Vec<bool>,
    /// Next state of the flip-flops.
    next: Vec<bool>,
    memories: Vec<MemoryState>,
    inputs: Vec<(OutPort, &'g [Net])>,
    outputs: Vec<(&'g str, OutPort, &'g [Net])>,
    reset: Option<Net>,
    toggles: Vec<u64>,
    ones: Vec<u64>,
    /// Cycle of the last change, by net.
    since: Vec<u64>,
    cycle: u64,
}

/// Clock and reset are ports of the gates and not of the engine.
const CLOCK: &str = "clk_i";
const RESET: &str = "rst_i";

impl<'g> GateSimulator<'g> {
    /// The gates after a reset, as `engine` is before its first cycle.
    pub fn new(
        gates: &'g Gates<'g>,
        memories: &[Memory],
        engine: &dyn Engine,
    ) -> Result<GateSimulator<'g>, ActivityError> {
        let mut users: Vec<Vec<u32>> = vec![Vec::new(); gates.nets];
        for (index, gate) in gates.gates.iter().enumerate() {
            gate.inputs.iter().for_each(|&net| users[net as usize].push(index as u32));
        }
        let probe = |name: &String| engine.probe(name);
        let mut inputs = Vec::new();
        for (name, nets) in gates.inputs.iter().filter(|(name, _)| ![CLOCK, RESET].contains(&name.as_str())) {
            inputs.push((probe(name)?, &nets[..]));
        }
        let mut outputs = Vec::new();
        for (name, nets) in &gates.outputs {
            outputs.push((name.as_str(), probe(name)?, &nets[..]));
        }
        let mut simulator = GateSimulator {
            gates,
            values: vec![false; gates.nets],
            users,
            pending: vec![Vec::new(); gates.depth() as usize + 1],
            is_pending: vec![false; gates.gates.len()],
            next: vec![false; gates.flip_flops.len()],
            memories: gates
                .memories
                .iter()
                .map(|gate| MemoryState::new(gate, &memories[gate.memory]))
                .collect(),
            inputs,
            outputs,
            reset: gates.inputs.get(RESET).map(|nets| nets[0]),
            toggles: vec![0; gates.nets],
            ones: vec![0; gates.nets],
            since: vec![0; gates.nets],
            cycle: 0,
        };
        simulator.start();
        Ok(simulator)
    }

    /// Settles everything with all inputs 0, then goes through one cycle of reset.
    fn start(&mut self) {
        self.values[ONE as usize] = true;
        (0..self.gates.gates.len() as u32).for_each(|gate| self.call(gate));
        for index in 0..self.gates.flip_flops.len() {
            self.show(index, false);
        }
        if let Some(reset) = self.reset {
            self.set(reset, true);
        }
        self.settle();
        self.edge();
        if let Some(reset) = self.reset {
            self.set(reset, false);
        }
        self.settle();
        self.toggles.fill(0);
        self.ones.fill(0);
        self.memories.iter_mut().for_each(MemoryState::forget_uses);
    }

    /// Goes through the cycle that the engine has just run, under the same inputs and reset, and compares the outputs.
    pub fn cycle(&mut self, engine: &dyn Engine) -> Result<(), ActivityError> {
        if let Some(reset) = self.reset {
            self.set(reset, engine.state().is_reset());
        }
        for index in 0..self.inputs.len() {
            let (port, nets) = self.inputs[index];
            let words = engine.get_words(port);
            for (bit, &net) in nets.iter().enumerate() {
                self.set(net, words[bit / 64] >> (bit % 64) & 1 == 1);
            }
        }
        self.settle();
        self.compare(engine)?;
        self.cycle += 1;
        self.edge();
        Ok(())
    }

    /// What has been counted.
    pub fn activity(&self) -> Activity {
        let mut ones = self.ones.clone();
        for (net, &value) in self.values.iter().enumerate().filter(|(_, value)| **value) {
            ones[net] += u64::from(value) * (self.cycle - self.since[net].min(self.cycle));
        }
        let memories = self.memories.iter().map(|memory| memory.uses().clone()).collect();
        Activity { cycles: self.cycle, toggles: self.toggles.clone(), ones, memories }
    }

    fn compare(&self, engine: &dyn Engine) -> Result<(), ActivityError> {
        for &(name, port, nets) in self.outputs.iter().filter(|(_, port, _)| engine.is_meaningful(*port)) {
            let words = engine.get_words(port);
            let differs = |(bit, &net): (usize, &Net)| {
                self.values[net as usize] != (words[bit / 64] >> (bit % 64) & 1 == 1)
            };
            if nets.iter().enumerate().any(differs) {
                let mut gates = BigUint::ZERO;
                nets.iter()
                    .enumerate()
                    .for_each(|(bit, &net)| gates.set_bit(bit as u64, self.values[net as usize]));
                let (output, engine) = (name.to_owned(), engine.get_big(port));
                return Err(ActivityError::Differs { cycle: self.cycle, output, gates, engine });
            }
        }
        Ok(())
    }

    /// Gives a net its value and calls whoever reads it.
    fn set(&mut self, net: Net, value: bool) {
        let place = net as usize;
        if self.values[place] == value {
            return;
        }
        self.values[place] = value;
        self.toggles[place] += 1;
        if !value {
            self.ones[place] += self.cycle - self.since[place];
        }
        self.since[place] = self.cycle;
        for index in 0..self.users[place].len() {
            self.call(self.users[place][index]);
        }
    }

    /// Has a gate evaluated when its level comes.
    fn call(&mut self, gate: u32) {
        if !std::mem::replace(&mut self.is_pending[gate as usize], true) {
            self.pending[self.gates.gates[gate as usize].level as usize].push(gate);
        }
    }

    fn settle(&mut self) {
        for level in 1..self.pending.len() {
            let mut called = std::mem::take(&mut self.pending[level]);
            for gate in called.drain(..) {
                self.is_pending[gate as usize] = false;
                let gate = &self.gates.gates[gate as usize];
                self.set(gate.output, self.evaluate(gate.table, &gate.inputs));
            }
            self.pending[level] = called;
        }
    }

    /// The clock edge: all state is taken before any of it shows.
    fn edge(&mut self) {
        for (index, flip_flop) in self.gates.flip_flops.iter().enumerate() {
            self.next[index] = self.evaluate(flip_flop.table, &flip_flop.inputs);
        }
        for memory in &mut self.memories {
            memory.edge(&self.values);
        }
        for index in 0..self.gates.flip_flops.len() {
            self.show(index, self.next[index]);
        }
        for index in 0..self.memories.len() {
            let shown: Vec<(Net, bool)> = self.memories[index].shown().collect();
            shown.into_iter().for_each(|(net, value)| self.set(net, value));
        }
    }

    fn show(&mut self, flip_flop: usize, value: bool) {
        let gates = self.gates;
        for &(net, inverted) in &gates.flip_flops[flip_flop].outputs {
            self.set(net, value != inverted);
        }
    }

    fn evaluate(&self, table: u64, inputs: &[Net]) -> bool {
        let row = inputs.iter().rev().fold(0, |row, &net| row << 1 | u32::from(self.values[net as usize]));
        table >> row & 1 == 1
    }
}
