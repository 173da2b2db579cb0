//! Runs an elaborated netlist cycle by cycle.
//!
//! [`flatten`] inlines the hierarchy, [`plan`] levelises it into a program over one arena of 64-bit words,
//! and an [`Engine`] runs that program: [`Interpreter`] is the reference, [`Compiled`] turns it into machine code.
//! Everything but settling is shared through [`State`].
//!
//! Two-state: registers without reset, captured reads and table rows start from a seed; registers with a
//! reset value start at it and valid bits start at 0, as after a reset.
//!
//! ```
//! use warpfile_engine::{Compiled, Engine, Options};
//! use warpfile_hdl::parts::Fifo;
//! use warpfile_hdl::rtl::elaborate;
//!
//! let fifo = Fifo { depth: 5, width: 8 };
//! let mut engine = Compiled::new(&elaborate(&fifo)?, &Options::default())?;
//! let ports = engine.ports(&fifo)?;
//!
//! engine.set(ports.in_valid_i, 1);
//! engine.set(ports.in_data_i, 42);
//! engine.step();
//! assert_eq!((engine.get(ports.in_ready_o), engine.get(ports.out_valid_o)), (1, 0));
//!
//! // From the next cycle on the word is there.
//! engine.set(ports.in_valid_i, 0);
//! engine.step();
//! assert_eq!((engine.get(ports.out_valid_o), engine.get(ports.out_data_o)), (1, 42));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod activity;
mod any;
mod code_cache;
mod compiled;
mod error;
pub mod flatten;
mod interpreter;
pub mod ops;
pub mod plan;
mod ports;
pub mod recording;
mod state;
mod twin;
pub mod vectors;
pub mod waveform;
pub mod waves;

use std::sync::Arc;

use num_bigint::BigUint;
use warpfile_hdl::rtl::Circuit;

pub use activity::{
    ActivityCount, ActivityHandle, ActivityKind, ActivityReport, PortActivity, RegisterActivity,
};
pub use any::AnyEngine;
pub use code_cache::CodeCache;
pub use compiled::Compiled;
pub use error::{EngineError, Violation};
pub use interpreter::Interpreter;
pub(crate) use plan::is_within;
pub use plan::{InPort, OutPort, RowPort, Scope, Signal};
pub use ports::{CircuitPorts, PortsOf};
pub use state::{Snapshot, State};
pub use twin::{MissingReset, Twin};

/// How a netlist is prepared for running.
#[derive(Clone, Debug)]
pub struct Options {
    /// Fills state that has no reset value. Nothing meaningful depends on it.
    pub seed: u64,
    /// State that has no reset value starts at 0, whatever the seed: for runs beside tools that do the same.
    pub zeroed: bool,
    /// Values that can be read besides the outputs.
    pub observe: Observe,
    /// Whether invariants are evaluated; see [`Engine::violation`].
    pub check_invariants: bool,
    /// Whether uses of table ports and registers are counted.
    pub count_activity: bool,
    /// Whether bits that change are counted per register too.
    pub count_toggles: bool,
    /// Outputs of the outermost circuit that are asked for before a cycle is run; see [`Engine::foresee`].
    pub foreseen: Vec<String>,
    /// Cost, in additions, from which a part that waits for changes stands alone, for any circuit to be run in such; what finds no
    /// peer may cost less, and whatever parts do alike has one code. If none is given, circuits that are large enough for it to
    /// pay are, in parts of 160, with one code for what is long enough.
    pub smallest_part: Option<u32>,
    /// Where the compiled engine looks for code before it compiles, and keeps what it has compiled.
    pub code_cache: Option<Arc<CodeCache>>,
}

impl Default for Options {
    /// For production: ports, registers and tables observed, nothing checked.
    fn default() -> Options {
        Options {
            seed: 0,
            zeroed: false,
            observe: Observe::State,
            check_invariants: false,
            count_activity: true,
            count_toggles: false,
            foreseen: Vec::new(),
            smallest_part: None,
            code_cache: None,
        }
    }
}

impl Options {
    /// For tests: everything observed, counted and checked.
    pub fn checked() -> Options {
        Options { observe: Observe::All, check_invariants: true, count_toggles: true, ..Options::default() }
    }
}

/// Which signals keep a readable value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observe {
    /// Every port, register and named signal.
    All,
    /// Ports of the outermost circuit, registers and tables.
    State,
    /// As `State`, and everything in these circuits and below, by path (`bank0.arbiter`; `""` is the top).
    Scopes(Vec<String>),
}

/// Something that runs a circuit.
///
/// A cycle is: set inputs, [`step`](Engine::step), get outputs. Inputs keep their value until set again.
pub trait Engine {
    /// What the engine works on.
    fn state(&self) -> &State;

    /// What the engine works on.
    fn state_mut(&mut self) -> &mut State;

    /// Runs one cycle: settles the circuit under the current inputs. All values can then be read as they
    /// are before the clock edge that ends the cycle; the edge takes effect when the next cycle begins.
    fn step(&mut self);

    /// Makes the outputs in [`Options::foreseen`] those of the cycle that comes, under the current inputs, for an input
    /// that depends on them: a grant that answers a request in the same cycle. The edge of the cycle before takes effect;
    /// the cycle itself is run by the next [`step`](Engine::step), under the inputs of then. Until then only these
    /// outputs, registers and tables mean anything. Nothing is counted or checked.
    fn foresee(&mut self);

