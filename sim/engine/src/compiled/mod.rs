//! The production engine: the plan as machine code.
//!
//! [`blueprint`] has it made: [`simplify`] rewrites what has a cheaper form, [`graph`] finds who computes what, [`guards`]
//! under which conditions it is needed, [`schedule`] puts instructions with one guard together, [`segments`] cuts the
//! schedule into stretches that run under a condition, and [`emit`] turns these into one function: clock edge, inputs,
//! settling, counting, as often as cycles are asked for. Where a circuit has many equal parts, [`instances`] has their code
//! made once. If outputs are to be foreseen, a second function does the edge, and no more than they need. Narrow values
//! live in machine registers. Wide ones are pointers: to their place in the arena, to a row, or to whichever of two a
//! multiplexer selects; what the function leaves behind for the edge and for readers is in the arena, where the interpreter
//! has it too.
//!
//! All of it is done again when some cycles have been run, with what [`profile`] has seen of conditions by then, and
//! [`trial`] finds out which code is the fastest, and where.

mod blueprint;
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
mod trial;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use warpfile_hdl::rtl::netlist::Netlist;

use crate::plan::Plan;
use crate::{Engine, EngineError, Options, State, interpreter};
use blueprint::{Blueprint, Machine};
pub(crate) use code::Call;
use emit::TUNINGS;
use profile::{Looker, Next, Profile};
use trial::{Trial, Turn};

/// Runs a circuit as machine code.
#[derive(Clone, Debug)]
pub struct Compiled {
    state: State,
    machine: Machine,
    /// Cycles that can be run before something is to be found out in one.
    unseen: u64,
    search: Search,
}

/// What is to be found out while a circuit runs.
#[derive(Clone, Debug)]
enum Search {
    /// How often conditions hold.
    Conditions(Box<Learning>),
    /// Which code is the fastest, of that which is still to be made.
    Ways(Arc<Learnt>),
    /// Which code is the fastest.
    Fastest(Box<Trial>, Arc<[Machine]>),
    /// Nothing any more.
    Over,
}

/// What the circuit is compiled again for.
#[derive(Clone, Debug)]
struct Learning {
    blueprint: Blueprint,
    looker: Looker,
    /// What is found out, once for all engines that have been cloned from one.
    learnt: Arc<OnceLock<Arc<Learnt>>>,
}

/// What has been found out of conditions, and code that is made with it.
#[derive(Debug)]
struct Learnt {
    blueprint: Blueprint,
    profile: Profile,
    /// Cycles until about when it was found out.
    cycles: u64,
    /// The code from before.
    first: Machine,
    /// What was made again at once.
    again: Vec<Machine>,
    /// All code, once it is to be tried out which is the fastest.
    all: OnceLock<Arc<[Machine]>>,
}

impl Learnt {
    /// All code, each way at one place before any is there at a second; what cannot be made is left out.
    fn machines(&self, plan: &Arc<Plan>) -> Arc<[Machine]> {
        let make = || {
            let other = self.blueprint.compile_again(plan, &self.profile, TUNINGS[1]).unwrap_or_default();
            let places = (0..self.again.len()).flat_map(|place| [self.again.get(place), other.get(place)]);
            [Some(&self.first)].into_iter().chain(places).flatten().cloned().collect()
        };
        self.all.get_or_init(make).clone()
    }
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
        let looker = Looker::new(options.recompile_after);
        let unseen = looker.as_ref().map_or(u64::MAX, Looker::apart);
        let learning = looker.map(|looker| Box::new(Learning { blueprint, looker, learnt: Arc::default() }));
        Ok(Compiled { state, machine, unseen, search: learning.map_or(Search::Over, Search::Conditions) })
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

    /// Runs cycles, in some of which something is to be found out.
    #[cold]
    fn run_and_search(&mut self, cycles: u64) {
        let mut left = cycles;
        while left > 0 {
            let unseen = left.min(self.unseen);
            if unseen > 0 {
                self.call(unseen);
                self.unseen -= unseen;
                left -= unseen;
                continue;
            }
            // What comes next is put back unless it is over.
            self.unseen = u64::MAX;
            left -= match std::mem::replace(&mut self.search, Search::Over) {
                Search::Conditions(learning) => self.look(learning),
                Search::Ways(learnt) => self.begin_trials(&learnt),
                Search::Fastest(trial, machines) => self.try_out(trial, machines, left),
                Search::Over => 0,
            };
        }
    }

    /// Interprets a cycle. What compiled code finds in the arena then is what it would have left there.
    fn interpret(&mut self) {
        self.state.begin_cycle();
        let (plan, arena) = self.state.settling();
        interpreter::settle(plan, arena);
        self.state.end_cycle();
    }

