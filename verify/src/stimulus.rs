//! What drives a circuit: random inputs within what it assumes of them, or the traffic of a recording.
//!
//! Random inputs come in phases of [`PHASE`] cycles, in each of which every one-bit input is mostly 0, mostly 1 or
//! either, so that queues fill up and run empty. Wider inputs are mostly values that were there before or small ones, so
//! that addresses meet. Inputs under which an assumption of the circuit does not hold are drawn again, those first that
//! the assumption depends on, or stay what they were, since some are held until they are taken; the engine says whether it
//! holds ([`Engine::foresee`]), by the state that the circuit is in.

use std::collections::BTreeSet;
use std::io::BufRead;

use num_bigint::BigUint;
use thiserror::Error;
use warpfile_engine::recording::{Recording, RecordingError};
use warpfile_engine::{Engine, EngineError, Interpreter, Options};
use warpfile_hdl::rtl::netlist::{Direction, KeptBy, Module, Netlist, NodeId, Op, Port, PortId, RowExpr};

use crate::testbench::Stimulus;

/// Cycles of a phase.
const PHASE: usize = 48;
/// One cycle in so many is under reset.
const RESET_EVERY: u64 = 400;
/// Values that an input remembers.
const REMEMBERED: usize = 4;
/// Times that inputs are drawn for one cycle before the circuit is said to assume what cannot be.
const ATTEMPTS: usize = 400;
/// After so many of them inputs become 0 more and more.
const ANYTHING: usize = 40;

/// One in so many times they are what they were in the cycle before: some stay until they are taken.
const HELD_EVERY: u64 = 8;

