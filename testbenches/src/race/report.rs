//! What a race prints.

use std::fmt;

use serde::Serialize;

use super::verilator::{FLAGS, MAKE_FLAGS, VERSION};
use super::{Pace, Point};

/// Everything that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Geometric mean of the circuits' ratios.
    pub geomean_ratio: f64,
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
    /// Geometric mean over its points.
    pub ratio: f64,
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
                    ratio: 1.0,
                    points: vec![point],
                }),
            }
        }
        for circuit in &mut circuits {
            circuit.ratio = geometric_mean(circuit.points.iter().map(|point| point.ratio));
        }
        Report {
            geomean_ratio: geometric_mean(circuits.iter().map(|circuit| circuit.ratio)),
            verilator: VERSION,
            flags: format!("{}; make {MAKE_FLAGS}", FLAGS.join(" ")),
            quick,
            circuits,
        }
    }
}

/// 1 for no values.
fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}

impl fmt::Display for Report {
    /// A table with a line a point, and the means.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<28} {:>12} {:>12} {:>7}   {:>9} {:>9}   {:>8} {:>8}   style",
            "", "engine", "verilator", "", "engine", "verilator", "engine", "verilator"
        )?;
        writeln!(
            f,
            "{:<28} {:>12} {:>12} {:>7}   {:>19}   {:>17}",
            "circuit", "cycles/s", "cycles/s", "ratio", "first cycle, s", "build, MiB"
        )?;
        for circuit in &self.circuits {
            for point in &circuit.points {
                let (ours, theirs) = (&point.engine, &point.verilator);
                let mib = |pace: &Pace| pace.build_peak_kib / 1024;
                writeln!(
                    f,
                    "{:<28} {:>12} {:>12} {:>6.2}x   {:>9.3} {:>9.1}   {:>8} {:>8}   {}",
                    point.benchmark.name(),
                    with_commas(ours.cycles_per_second),
                    with_commas(theirs.cycles_per_second),
                    point.ratio,
                    ours.first_cycle_seconds,
                    theirs.first_cycle_seconds,
                    mib(ours),
                    mib(theirs),
                    point.style,
                )?;
            }
            if circuit.points.len() > 1 {
                writeln!(f, "{:<28} {:>33.2}x", format!("{}, mean", circuit.circuit), circuit.ratio)?;
            }
        }
        write!(f, "{:<28} {:>33.2}x", "geometric mean", self.geomean_ratio)
    }
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
