//! The race: the compiled engine beside Verilator, on the Verilog exported from the same netlist.
//!
//! Both sides run a [benchmark](crate::bench) top and are only clocked. At each [point](Point) the sides take turns:
//! so many cycles of one, as many of the other, several times over, and the median of each counts. What is measured is
//! processor time, so that other processes disturb little. After every turn their signatures must be equal. The
//! hand-written loop of the circuit takes its turn too, always from the start.

mod engine;
mod error;
mod measure;
mod ports;
mod report;
mod verilator;

use serde::Serialize;
use warpfile_gen::Style;

pub use engine::EngineBuild;
pub use error::RaceError;
pub use measure::{Build, Measured};
pub use ports::PortDriven;
pub use report::{CircuitReport, Report};
pub use verilator::{FLAGS, MAKE_FLAGS, VERSION, Verilator, VerilatorBuild};

use crate::bench::{Benchmark, Part, native};
use engine::EngineSide;
use measure::processor_nanoseconds;
use ports::{DrivenEngine, Recording};
use verilator::Design;

/// How long and how often a point is run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Turns of each side; the median counts.
    pub turns: usize,
    /// About how long a turn of the slower side takes.
    pub seconds: f64,
}

/// What has been measured at one point: a circuit, a size, an activity level.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// The benchmark.
    #[serde(flatten)]
    pub benchmark: Benchmark,
    /// Style of the Verilog that Verilator was given.
    pub style: &'static str,
    /// Cycles of a turn.
    pub cycles: u64,
    /// Signature after the last turn, the same on both sides.
    pub signature: String,
    /// The compiled engine.
    pub engine: Pace,
    /// Verilator.
    pub verilator: Pace,
    /// Cycles per second of the engine over Verilator's.
    pub ratio: f64,
    /// The hand-written loop, if there is one.
    pub limit: Option<Limit>,
    /// The circuit driven through its ports, if that was asked for.
    pub ports: Option<PortDriven>,
}

/// How fast the circuit can be run, as far as we know.
#[derive(Clone, Debug, Serialize)]
pub struct Limit {
    /// Median over the turns.
    pub cycles_per_second: f64,
    /// Over Verilator's.
    pub ratio: f64,
    /// Cycles per second of the engine over those of the loop.
    pub reached: f64,
}

/// One side at one point.
#[derive(Clone, Debug, Serialize)]
pub struct Pace {
    /// Median over the turns.
    pub cycles_per_second: f64,
    /// Fastest over slowest turn.
    pub spread: f64,
    /// From the netlist (engine) or the Verilog (Verilator) to the end of the first cycle.
    pub first_cycle_seconds: f64,
    /// Peak resident memory of the build.
    pub build_peak_kib: u64,
}

/// Something that is clocked and has a signature.
trait Side {
    /// Runs so many cycles; gives the nanoseconds of processor time they took and the signature after them.
    fn turn(&mut self, cycles: u64) -> Result<(f64, u64), RaceError>;
}

