//! The compiled engine beside the interpreter: bit for bit, activity included.
//!
//! What an engine shows depends on its options: with everything observed, every signal; in production, ports
//! and state. What it shows is compared wherever it means something.

use num_bigint::BigUint;
use thiserror::Error;
use warpfile_engine::{
    Compiled, Engine, EngineError, InPort, Interpreter, Observe, Options, OutPort, RowPort, Snapshot,
};
use warpfile_hdl::rtl::netlist::Netlist;

use crate::case::{Cycle, inputs_of};

/// Where the compiled engine is not what the interpreter is.
#[derive(Clone, Debug, Error)]
#[error("after {cycles} cycles: {what} is {found} compiled, {expected} interpreted")]
pub struct Unequal {
    /// Cycles run.
    pub cycles: u64,
    /// What differs.
    pub what: String,
    /// In the compiled engine.
    pub found: String,
    /// In the interpreter.
    pub expected: String,
}

/// Both engines on one netlist.
pub struct Beside {
    interpreter: Interpreter,
    compiled: Compiled,
    interpreted: Ports,
    compiled_ports: Ports,
}

/// Snapshots of both engines.
pub struct Snapshots {
    interpreter: Snapshot,
    compiled: Snapshot,
}

impl Beside {
    /// Both engines under the same options, in their initial state.
    pub fn new(netlist: &Netlist, options: &Options) -> Result<Beside, EngineError> {
        let interpreter = Interpreter::new(netlist, options)?;
        let compiled = Compiled::new(netlist, options)?;
        let interpreted = Ports::of(netlist, &interpreter)?;
        let compiled_ports = Ports::of(netlist, &compiled)?;
        Ok(Beside { interpreter, compiled, interpreted, compiled_ports })
    }

    /// Sets reset and inputs.
    pub fn apply(&mut self, cycle: &Cycle) {
        self.interpreted.apply(&mut self.interpreter, cycle);
        self.compiled_ports.apply(&mut self.compiled, cycle);
    }

    /// Runs a cycle.
    pub fn step(&mut self) {
        self.interpreter.step();
        self.compiled.step();
    }

    /// Has both foresee the outputs that the options name, and compares them. Gives them, those without a meaning as
    /// `None`.
    pub fn foresee(&mut self, outputs: &[String]) -> Result<Vec<Option<BigUint>>, Unequal> {
        self.interpreter.foresee();
        self.compiled.foresee();
        outputs.iter().map(|name| self.foreseen(name)).collect()
    }

    fn foreseen(&self, name: &str) -> Result<Option<BigUint>, Unequal> {
        let expected = self.output(name);
        self.equal(&format!("{name}, foreseen,"), &output(&self.compiled, name), &expected)?;
        Ok(expected)
    }

    /// An output, if it means something.
    pub fn output(&self, name: &str) -> Option<BigUint> {
        output(&self.interpreter, name)
    }

