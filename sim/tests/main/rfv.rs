//! Design `rfv`: registers renamed onto half as many physical ones.

use warpfile_sim::config::{Config, DesignName, preset};
use warpfile_sim::sm::{EngineName, RunOptions, run};

use crate::tiny::{open, run_tiny};

fn rfv(registers: u64) -> Config {
    let mut config = preset("gtx980-regless").expect("complete");
    config.design = DesignName::Rfv;
    config.rfv.registers = registers;
    config
}

/// Short ones: loads and stores, barriers, shared memory, lanes that part.
const WORKLOADS: [&str; 7] = ["vectoradd", "hotspot", "bfs", "pathfinder", "hybridsort", "dwt2d", "lud"];

#[test]
fn workloads_run_on_half_the_registers() {
    for name in WORKLOADS {
        let renamed = run_tiny(&rfv(1024), name, RunOptions::default());
        let baseline = Config { design: DesignName::TwoLevel, ..rfv(1024) };
        let baseline = run_tiny(&baseline, name, RunOptions::default());
        assert_eq!(renamed.operands_checked, baseline.operands_checked, "{name}");
        assert_eq!(renamed.warp_instructions, baseline.warp_instructions, "{name}");
        assert_eq!(renamed.registers.mrf.writes, baseline.registers.mrf.writes, "{name}");
        assert!(renamed.registers.mrf.reads <= baseline.registers.mrf.reads, "{name}");
        assert!(renamed.renaming.allocations > 0 && renamed.renaming.most_in_use <= 1024, "{name}");
    }
}

#[test]
fn neither_seed_nor_engine_changes_a_figure() {
    for (name, registers) in [("vectoradd", 512), ("hotspot", 256)] {
        let run = |seed, engine| {
            let options = RunOptions { seed, engine, ..RunOptions::default() };
            run_tiny(&rfv(registers), name, options)
        };
        let first = run(0, EngineName::Compiled);
        assert_eq!(run(7, EngineName::Compiled), first, "{name}");
        assert_eq!(run(0, EngineName::Interpreter), first, "{name}");
    }
}

#[test]
fn however_few_registers_there_are_every_warp_comes_to_its_end() {
    // The least that are not refused: of a scheduler 16, 24, 32 and 32.
    for (name, registers) in [("vectoradd", 64), ("pathfinder", 96), ("hotspot", 128), ("lud", 128)] {
        let few = run_tiny(&rfv(registers), name, RunOptions::default());
        let enough = run_tiny(&rfv(2048), name, RunOptions::default());
        assert_eq!(few.operands_checked, enough.operands_checked, "{name}");
        assert_eq!(few.renaming.most_in_use, registers, "{name}");
        assert!(few.scheduler.held_warp_cycles > 0, "{name}");
        assert!(few.cycles > enough.cycles, "{name}: {} and {}", few.cycles, enough.cycles);
        assert_eq!(enough.scheduler.held_warp_cycles, 0, "{name}");
    }
}

#[test]
fn warps_wait_without_a_second_level_of_scheduling_too() {
    let mut config = rfv(128);
    config.scheduler.active_warps = 16;
    let report = run_tiny(&config, "hotspot", RunOptions::default());
    assert!(report.scheduler.held_warp_cycles > 0);
}

#[test]
fn one_instruction_a_cycle_is_renamed_too() {
    let mut config = preset("gebhart2011").expect("complete");
    config.design = DesignName::Rfv;
    for name in ["vectoradd", "scalarprod"] {
        let renamed = run_tiny(&config, name, RunOptions::default());
        assert!(renamed.renaming.allocations > 0 && renamed.renaming.most_in_use <= 512, "{name}");
    }
}

#[test]
fn a_block_that_may_need_more_registers_than_there_are_is_refused() {
    let error =
        run(&rfv(96), &mut open("hotspot"), RunOptions::default()).expect_err("24 a scheduler").to_string();
    assert!(error.contains("kernel hotspot") && error.contains("may need 32 physical registers"), "{error}");
    assert!(error.contains("there are 24") && error.contains("rfv.registers"), "{error}");
}

#[test]
fn what_the_circuits_cannot_do_is_refused() {
    let error = |change: fn(&mut Config)| {
        let mut config = rfv(1024);
        change(&mut config);
        config.validate().expect_err("refused").to_string()
    };
    assert!(error(|config| config.rfv.registers = 1000).contains("rfv.registers = 1000"));
    assert!(error(|config| config.rfv.registers = 32).contains("2 to 1024 registers"));
    assert!(error(|config| config.register_file.rows = 1024).contains("register_file.rows = 1024"));
}
