//! Design `rfv`: registers renamed onto half as many physical ones.

use warpfile_kernels::workloads;
use warpfile_sim::config::{Config, DesignName, preset};
use warpfile_sim::sm::{EngineName, RunOptions, RunReport, run};

fn rfv(registers: u64) -> Config {
    let mut config = preset("gtx980-regless").expect("complete");
    config.design = DesignName::Rfv;
    config.rfv.registers = registers;
    config
}

/// Runs a workload at its test size and checks what it computed.
fn run_tiny(config: &Config, name: &str, options: RunOptions<'_>) -> RunReport {
    let workload = workloads::list().iter().find(|workload| workload.name == name).expect("known");
    let mut open = workload.open("tiny").unwrap_or_else(|error| panic!("{name}: {error}"));
    let report = run(config, &mut open, options).unwrap_or_else(|error| panic!("{name}: {error}"));
    open.check_results().unwrap_or_else(|error| panic!("{name}: {error}"));
    report
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
    let run = |seed, engine| {
        let options = RunOptions { seed, engine, ..RunOptions::default() };
        run_tiny(&rfv(512), "vectoradd", options)
    };
    let first = run(0, EngineName::Compiled);
    assert_eq!(run(7, EngineName::Compiled), first);
    assert_eq!(run(0, EngineName::Interpreter), first);
}
