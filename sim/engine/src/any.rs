//! Either engine, chosen when a circuit is prepared.

use crate::{Compiled, Engine, EngineError, Interpreter, Options, State};
use warpfile_hdl::rtl::netlist::Netlist;

/// Either engine.
#[derive(Clone)]
pub enum AnyEngine {
    /// The interpreter.
    Interpreter(Interpreter),
    /// The compiled engine.
    Compiled(Compiled),
}

impl AnyEngine {
    /// A circuit for the interpreter.
    ///
    /// # Errors
    /// An option names what the circuit does not have.
    pub fn interpreter(netlist: &Netlist, options: &Options) -> Result<AnyEngine, EngineError> {
        Interpreter::new(netlist, options).map(AnyEngine::Interpreter)
    }

    /// A circuit for the compiled engine.
    ///
    /// # Errors
    /// As [`AnyEngine::interpreter`]; or the code cannot be made.
    pub fn compiled(netlist: &Netlist, options: &Options) -> Result<AnyEngine, EngineError> {
        Compiled::new(netlist, options).map(AnyEngine::Compiled)
    }
}

impl Engine for AnyEngine {
    #[inline]
    fn state(&self) -> &State {
        match self {
            AnyEngine::Interpreter(engine) => engine.state(),
            AnyEngine::Compiled(engine) => engine.state(),
        }
    }

    #[inline]
    fn state_mut(&mut self) -> &mut State {
        match self {
            AnyEngine::Interpreter(engine) => engine.state_mut(),
            AnyEngine::Compiled(engine) => engine.state_mut(),
        }
    }

    #[inline]
    fn step(&mut self) {
        match self {
            AnyEngine::Interpreter(engine) => engine.step(),
            AnyEngine::Compiled(engine) => engine.step(),
        }
    }

    #[inline]
    fn foresee(&mut self) {
        match self {
            AnyEngine::Interpreter(engine) => engine.foresee(),
            AnyEngine::Compiled(engine) => engine.foresee(),
        }
    }

    fn run(&mut self, cycles: u64) {
        match self {
            AnyEngine::Interpreter(engine) => engine.run(cycles),
            AnyEngine::Compiled(engine) => engine.run(cycles),
        }
    }
}
