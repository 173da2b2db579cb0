//! Every design on machines that no one has chosen: each parameter anywhere in its accepted range.

use std::cell::Cell;
use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use warpfile_kernels::workloads::OpenWorkload;
use warpfile_random::{drawn_config, slice};
use warpfile_sim::config::{Accepted, Config, Parameter, apply_overrides, preset, preset_names};
use warpfile_sim::mechanisms::{Registry, Stack};
use warpfile_sim::sm::{RunOptions, SimError, run};

/// What every case runs: 783 warp instructions of every kind.
fn medley() -> OpenWorkload {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/medley.ptx");
    OpenWorkload::from_ptx(&path, "tiny").unwrap_or_else(|error| panic!("{error}"))
}

/// Overrides of a case at most; what is drawn twice is overridden twice.
const OVERRIDES: usize = 100;
/// Longest latency that a case draws often.
const SHORT: u64 = 8;

/// A parameter, by its position in a list that is repeated, and where in its range its value lies.
type Choice = (prop::sample::Index, Place);

/// Where in a range a value lies.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// So far above the lowest.
    Low(u64),
    /// So far below the highest.
    High(u64),
    /// A power of two.
    Power(u32),
    /// Anywhere.
    Any(u64),
}

fn places() -> impl Strategy<Value = Place> {
    prop_oneof![
        3 => (0..SHORT).prop_map(Place::Low),
        3 => (0..u64::BITS).prop_map(Place::Power),
        1 => (0..3_u64).prop_map(Place::High),
        1 => any::<u64>().prop_map(Place::Any),
    ]
}

/// A value of the range, as it is written on the command line; `None` for what is not drawn.
fn value(accepted: Accepted, place: Place) -> Option<String> {
    let within = |low: u64, high: u64| {
        let chosen = match place {
            Place::Low(above) => low.saturating_add(above),
            Place::High(below) => high.saturating_sub(below),
            Place::Power(exponent) => 1 << exponent,
            Place::Any(number) => low + number % (high - low + 1),
        };
        chosen.clamp(low, high)
    };
    match accepted {
        Accepted::Integer { low, high } => Some(within(low, high).to_string()),
        Accepted::Real { low, high } => {
            Some((low + (high - low) * within(0, 1000) as f64 / 1000.0).to_string())
        }
        Accepted::Flag => Some((within(0, 1) == 1).to_string()),
        Accepted::Word(words) => Some(words[within(0, words.len() as u64 - 1) as usize].to_owned()),
        Accepted::Stack | Accepted::Text => None,
    }
}

/// The preset of a design with those of `choices` that fit each other, and these.
fn machine(stack: &Stack, choices: &[Choice]) -> (Config, Vec<(String, String)>) {
    // A machine that makes no progress is to say so while somebody waits.
    let is_drawn = |parameter: &Parameter| parameter.name != "sm.watchdog_cycles";
    let parameters: Vec<Parameter> =
        Config::parameters(&Registry::shipped()).into_iter().filter(is_drawn).collect();
    let preset = preset(stack.preset().expect("there is one")).expect("complete");
    let mut config = preset.with_stack(stack.clone());
    let mut overrides = Vec::new();
    for (index, place) in choices {
        let parameter = index.get(&parameters);
        let Some(value) = value(parameter.accepted, *place) else { continue };
        let mut changed = config.clone();
        apply_overrides(&mut changed, &[(&parameter.name, &value)]).expect("in its range");
        if changed.validate().is_ok() {
            config = changed;
            overrides.push((parameter.name.clone(), value));
        }
    }
    (config, overrides)
}

#[test]
fn any_machine_that_is_accepted_computes_what_the_kernel_does() {
    let choices = prop::collection::vec((any::<prop::sample::Index>(), places()), 0..OVERRIDES);
    let (ran, refused) = (Cell::new(0), Cell::new(0));
    let case = |(design, choices): (prop::sample::Index, Vec<Choice>)| {
        let stacks = Registry::shipped().stacks();
        let stack = design.get(&stacks);
        let (config, overrides) = machine(stack, &choices);
        match run(&config, &mut medley(), RunOptions::default()) {
            Ok(report) => {
                // With several SMs the report is of one, which may have got no block.
                let is_compared = report.operands_checked > 0 || config.chip.simulated_sms > 1;
                prop_assert!(is_compared, "{stack}: {overrides:?}");
                ran.set(ran.get() + 1);
            }
            // The kernel asks for more than the machine has, and is told so.
            Err(SimError::BlockDoesNotFit { .. } | SimError::Mechanism(_)) => refused.set(refused.get() + 1),
            Err(error) => prop_assert!(false, "{stack}: {error}; {overrides:?}"),
        }
        Ok(())
    };
    let outcome = TestRunner::new(drawn_config(60)).run(&(any::<prop::sample::Index>(), choices), case);
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    assert!(
        ran.get() > 2 * refused.get(),
        "{} machines ran, {} refused the kernel",
        ran.get(),
        refused.get()
    );
}

/// Designs on presets that carry them, drawn; the others say so before they run.
#[test]
fn designs_run_on_presets_that_carry_them() {
    let mut carried = Vec::new();
    for name in preset_names() {
        for stack in Registry::shipped().stacks() {
            let config = preset(name).expect("complete").with_stack(stack.clone());
            if config.validate().is_ok() {
                carried.push((format!("{stack} on {name}"), config));
            }
        }
    }
    // RegLess has a power of two of warps for each scheduler, which a Fermi has not.
    for (preset, stacks) in [
        ("gtx980-gpgpusim", &["baseline", "two-level", "rfc", "regless", "rfv", "rfh"][..]),
        ("kepler-gpgpusim", &["baseline", "two-level", "rfc", "regless", "rfv", "rfh"]),
        ("fermi-gpgpusim", &["baseline", "two-level", "rfc", "rfv", "rfh"]),
    ] {
        for stack in stacks {
            let what = format!("{stack} on {preset}");
            assert!(carried.iter().any(|(carried, _)| *carried == what), "{what}");
        }
    }
    for (what, config) in slice(4, carried) {
        let report = run(&config, &mut medley(), RunOptions::default());
        let report = report.unwrap_or_else(|error| panic!("{what}: {error}"));
        assert!(report.operands_checked > 0, "{what}");
    }
}

/// Lines from DRAM queue at the data port of an L2 slice for longer than the watchdog waits.
#[test]
fn lines_that_wait_for_a_slow_port_are_no_deadlock() {
    let mut config = preset("kepler-gpgpusim").expect("complete");
    apply_overrides(&mut config, &[("l2.bytes_per_cycle", "2"), ("chip.sms", "86")]).expect("in range");
    let report = run(&config, &mut medley(), RunOptions::default()).expect("it goes on");
    assert!(report.cycles > config.sm.watchdog_cycles);
}
