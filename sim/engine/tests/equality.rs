//! The compiled engine beside the interpreter on random netlists.

use proptest::prelude::*;
use warpfile_engine::Options;
use warpfile_hdl::rtl::netlist::Direction;
use warpfile_random::{Beside, Case, Cycle, Unequal, cases, config, option_sets};

use crate::lockstep::{NAMED, NARROW, Outcome, WIDE};

/// Runs `compare` under every kind of options; a failure says under which.
fn under_all_options(case: &Case, compare: impl Fn(&Case, Beside) -> Result<(), Unequal>) -> Outcome {
    option_sets(case.seed).into_iter().try_for_each(|options| {
        compare(case, beside(case, &options))
            .map_err(|error| TestCaseError::fail(format!("{error}\n{options:?}")))
    })
}

fn beside(case: &Case, options: &Options) -> Beside {
    Beside::new(&case.netlist, options).expect("a sound netlist")
}

fn equal_in_every_cycle(case: &Case, mut engines: Beside) -> Result<(), Unequal> {
    engines.compare()?;
    step_through(&mut engines, &case.cycles)
}

fn step_through(engines: &mut Beside, cycles: &[Cycle]) -> Result<(), Unequal> {
    for cycle in cycles {
        engines.apply(cycle);
        engines.step();
        engines.compare()?;
    }
    engines.compare_activity()
}

fn equal_after_many_cycles(case: &Case, mut engines: Beside) -> Result<(), Unequal> {
    for cycle in &case.cycles {
        engines.apply(cycle);
        engines.run(cycle.times);
        engines.compare()?;
        engines.compare_activity()?;
    }
    Ok(())
}

/// The engines go back to a snapshot, and others go on from it with new counters.
fn equal_after_restoring(case: &Case, mut engines: Beside, mut others: Beside) -> Result<(), Unequal> {
    let (first, second) = case.cycles.split_at(case.cycles.len() / 2);
    step_through(&mut engines, first)?;
    let middle = engines.snapshots();
    step_through(&mut engines, second)?;
    engines.restore(&middle).expect("their own snapshots");
    engines.compare()?;
    step_through(&mut engines, second)?;

    others.restore(&middle).expect("snapshots of the same circuit");
    others.reset_activity();
    step_through(&mut others, second)
}

/// In every other cycle inputs stay as they were when outputs were foreseen; in the others they change.
fn equal_with_foresight(case: &Case, mut engines: Beside, outputs: &[String]) -> Result<(), Unequal> {
    for (index, cycle) in case.cycles.iter().enumerate() {
        let keeps_inputs = index % 2 == 0;
        engines.apply(if keeps_inputs { cycle } else { &case.cycles[index / 2] });
        let foreseen = engines.foresee(outputs)?;
        engines.apply(cycle);
        engines.step();
        engines.compare()?;
        if keeps_inputs {
            for (name, foreseen) in outputs.iter().zip(foreseen) {
                assert_eq!(foreseen, engines.output(name), "{name} of cycle {index}, foreseen and run");
            }
        }
    }
    engines.compare_activity()
}

/// Outputs of the outermost module: all of them, or one.
fn some_outputs(case: &Case) -> Vec<String> {
    let ports = &case.netlist.modules[case.netlist.top.index()].ports;
    let outputs = ports.iter().filter(|port| port.direction == Direction::Output);
    let count = if case.seed.is_multiple_of(2) { usize::MAX } else { 1 };
    outputs.map(|port| port.name.clone()).take(count).collect()
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
    fn outputs_are_foreseen_and_change_nothing(case in cases(NARROW, NAMED, 10)) {
        let foreseen = some_outputs(&case);
        for options in option_sets(case.seed) {
            let options = Options { foreseen: foreseen.clone(), ..options };
            equal_with_foresight(&case, beside(&case, &options), &foreseen)
                .map_err(|error| TestCaseError::fail(format!("{error}\n{options:?}")))?;
        }
    }

    #[test]
    fn wide_outputs_are_foreseen(case in cases(WIDE, NAMED, 8)) {
        let foreseen = some_outputs(&case);
        let smallest_part = (case.seed % 2 == 0).then_some(8);
        let options = Options { seed: case.seed, foreseen: foreseen.clone(), smallest_part, ..Options::default() };
        equal_with_foresight(&case, beside(&case, &options), &foreseen)
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
    }

    #[test]
    fn many_cycles_at_once_equal_as_many_steps(case in cases(NARROW, NAMED, 8)) {
        under_all_options(&case, equal_after_many_cycles)?;
    }

    #[test]
    fn a_compiled_circuit_goes_on_from_a_snapshot(case in cases(NARROW, NAMED, 16)) {
        for options in option_sets(case.seed) {
            equal_after_restoring(&case, beside(&case, &options), beside(&case, &options))
                .map_err(|error| TestCaseError::fail(format!("{error}\n{options:?}")))?;
        }
    }
}