    /// Runs cycles: the interpreter one by one, the compiled engine all at a call.
    pub fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.interpreter.step();
        }
        self.compiled.run(cycles);
    }

    /// Compares every signal that the options keep, every row of every table, and the invariant that did not
    /// hold. Signals with a qualifier are compared where it holds; the qualifier is compared always.
    pub fn compare(&self) -> Result<(), Unequal> {
        self.equal("the cycle", self.compiled.cycle(), self.interpreter.cycle())?;
        let (found, expected) = (&self.compiled_ports.shown, &self.interpreted.shown);
        self.equal("the number of signals", found.len(), expected.len())?;
        for ((name, expected), (compiled_name, found)) in expected.iter().zip(found) {
            self.equal("a name", compiled_name, name)?;
            let meaningful = self.interpreter.is_meaningful(*expected);
            if self.compiled.is_meaningful(*found) != meaningful {
                return self.equal(&format!("whether {name} is valid"), !meaningful, meaningful);
            }
            if meaningful {
                self.equal_words(name, *found, *expected)?;
            }
        }
        let (found, expected) = (&self.compiled_ports.rows, &self.interpreted.rows);
        self.equal("the number of rows", found.len(), expected.len())?;
        for ((name, expected), (compiled_name, found)) in expected.iter().zip(found) {
            self.equal("a name", compiled_name, name)?;
            let (found, expected) = (self.compiled.get_row(*found), self.interpreter.get_row(*expected));
            self.equal(name, found, expected)?;
        }
        self.equal("the violation", self.compiled.violation(), self.interpreter.violation())
    }

    /// Compares the counters of all table ports and registers.
    pub fn compare_activity(&self) -> Result<(), Unequal> {
        let (found, expected) = (self.compiled.activity(), self.interpreter.activity());
        self.equal("the number of cycles counted", found.cycles, expected.cycles)?;
        self.equal("the number of ports", found.ports.len(), expected.ports.len())?;
        for (found, expected) in found.ports.iter().zip(&expected.ports) {
            self.equal("the use of a port", found, expected)?;
        }
        self.equal("the number of registers", found.registers.len(), expected.registers.len())?;
        for (found, expected) in found.registers.iter().zip(&expected.registers) {
            self.equal("the use of a register", found, expected)?;
        }
        Ok(())
    }

    /// Sets all counters to 0.
    pub fn reset_activity(&mut self) {
        self.interpreter.reset_activity();
        self.compiled.reset_activity();
    }

    /// Snapshots of both.
    pub fn snapshots(&self) -> Snapshots {
        Snapshots { interpreter: self.interpreter.snapshot(), compiled: self.compiled.snapshot() }
    }

    /// Returns both to snapshots of the same circuit under the same options.
    pub fn restore(&mut self, snapshots: &Snapshots) -> Result<(), EngineError> {
        self.interpreter.restore(&snapshots.interpreter)?;
        self.compiled.restore(&snapshots.compiled)
    }

    fn equal_words(&self, name: &str, found: OutPort, expected: OutPort) -> Result<(), Unequal> {
        let (found, expected) = (self.compiled.get_words(found), self.interpreter.get_words(expected));
        if found == expected {
            return Ok(());
        }
        Err(self.unequal(name, format!("{found:x?}"), format!("{expected:x?}")))
    }

    fn equal<T: PartialEq + std::fmt::Debug>(
        &self,
        what: &str,
        found: T,
        expected: T,
    ) -> Result<(), Unequal> {
        if found == expected {
            return Ok(());
        }
        Err(self.unequal(what, format!("{found:?}"), format!("{expected:?}")))
    }

    fn unequal(&self, what: &str, found: String, expected: String) -> Unequal {
        Unequal { cycles: self.interpreter.cycle(), what: what.to_owned(), found, expected }
    }
}

/// Sizes of parts: too small for a part to ask for conditions, or large enough for that.
const PARTS: [u32; 2] = [8, 48];

/// Options from everything observed to as little as possible, half of them in parts that wait for changes.
pub fn option_sets(seed: u64) -> [Options; 5] {
    let base = Options { seed, zeroed: seed % 5 == 4, ..Options::default() };
    let smallest_part = Some(PARTS[(seed / 2 % 2) as usize]);
    let in_parts = Options { smallest_part, ..base.clone() };
    let (odd, even) = if seed % 2 == 1 { (in_parts, base) } else { (base, in_parts) };
    [
        Options { observe: Observe::All, check_invariants: true, count_toggles: true, ..odd.clone() },
        even.clone(),
        Options { count_activity: false, ..odd.clone() },
        Options { check_invariants: true, ..even },
        Options { observe: Observe::Scopes(vec!["child0".to_owned()]), count_toggles: true, ..odd },
    ]
}

fn output(engine: &dyn Engine, name: &str) -> Option<BigUint> {
    let port = engine.output(name).expect("an output of the circuit");
    engine.is_meaningful(port).then(|| engine.get_big(port))
}

/// What can be set and read of an engine.
struct Ports {
    inputs: Vec<InPort>,
    /// Signals by name.
    shown: Vec<(String, OutPort)>,
    /// Fields of rows by name.
    rows: Vec<(String, RowPort)>,
}

impl Ports {
    fn of(netlist: &Netlist, engine: &dyn Engine) -> Result<Ports, EngineError> {
        let inputs = inputs_of(netlist).map(|(name, _)| engine.input(name)).collect::<Result<_, _>>()?;
        let plan = engine.state().plan();
        let path = |scope: usize, name: &str| match plan.scopes[scope].path.as_str() {
            "" => name.to_owned(),
            scope => format!("{scope}.{name}"),
        };
        let signals = plan.signals.iter().map(|signal| (path(signal.scope, &signal.name), signal.value));
        let shown = signals.collect();
        let mut rows = Vec::new();
        for table in &plan.tables {
            for row in 0..table.depth {
                for field in &table.fields {
                    let place = plan.row(&table.path, row, &field.name)?;
                    rows.push((format!("{}[{row}].{}", table.path, field.name), place));
                }
            }
        }
        Ok(Ports { inputs, shown, rows })
    }

    fn apply(&self, engine: &mut dyn Engine, cycle: &Cycle) {
        engine.set_reset(cycle.reset);
        for (port, value) in self.inputs.iter().zip(&cycle.inputs) {
            engine.set_big(*port, value);
        }
    }
}