/// Why there is no stimulus.
#[derive(Debug, Error)]
pub enum StimulusError {
    /// No inputs were found that a circuit accepts.
    #[error("cycle {cycle}: no inputs of `{circuit}` found under which its assumption `{assumption}` holds")]
    Assumption {
        /// Cycle, from 0.
        cycle: usize,
        /// The circuit.
        circuit: String,
        /// One of its assumptions.
        assumption: String,
    },
    /// The recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The circuit cannot be run.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// `cycles` random inputs that keep the circuit's assumptions, the same for the same seed. The state that an assumption
/// may depend on starts from the seed as well.
pub fn random(netlist: &Netlist, cycles: usize, seed: u64) -> Result<Vec<Stimulus>, StimulusError> {
    let assumptions = Assumptions::new(netlist);
    let options = Options { seed, foreseen: assumptions.outputs.clone(), ..Options::default() };
    let mut engine = Interpreter::new(&assumptions.netlist, &options)?;
    let outputs = assumptions.outputs.iter().map(|name| engine.output(name));
    let outputs: Vec<_> = outputs.collect::<Result<_, _>>()?;
    let inputs: Vec<&Port> = inputs(netlist.top()).map(|(_, port)| port).collect();
    let ports = inputs.iter().map(|port| engine.input(&port.name));
    let ports: Vec<_> = ports.collect::<Result<_, _>>()?;
    let mut drawers: Vec<Drawer> = inputs.iter().map(|port| Drawer::new(port.width)).collect();
    let mut random = Random(seed);
    let mut stimuli: Vec<Stimulus> = Vec::with_capacity(cycles);
    for cycle in 0..cycles {
        if cycle.is_multiple_of(PHASE) {
            drawers.iter_mut().for_each(|drawer| drawer.new_phase(&mut random));
        }
        let reset = random.one_in(RESET_EVERY);
        let mut values: Vec<BigUint> = drawers.iter_mut().map(|drawer| drawer.draw(&mut random)).collect();
        engine.set_reset(reset);
        for attempt in 0.. {
            ports.iter().zip(&values).for_each(|(&port, value)| engine.set_big(port, value));
            if reset || outputs.is_empty() {
                break;
            }
            engine.foresee();
            let Some(broken) = outputs.iter().position(|&output| engine.get(output) == 0) else { break };
            if attempt == ATTEMPTS {
                let (circuit, assumption) = (netlist.top().name.clone(), assumptions.names[broken].clone());
                return Err(StimulusError::Assumption { cycle, circuit, assumption });
            }
            let holds = random.one_in(HELD_EVERY);
            for &input in &assumptions.depend_on[broken] {
                let idle = attempt >= ANYTHING && random.one_in(2);
                values[input] = match stimuli.last() {
                    Some(Stimulus { inputs: before, .. }) if holds => before[input].clone(),
                    _ if idle => BigUint::ZERO,
                    _ => drawers[input].draw(&mut random),
                };
            }
        }
        engine.step();
        drawers.iter_mut().zip(&values).for_each(|(drawer, value)| drawer.remember(value, &mut random));
        stimuli.push(Stimulus { reset, inputs: values });
    }
    Ok(stimuli)
}

/// The inputs of a recording's first cycles, `most` at most.
pub fn recorded<R: BufRead>(
    mut recording: Recording<R>,
    most: usize,
) -> Result<Vec<Stimulus>, StimulusError> {
    let inputs: Vec<usize> = recording.header().inputs().map(|(index, _)| index).collect();
    let mut stimuli = Vec::new();
    while stimuli.len() < most && recording.next_cycle()? {
        let values = inputs.iter().map(|&input| recording.value(input)).collect();
        stimuli.push(Stimulus { reset: recording.is_reset(), inputs: values });
    }
    Ok(stimuli)
}

/// The assumptions of the outermost circuit, as outputs of it.
struct Assumptions {
    netlist: Netlist,
    names: Vec<String>,
    outputs: Vec<String>,
    /// Of every assumption, the inputs that it depends on in the same cycle.
    depend_on: Vec<Vec<usize>>,
}

impl Assumptions {
    fn new(netlist: &Netlist) -> Assumptions {
        let mut with_outputs = netlist.clone();
        let module = netlist.top();
        let (mut names, mut outputs, mut depend_on) = (Vec::new(), Vec::new(), Vec::new());
        for property in module.invariants.iter().filter(|property| property.kept_by == KeptBy::Environment) {
            let output = format!("{}_assumption_o", property.name);
            with_outputs.modules[netlist.top.index()].ports.push(Port {
                name: output.clone(),
                direction: Direction::Output,
                width: 1,
                driver: Some(property.condition),
                valid_when: None,
            });
            names.push(property.name.clone());
            outputs.push(output);
            depend_on.push(inputs_of(module, property.condition));
        }
        Assumptions { netlist: with_outputs, names, outputs, depend_on }
    }
}

/// Inputs of a module with their numbers as ports.
fn inputs(module: &Module) -> impl Iterator<Item = (PortId, &Port)> {
    let ports = (0..).map(PortId).zip(&module.ports);
    ports.filter(|(_, port)| port.direction == Direction::Input)
}

/// Which of the inputs a node depends on in the same cycle; an output of a sub-circuit, on all inputs of that.
fn inputs_of(module: &Module, node: NodeId) -> Vec<usize> {
    let mut found = BTreeSet::new();
    let mut seen = vec![false; module.nodes.len()];
    let mut pending = vec![node];
    while let Some(node) = pending.pop() {
        if std::mem::replace(&mut seen[node.index()], true) {
            continue;
        }
        let op = &module.nodes[node.index()].op;
        op.visit_operands(&mut |&operand| pending.push(operand));
        if let Op::Input(port) = op {
            found.extend(inputs(module).position(|(input, _)| input == *port));
        }
        if let Op::TableRead { table, port, .. } | Op::TableReadValid { table, port } = op {
            let read = &module.tables[table.index()].reads[*port as usize];
            pending.extend((!read.clocked).then_some(read.address));
        }
        if let Op::TableMatch { table, port } = op {
            row_operands(&module.tables[table.index()].matches[*port as usize].condition, &mut pending);
        }
        if let Op::InstanceOutput { instance, .. } = op {
            pending.extend(module.instances[instance.index()].inputs.iter().map(|(_, node)| *node));
        }
    }
    found.into_iter().collect()
}

fn row_operands(condition: &RowExpr, into: &mut Vec<NodeId>) {
    match condition {
        RowExpr::Field(_) | RowExpr::Valid => {}
        RowExpr::Outer(node) | RowExpr::PerRow(node) => into.push(*node),
        RowExpr::Slice(inner, ..) | RowExpr::Not(inner) => row_operands(inner, into),
        RowExpr::And(a, b) | RowExpr::Or(a, b) | RowExpr::Eq(a, b) | RowExpr::Lt(a, b) => {
            row_operands(a, into);
            row_operands(b, into);
        }
    }
}

/// Draws values of one input.
struct Drawer {
    width: u32,
    /// Of 8 drawn bits of a one-bit input so many are 1.
    ones_in_8: u64,
    recent: Vec<BigUint>,
}

impl Drawer {
    fn new(width: u32) -> Drawer {
        Drawer { width, ones_in_8: 4, recent: Vec::with_capacity(REMEMBERED) }
    }

    fn new_phase(&mut self, random: &mut Random) {
        self.ones_in_8 = [1, 4, 7][random.below(3) as usize];
    }

    fn draw(&mut self, random: &mut Random) -> BigUint {
        if self.width == 1 {
            return BigUint::from(u32::from(random.below(8) < self.ones_in_8));
        }
        match random.below(8) {
            0..3 if !self.recent.is_empty() => {
                self.recent[random.below(self.recent.len() as u64) as usize].clone()
            }
            0..5 => self.fit(BigUint::from(random.below(4))),
            5 => self.fit(BigUint::from(1u32) << random.below(u64::from(self.width))),
            _ => self.anything(random),
        }
    }

    fn anything(&self, random: &mut Random) -> BigUint {
        let words = (0..self.width.div_ceil(32)).map(|_| random.next() as u32);
        self.fit(BigUint::new(words.collect()))
    }

    fn fit(&self, value: BigUint) -> BigUint {
        value & ((BigUint::from(1u32) << self.width) - 1u32)
    }

    fn remember(&mut self, value: &BigUint, random: &mut Random) {
        if self.width == 1 {
        } else if self.recent.len() < REMEMBERED {
            self.recent.push(value.clone());
        } else if random.one_in(4) {
            self.recent[random.below(REMEMBERED as u64) as usize].clone_from(value);
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }
}