    /// Runs `cycles` cycles under the current inputs.
    fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// An input of the outermost circuit.
    fn input(&self, name: &str) -> Result<InPort, EngineError> {
        self.state().plan().input(name)
    }

    /// An output of the outermost circuit.
    fn output(&self, name: &str) -> Result<OutPort, EngineError> {
        self.state().plan().output(name)
    }

    /// All ports of the outermost circuit, which is `circuit`.
    ///
    /// # Errors
    /// A port that `circuit` has and this one has not.
    fn ports<C: Circuit>(&self, circuit: &C) -> Result<CircuitPorts<C>, EngineError>
    where
        Self: Sized,
    {
        ports::of(self.state().plan(), circuit)
    }

    /// Any observed signal by path (`bank0.arbiter.grant`, a register with its `_q`).
    fn probe(&self, path: &str) -> Result<OutPort, EngineError> {
        self.state().plan().probe(path)
    }

    /// Sets the reset for the cycles to come.
    fn set_reset(&mut self, reset: bool) {
        self.state_mut().set_reset(reset);
    }

    /// Sets an input of up to 64 bits. Bits above the port's width are dropped; a debug build refuses them.
    #[inline]
    fn set(&mut self, port: InPort, value: u64) {
        self.state_mut().set(port, value);
    }

    /// Sets an input from 64-bit words, lowest first; missing words are 0. Bits above the port's width are
    /// dropped; a debug build refuses them.
    fn set_words(&mut self, port: InPort, words: &[u64]) {
        self.state_mut().set_words(port, words);
    }

    /// Sets an input from 32-bit lanes, lane 0 lowest; missing lanes are 0.
    fn set_lanes(&mut self, port: InPort, lanes: &[u32]) {
        self.state_mut().set_lanes(port, lanes);
    }

    /// Sets an input of any width.
    fn set_big(&mut self, port: InPort, value: &BigUint) {
        self.state_mut().set_words(port, &value.to_u64_digits());
    }

    /// Low 64 bits of a value.
    #[inline]
    fn get(&self, port: OutPort) -> u64 {
        self.state().get(port)
    }

    /// All words of a value, lowest first.
    fn get_words(&self, port: OutPort) -> &[u64] {
        self.state().get_words(port)
    }

    /// 32-bit lane `lane` of a value; 0 beyond its width.
    fn lane(&self, port: OutPort, lane: usize) -> u32 {
        let word = self.state().get_words(port).get(lane / 2).copied().unwrap_or(0);
        (word >> (32 * (lane % 2))) as u32
    }

    /// A value of any width.
    fn get_big(&self, port: OutPort) -> BigUint {
        self.state().big(port)
    }

    /// Whether an output's qualifier (`valid_when`) holds; true for an output without one.
    #[inline]
    fn is_meaningful(&self, port: OutPort) -> bool {
        self.state().is_meaningful(port)
    }

    /// Value of an observed signal, found by path; for tests.
    fn peek(&self, path: &str) -> Result<BigUint, EngineError> {
        Ok(self.get_big(self.probe(path)?))
    }

    /// A field of a table's row, found by the table's path; for tests.
    fn peek_row(&self, table: &str, row: u32, field: &str) -> Result<BigUint, EngineError> {
        self.state().peek_row(table, row, field)
    }

    /// A field of a table's row.
    fn get_row(&self, port: RowPort) -> BigUint {
        self.state().row(port)
    }

    /// Changes the field of a row, 64 bits a word, between two cycles: what a read finds from the next cycle on that is run.
    /// A write of the cycle last run comes behind it.
    fn change_row(&mut self, port: RowPort, change: impl FnOnce(&mut [u64]))
    where
        Self: Sized,
    {
        self.state_mut().change_row(port, change);
    }

    /// Signals that can be probed, in hierarchical order.
    fn signals(&self) -> &[Signal] {
        &self.state().plan().signals
    }

    /// The circuits that signals belong to, parents before children.
    fn scopes(&self) -> &[Scope] {
        &self.state().plan().scopes
    }

    /// Cycles run.
    fn cycle(&self) -> u64 {
        self.state().cycle()
    }

    /// A copy of all state, inputs and counters included.
    fn snapshot(&self) -> Snapshot {
        self.state().snapshot()
    }

    /// Returns to a snapshot taken of the same circuit under the same options.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), EngineError> {
        self.state_mut().restore(snapshot)
    }

    /// What every table port and register did since the start or the last [`reset_activity`].
    ///
    /// [`reset_activity`]: Engine::reset_activity
    fn activity(&self) -> ActivityReport {
        self.state().activity()
    }

    /// A table port's counter, by the table's path and the port's name (`bank0.rows.read`).
    fn activity_handle(&self, path: &str) -> Result<ActivityHandle, EngineError> {
        self.state().plan().activity_handle(path)
    }

    /// Reads one counter.
    fn activity_count(&self, handle: ActivityHandle) -> ActivityCount {
        self.state().activity_count(handle)
    }

    /// Sets all activity counters to 0.
    fn reset_activity(&mut self) {
        self.state_mut().reset_activity();
    }

    /// The first invariant that did not hold, if invariants are checked.
    fn violation(&self) -> Option<Violation> {
        self.state().violation()
    }
}
