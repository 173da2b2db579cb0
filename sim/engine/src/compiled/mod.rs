//! The production engine: the plan as machine code.
//!
//! [`blueprint`] has it made: [`simplify`] rewrites what has a cheaper form, [`graph`] finds who computes what,
//! [`guards`] under which conditions it is needed, [`parts`] what of a large circuit waits for a change, [`schedule`]
//! puts instructions with one guard together, [`segments`] cuts the schedule into stretches that run under a condition,
//! [`scattered`] finds what several of these would work out again, and [`emit`] turns these into one function: clock
//! edge, inputs that have changed, settling, counting, as often as cycles are asked for; what is equal but for places
//! is emitted once. If outputs are to be foreseen, a second function does the edge, and no more than they need. Narrow
//! values live in machine registers. Wide ones are pointers: to their place in the arena, to a row, or to whichever of
//! two a multiplexer selects; what the function leaves behind for the edge and for readers is in the arena, where the
//! interpreter has it too. What runs is decided by the netlist alone.

mod blueprint;
#[expect(unsafe_code, reason = "machine code is made and freed here")]
mod code;
mod emit;
mod graph;
mod guards;
#[expect(unsafe_code, reason = "called by machine code with addresses")]
mod kernels;
mod parts;
mod ranges;
mod scattered;
mod schedule;
mod segments;
mod simplify;

use std::sync::Arc;

use warpfile_hdl::rtl::netlist::Netlist;

use crate::plan::Plan;
use crate::{Engine, EngineError, Options, State};
use blueprint::{Blueprint, Machine};
pub(crate) use code::Call;

/// Runs a circuit as machine code.
#[derive(Clone, Debug)]
pub struct Compiled {
    state: State,
    machine: Machine,
}

impl Compiled {
    /// Compiles a netlist, in its initial state.
    pub fn new(netlist: &Netlist, options: &Options) -> Result<Compiled, EngineError> {
        let mut plan = Plan::new(netlist, options)?;
        let blueprint = Blueprint::new(&mut plan, options);
        let plan = Arc::new(plan);
        let machine = blueprint.compile(&plan)?;
        let mut state = State::new(plan, options);
        blueprint.reserved.initialise(state.settling().1);
        Ok(Compiled { state, machine })
    }

    /// Runs cycles, none or all of them under reset.
    #[inline]
    #[expect(unsafe_code, reason = "machine code is called here")]
    fn call(&mut self, cycles: u64) {
        let call = self.state.call(cycles);
        // SAFETY: the code was compiled for this state's plan, and `call` points to its arena, inputs and
        // counters, which nothing else uses meanwhile.
        unsafe { self.machine.cycle.run(call) };
        self.state.called(cycles);
    }

    /// Runs cycles one by one as long as each has to be looked at by itself.
    #[cold]
    fn run_with_care(&mut self, cycles: u64) {
        let mut left = cycles;
        while left > 0 && self.state.needs_care() {
            self.state.apply_reset_edge();
            self.call(1);
            left -= 1;
        }
        if left > 0 {
            self.run(left);
        }
    }
}

impl Engine for Compiled {
    #[inline]
    fn state(&self) -> &State {
        &self.state
    }

    #[inline]
    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    #[inline]
    fn step(&mut self) {
        self.run(1);
    }

    #[expect(unsafe_code, reason = "machine code is called here")]
    fn foresee(&mut self) {
        self.state.apply_reset_edge();
        let Some(foresight) = &self.machine.foresight else { return };
        let call = self.state.call(1);
        // SAFETY: as for a cycle.
        unsafe { foresight.run(call) };
        self.state.foreseen();
    }

    #[inline]
    fn run(&mut self, cycles: u64) {
        if self.state.needs_care() {
            self.run_with_care(cycles);
        } else if cycles > 0 {
            self.call(cycles);
        }
    }
}
