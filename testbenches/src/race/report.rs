//! What a race prints.

use std::fmt;

use serde::Serialize;

use super::verilator::{FLAGS, MAKE_FLAGS, VERSION};
use super::{Pace, Point, PortDriven, Ratios};

/// Everything that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Geometric means of the circuits' ratios.
    pub geomean_ratio: Ratios,
    /// The other side.
    pub verilator: &'static str,
    /// How it was called.
    pub flags: String,
    /// Whether only the named subset was raced, in short turns.
    pub quick: bool,
    /// One entry a circuit.
    pub circuits: Vec<CircuitReport>,
}

/// What was measured of a circuit.
#[derive(Clone, Debug, Serialize)]
pub struct CircuitReport {
    /// Name in the list.
    pub circuit: String,
    /// Geometric means over its points.
    pub ratio: Ratios,
    /// Its sizes and activity levels.
    pub points: Vec<Point>,
}

impl Report {
    /// The report on points in the order of the list.
    pub fn new(points: Vec<Point>, quick: bool) -> Report {
        let mut circuits: Vec<CircuitReport> = Vec::new();
        for point in points {
            match circuits.last_mut() {
                Some(circuit) if circuit.circuit == point.benchmark.circuit => circuit.points.push(point),
                Some(_) | None => circuits.push(CircuitReport {
                    circuit: point.benchmark.circuit.clone(),
                    ratio: point.ratio,
                    points: vec![point],
                }),
            }
        }
        for circuit in &mut circuits {
            circuit.ratio = Ratios::geometric_mean(circuit.points.iter().map(|point| point.ratio));
        }
        Report {
            geomean_ratio: Ratios::geometric_mean(circuits.iter().map(|circuit| circuit.ratio)),
            verilator: VERSION,
            flags: format!("{}; make {MAKE_FLAGS}", FLAGS.join(" ")),
            quick,
            circuits,
        }
    }
}

impl Report {
    /// What was driven through its ports, if anything was.
    fn port_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let points = self.circuits.iter().flat_map(|circuit| &circuit.points);
        let driven: Vec<(&Point, &PortDriven)> =
            points.filter_map(|point| Some((point, point.ports.as_ref()?))).collect();
        if driven.is_empty() {
            return Ok(());
        }
        write!(
            f,
            "\n\n{:<28} {:>12} {:>12} {:>7}   {:>23}\n{:<28} {:>12} {:>12} {:>7}   {:>11} {:>11}",
            "driven through its ports",
            "engine",
            "verilator",
            "",
            "harness alone, ns/cycle",
            "circuit",
            "cycles/s",
            "cycles/s",
            "ratio",
            "engine",
            "verilator"
        )?;
        for (point, ports) in driven {
            write!(
                f,
                "\n{:<28} {:>12} {:>12} {:>6.2}x   {:>11.1} {:>11.1}",
                point.benchmark.name(),
                with_commas(ports.engine_cycles_per_second),
                with_commas(ports.verilator_cycles_per_second),
                ports.ratio,
                ports.engine_harness_nanoseconds,
                ports.verilator_harness_nanoseconds
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Report {
    /// A table with a line a point, and the means. Rates are medians; of the best quarters stand the ratios.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<28} {:>12} {:>12} {:>15} {:>11} {:>23}   {:>9} {:>9}   {:>8} {:>9}",
            "",
            "engine",
            "verilator",
            "ratio",
            "spread",
            "limit",
            "engine",
            "verilator",
            "engine",
            "verilator"
        )?;
        writeln!(
            f,
            "{:<28} {:>12} {:>12} {:>7} {:>7} {:>5} {:>5} {:>7} {:>7} {:>7}   {:>19}   {:>18}   style",
            "circuit",
            "cycles/s",
            "cycles/s",
            "median",
            "best",
            "ours",
            "its",
            "best",
            "median",
            "best",
            "first cycle, s",
            "build, MiB"
        )?;
        for circuit in &self.circuits {
            circuit.points.iter().try_for_each(|point| write_point(f, point))?;
            if circuit.points.len() > 1 {
                write_mean(f, &format!("{}, mean", circuit.circuit), circuit.ratio)?;
                writeln!(f)?;
            }
        }
        write_mean(f, "geometric mean", self.geomean_ratio)?;
        self.port_table(f)
    }
}

fn write_point(f: &mut fmt::Formatter<'_>, point: &Point) -> fmt::Result {
    let (ours, theirs) = (&point.engine, &point.verilator);
    let limit = point.limit.as_ref().map_or(String::new(), |limit| {
        let reached = limit.reached;
        let percent = |part: f64| format!("{:.0} %", 100.0 * part);
        let [median, best] = [reached.median, reached.best_quarter].map(percent);
        format!("{:>6.2}x {median:>7} {best:>7}", limit.ratio.best_quarter)
    });
    let mib = |pace: &Pace| pace.build_peak_kib / 1024;
    writeln!(
        f,
        "{:<28} {:>12} {:>12} {:>6.2}x {:>6.2}x {:>5.2} {:>5.2} {:>23}   {:>9.3} {:>9.1}   {:>8} {:>9}   {}",
        point.benchmark.name(),
        with_commas(ours.rates.cycles_per_second),
        with_commas(theirs.rates.cycles_per_second),
        point.ratio.median,
        point.ratio.best_quarter,
        ours.rates.spread,
        theirs.rates.spread,
        limit,
        ours.first_cycle_seconds,
        theirs.first_cycle_seconds,
        mib(ours),
        mib(theirs),
        point.style,
    )
}

fn write_mean(f: &mut fmt::Formatter<'_>, name: &str, ratio: Ratios) -> fmt::Result {
    write!(f, "{name:<28} {:>32.2}x {:>6.2}x", ratio.median, ratio.best_quarter)
}

/// A rate, rounded, with commas.
fn with_commas(rate: f64) -> String {
    let digits = format!("{rate:.0}");
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
