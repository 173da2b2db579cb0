//! A circuit run twice, with different values in the state that has no reset: what its outputs tell of that is a missing
//! reset.

use num_bigint::BigUint;

use crate::plan::OutPort;
use crate::{Engine, Interpreter, Options};

/// The circuit of another engine, with what has no reset filled from another seed, run on the same inputs.
#[derive(Clone, Debug)]
pub struct Twin {
    engine: Interpreter,
    outputs: Vec<(String, OutPort)>,
}

/// An output that depends on state without a reset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "output `{output}` depends on state that has no reset: in cycle {cycle} it is {value:#x} with seed {seed} and \
     {other:#x} with seed {other_seed}"
)]
pub struct MissingReset {
    /// The output.
    pub output: String,
    /// Cycle of the circuit.
    pub cycle: u64,
    /// Its value, and what the state was filled from.
    pub value: BigUint,
    /// As [`Options::seed`].
    pub seed: u64,
    /// Its value in the twin.
    pub other: BigUint,
    /// As [`Options::seed`].
    pub other_seed: u64,
}

impl Twin {
    /// Of a circuit that has not run yet.
    pub fn new(engine: &dyn Engine, seed: u64) -> Twin {
        let state = engine.state();
        let outputs = state.plan().output_ports().collect();
        let options = Options { seed, ..Options::default() };
        Twin { engine: Interpreter::of_plan(state.shared_plan().clone(), &options), outputs }
    }

    /// Runs the cycle that `engine` has run last, if it has not yet, and compares what outputs show where it means
    /// something.
    ///
    /// # Errors
    /// The first output that differs.
    pub fn follow(&mut self, engine: &dyn Engine) -> Result<(), MissingReset> {
        if engine.cycle() == self.engine.cycle() {
            return Ok(());
        }
        self.engine.state_mut().take_inputs(engine.state());
        self.engine.step();
        for (name, port) in &self.outputs {
            let port = *port;
            let [ours, theirs] = [engine, &self.engine].map(|engine| engine.is_meaningful(port));
            let differ = engine.get_words(port) != self.engine.get_words(port);
            if ours != theirs || (ours && differ) {
                return Err(MissingReset {
                    output: name.clone(),
                    cycle: engine.cycle() - 1,
                    value: engine.get_big(port),
                    seed: engine.state().seed(),
                    other: self.engine.get_big(port),
                    other_seed: self.engine.state().seed(),
                });
            }
        }
        Ok(())
    }
}
