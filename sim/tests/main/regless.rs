//! Design `regless`: operand staging units in place of the register file, registers in memory.

use warpfile_sim::config::{Config, apply_overrides, preset};
use warpfile_sim::mechanisms::regless::{self, staging};
use warpfile_sim::sm::{EngineName, RunOptions, RunReport, run};

use crate::tiny::{WithoutValues, open, run_tiny};

fn regless(lines: u64) -> Config {
    let mut config = preset("gtx980-regless").expect("complete");
    config.edit(|p: &mut regless::Parameters| p.lines = lines);
    config
}

/// Short ones: loads and stores, barriers, shared memory, lanes that part.
const WORKLOADS: [&str; 4] = ["vectoradd", "scalarprod", "hotspot", "pathfinder"];

#[test]
fn workloads_run_without_a_register_file() {
    for name in WORKLOADS {
        let staged = run_tiny(&regless(512), name, RunOptions::default());
        let baseline = regless(512).with_design("baseline").expect("known");
        let baseline = run_tiny(&baseline, name, RunOptions::default());
        assert_eq!(staged.operands_checked, baseline.operands_checked, "{name}");
        assert_eq!(staged.warp_instructions, baseline.warp_instructions, "{name}");
        assert_eq!(staged.mrf().reads, 0);
        assert!(staging(&staged).values.reads >= staged.operands.reads, "{name}");
        assert!(staged.metadata_instructions > 0, "{name}");
    }
}

/// A region ends behind its loads, and drains until they have come (§5.1).
#[test]
fn regions_drain_for_as_long_as_their_loads_take() {
    let run = |latency: &str| {
        let mut config = regless(512);
        apply_overrides(&mut config, &[("dram.latency", latency)]).expect("known");
        staging(&run_tiny(&config, "vectoradd", RunOptions::default()))
    };
    let (near, far) = (run("200"), run("1200"));
    assert_eq!(near.regions, far.regions);
    let longer = far.draining_cycles.saturating_sub(near.draining_cycles);
    assert!(near.draining_cycles > 0 && longer > 100 * near.regions, "{near:?} {far:?}");
}

/// A result's line comes out with the operands, which may be as late as the result.
#[test]
fn results_of_any_latency_find_their_line() {
    for latency in 1..=6 {
        let mut config = regless(512);
        let latencies = &mut config.latency;
        for cycles in [&mut latencies.alu, &mut latencies.sfu, &mut latencies.shared, &mut latencies.constant]
        {
            *cycles = latency;
        }
        run_tiny(&config, "scalarprod", RunOptions::default());
    }
}

#[test]
fn a_small_staging_unit_moves_registers_to_memory_and_back() {
    let run = |lines| {
        let mut config = regless(lines);
        config.edit(|p: &mut regless::Parameters| p.compressor_lines = 0);
        run_tiny(&config, "hotspot", RunOptions::default())
    };
    let (small, large) = (run(128), run(2048));
    assert!(
        staging(&small).preloads.fetched > staging(&large).preloads.fetched,
        "{:?} {:?}",
        staging(&small).preloads,
        staging(&large).preloads
    );
    let lines = &small.memory.register_lines;
    let fetched = lines.fetched_from_l1 + lines.fetched_from_l2 + lines.fetched_from_dram;
    assert_eq!(fetched, staging(&small).preloads.fetched, "every preload that is not staged is one fetch");
    assert!(lines.writes > 0);
    assert!(small.cycles > large.cycles, "{} and {}", small.cycles, large.cycles);
    // The launches of hotspot have blocks of one size; every warp that ends drops its registers once.
    let warps = large.blocks * large.residency[0].warps_per_block;
    assert_eq!((lines.drops, large.memory.register_lines.drops), (warps, warps));
}

