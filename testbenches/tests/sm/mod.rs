//! Whole kernels through the shipped designs, every operand checked.

mod chip;
mod corrupted;
mod engines;
mod replayed;
mod samples;
mod workloads;

use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::program::Launches;
use warpfile_kernels::workloads::{OpenWorkload, by_name, list};
use warpfile_sim::config::{Config, apply_overrides, preset};
use warpfile_sim::sm::{RunOptions, RunReport, SimError, run};

/// The preset of Gebhart et al. with a design.
fn gebhart(design: &str) -> Config {
    preset("gebhart2011").unwrap().with_design(design).expect("known")
}

/// A register file cache that is small and has the extensions of §5.3.
fn small_cache() -> Config {
    let mut config = gebhart("rfc");
    let overrides = [
        ("rfc.replacement", "lru"),
        ("rfc.entries", "3"),
        ("rfc.bypass_idle", "true"),
        ("rfc.evict_idle_first", "true"),
        ("scheduler.active_warps", "4"),
    ];
    apply_overrides(&mut config, &overrides).unwrap();
    config
}

/// A workload at its test size.
fn tiny(name: &str) -> OpenWorkload {
    by_name(name).unwrap().open("tiny").unwrap()
}

/// The same in the order of its PTX.
fn as_written(name: &str) -> OpenWorkload {
    let mut workload = tiny(name);
    workload.set_options(CompileOptions::as_written());
    workload
}

/// Names of all workloads.
fn names() -> impl Iterator<Item = &'static str> {
    list().iter().map(|workload| workload.name)
}

fn simulate(config: &Config, launches: &mut dyn Launches) -> Result<RunReport, SimError> {
    run(config, launches, RunOptions::default())
}

/// Runs a workload at its test size; its results must be those of the reference.
fn run_tiny(config: &Config, name: &str) -> RunReport {
    let mut workload = tiny(name);
    let report = simulate(config, &mut workload).unwrap_or_else(|error| panic!("{name}: {error}"));
    let checked = workload.check_results().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(checked.elements > 0, "{name}");
    report
}
