//! `scripts/bench`: races the compiled engine against Verilator; see `docs/bench.md`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use warpfile_gen::Style;
use warpfile_testbenches::bench::{Activity, Benchmark, Part, benchmarks};
use warpfile_testbenches::race::{
    Effort, EngineBuild, Measured, Point, RaceError, Report, Verilator, VerilatorBuild, race,
    race_through_ports,
};

/// Circuits of the quick subset, at their default size.
const QUICK: [&str; 4] = ["fifo", "register_bank", "two_level_scheduler", "wide_table"];

/// Races the compiled engine against Verilator on the Verilog exported from the same circuits, and prints cycles per
/// second of both, their ratio, the time to the first cycle and the memory of the build.
///
/// Each circuit stands between a generator of stimulus and a signature of its outputs, both part of the exported top,
/// so that it is only clocked. The signatures of both sides are compared after every turn. What Verilator builds is
/// kept, and built again only if the Verilog or the flags change.
#[derive(Parser)]
#[command(name = "bench", version, disable_help_subcommand = true)]
struct Arguments {
    /// Only these circuits, by name; all of them without this.
    circuits: Vec<String>,
    /// Only a few circuits at one size, in short turns: under a minute once Verilator has built them.
    #[arg(long)]
    quick: bool,
    /// Only this activity level.
    #[arg(long, value_enum)]
    activity: Option<Activity>,
    /// Gives Verilator the Verilog in every style, not only in the one that is known to run best, and takes the fastest
    /// at each point; the others are printed to standard error.
    #[arg(long)]
    every_style: bool,
    /// Also drives the circuit alone through its ports, from a recording of the stimulus, and measures what the driving
    /// costs without a circuit. Needs another build of Verilator for each point.
    #[arg(long)]
    ports: bool,
    /// Races what surrounds the circuits in place of the circuits: stimulus and signature alone.
    #[arg(long, conflicts_with = "ports")]
    surroundings: bool,
    /// Prints JSON: `geomean_ratio`, and an object a circuit.
    #[arg(long)]
    json: bool,
    /// Prints the names of what is raced, and what drives each of their inputs, and ends.
    #[arg(long)]
    list: bool,
    /// Turns of each side; the median and the fastest quarter count [default: 40, quick: 12].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1000))]
    turns: Option<u16>,
    /// Seconds that a turn of the slower side takes [default: 0.08, quick: 0.05].
    #[arg(long)]
    seconds: Option<f64>,
    /// Folder of Verilator 5.048: `bin/verilator` and `include/` are in it.
    #[arg(long, env = "VERILATOR_ROOT", value_name = "DIR")]
    verilator_root: Option<PathBuf>,
    /// Folder where Verilator's builds are kept.
    #[arg(long, value_name = "DIR", default_value = "target/bench")]
    builds: PathBuf,
}

fn main() -> ExitCode {
    match measured().unwrap_or_else(|| run(&Arguments::parse())) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(2)
        }
    }
}

/// The part of a race that this process was started for by [`Measured::run_apart`], if it was.
fn measured() -> Option<Result<String, String>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [command, value] = arguments.as_slice() else { return None };
    match command.as_str() {
        EngineBuild::COMMAND => Some(measure::<EngineBuild>(value)),
        VerilatorBuild::COMMAND => Some(measure::<VerilatorBuild>(value)),
        _ => None,
    }
}

fn measure<M: Measured>(value: &str) -> Result<String, String> {
    let work: M = serde_json::from_str(value).map_err(|error| error.to_string())?;
    let build = work.run().map_err(|error| error.to_string())?;
    serde_json::to_string(&build).map_err(|error| error.to_string())
}

