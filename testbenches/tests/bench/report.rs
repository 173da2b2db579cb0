//! What a race prints.

use warpfile_testbenches::bench::{Activity, Benchmark, Part};
use warpfile_testbenches::race::{Pace, Point, Rates, Ratios, Report};

fn point(circuit: &str, activity: Activity, ratio: f64) -> Point {
    let pace = |cycles_per_second| Pace {
        rates: Rates {
            cycles_per_second,
            best_quarter_cycles_per_second: 2.0 * cycles_per_second,
            spread: 1.0,
        },
        first_cycle_seconds: 0.25,
        build_peak_kib: 4096,
    };
    Point {
        benchmark: Benchmark { circuit: circuit.into(), size: 1, activity, part: Part::Whole },
        style: "words",
        cycles: 1000,
        signature: "0123456789abcdef".into(),
        engine: pace(ratio * 1e6),
        verilator: pace(1e6),
        ratio: Ratios { median: ratio, best_quarter: 2.0 * ratio },
        limit: None,
        ports: None,
    }
}

#[test]
fn a_circuit_counts_once_however_many_points_it_has() {
    let points = vec![
        point("fifo", Activity::Busy, 2.0),
        point("fifo", Activity::Tenth, 8.0),
        point("register_bank", Activity::Busy, 16.0),
    ];
    let report = Report::new(points, false);
    let ratios: Vec<f64> = report.circuits.iter().map(|circuit| circuit.ratio.median).collect();
    assert!((ratios[0] - 4.0).abs() < 1e-9 && (ratios[1] - 16.0).abs() < 1e-9, "{ratios:?}");
    let Ratios { median, best_quarter } = report.geomean_ratio;
    assert!((median - 8.0).abs() < 1e-9 && (best_quarter - 16.0).abs() < 1e-9, "{median} {best_quarter}");
}

#[test]
fn json_has_the_mean_and_an_object_a_circuit() {
    let report = Report::new(vec![point("fifo", Activity::Busy, 5.0)], true);
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["circuits"].as_array().unwrap().len(), 1);
    assert_eq!(json["circuits"][0]["circuit"], "fifo");
    assert_eq!(json["circuits"][0]["points"][0]["activity"], "busy");
    assert_eq!(json["circuits"][0]["points"][0]["engine"]["cycles_per_second"], 5e6);
    assert!((json["geomean_ratio"]["median"].as_f64().unwrap() - 5.0).abs() < 1e-9);
    assert!((json["geomean_ratio"]["best_quarter"].as_f64().unwrap() - 10.0).abs() < 1e-9);
}
