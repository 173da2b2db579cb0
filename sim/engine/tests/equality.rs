//! The compiled engine beside the interpreter on random netlists: bit for bit, activity included.
//!
//! What an engine shows depends on its options: with everything observed, every signal; in production,
//! outputs where their qualifier holds, and state. Both are compared, in every cycle.

use proptest::prelude::*;
use warpfile_engine::{Compiled, Engine, EngineError, Interpreter, Observe, Options, OutPort};
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_hdl_random::{Case, Cycle, cases, config};

use crate::lockstep::{NAMED, NARROW, Outcome, WIDE, apply};

/// What can be read of an engine besides activity, by name.
struct Watch(Vec<(String, OutPort)>);

impl Watch {
    /// Every signal that the options of the engine keep, and every row of every table.
    fn everything(engine: &dyn Engine) -> Watch {
        let plan = engine.state().plan();
        let path = |scope: usize, name: &str| match plan.scopes[scope].path.as_str() {
            "" => name.to_owned(),
            scope => format!("{scope}.{name}"),
        };
        let mut watched: Vec<_> =
            plan.signals.iter().map(|signal| (path(signal.scope, &signal.name), signal.value)).collect();
        for table in &plan.tables {
            for row in 0..table.depth {
                for field in &table.fields {
                    let place = plan.row(&table.path, row, &field.name).expect("a row");
                    watched.push((format!("{}[{row}].{}", table.path, field.name), place));
                }
            }
        }
        Watch(watched)
    }
}

/// Both engines, and what is read of them.
struct Pair {
    interpreter: Interpreter,
    compiled: Compiled,
    expected: Watch,
    found: Watch,
}

impl Pair {
    fn new(netlist: &Netlist, options: &Options) -> Result<Pair, EngineError> {
        let interpreter = Interpreter::new(netlist, options)?;
        let compiled = Compiled::new(netlist, options)?;
        let (expected, found) = (Watch::everything(&interpreter), Watch::everything(&compiled));
        Ok(Pair { interpreter, compiled, expected, found })
    }

    fn apply(&mut self, cycle: &Cycle, netlist: &Netlist) {
        apply(cycle, netlist, &mut self.interpreter);
        apply(cycle, netlist, &mut self.compiled);
    }

    /// Values are compared where they are meaningful, and whether they are everywhere.
    fn compare(&self) -> Outcome {
        let cycle = self.interpreter.cycle();
        prop_assert_eq!(cycle, self.compiled.cycle());
        prop_assert_eq!(self.expected.0.len(), self.found.0.len());
        for ((name, expected), (found_name, found)) in self.expected.0.iter().zip(&self.found.0) {
            prop_assert_eq!(name, found_name);
            let meaningful = self.interpreter.is_meaningful(*expected);
            prop_assert_eq!(meaningful, self.compiled.is_meaningful(*found), "whether {} is valid", name);
            let (expected, found) = (self.interpreter.get_words(*expected), self.compiled.get_words(*found));
            prop_assert!(
                !meaningful || expected == found,
                "after {cycle} cycles: {name} is {found:x?} compiled, {expected:x?} interpreted"
            );
        }
        prop_assert_eq!(self.interpreter.violation(), self.compiled.violation());
        Ok(())
    }

    fn compare_activity(&self) -> Outcome {
        prop_assert_eq!(self.interpreter.activity(), self.compiled.activity());
        Ok(())
    }
}

/// Every kind of options, from everything observed to as little as possible.
fn option_sets(seed: u64) -> [Options; 5] {
    let base = Options { seed, zeroed: seed % 5 == 4, ..Options::default() };
    [
        Options { observe: Observe::All, check_invariants: true, count_toggles: true, ..base.clone() },
        base.clone(),
        Options { count_activity: false, ..base.clone() },
        Options { check_invariants: true, ..base.clone() },
        Options { observe: Observe::Scopes(vec!["child0".to_owned()]), count_toggles: true, ..base },
    ]
}

/// Runs `compare` under every kind of options; a failure says under which.
fn under_all_options(case: &Case, compare: impl Fn(&Case, Options) -> Outcome) -> Outcome {
    option_sets(case.seed).into_iter().try_for_each(|options| {
        let shown = format!("{options:?}");
        compare(case, options).map_err(|error| TestCaseError::fail(format!("{error}\n{shown}")))
    })
}

/// One step a cycle.
fn equal_in_every_cycle(case: &Case, options: Options) -> Outcome {
    let mut pair = Pair::new(&case.netlist, &options).expect("a sound netlist");
    pair.compare()?;
    for cycle in &case.cycles {
        pair.apply(cycle, &case.netlist);
        pair.interpreter.step();
        pair.compiled.step();
        pair.compare()?;
    }
    pair.compare_activity()
}

/// Many cycles at a call beside one step a cycle.
fn equal_after_many_cycles(case: &Case, options: Options) -> Outcome {
    let mut pair = Pair::new(&case.netlist, &options).expect("a sound netlist");
    for cycle in &case.cycles {
        pair.apply(cycle, &case.netlist);
        for _ in 0..cycle.times {
            pair.interpreter.step();
        }
        pair.compiled.run(cycle.times);
        pair.compare()?;
        pair.compare_activity()?;
    }
    Ok(())
}

/// The compiled engine goes back to a snapshot, another one goes on from it: both as the interpreter does.
fn equal_after_restoring(case: &Case, options: Options) -> Outcome {
    let (first, second) = case.cycles.split_at(case.cycles.len() / 2);
    let mut pair = Pair::new(&case.netlist, &options).expect("a sound netlist");
    let run = |pair: &mut Pair, cycles: &[Cycle]| -> Outcome {
        for cycle in cycles {
            pair.apply(cycle, &case.netlist);
            pair.interpreter.step();
            pair.compiled.step();
            pair.compare()?;
        }
        pair.compare_activity()
    };
    run(&mut pair, first)?;
    let (interpreted, compiled) = (pair.interpreter.snapshot(), pair.compiled.snapshot());
    run(&mut pair, second)?;
    pair.interpreter.restore(&interpreted).expect("its own snapshot");
    pair.compiled.restore(&compiled).expect("its own snapshot");
    pair.compare()?;
    run(&mut pair, second)?;

    let mut other = Pair::new(&case.netlist, &options).expect("a sound netlist");
    other.interpreter.restore(&interpreted).expect("a snapshot of the same circuit");
    other.compiled.restore(&compiled).expect("a snapshot of the same circuit");
    other.interpreter.reset_activity();
    other.compiled.reset_activity();
    run(&mut other, second)
}

proptest! {
    #![proptest_config(config(250))]

    #[test]
    fn compiled_circuits_equal_interpreted_ones_in_every_cycle(case in cases(NARROW, NAMED, 12)) {
        under_all_options(&case, equal_in_every_cycle)?;
    }
}

proptest! {
    #![proptest_config(config(60))]

    #[test]
    fn wide_values_are_equal_when_compiled(case in cases(WIDE, NAMED, 10)) {
        under_all_options(&case, equal_in_every_cycle)?;
    }

    #[test]
    fn many_cycles_at_once_equal_as_many_steps(case in cases(NARROW, NAMED, 8)) {
        under_all_options(&case, equal_after_many_cycles)?;
    }

    #[test]
    fn a_compiled_circuit_goes_on_from_a_snapshot(case in cases(NARROW, NAMED, 16)) {
        under_all_options(&case, equal_after_restoring)?;
    }
}