fn run(arguments: &Arguments) -> Result<String, String> {
    let benchmarks = chosen(arguments)?;
    if arguments.list {
        return listed(&benchmarks);
    }
    let root = arguments.verilator_root.as_ref().ok_or(
        "--verilator-root is missing: the folder of Verilator 5.048; `scripts/bench` installs one and names it",
    )?;
    // Verilator runs in the folder of its build: the path must not depend on where that is.
    let builds = std::path::absolute(&arguments.builds)
        .map_err(|error| format!("--builds {}: {error}", arguments.builds.display()))?;
    let seconds = arguments.seconds.unwrap_or(if arguments.quick { 0.05 } else { 0.08 });
    if !(0.001..=3600.0).contains(&seconds) {
        return Err(format!("--seconds {seconds}: allowed are 0.001 to 3600"));
    }
    let turns = arguments.turns.unwrap_or(if arguments.quick { 12 } else { 40 }).into();
    let styles = if arguments.every_style { &Style::ALL[..] } else { &[Style::Words] };
    let effort = Effort { turns, seconds };
    let report =
        raced(arguments, &benchmarks, styles, root, &builds, effort).map_err(|error| error.to_string())?;
    match arguments.json {
        true => serde_json::to_string_pretty(&report).map_err(|error| error.to_string()),
        false => Ok(report.to_string()),
    }
}

/// The benchmarks that the arguments name.
fn chosen(arguments: &Arguments) -> Result<Vec<Benchmark>, String> {
    let part = if arguments.surroundings { Part::Surroundings } else { Part::Whole };
    let mut all: Vec<Benchmark> =
        benchmarks().into_iter().map(|benchmark| Benchmark { part, ..benchmark }).collect();
    let mut known: Vec<String> = all.iter().map(|benchmark| benchmark.circuit.clone()).collect();
    known.dedup();
    if let Some(unknown) = arguments.circuits.iter().find(|name| !known.contains(name)) {
        return Err(format!("there is no circuit `{unknown}`; there are: {}", known.join(", ")));
    }
    let named = |benchmark: &Benchmark| match (arguments.circuits.is_empty(), arguments.quick) {
        (false, _) => arguments.circuits.contains(&benchmark.circuit),
        (true, true) => QUICK.contains(&benchmark.circuit.as_str()),
        (true, false) => true,
    };
    all.retain(|benchmark| {
        named(benchmark)
            && arguments.activity.is_none_or(|activity| benchmark.activity == activity)
            && (!arguments.quick || benchmark.size == 1)
    });
    Ok(all)
}

fn listed(benchmarks: &[Benchmark]) -> Result<String, String> {
    let inputs = |benchmark: &Benchmark| {
        let inputs = benchmark.inputs().map_err(|error| error.to_string())?;
        Ok(format!("{}\n{inputs}", benchmark.name()))
    };
    let texts: Result<Vec<String>, String> = benchmarks.iter().map(inputs).collect();
    Ok(texts?.join("\n"))
}

fn raced(
    arguments: &Arguments,
    benchmarks: &[Benchmark],
    styles: &[Style],
    root: &Path,
    builds: &Path,
    effort: Effort,
) -> Result<Report, RaceError> {
    let verilator = Verilator::new(root, builds)?;
    let mut points = Vec::new();
    for (done, benchmark) in benchmarks.iter().enumerate() {
        eprintln!("{}/{} {}", done + 1, benchmarks.len(), benchmark.name());
        let mut fastest: Option<Point> = None;
        for &style in styles {
            let mut point = race(benchmark, style, &verilator, effort)?;
            if arguments.ports {
                point.ports = Some(race_through_ports(benchmark, style, &verilator, effort)?);
            }
            let rate = point.verilator.rates.cycles_per_second;
            eprintln!("    {}: {rate:.0} cycles/s, ratio {:.2}", point.style, point.ratio.median);
            if fastest.as_ref().is_none_or(|other| rate > other.verilator.rates.cycles_per_second) {
                fastest = Some(point);
            }
        }
        points.extend(fastest);
    }
    Ok(Report::new(points, arguments.quick))
}