/// Races one benchmark, printed in a style.
pub fn race(
    benchmark: &Benchmark,
    style: Style,
    verilator: &Verilator,
    effort: Effort,
) -> Result<Point, RaceError> {
    let (mut engine, engine_build) = EngineSide::new(benchmark)?;
    let design = Design { benchmark: benchmark.clone(), words: style == Style::Words, through_ports: false };
    let (mut verilated, verilator_build) = verilator.start(&design)?;
    let name = benchmark.name();
    let cycles = cycles_of_a_turn(&mut engine, &mut verilated, effort.seconds, &name)?;
    let mut times = [Vec::new(), Vec::new()];
    let mut loop_times = Vec::new();
    let native = native(&benchmark.circuit, benchmark.size).filter(|_| benchmark.part == Part::Whole);
    let mut signature = 0;
    for _ in 0..effort.turns {
        let turns = take_turns(&mut engine, &mut verilated, cycles, &name)?;
        signature = turns.signature;
        times[0].push(turns.engine);
        times[1].push(turns.verilator);
        if let Some(native) = native {
            let start = processor_nanoseconds();
            let theirs = native(benchmark.activity, cycles);
            loop_times.push(processor_nanoseconds() - start);
            let ours = engine.signature_after(cycles)?;
            if ours != theirs {
                return Err(RaceError::Native { benchmark: name, ours, theirs });
            }
        }
    }
    let pace = |times: &mut Vec<f64>, build: Build| {
        times.sort_by(f64::total_cmp);
        Pace {
            cycles_per_second: cycles as f64 * 1e9 / times[times.len() / 2],
            spread: times[times.len() - 1] / times[0],
            first_cycle_seconds: build.first_cycle_seconds,
            build_peak_kib: build.peak_kib,
        }
    };
    loop_times.sort_by(f64::total_cmp);
    let limit = (!loop_times.is_empty()).then(|| cycles as f64 * 1e9 / loop_times[loop_times.len() / 2]);
    let [engine_times, verilator_times] = &mut times;
    let (engine, verilator) = (pace(engine_times, engine_build), pace(verilator_times, verilator_build));
    Ok(Point {
        benchmark: benchmark.clone(),
        style: style.name(),
        cycles,
        signature: format!("{signature:016x}"),
        ratio: engine.cycles_per_second / verilator.cycles_per_second,
        limit: limit.map(|limit| Limit {
            cycles_per_second: limit,
            ratio: limit / verilator.cycles_per_second,
            reached: engine.cycles_per_second / limit,
        }),
        ports: None,
        engine,
        verilator,
    })
}

/// Races the circuit of a benchmark driven through its ports.
pub fn race_through_ports(
    benchmark: &Benchmark,
    style: Style,
    verilator: &Verilator,
    effort: Effort,
) -> Result<PortDriven, RaceError> {
    let design = Design { benchmark: benchmark.clone(), words: style == Style::Words, through_ports: true };
    let circuit = benchmark.circuit_netlist()?;
    let driven = |steps| DrivenEngine::new(Recording::of(benchmark, &circuit)?, &circuit, steps);
    let (mut engine, mut harness) = (driven(true)?, driven(false)?);
    let (mut verilated, _) = verilator.start(&design)?;
    let mut verilated_harness = verilator.start_harness(&design)?;
    let name = format!("{} through its ports", benchmark.name());
    let cycles = cycles_of_a_turn(&mut engine, &mut verilated, effort.seconds, &name)?;
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..effort.turns {
        let turns = take_turns(&mut engine, &mut verilated, cycles, &name)?;
        let harnesses = [harness.turn(cycles)?.0, verilated_harness.turn(cycles)?.0];
        for (times, time) in
            times.iter_mut().zip([turns.engine, turns.verilator].into_iter().chain(harnesses))
        {
            times.push(time / cycles as f64);
        }
    }
    let [engine, verilator, engine_harness_nanoseconds, verilator_harness_nanoseconds] =
        times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
    Ok(PortDriven {
        engine_cycles_per_second: 1e9 / engine,
        verilator_cycles_per_second: 1e9 / verilator,
        ratio: verilator / engine,
        engine_harness_nanoseconds,
        verilator_harness_nanoseconds,
    })
}

/// The nanoseconds of both sides, and their signature.
struct Turns {
    engine: f64,
    verilator: f64,
    signature: u64,
}

fn take_turns(
    engine: &mut dyn Side,
    verilated: &mut dyn Side,
    cycles: u64,
    name: &str,
) -> Result<Turns, RaceError> {
    let (engine, ours) = engine.turn(cycles)?;
    let (verilator, theirs) = verilated.turn(cycles)?;
    if ours != theirs {
        return Err(RaceError::Signatures { benchmark: name.into(), ours, theirs });
    }
    Ok(Turns { engine, verilator, signature: ours })
}

/// How many cycles take the slower side about `seconds`, found by doubling.
fn cycles_of_a_turn(
    engine: &mut dyn Side,
    verilated: &mut dyn Side,
    seconds: f64,
    name: &str,
) -> Result<u64, RaceError> {
    let mut cycles = 1000;
    loop {
        let turns = take_turns(engine, verilated, cycles, name)?;
        let slower = turns.engine.max(turns.verilator) / 1e9;
        if slower > seconds / 8.0 {
            return Ok((cycles as f64 * seconds / slower).max(1.0) as u64);
        }
        cycles *= 4;
    }
}
