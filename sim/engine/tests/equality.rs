//! The compiled engine beside the interpreter on random netlists.

use proptest::prelude::*;
use warpfile_engine::Options;
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
        for options in option_sets(case.seed) {
            equal_after_restoring(&case, beside(&case, &options), beside(&case, &options))
                .map_err(|error| TestCaseError::fail(format!("{error}\n{options:?}")))?;
        }
    }
}
