//! Design `rfh`: a register file hierarchy managed by the compiler.

use warpfile_sim::config::{Config, preset};
use warpfile_sim::mechanisms::rfh::{self, UpperLevels};
use warpfile_sim::sm::{EngineName, RunOptions};

use crate::tiny::run_tiny;

fn rfh(orf_entries: u64) -> Config {
    let mut config = preset("gtx980-regless").expect("complete").with_design("rfh").expect("known");
    config.edit(|p: &mut rfh::Parameters| p.orf_entries = orf_entries);
    config
}

/// Loads and stores, barriers, shared memory, lanes that part, long straight code.
const WORKLOADS: [&str; 7] = ["vectoradd", "hotspot", "bfs", "pathfinder", "hybridsort", "dwt2d", "lud"];

#[test]
fn every_operand_is_where_the_compiler_says() {
    for name in WORKLOADS {
        let report = run_tiny(&rfh(3), name, RunOptions::default());
        let two_level = rfh(3).with_design("two-level").expect("known");
        let two_level = run_tiny(&two_level, name, RunOptions::default());
        assert_eq!(report.operands_checked, two_level.operands_checked, "{name}");
        assert_eq!(report.warp_instructions, two_level.warp_instructions, "{name}");
        let (mrf, operands) = (report.mrf(), report.operands);
        let UpperLevels { lrf, orf } = rfh::accesses(&report);
        assert_eq!(lrf.reads + orf.reads + mrf.reads, operands.reads, "{name}");
        assert!(lrf.writes + orf.writes + mrf.writes >= operands.writes, "{name}");
        assert!(mrf.writes < operands.writes, "{name}");
        assert_eq!(rfh::accesses(&two_level).orf.reads, 0);
        assert!(report.scheduler.suspensions > 0, "{name}");
    }
}

#[test]
fn neither_seed_nor_engine_changes_a_figure() {
    for name in ["vectoradd", "pathfinder"] {
        let run = |seed, engine| {
            let options = RunOptions { seed, engine, ..RunOptions::default() };
            run_tiny(&rfh(3), name, options)
        };
        let first = run(0, EngineName::Compiled);
        assert_eq!(run(7, EngineName::Compiled), first);
        assert_eq!(run(0, EngineName::Interpreter), first);
    }
}

#[test]
fn more_entries_leave_fewer_reads_to_the_main_register_file() {
    let reads = |entries| run_tiny(&rfh(entries), "hotspot", RunOptions::default()).mrf().reads;
    let (few, many) = (reads(1), reads(8));
    assert!(many < few, "{many} and {few}");
}
