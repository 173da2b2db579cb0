//! What runs inside a block: the engine, and how its ports meet the block's signals.

use std::fmt::Write as _;

use rust_hdl_core::ast::{Verilog, Wrapper};
use warpfile_engine::{Engine, EngineError, InPort, Interpreter, Options, OutPort, Violation};
use warpfile_gen::{emit, is_sequential};
use warpfile_hdl::rtl::netlist::{Direction, Module, Netlist};
use warpfile_hdl::rtl::{Circuit, elaborate};

use crate::{BridgeError, Value};

const RESET: &str = "rst_i";

/// A port as a block declares it.
#[derive(Clone, Copy, Debug)]
pub struct Declared {
    name: &'static str,
    bits: usize,
    is_clock: bool,
}

impl Declared {
    /// A port of type `T`.
    pub fn new<T: Value>(name: &'static str) -> Declared {
        Declared { name, bits: T::BITS, is_clock: T::IS_CLOCK }
    }
}

/// Where an input of the block goes.
#[derive(Clone, Copy, Debug)]
enum Input {
    Clock,
    Reset,
    Port(InPort),
}

/// A circuit inside a block.
#[derive(Debug)]
pub struct Bridged {
    netlist: Netlist,
    engine: Interpreter,
    /// In the order of declaration.
    inputs: Vec<(&'static str, Input)>,
    outputs: Vec<OutPort>,
    /// The clock as it was last seen.
    clock: bool,
    /// Inputs as they were last seen; empty before the first time.
    seen: Vec<Vec<u64>>,
}

impl Bridged {
    /// The circuit, if its ports are the declared ones.
    ///
    /// # Errors
    /// If it does not elaborate or has other ports.
    pub fn new<C: Circuit>(
        circuit: &C,
        inputs: &[Declared],
        outputs: &[Declared],
    ) -> Result<Bridged, BridgeError> {
        let netlist = elaborate(circuit)?;
        check(&netlist, Direction::Input, inputs)?;
        check(&netlist, Direction::Output, outputs)?;
        let foreseen = outputs.iter().map(|port| port.name.to_string()).collect();
        let options =
            Options { foreseen, check_invariants: true, count_activity: false, ..Options::default() };
        let engine = Interpreter::new(&netlist, &options)?;
        let inputs = inputs.iter().map(|port| place(&engine, port)).collect::<Result<Vec<_>, _>>()?;
        let outputs = outputs.iter().map(|port| engine.output(port.name)).collect::<Result<Vec<_>, _>>()?;
        Ok(Bridged { netlist, engine, inputs, outputs, clock: false, seen: Vec::new() })
    }

    /// Takes the values of the inputs, in the order of declaration: on a rising clock they are what the circuit's
    /// registers see at that edge; then the outputs are those of the cycle that begins.
    ///
    /// rust-hdl calls this until nothing changes any more. What its flip-flops put out at an edge arrives at least one
    /// call after the clock, so that the inputs of the call that sees the edge are those of before it.
    pub fn update(&mut self, inputs: &[Vec<u64>]) {
        if self.seen == inputs {
            return;
        }
        let mut clock = self.clock;
        for ((_, input), words) in self.inputs.iter().zip(inputs) {
            match input {
                Input::Clock => clock = bool::from_words(words),
                Input::Reset => self.engine.set_reset(bool::from_words(words)),
                Input::Port(port) => self.engine.set_words(*port, words),
            }
        }
        if clock && !self.clock {
            self.engine.step();
        }
        self.clock = clock;
        self.engine.foresee();
        self.seen = inputs.to_vec();
    }

    /// Words of the outputs, in the order of declaration.
    pub fn outputs(&self) -> impl Iterator<Item = &[u64]> {
        self.outputs.iter().map(|&port| self.engine.get_words(port))
    }

    /// The first invariant of the circuit that did not hold.
    pub fn violation(&self) -> Option<Violation> {
        self.engine.violation()
    }

    /// A wrapper around our modules. rust-hdl prints them once a block, so each of them is guarded by its name, which
    /// says all parameters.
    pub fn hdl(&self) -> Verilog {
        let top = self.top();
        let inputs = self.inputs.iter().map(|(name, input)| match input {
            Input::Clock => format!(".clk_i({name})"),
            Input::Reset | Input::Port(_) => format!(".{name}({name})"),
        });
        let outputs = top.ports.iter().filter(|port| port.direction == Direction::Output);
        let pins: Vec<String> = inputs.chain(outputs.map(|port| format!(".{0}({0})", port.name))).collect();
        let code = format!("{} circuit (\n    {}\n);\n", top.name, pins.join(",\n    "));
        let mut cores = String::new();
        for (file, module) in emit(&self.netlist).modules.iter().zip(&self.netlist.modules) {
            let guard = format!("WARPFILE_{}", module.name.to_uppercase());
            let _ = write!(cores, "\n`ifndef {guard}\n`define {guard}\n{}`endif\n", file.text);
        }
        Verilog::Wrapper(Wrapper { code, cores })
    }

    fn top(&self) -> &Module {
        &self.netlist.modules[self.netlist.top.index()]
    }
}

fn place(engine: &Interpreter, port: &Declared) -> Result<(&'static str, Input), EngineError> {
    let input = match port {
        Declared { is_clock: true, .. } => Input::Clock,
        Declared { name: RESET, .. } => Input::Reset,
        Declared { name, .. } => Input::Port(engine.input(name)?),
    };
    Ok((port.name, input))
}

/// Whether the declared ports are those of the outermost module, with clock and reset if there is state.
fn check(netlist: &Netlist, direction: Direction, declared: &[Declared]) -> Result<(), BridgeError> {
    let module = &netlist.modules[netlist.top.index()];
    let with_clock = direction == Direction::Input && is_sequential(netlist);
    let reset = with_clock.then_some((RESET, 1));
    let ports = module.ports.iter().filter(|port| port.direction == direction);
    let ports: Vec<(&str, u32)> =
        reset.into_iter().chain(ports.map(|port| (port.name.as_str(), port.width))).collect();
    let direction = match direction {
        Direction::Input => "input",
        Direction::Output => "output",
    };
    let typed = |&(name, width): &(&str, u32)| match width {
        1 => format!("{name}: Bit"),
        _ => format!("{name}: Bits<{width}>"),
    };

    for port in declared.iter().filter(|port| !(port.is_clock && with_clock)) {
        let Some(&(_, width)) = ports.iter().find(|(name, _)| *name == port.name && !port.is_clock) else {
            let known = ports.iter().map(typed).collect();
            let (module, port) = (module.name.clone(), port.name.to_string());
            return Err(BridgeError::Unknown { module, direction, port, known });
        };
        if port.bits != width as usize {
            let (module, port, declared) = (module.name.clone(), port.name.to_string(), port.bits);
            return Err(BridgeError::Width { module, port, declared, width });
        }
    }
    let clock =
        (with_clock && declared.iter().all(|port| !port.is_clock)).then(|| "clock: Clock".to_string());
    let missing = ports.iter().filter(|(name, _)| declared.iter().all(|port| port.name != *name));
    let ports: Vec<String> = clock.into_iter().chain(missing.map(typed)).collect();
    match ports.is_empty() {
        true => Ok(()),
        false => Err(BridgeError::Undeclared { module: module.name.clone(), direction, ports }),
    }
}
