//! Design `reuse`: operands that the compiler marks are kept where they are read.

use warpfile_sim::config::{Config, preset};
use warpfile_sim::mechanisms::reuse::{self, Reused};
use warpfile_sim::sm::{EngineName, RunOptions};

use crate::tiny::run_tiny;

/// Loads and stores, barriers, shared memory, guards, lanes that part, long straight code.
const WORKLOADS: [&str; 7] = ["vectoradd", "hotspot", "bfs", "pathfinder", "sgemm", "dwt2d", "lud"];

fn on(machine: &str, drops_written: bool) -> Config {
    let mut config = preset(machine).expect("complete").with_design("reuse").expect("known");
    config.edit(|p: &mut reuse::Parameters| p.drops_written = drops_written);
    config
}

/// With and without a cache that notices writes; and with two instructions a cycle, where it has to.
#[test]
fn every_operand_is_read_in_its_bank_or_where_it_is_kept() {
    for (machine, drops_written) in [("volta", true), ("volta", false), ("gtx980-gpgpusim", true)] {
        for name in WORKLOADS {
            let config = on(machine, drops_written);
            let report = run_tiny(&config, name, RunOptions::default());
            let baseline = config.with_design("baseline").expect("known");
            let baseline = run_tiny(&baseline, name, RunOptions::default());
            assert_eq!(report.operands_checked, baseline.operands_checked, "{name} on {machine}");
            assert_eq!(report.warp_instructions, baseline.warp_instructions, "{name} on {machine}");
            let Reused { values, first, second, third } = reuse::reused(&report);
            assert_eq!(values.reads + report.mrf().reads, report.operands.reads, "{name} on {machine}");
            assert_eq!(first + second + third, values.reads, "{name} on {machine}");
            assert_eq!(report.mrf().writes, report.operands.writes, "{name} on {machine}");
            assert!(values.reads > 0 && first > 0, "{name} on {machine}");
            assert_eq!(reuse::reused(&baseline), Reused::default());
        }
    }
}

/// A mark that nothing but the compiler sees to leaves out readers that may have a guard.
#[test]
fn hardware_that_notices_writes_keeps_more() {
    let kept = |drops_written| {
        let of = |name| reuse::reused(&run_tiny(&on("volta", drops_written), name, RunOptions::default()));
        WORKLOADS.map(|name| of(name).values.reads).iter().sum::<u64>()
    };
    let (with, without) = (kept(true), kept(false));
    assert!(with >= without && without > 0, "{with} and {without}");
}

#[test]
fn neither_seed_nor_engine_changes_a_figure() {
    let run = |seed, engine| {
        let options = RunOptions { seed, engine, ..RunOptions::default() };
        run_tiny(&on("volta", true), "pathfinder", options)
    };
    let first = run(0, EngineName::Compiled);
    assert_eq!(run(7, EngineName::Compiled), first);
    assert_eq!(run(0, EngineName::Interpreter), first);
}

#[test]
fn layers_and_two_instructions_a_cycle_need_a_cache_that_notices_writes() {
    let refused = |config: Config| config.validate().expect_err("refused").to_string();
    let error = refused(on("gtx980-gpgpusim", false));
    assert!(error.contains("true is needed with sm.issues_per_scheduler = 2"), "{error}");
    let error = refused(on("volta", false).with_design("reuse+greener").expect("a stack"));
    assert!(error.contains("true is needed with a layer"), "{error}");
    let error = refused(on("volta", true).with_design("reuse+wir-rlpv").expect("a stack"));
    assert!(error.contains("wir-rlpv does not go with reuse"), "{error}");
    for stack in ["reuse+greener", "reuse+reg-share", "two-level+reuse"] {
        let config = on("volta", true).with_design(stack).expect("a stack");
        let report = run_tiny(&config, "pathfinder", RunOptions::default());
        assert!(reuse::reused(&report).values.reads > 0, "{stack}");
    }
}
