//! The same circuit driven from outside: every input is set and outputs are read in every cycle.

use std::fmt::Write as _;
use std::hint::black_box;
use std::ops::Range;

use serde::Serialize;
use warpfile_engine::{Compiled, Engine, InPort, Interpreter, Observe, Options, OutPort};
use warpfile_hdl::rtl::netlist::{Direction, Netlist, Port};

use super::Side;
use super::engine::race_options;
use super::error::RaceError;
use super::measure::processor_nanoseconds;
use crate::bench::Benchmark;

/// Cycles of recorded inputs, used over and over.
const CYCLES: usize = 64;
const HARNESS: &str = include_str!("ports.cpp");

/// Rates of a circuit driven through its ports.
#[derive(Clone, Debug, Serialize)]
pub struct PortDriven {
    /// Cycles per second of the engine.
    pub engine_cycles_per_second: f64,
    /// Cycles per second of Verilator.
    pub verilator_cycles_per_second: f64,
    /// The engine's over Verilator's.
    pub ratio: f64,
    /// Nanoseconds a cycle that the engine's harness takes without the engine.
    pub engine_harness_nanoseconds: f64,
    /// Nanoseconds a cycle that Verilator's harness takes without the circuit.
    pub verilator_harness_nanoseconds: f64,
}

/// The inputs of a circuit in its benchmark, cycle by cycle.
pub(super) struct Recording {
    inputs: Vec<Port>,
    /// Outputs that always count: what the others hold where they do not count is nobody's business.
    outputs: Vec<Port>,
    /// By cycle: 64-bit words of all inputs, each input in words of its own.
    cycles: Vec<Vec<u64>>,
}

fn words(port: &Port) -> usize {
    port.width.div_ceil(64) as usize
}

impl Recording {
    /// What drives the circuit in the first cycles of the benchmark.
    pub fn of(benchmark: &Benchmark, circuit: &Netlist) -> Result<Recording, RaceError> {
        let ports = &circuit.modules[circuit.top.index()].ports;
        let of = |direction| ports.iter().filter(move |port| port.direction == direction).cloned();
        let inputs: Vec<Port> = of(Direction::Input).collect();
        let outputs = of(Direction::Output).filter(|port| port.valid_when.is_none()).collect();
        let options = Options { zeroed: true, observe: Observe::All, ..Options::default() };
        let mut engine = Interpreter::new(&benchmark.netlist()?, &options)?;
        let path = |port: &Port| format!("{}.{}", benchmark.circuit, port.name);
        let probes: Vec<OutPort> =
            inputs.iter().map(|port| engine.probe(&path(port))).collect::<Result<_, _>>()?;
        let mut cycle = || {
            engine.step();
            probes.iter().flat_map(|&probe| engine.get_words(probe).to_vec()).collect()
        };
        let cycles = (0..CYCLES).map(|_| cycle()).collect();
        Ok(Recording { inputs, outputs, cycles })
    }

    /// The C++ that drives the circuit with the recording.
    pub fn harness(&self) -> String {
        let mut record = String::new();
        for cycle in &self.cycles {
            let words: Vec<String> = cycle.iter().map(|word| format!("{word:#x}")).collect();
            let _ = writeln!(record, "    {{{}}},", words.join(", "));
        }
        let (mut drive, mut offset) = (String::new(), 0);
        for port in &self.inputs {
            let name = &port.name;
            let _ = match port.width {
                0..=64 => writeln!(drive, "    top.{name} = record[{offset}];"),
                65.. => writeln!(
                    drive,
                    "    std::memcpy(top.{name}.m_storage, record + {offset}, sizeof top.{name}.m_storage);"
                ),
            };
            offset += words(port);
        }
        let mut observe = String::new();
        for port in &self.outputs {
            let name = &port.name;
            let _ = match port.width {
                0..=64 => writeln!(observe, "    sum ^= top.{name};"),
                65.. => writeln!(
                    observe,
                    "    sum ^= top.{name}.m_storage[0] | static_cast<uint64_t>(top.{name}.m_storage[1]) << 32;"
                ),
            };
        }
        HARNESS
            .replace("@CYCLES@", &CYCLES.to_string())
            .replace("@WORDS@", &offset.to_string())
            .replace("@RECORD@", &record)
            .replace("@DRIVE@", &drive)
            .replace("@OBSERVE@", &observe)
    }
}

/// The compiled engine, driven through its ports; or, without an engine, the driving alone.
pub(super) struct DrivenEngine {
    recording: Recording,
    engine: Compiled,
    /// With the place of each in a recorded cycle.
    narrow_inputs: Vec<(InPort, usize)>,
    wide_inputs: Vec<(InPort, Range<usize>)>,
    outputs: Vec<OutPort>,
    steps: bool,
    next: usize,
    sum: u64,
}

impl DrivenEngine {
    pub fn new(recording: Recording, circuit: &Netlist, steps: bool) -> Result<DrivenEngine, RaceError> {
        let engine = Compiled::new(circuit, &race_options())?;
        let (mut narrow_inputs, mut wide_inputs, mut start) = (Vec::new(), Vec::new(), 0);
        for port in &recording.inputs {
            let (input, end) = (engine.input(&port.name)?, start + words(port));
            match port.width {
                0..=64 => narrow_inputs.push((input, start)),
                65.. => wide_inputs.push((input, start..end)),
            }
            start = end;
        }
        let outputs =
            recording.outputs.iter().map(|port| engine.output(&port.name)).collect::<Result<_, _>>()?;
        Ok(DrivenEngine { recording, engine, narrow_inputs, wide_inputs, outputs, steps, next: 0, sum: 0 })
    }

    fn cycle(&mut self) {
        let record = &self.recording.cycles[self.next][..];
        self.next = (self.next + 1) % CYCLES;
        for &(input, place) in &self.narrow_inputs {
            self.engine.set(input, record[place]);
        }
        for (input, place) in &self.wide_inputs {
            self.engine.set_words(*input, &record[place.clone()]);
        }
        if self.steps {
            self.engine.step();
        }
        for &output in &self.outputs {
            self.sum ^= self.engine.get(output);
        }
    }
}

impl Side for DrivenEngine {
    fn turn(&mut self, cycles: u64) -> Result<(f64, u64), RaceError> {
        let start = processor_nanoseconds();
        for _ in 0..cycles {
            self.cycle();
        }
        Ok((processor_nanoseconds() - start, black_box(self.sum)))
    }
}