#[test]
fn a_compressor_keeps_registers_from_memory() {
    let run = |compressor_lines| {
        let mut config = regless(128);
        config.edit(|p: &mut regless::Parameters| p.compressor_lines = compressor_lines);
        run_tiny(&config, "hotspot", RunOptions::default())
    };
    let (without, with) = (run(0), run(48));
    assert!(staging(&with).preloads.compressor_hits > 0, "{:?}", staging(&with).preloads);
    assert_eq!(staging(&without).preloads.compressor_hits + staging(&without).preloads.compressor_misses, 0);
    let requests = |report: &RunReport| report.memory.register_lines.l1_requests();
    assert!(requests(&with) < requests(&without), "{} and {}", requests(&with), requests(&without));
}

#[test]
fn every_metadata_instruction_is_issued_once_whatever_its_warp_waits_for() {
    // The same code, staged at different times.
    let run = |compressor_lines| {
        let mut config = regless(128);
        config.edit(|p: &mut regless::Parameters| p.compressor_lines = compressor_lines);
        run_tiny(&config, "pathfinder", RunOptions::default())
    };
    let (without, with) = (run(0), run(48));
    assert_ne!(without.cycles, with.cycles);
    assert!(with.metadata_instructions > 0);
    assert_eq!(without.metadata_instructions, with.metadata_instructions);
}

/// Of `sgemm`, whose warps wait for slots. Where they wait for memory, warps that are earlier by a slot meet others there,
/// and may end later.
#[test]
fn metadata_without_slots_is_counted_and_takes_no_time() {
    let run = |metadata_slots| {
        let mut config = regless(512);
        config.edit(|p: &mut regless::Parameters| p.metadata_slots = metadata_slots);
        run_tiny(&config, "sgemm", RunOptions::default())
    };
    let (with, without) = (run(true), run(false));
    assert!(without.cycles < with.cycles, "{} and {}", without.cycles, with.cycles);
    assert_eq!(without.metadata_instructions, with.metadata_instructions);
    assert!(with.metadata_instructions > 0);
}

#[test]
fn there_is_no_compressor_where_values_are_not_the_kernels() {
    let mut config = regless(128);
    let mut launches = WithoutValues(open("hotspot"));
    let report = run(&config, &mut launches, RunOptions::default()).expect("runs");
    config.edit(|p: &mut regless::Parameters| p.compressor_lines = 0);
    assert_eq!(report, run_tiny(&config, "hotspot", RunOptions::default()));
}

#[test]
fn neither_seed_nor_engine_changes_a_figure() {
    let run = |seed, engine| {
        let options = RunOptions { seed, engine, ..RunOptions::default() };
        run_tiny(&regless(256), "vectoradd", options)
    };
    let first = run(0, EngineName::Compiled);
    assert_eq!(run(7, EngineName::Compiled), first);
    assert_eq!(run(0, EngineName::Interpreter), first);
}

#[test]
fn a_region_that_cannot_fit_is_named_with_the_limit() {
    let mut config = regless(64);
    config.edit(|p: &mut regless::Parameters| p.max_live_fraction = 0.1);
    let error =
        run(&config, &mut open("sgemm"), RunOptions::default()).expect_err("one line a region").to_string();
    assert!(error.contains("region") && error.contains("at most 1"), "{error}");
}

#[test]
fn what_the_circuits_cannot_do_is_refused() {
    let error = |change: fn(&mut Config)| {
        let mut config = regless(512);
        change(&mut config);
        config.validate().expect_err("refused").to_string()
    };
    assert!(
        error(|config| config.edit(|p: &mut regless::Parameters| p.lines = 100))
            .contains("regless.lines = 100")
    );
    assert!(
        error(|config| config.edit(|p: &mut regless::Parameters| p.compressor_lines = 50))
            .contains("regless.compressor_lines = 50")
    );
    assert!(error(|config| config.sm.schedulers = 2).contains("sm.warps = 64"));
    assert!(error(|config| config.l1.line_bytes = 64).contains("l1.line_bytes = 64"));
    assert!(error(|config| config.memory.single_l1_port = false).contains("memory.single_l1_port = false"));
    let fixed = error(|config| config.memory.model = warpfile_sim::config::MemoryModel::Fixed);
    assert!(fixed.contains("memory.model = fixed") && fixed.ends_with("accepted: caches, queued"), "{fixed}");
}
