//! Workloads at their test size.

use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::program::{Launches, Stream, StreamError};
use warpfile_kernels::workloads::{self, OpenWorkload};
use warpfile_random::slice;
use warpfile_sim::config::Config;
use warpfile_sim::sm::{RunOptions, RunReport, SimError, run};

/// A workload, ready to run.
pub fn open(name: &str) -> OpenWorkload {
    workloads::by_name(name).expect("known").open("tiny").unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A workload that says that its values are not its own, as a trace without values does.
pub struct WithoutValues(pub OpenWorkload);

impl Launches for WithoutValues {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        self.0.next_launch()
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        Ok(false)
    }
}

/// Workloads with each of these: one in eight pairs, drawn.
pub fn drawn<T: Copy>(each: &[T]) -> Vec<(&'static str, T)> {
    let pairs = workloads::list().iter().flat_map(|workload| each.iter().map(|one| (workload.name, *one)));
    slice(8, pairs)
}

/// Runs a workload on a design and checks what it computed.
pub fn run_tiny(config: &Config, name: &str, options: RunOptions<'_>) -> RunReport {
    run_checked(name, |launches| run(config, launches, options))
}

/// The same with code of its own.
pub fn run_tiny_with(config: &Config, name: &str, options: CompileOptions) -> RunReport {
    let mut open = open(name);
    open.set_options(config.design.code(config, options));
    let report =
        run(config, &mut open, RunOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
    open.check_results().unwrap_or_else(|error| panic!("{name}: {error}"));
    report
}

/// Runs a workload and checks what it computed, and that its operands were looked at.
pub fn run_checked(
    name: &str,
    run: impl FnOnce(&mut dyn Launches) -> Result<RunReport, SimError>,
) -> RunReport {
    let mut open = open(name);
    let report = run(&mut open).unwrap_or_else(|error| panic!("{name}: {error}"));
    open.check_results().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(report.operands_checked > report.warp_instructions / 2, "{name}");
    report
}
