//! Design `regless` on every workload at every capacity of its operand staging units: every operand is checked by the
//! run, every result by the workload.
//!
//! `cargo test` runs each workload at one capacity and at the smallest one; `scripts/verify --long` runs all of it.

use warpfile_kernels::workloads::{self, Workload};
use warpfile_sim::config::{Config, preset};
use warpfile_sim::mechanisms::regless;
use warpfile_sim::sm::{EngineName, RunOptions, RunReport};

use crate::tiny::run_tiny;

/// Lines an SM (Kloosterman et al., Figs. 11 and 13).
const CAPACITIES: [u64; 7] = [128, 192, 256, 384, 512, 1024, 2048];
/// Compressor lines an SM: none, and both figures of Table 1.
const COMPRESSORS: [u64; 3] = [0, 16, 48];

fn regless(lines: u64, compressor_lines: u64) -> Config {
    let mut config = preset("gtx980-regless").expect("complete");
    config.edit(|p: &mut regless::Parameters| p.lines = lines);
    config.edit(|p: &mut regless::Parameters| p.compressor_lines = compressor_lines);
    config
}

/// Runs a workload; the last line that a failing test prints says where.
fn run_at(workload: &Workload, config: &Config, engine: EngineName, seed: u64) -> RunReport {
    let (lines, compressed) =
        (config.of::<regless::Parameters>().lines, config.of::<regless::Parameters>().compressor_lines);
    println!("{}: {lines} lines, {compressed} compressed, {}, seed {seed}", workload.name, engine.as_str());
    run_tiny(config, workload.name, RunOptions { engine, seed, ..RunOptions::default() })
}

/// Runs every seventh workload, another seventh at each capacity, with one of the compressors in turn.
fn a_seventh_runs_at(capacity: usize) {
    let some = workloads::list().iter().enumerate().skip(capacity).step_by(CAPACITIES.len());
    for (index, workload) in some {
        let config = regless(CAPACITIES[capacity], COMPRESSORS[index % COMPRESSORS.len()]);
        run_at(workload, &config, EngineName::Compiled, index as u64);
    }
}

/// Runs half the workloads at the smallest capacity, with one of the compressors in turn.
fn a_half_runs_at_the_smallest(half: usize) {
    for (index, workload) in workloads::list().iter().enumerate().skip(half).step_by(2) {
        let config = regless(CAPACITIES[0], COMPRESSORS[(index + 1) % COMPRESSORS.len()]);
        run_at(workload, &config, EngineName::Compiled, index as u64);
    }
}

#[test]
fn workloads_run_with_128_lines() {
    a_seventh_runs_at(0);
}

#[test]
fn workloads_run_with_192_lines() {
    a_seventh_runs_at(1);
}

#[test]
fn workloads_run_with_256_lines() {
    a_seventh_runs_at(2);
}

#[test]
fn workloads_run_with_384_lines() {
    a_seventh_runs_at(3);
}

#[test]
fn workloads_run_with_512_lines() {
    a_seventh_runs_at(4);
}

#[test]
fn workloads_run_with_1024_lines() {
    a_seventh_runs_at(5);
}

#[test]
fn workloads_run_with_2048_lines() {
    a_seventh_runs_at(6);
}

#[test]
fn every_other_workload_runs_at_the_smallest_capacity() {
    a_half_runs_at_the_smallest(0);
}

#[test]
fn the_others_run_at_the_smallest_capacity() {
    a_half_runs_at_the_smallest(1);
}

#[test]
#[ignore = "ten minutes of processor time, with --release"]
fn every_workload_runs_at_every_capacity_with_every_compressor() {
    for lines in CAPACITIES {
        for compressor_lines in COMPRESSORS {
            for (seed, workload) in (lines..).zip(workloads::list()) {
                let config = regless(lines, compressor_lines);
                run_at(workload, &config, EngineName::Compiled, seed);
            }
        }
    }
}

#[test]
#[ignore = "twenty minutes of processor time, with --release"]
fn neither_engine_nor_seed_changes_a_figure_of_any_workload_at_any_capacity() {
    for (place, lines) in CAPACITIES.into_iter().enumerate() {
        for (index, workload) in workloads::list().iter().enumerate() {
            let config = regless(lines, COMPRESSORS[(place + index) % COMPRESSORS.len()]);
            let compiled = run_at(workload, &config, EngineName::Compiled, 1);
            let interpreted = run_at(workload, &config, EngineName::Interpreter, 2);
            assert_eq!(compiled, interpreted, "{} at {lines} lines", workload.name);
        }
    }
}