    /// Interprets a cycle and looks at its conditions; compiles again when enough have been seen. Returns 1 cycle.
    fn look(&mut self, mut learning: Box<Learning>) -> u64 {
        self.interpret();
        let (plan, arena) = self.state.settling();
        let next = learning.looker.look(arena, || learning.blueprint.conditions(plan));
        let learnt = match (learning.learnt.get(), next) {
            (Some(learnt), _) => Some(learnt.clone()),
            (None, Next::Run(cycles)) => {
                self.unseen = cycles;
                self.search = Search::Conditions(learning);
                return 1;
            }
            // Code that could be made once can be made again; if not, the first goes on.
            (None, Next::Done(profile)) => {
                let plan = self.state.shared_plan();
                let again = learning.blueprint.compile_again(plan, &profile, TUNINGS[0]).ok();
                again.map(|again| {
                    let (blueprint, first) = (learning.blueprint.clone(), self.machine.clone());
                    let cycles = learning.looker.cycles();
                    let learnt = Learnt { blueprint, profile, cycles, first, again, all: OnceLock::new() };
                    learning.learnt.get_or_init(|| Arc::new(learnt)).clone()
                })
            }
        };
        // What was made again goes on until a trial is worth its price.
        if let Some(learnt) = learnt {
            self.machine = learnt.again[0].clone();
            self.unseen = (trial::FIRST_AFTER - 1).saturating_mul(learnt.cycles);
            self.search = Search::Ways(learnt);
        }
        1
    }

    /// Has all code made that is to be tried. Returns 0 cycles.
    fn begin_trials(&mut self, learnt: &Learnt) -> u64 {
        let machines = learnt.machines(self.state.shared_plan());
        let trial = Trial::new(machines.len(), learnt.cycles);
        self.unseen = 0;
        self.search = Search::Fastest(Box::new(trial), machines);
        0
    }

    /// Runs so many cycles or fewer of a trial. At its end the fastest code goes on; what that is may change, with what the
    /// circuit does and with what else the machine does, and so there is another trial later. Returns how many.
    fn try_out(&mut self, mut trial: Box<Trial>, machines: Arc<[Machine]>, cycles: u64) -> u64 {
        self.unseen = 0;
        let ran = match trial.next() {
            Turn::Begins(code) => {
                self.machine = machines[code].clone();
                self.interpret();
                trial.ran(1, Duration::ZERO);
                1
            }
            Turn::GoesOn(left) => {
                let cycles = cycles.min(left);
                let start = Instant::now();
                self.call(cycles);
                trial.ran(cycles, start.elapsed());
                cycles
            }
            Turn::IsOver { fastest, pause } => {
                self.machine = machines[fastest].clone();
                self.interpret();
                self.unseen = pause;
                1
            }
        };
        self.search = Search::Fastest(trial, machines);
        ran
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
            self.run_and_search(cycles);
        } else if cycles > 0 {
            self.unseen -= cycles;
            self.call(cycles);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::blueprint::PLACES;
    use super::*;
    use warpfile_hdl::library::library;

    /// A FIFO that is compiled again after so many cycles.
    fn fifo(recompile_after: u64) -> Compiled {
        let entry =
            library().into_iter().find(|entry| entry.name == "fifo").expect("a circuit of the library");
        let netlist = entry.elaborate_with(&entry.odd[0]).expect("sound parameters");
        Compiled::new(&netlist, &Options { recompile_after, ..Options::default() }).expect("a sound netlist")
    }

    /// Where the code lies that an engine runs.
    fn place(engine: &Compiled) -> usize {
        engine.machine.cycle.address()
    }

    #[test]
    fn code_is_made_again_by_the_cycle_asked_for_and_never_if_nobody_asks() {
        for (recompile_after, by) in [(0, 1), (8, 12), (100, 144)] {
            let mut engine = fifo(recompile_after);
            engine.run(by - 1);
            assert!(matches!(engine.search, Search::Conditions(_)), "{recompile_after}: too early");
            engine.step();
            assert!(matches!(engine.search, Search::Ways(_)), "{recompile_after}: not by cycle {by}");
        }
        let mut engine = fifo(u64::MAX);
        let first = place(&engine);
        engine.run(1000);
        assert_eq!(place(&engine), first);
        assert!(matches!(engine.search, Search::Over));
    }

    #[test]
    fn all_places_of_code_are_tried_with_the_first_code_among_them() {
        let mut engine = fifo(8);
        let mut tried = BTreeSet::from([place(&engine)]);
        engine.run(12);
        for _ in 0..200 {
            engine.step();
            tried.insert(place(&engine));
        }
        assert_eq!(tried.len(), 1 + TUNINGS.len() * PLACES);
    }

    #[test]
    fn trials_become_rare() {
        let mut engine = fifo(8);
        let mut changes = Vec::new();
        for cycle in 0..100_000 {
            let before = place(&engine);
            engine.step();
            changes.extend((place(&engine) != before).then_some(cycle));
        }
        let late = changes.iter().filter(|&&cycle| cycle >= 50_000).count();
        assert!(late > 0, "none after the first trials");
        assert!(late < changes.len() / 5, "{late} of {} changes", changes.len());
    }

    #[test]
    fn engines_cloned_from_one_take_the_code_that_the_first_of_them_makes() {
        let mut engine = fifo(8);
        let mut clone = engine.clone();
        engine.run(1000);
        // It comes to its first cycle that is looked at, and then to its first trial.
        clone.run(40);
        let (Search::Fastest(_, machines), Search::Fastest(_, of_clone)) = (&engine.search, &clone.search)
        else {
            panic!("nothing is tried");
        };
        assert!(Arc::ptr_eq(machines, of_clone));
        clone.run(960);
        assert_eq!(clone.cycle(), engine.cycle());
    }
}
