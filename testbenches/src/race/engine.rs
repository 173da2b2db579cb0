//! Our side of the race.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use warpfile_engine::{Compiled, Engine, Options, OutPort, Snapshot};

use super::Side;
use super::error::RaceError;
use super::measure::{Build, Measured, peak_of_this_process, processor_nanoseconds};
use crate::bench::Benchmark;

/// The compiled engine on a benchmark.
pub(super) struct EngineSide {
    engine: Compiled,
    signature: OutPort,
    /// After reset.
    start: Snapshot,
}

impl EngineSide {
    /// The engine in the state after reset, and what it took to compile it (in a process of its own).
    pub fn new(benchmark: &Benchmark) -> Result<(EngineSide, Build), RaceError> {
        let build = EngineBuild { benchmark: benchmark.clone() }.run_apart()?;
        let mut engine = Compiled::new(&benchmark.netlist()?, &race_options())?;
        let signature = engine.output("signature_o")?;
        // A step shows the state before its clock edge: the state after reset now, that after n edges n steps later.
        engine.step();
        let start = engine.snapshot();
        Ok((EngineSide { engine, signature, start }, build))
    }

    /// The signature after so many cycles from reset on; the state stays as it is.
    pub fn signature_after(&mut self, cycles: u64) -> Result<u64, RaceError> {
        let now = self.engine.snapshot();
        self.engine.restore(&self.start)?;
        self.engine.run(cycles);
        let signature = self.engine.get(self.signature);
        self.engine.restore(&now)?;
        Ok(signature)
    }
}

impl Side for EngineSide {
    fn turn(&mut self, cycles: u64) -> Result<(f64, u64), RaceError> {
        let start = processor_nanoseconds();
        self.engine.run(cycles);
        let nanoseconds = processor_nanoseconds() - start;
        Ok((nanoseconds, self.engine.get(self.signature)))
    }
}

/// Verilator counts nothing and starts unreset state at 0.
pub(super) fn race_options() -> Options {
    Options { zeroed: true, count_activity: false, ..Options::default() }
}

/// Compiling a benchmark, measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EngineBuild {
    benchmark: Benchmark,
}

impl Measured for EngineBuild {
    const COMMAND: &'static str = "build-engine";

    fn run(&self) -> Result<Build, RaceError> {
        let netlist = self.benchmark.netlist()?;
        let start = Instant::now();
        let mut engine = Compiled::new(&netlist, &race_options())?;
        engine.step();
        let first_cycle_seconds = start.elapsed().as_secs_f64();
        Ok(Build { first_cycle_seconds, peak_kib: peak_of_this_process() })
    }
}
