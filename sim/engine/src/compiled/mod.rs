//! The production engine: the plan as machine code.
//!
//! [`simplify`] rewrites what has a cheaper form, [`graph`] finds who computes what, [`guards`] under which
//! conditions it is needed, [`schedule`] puts instructions with one guard together, [`segments`] cuts the schedule into
//! stretches that run under a condition, and [`emit`] turns these into one function: clock edge, inputs, settling,
//! counting, as often as cycles are asked for. Where a circuit has many equal parts, [`instances`] has their code made
//! once. If outputs are to be foreseen, a second function does the edge, and no more than they need. Narrow values live in
//! machine registers. Wide ones are pointers: to their place in the arena, to a row, or to whichever of two a multiplexer
//! selects; what the function leaves behind for the edge and for readers is in the arena, where the interpreter has it too.
//!
//! All of it is done again when some cycles have been run, with what [`profile`] has seen of conditions by then.

#[expect(unsafe_code, reason = "machine code is made and freed here")]
mod code;
mod emit;
mod graph;
mod guards;
mod instances;
#[expect(unsafe_code, reason = "called by machine code with addresses")]
mod kernels;
mod profile;
mod ranges;
mod schedule;
mod segments;
mod simplify;

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use warpfile_hdl::rtl::netlist::Netlist;

use crate::plan::Plan;
use crate::{Engine, EngineError, Options, State, interpreter};
pub(crate) use code::Call;
use code::Code;
use emit::{Reserved, Slots};
use graph::{Graph, Readers};
use instances::Instances;
use profile::{Looker, Next, Profile};
use segments::Segments;

/// Runs a circuit as machine code.
#[derive(Clone, Debug)]
pub struct Compiled {
    state: State,
    machine: Arc<Machine>,
    /// Cycles that can be run before one is looked at.
    unseen: u64,
    /// What looks at cycles, as long as there is something to learn.
    learning: Option<Box<Learning>>,
}

/// What the circuit is compiled again for.
#[derive(Clone, Debug)]
struct Learning {
    blueprint: Blueprint,
    looker: Looker,
    /// The code that is made then, once for all engines that have been cloned from one.
    learnt: Arc<OnceLock<Arc<Machine>>>,
}

/// What the code of a plan is made from, besides the plan.
#[derive(Clone, Debug)]
struct Blueprint {
    instances: Option<Instances>,
    reserved: Reserved,
}

/// The code of a plan.
#[derive(Debug)]
struct Machine {
    cycle: Code,
    /// What works out the foreseen outputs; `None` if there are none.
    foresight: Option<Code>,
}

impl Blueprint {
    /// Rewrites and arranges a plan so that code can be made for it.
    fn new(plan: &mut Plan, options: &Options) -> Blueprint {
        simplify::simplify(plan);
        let instances = Instances::arrange(plan, options.share_code);
        let reserved = Reserved::new(plan, instances.as_ref());
        // A vector loaded at the end of a column may reach beyond it.
        plan.arena_words += 2;
        Blueprint { instances, reserved }
    }

    /// Makes code, with what is known of conditions.
    fn compile(&self, plan: &Arc<Plan>, profile: Option<&Profile>) -> Result<Machine, EngineError> {
        let instances = self.instances.as_ref();
        let cycle = self.body(plan, Readers::OfCycle, instances, profile);
        let code = emit::compile_cycles(plan, &cycle, instances, profile)?;
        let foresight = (!plan.foreseen.is_empty()).then(|| {
            let foresight = self.body(plan, Readers::OfForeseen, None, profile);
            emit::compile_foresight(plan, &foresight, &cycle, instances, profile)
        });
        Ok(Machine { cycle: code, foresight: foresight.transpose()? })
    }

    /// Schedules what `readers` need, with one code for all instances if there are any.
    fn body(
        &self,
        plan: &Plan,
        readers: Readers,
        instances: Option<&Instances>,
        profile: Option<&Profile>,
    ) -> Body {
        let graph = Graph::new(plan, readers);
        let guards = guards::guards(&graph, instances, profile);
        let order = schedule::schedule(&graph, &guards, instances);
        assert_eq!(order.len(), guards.iter().flatten().count(), "instructions that wait for each other");
        let segments = Segments::new(&graph, &order, instances);
        let slots = Slots::new(&graph, &segments, &self.reserved, instances);
        Body { readers, segments, slots }
    }

    /// Places of all conditions that code could ask for.
    fn conditions(&self, plan: &Plan) -> BTreeSet<u32> {
        let of_cycle = Graph::new(plan, Readers::OfCycle);
        let of_foreseen = Graph::new(plan, Readers::OfForeseen);
        let mut places = guards::conditions(&of_cycle, self.instances.as_ref());
        places.extend(guards::conditions(&of_foreseen, None));
        places
    }
}

