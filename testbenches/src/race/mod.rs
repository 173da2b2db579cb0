//! The race: the compiled engine beside Verilator, on the Verilog exported from the same netlist.
//!
//! Both sides run a [benchmark](crate::bench) top and are only clocked. At each [point](Point) the sides take turns:
//! so many cycles of one, as many of the other, many times over. What is measured is processor time, so that other
//! processes disturb little; but a core that is shared, or slowed down, is slower for all that runs on it, and never faster.
//! Turns are therefore short, so that both sides meet the same neighbours, and beside the median of each stands the mean of
//! its fastest quarter, which is what it does when left alone. After every turn the signatures of both must be equal. The
//! hand-written loop of the circuit takes its turn too, always from the start.

mod engine;
mod error;
mod measure;
mod ports;
mod report;
mod times;
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
use times::Times;
pub use times::{Rates, Ratios};
use verilator::Design;

/// How long and how often a point is run.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Turns of each side.
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
    pub ratio: Ratios,
    /// The hand-written loop, if there is one.
    pub limit: Option<Limit>,
    /// The circuit driven through its ports, if that was asked for.
    pub ports: Option<PortDriven>,
}

/// How fast the circuit can be run, as far as we know.
#[derive(Clone, Debug, Serialize)]
pub struct Limit {
    /// Of the loop.
    #[serde(flatten)]
    pub rates: Rates,
    /// Over Verilator's.
    pub ratio: Ratios,
    /// Cycles per second of the engine over those of the loop.
    pub reached: Ratios,
}

/// One side at one point.
#[derive(Clone, Debug, Serialize)]
pub struct Pace {
    /// Over the turns.
    #[serde(flatten)]
    pub rates: Rates,
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
    let [mut ours, mut theirs, mut of_loop] = [(); 3].map(|()| Times::of_turns(cycles));
    let native = native(&benchmark.circuit, benchmark.size).filter(|_| benchmark.part == Part::Whole);
    let after_a_turn = native.map(|_| engine.signature_after(cycles)).transpose()?;
    let mut signature = 0;
    for _ in 0..effort.turns {
        let turns = take_turns(&mut engine, &mut verilated, cycles, &name)?;
        signature = turns.signature;
        ours.push(turns.engine);
        theirs.push(turns.verilator);
        if let (Some(native), Some(ours)) = (native, after_a_turn) {
            let start = processor_nanoseconds();
            let theirs = native(benchmark.activity, cycles);
            of_loop.push(processor_nanoseconds() - start);
            if ours != theirs {
                return Err(RaceError::Native { benchmark: name, ours, theirs });
            }
        }
    }
    let [engine_rates, verilator_rates] = [ours.rates(), theirs.rates()];
    let pace = |rates, build: Build| Pace {
        rates,
        first_cycle_seconds: build.first_cycle_seconds,
        build_peak_kib: build.peak_kib,
    };
    Ok(Point {
        benchmark: benchmark.clone(),
        style: style.name(),
        cycles,
        signature: format!("{signature:016x}"),
        ratio: engine_rates.over(verilator_rates),
        limit: native.map(|_| of_loop.rates()).map(|rates| Limit {
            rates,
            ratio: rates.over(verilator_rates),
            reached: engine_rates.over(rates),
        }),
        ports: None,
        engine: pace(engine_rates, engine_build),
        verilator: pace(verilator_rates, verilator_build),
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
    let mut times = [(); 4].map(|()| Times::of_turns(cycles));
    for _ in 0..effort.turns {
        let turns = take_turns(&mut engine, &mut verilated, cycles, &name)?;
        let harnesses = [harness.turn(cycles)?.0, verilated_harness.turn(cycles)?.0];
        let taken = [turns.engine, turns.verilator].into_iter().chain(harnesses);
        times.iter_mut().zip(taken).for_each(|(times, taken)| times.push(taken));
    }
    let [engine, verilator, engine_harness, verilator_harness] =
        times.map(|mut times| times.rates().cycles_per_second);
    Ok(PortDriven {
        engine_cycles_per_second: engine,
        verilator_cycles_per_second: verilator,
        ratio: engine / verilator,
        engine_harness_nanoseconds: 1e9 / engine_harness,
        verilator_harness_nanoseconds: 1e9 / verilator_harness,
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
