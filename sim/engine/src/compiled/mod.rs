//! The production engine: the plan as machine code.
//!
//! [`simplify`] rewrites what has a cheaper form, [`graph`] finds who computes what, [`guards`] under which
//! conditions it is needed, [`schedule`] puts instructions with one guard together, [`segments`] cuts the schedule into
//! stretches that run under a condition, and [`emit`] turns these into one function: clock edge, inputs, settling,
//! counting, as often as cycles are asked for. Where a circuit has many equal parts, [`instances`] has their code made
//! once. If outputs are to be foreseen, a second function does the edge, and no
//! more than they need. Narrow values live in machine registers. Wide ones are pointers: to their
//! place in the arena, to a row, or to whichever of two a multiplexer selects; what the function leaves behind for the
//! edge and for readers is in the arena, where the interpreter has it too.

#[expect(unsafe_code, reason = "machine code is made and freed here")]
mod code;
mod emit;
mod graph;
mod guards;
mod instances;
#[expect(unsafe_code, reason = "called by machine code with addresses")]
mod kernels;
mod ranges;
mod schedule;
mod segments;
mod simplify;

use std::sync::Arc;

use warpfile_hdl::rtl::netlist::Netlist;

use crate::plan::Plan;
use crate::{Engine, EngineError, Options, State};
pub(crate) use code::Call;
use code::Code;
use emit::Slots;
use graph::{Graph, Readers};
use instances::Instances;
use segments::Segments;

/// Runs a circuit as machine code.
#[derive(Clone, Debug)]
pub struct Compiled {
    state: State,
    code: Arc<Code>,
    /// What works out the foreseen outputs; `None` if there are none.
    foresight: Option<Arc<Code>>,
}

impl Compiled {
    /// Compiles a netlist, in its initial state.
    pub fn new(netlist: &Netlist, options: &Options) -> Result<Compiled, EngineError> {
        let mut plan = Plan::new(netlist, options)?;
        simplify::simplify(&mut plan);
        let instances = Instances::arrange(&mut plan, options.share_code);
        let cycle = Body::new(&mut plan, Readers::OfCycle, instances.as_ref());
        let foresight = (!plan.foreseen.is_empty()).then(|| Body::new(&mut plan, Readers::OfForeseen, None));
        // A vector loaded at the end of a column may reach beyond it.
        plan.arena_words += 2;
        let plan = Arc::new(plan);
        let code = emit::compile_cycles(&plan, &cycle, instances.as_ref())?;
        let foresee = foresight
            .as_ref()
            .map(|foresight| emit::compile_foresight(&plan, foresight, &cycle, instances.as_ref()));
        let mut state = State::new(plan, options);
        for body in foresight.iter().chain([&cycle]) {
            body.slots.initialise(state.settling().1);
        }
        Ok(Compiled { state, code: Arc::new(code), foresight: foresee.transpose()?.map(Arc::new) })
    }

    /// Runs cycles, none or all of them under reset.
    #[inline]
    #[expect(unsafe_code, reason = "machine code is called here")]
    fn call(&mut self, cycles: u64) {
        let call = self.state.call(cycles);
        // SAFETY: the code was compiled for this state's plan, and `call` points to its arena, inputs and
        // counters, which nothing else uses meanwhile.
        unsafe { self.code.run(call) };
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
            self.call(left);
        }
    }
}

/// What a function works out, in which order and under which conditions, and where pointers are kept in between.
struct Body {
    readers: Readers,
    segments: Segments,
    slots: Slots,
}

impl Body {
    /// Schedules what `readers` need, with one code for all instances if there are any; makes room for the slots in the
    /// plan's arena.
    fn new(plan: &mut Plan, readers: Readers, instances: Option<&Instances>) -> Body {
        let graph = Graph::new(plan, readers);
        let guards = guards::guards(&graph, instances);
        let order = schedule::schedule(&graph, &guards, instances);
        assert_eq!(order.len(), guards.iter().flatten().count(), "instructions that wait for each other");
        let segments = Segments::new(&graph, &order, instances);
        let slots = Slots::new(&graph, &segments, instances);
        plan.arena_words = slots.end();
        Body { readers, segments, slots }
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
        let Some(foresight) = &self.foresight else { return };
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
