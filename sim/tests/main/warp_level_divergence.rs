//! Warp-level divergence: `warp-level-divergence`.

use warpfile_kernels::program::Operation;
use warpfile_kernels::workloads;
use warpfile_sim::config::{Config, preset};
use warpfile_sim::mechanisms::warp_level_divergence::{COUNTERS, Placed};
use warpfile_sim::sm::{EngineName, ResidencyLimit, RunOptions, RunReport, run};

use crate::kernels::{Kernel, Sequence};
use crate::sharing::with_few_registers;
use crate::tiny::run_tiny;

fn on_thesis_machine(design: &str) -> Config {
    preset("jatala-ch2").expect("complete").with_design(design).expect("known")
}

fn of(report: &RunReport) -> Placed {
    report.counters.get(COUNTERS)
}

/// On the machine of the thesis, and where one block and a half fit; every operand is checked in every run.
#[test]
fn every_workload_runs_with_a_block_in_part() {
    let mut in_part = 0;
    for workload in workloads::list() {
        let config = on_thesis_machine("warp-level-divergence");
        run_tiny(&config, workload.name, RunOptions::default());
        let few = with_few_registers(config, workload.name);
        let report = run_tiny(&few, workload.name, RunOptions::default());
        let baseline = few.with_design("baseline").expect("known");
        let baseline = run_tiny(&baseline, workload.name, RunOptions::default());
        assert_eq!(report.operands, baseline.operands, "{}", workload.name);
        assert_eq!(report.operands_checked, baseline.operands_checked, "{}", workload.name);
        in_part += usize::from(of(&report).warps > 0 && of(&report).waits > of(&report).warps);
    }
    assert!(in_part >= 15, "{in_part}");
}

/// The other storage that does not say where registers lie.
#[test]
fn it_goes_with_a_register_reuse_cache() {
    let config = with_few_registers(on_thesis_machine("reuse+warp-level-divergence"), "hotspot");
    let report = run_tiny(&config, "hotspot", RunOptions::default());
    assert!(of(&report).waits > 0, "{:?}", of(&report));
}

/// hotspot of Table 2.1: 8 warps of 36 registers, of which 28 warps have room: three blocks and a half.
fn hotspot() -> Kernel {
    let mut kernel = Kernel::new().load(3, 1).alus(20, 35, &[3]).exit().warps(40, 8);
    kernel.program.registers_per_thread = 36;
    kernel
}

#[test]
fn one_block_more_is_resident_and_warps_wait_for_its_registers() {
    let run = |design: &str| {
        run(&on_thesis_machine(design), &mut Sequence::from(hotspot()), RunOptions::default()).expect("runs")
    };
    let resident = |report: &RunReport| (report.residency[0].resident_blocks, report.residency[0].limited_by);
    let (baseline, report) = (run("baseline"), run("warp-level-divergence"));
    assert_eq!(resident(&baseline), (3, ResidencyLimit::Registers));
    assert_eq!(resident(&report), (4, ResidencyLimit::Registers));
    assert_eq!((of(&report).warps, report.blocks), (320, 40));
    assert!(of(&report).waits > 0);
}

/// Warps of the block that is there in part wait at a barrier for those that have no registers yet.
#[test]
fn barriers_in_a_block_that_is_there_in_part_do_not_deadlock() {
    for scheduler in ["single-level", "two-level", "owf"] {
        for warps in 1..=12 {
            let mut kernel = Kernel::new().alu(1, &[2]).op(Operation::Barrier, &[], &[]).alu(3, &[1]);
            kernel = kernel.op(Operation::Barrier, &[], &[]).alu(4, &[3]).exit().warps(30, warps);
            kernel.program.registers_per_thread = 36;
            let mut config = on_thesis_machine(&format!("{scheduler}+warp-level-divergence"));
            config.sm.watchdog_cycles = 2000;
            let report = run(&config, &mut Sequence::from(kernel), RunOptions::default());
            let report = report.unwrap_or_else(|error| panic!("{scheduler}, {warps} warps: {error}"));
            assert_eq!(report.blocks, 30);
        }
    }
}

/// Where no registers are left, or something else keeps blocks out, the run is the baseline's.
#[test]
fn without_registers_for_a_further_warp_a_run_is_the_baseline_s() {
    for registers in [16, 32, 64] {
        let mut kernel = Kernel::new().alus(8, 3, &[1]).exit().warps(20, 8);
        kernel.program.registers_per_thread = registers;
        let run = |design: &str| {
            let mut config = on_thesis_machine(design);
            config.register_file.rows = if registers == 16 { 1024 } else { 64 };
            run(&config, &mut Sequence::from(kernel.clone()), RunOptions::default()).expect("runs")
        };
        let (baseline, report) = (run("baseline"), run("single-level+warp-level-divergence"));
        assert_eq!(of(&report), Placed::default(), "{registers}");
        assert_eq!(
            (report.cycles, report.stalls, report.operands_checked),
            (baseline.cycles, baseline.stalls, baseline.operands_checked)
        );
    }
}

#[test]
fn neither_seed_nor_engine_changes_a_figure_of_it() {
    let config = with_few_registers(on_thesis_machine("warp-level-divergence"), "hotspot");
    let run =
        |seed, engine| run_tiny(&config, "hotspot", RunOptions { seed, engine, ..RunOptions::default() });
    let first = run(0, EngineName::Compiled);
    assert!(of(&first).waits > 0);
    assert_eq!(run(7, EngineName::Compiled), first);
    assert_eq!(run(0, EngineName::Interpreter), first);
}

#[test]
fn what_it_does_not_go_with_is_refused_with_a_reason() {
    let refused = |design: &str| on_thesis_machine(design).validate().expect_err(design).to_string();
    let error = refused("warp-level-divergence+reg-share");
    assert!(error.contains("reg-share has a say of its own in how many blocks there are"), "{error}");
    let error = refused("rfc+warp-level-divergence");
    assert!(error.contains("rfc does not follow registers that get their rows later"), "{error}");
    let error = refused("wir-r+warp-level-divergence");
    assert!(error.contains("wir-r does not go with warp-level-divergence"), "{error}");
    let error = refused("warp-level-divergence+greener");
    assert!(error.contains("greener takes a row to be one warp's"), "{error}");
}
