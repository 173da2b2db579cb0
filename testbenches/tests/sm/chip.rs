//! Several SMs of a chip: each runs its share of the blocks, and sees the memory that the others' blocks leave.

use warpfile_sim::config::{Config, apply_overrides};
use warpfile_sim::sm::{RunOptions, RunReport, SimError, run};

use super::{gebhart, run_tiny, tiny};

fn chip(design: &str, sms: &str) -> Config {
    let mut config = gebhart(design);
    apply_overrides(&mut config, &[("chip.sms", sms), ("chip.simulated_sms", sms)]).unwrap();
    config
}

/// The reports of all SMs, run from the last to the first; each has the right results in its memory.
fn run_all(config: &Config, name: &str) -> Vec<RunReport> {
    let mut reports: Vec<RunReport> = (0..config.chip.simulated_sms)
        .rev()
        .map(|sm| {
            let mut workload = tiny(name);
            let report = run(config, &mut workload, RunOptions { sm, ..RunOptions::default() }).unwrap();
            let checked = workload.check_results().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(checked.elements > 0, "{name}");
            report
        })
        .collect();
    reports.reverse();
    reports
}

#[test]
fn every_block_is_run_once_whichever_sm_runs_it() {
    // The launches of bfs and srad read what earlier ones wrote; nw runs one block a launch at its corners.
    for name in ["bfs", "srad", "nw"] {
        let alone = run_tiny(&gebhart("rfc"), name);
        let reports = run_all(&chip("rfc", "3"), name);
        let together = RunReport::together(&reports);
        assert_eq!(together.blocks, alone.blocks, "{name}");
        assert_eq!(together.launches, alone.launches, "{name}");
        assert_eq!(together.warp_instructions, alone.warp_instructions, "{name}");
        assert_eq!(together.thread_instructions, alone.thread_instructions, "{name}");
        assert_eq!(together.launch_threads, alone.launch_threads, "{name}");
        assert_eq!(together.launch_thread_instructions, alone.launch_thread_instructions, "{name}");
        assert_eq!(alone.launch_thread_instructions.iter().sum::<u64>(), alone.thread_instructions, "{name}");
        assert_eq!(together.operands, alone.operands, "{name}");
        assert_eq!(together.lane_operands_checked, alone.lane_operands_checked, "{name}");
        assert_eq!(together.memory.instructions, alone.memory.instructions, "{name}");
        assert!(together.cycles <= alone.cycles, "{name}: {} {}", together.cycles, alone.cycles);
        assert!(reports.iter().all(|report| report.cycles <= together.cycles), "{name}");
    }
}

#[test]
fn a_launch_takes_as_long_as_its_slowest_sm() {
    let reports = run_all(&chip("baseline", "2"), "nw");
    let together = RunReport::together(&reports);
    assert!(together.launch_cycles.len() > 2);
    for (launch, &cycles) in together.launch_cycles.iter().enumerate() {
        assert_eq!(cycles, reports[0].launch_cycles[launch].max(reports[1].launch_cycles[launch]));
    }
    assert_eq!(together.cycles, together.launch_cycles.iter().sum::<u64>());
    assert_eq!(together.ipc, together.warp_instructions as f64 / together.cycles as f64);
}

#[test]
fn the_report_of_one_sm_is_that_of_the_chip() {
    let report = run_tiny(&gebhart("rfc"), "bfs");
    assert_eq!(RunReport::together(std::slice::from_ref(&report)), report);
}

#[test]
fn an_sm_that_is_not_simulated_is_refused() {
    let options = RunOptions { sm: 2, ..RunOptions::default() };
    let error = run(&chip("baseline", "2"), &mut tiny("vectoradd"), options);
    let Err(SimError::NoSuchSm { sm: 2, simulated_sms: 2 }) = error else { panic!("{error:?}") };
}
