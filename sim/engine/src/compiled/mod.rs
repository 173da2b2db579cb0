//! The production engine: the plan as machine code.

use warpfile_hdl::rtl::netlist::Netlist;

use crate::{Engine, EngineError, Interpreter, Options, State};

/// Runs a circuit as machine code.
#[derive(Clone, Debug)]
pub struct Compiled {
    inner: Interpreter,
}

impl Compiled {
    /// Compiles a netlist, in its initial state.
    pub fn new(netlist: &Netlist, options: &Options) -> Result<Compiled, EngineError> {
        Ok(Compiled { inner: Interpreter::new(netlist, options)? })
    }
}

impl Engine for Compiled {
    fn state(&self) -> &State {
        self.inner.state()
    }

    fn state_mut(&mut self) -> &mut State {
        self.inner.state_mut()
    }

    fn step(&mut self) {
        self.inner.step();
    }
}