/// What a function works out, in which order and under which conditions, and where pointers are kept in between.
struct Body {
    readers: Readers,
    segments: Segments,
    slots: Slots,
}

impl Compiled {
    /// Compiles a netlist, in its initial state.
    pub fn new(netlist: &Netlist, options: &Options) -> Result<Compiled, EngineError> {
        let mut plan = Plan::new(netlist, options)?;
        let blueprint = Blueprint::new(&mut plan, options);
        let plan = Arc::new(plan);
        let machine = Arc::new(blueprint.compile(&plan, None)?);
        let mut state = State::new(plan, options);
        blueprint.reserved.initialise(state.settling().1);
        let looker = Looker::new(options.recompile_after);
        let unseen = looker.as_ref().map_or(u64::MAX, Looker::apart);
        let learnt = Arc::default();
        let learning = looker.map(|looker| Box::new(Learning { blueprint, looker, learnt }));
        Ok(Compiled { state, machine, unseen, learning })
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

    /// Runs cycles of which some are looked at.
    #[cold]
    fn run_and_look(&mut self, cycles: u64) {
        let mut left = cycles;
        while left > 0 {
            let unseen = left.min(self.unseen);
            if unseen > 0 {
                self.call(unseen);
                self.unseen -= unseen;
                left -= unseen;
            } else {
                self.look();
                left -= 1;
            }
        }
    }

    /// Interprets a cycle and looks at its conditions; compiles again when enough have been seen. What compiled code
    /// finds in the arena then is what it would have left there.
    fn look(&mut self) {
        self.unseen = u64::MAX;
        let Some(learning) = &mut self.learning else { return self.call(1) };
        self.state.begin_cycle();
        let (plan, arena) = self.state.settling();
        interpreter::settle(plan, arena);
        let next = learning.looker.look(arena, || learning.blueprint.conditions(plan));
        self.state.end_cycle();
        let learnt = match (learning.learnt.get(), next) {
            (Some(machine), _) => Some(machine.clone()),
            (None, Next::Run(cycles)) => {
                self.unseen = cycles;
                return;
            }
            // Code that could be made once can be made again; if not, the first goes on.
            (None, Next::Done(profile)) => {
                let machine = learning.blueprint.compile(self.state.shared_plan(), Some(&profile)).ok();
                machine.map(|machine| learning.learnt.get_or_init(|| Arc::new(machine)).clone())
            }
        };
        self.machine = learnt.unwrap_or_else(|| self.machine.clone());
        self.learning = None;
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
        } else if cycles > self.unseen {
            self.run_and_look(cycles);
        } else if cycles > 0 {
            self.unseen -= cycles;
            self.call(cycles);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfile_hdl::library::library;

    /// A FIFO that is compiled again after so many cycles.
    fn fifo(recompile_after: u64) -> Compiled {
        let entry =
            library().into_iter().find(|entry| entry.name == "fifo").expect("a circuit of the library");
        let netlist = entry.elaborate_with(&entry.odd[0]).expect("sound parameters");
        Compiled::new(&netlist, &Options { recompile_after, ..Options::default() }).expect("a sound netlist")
    }

    #[test]
    fn code_is_made_again_once_and_never_if_nobody_asks() {
        for (recompile_after, by) in [(0, 1), (8, 12), (100, 144)] {
            let mut engine = fifo(recompile_after);
            let first = engine.machine.clone();
            engine.run(by - 1);
            assert!(Arc::ptr_eq(&first, &engine.machine), "{recompile_after}: too early");
            engine.step();
            let second = engine.machine.clone();
            assert!(!Arc::ptr_eq(&first, &second), "{recompile_after}: not by cycle {by}");
            engine.run(1000);
            assert!(Arc::ptr_eq(&second, &engine.machine) && engine.learning.is_none());
        }
        let mut engine = fifo(u64::MAX);
        let first = engine.machine.clone();
        engine.run(1000);
        assert!(Arc::ptr_eq(&first, &engine.machine));
    }

    #[test]
    fn engines_cloned_from_one_take_the_code_that_the_first_of_them_makes() {
        let mut engine = fifo(8);
        let mut clone = engine.clone();
        engine.run(100);
        // It comes to its first cycle that is looked at.
        clone.run(3);
        assert!(Arc::ptr_eq(&engine.machine, &clone.machine) && clone.learning.is_none());
        clone.run(97);
        assert_eq!(clone.cycle(), engine.cycle());
    }
}
