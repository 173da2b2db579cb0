//! The register working set of runs.

use std::num::NonZeroU64;

use warpfile_sim::config::preset;
use warpfile_sim::sm::{RunOptions, RunReport, run};

use crate::kernels::{Kernel, Sequence};

/// Five warps, on four schedulers, that access four registers each; no lane executes what names two others.
fn report(working_set_window: Option<u64>) -> RunReport {
    let kernel =
        Kernel::new().alu(0, &[]).load(1, 0).alu(2, &[0]).alu(9, &[8]).lanes(0).alu(3, &[1, 2]).exit();
    let mut config = preset("gtx980-regless").expect("complete").with_design("baseline").expect("known");
    // With one instruction a cycle none of a scheduler's registers is accessed twice in a cycle.
    config.sm.issues_per_scheduler = 1;
    let working_set_window = working_set_window.map(|cycles| NonZeroU64::new(cycles).expect("not 0"));
    let options = RunOptions { working_set_window, ..RunOptions::default() };
    run(&config, &mut Sequence::from(kernel.warps(1, 5)), options).expect("every operand right")
}

#[test]
fn counting_the_working_set_changes_nothing_else() {
    let without = report(None);
    assert_eq!(without.working_set, None);
    assert_eq!(RunReport { working_set: None, ..report(Some(10)) }, without);
}

#[test]
fn a_window_as_long_as_the_run_sees_every_register_of_every_warp_once() {
    let cycles = report(None).cycles;
    let seen = report(Some(cycles)).working_set.expect("counted");
    assert_eq!((seen.windows, seen.registers, seen.most_registers), (1, 5 * 4, 5 * 4));
    let longer = report(Some(cycles + 1)).working_set.expect("counted");
    assert_eq!((longer.windows, longer.mean_registers()), (0, None));
}

#[test]
fn windows_of_a_cycle_see_accesses_one_by_one() {
    let report = report(Some(1));
    let seen = report.working_set.expect("counted");
    assert_eq!(seen.windows, report.cycles);
    let operands = report.operands;
    assert_eq!(seen.registers, operands.reads + operands.writes, "no two of a register in one cycle");
}
