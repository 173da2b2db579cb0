//! Whole kernels on both engines: nothing that is reported depends on the engine.

use warpfile_engine::waveform::Vcd;
use warpfile_sim::config::Config;
use warpfile_sim::sm::{EngineName, RunOptions, Waveform, run};

use super::{gebhart, small_cache, tiny};

/// Everything that is reported, as text, and the waveform of the first cycles.
fn reported(config: &Config, workload: &str, engine: EngineName) -> (String, Vec<u8>) {
    let mut vcd = Vec::new();
    let waveform = Waveform { format: Box::new(Vcd::new(&mut vcd)), scope: None, cycles: Some(0..300) };
    let observed = RunOptions { engine, waveform: Some(waveform), ..RunOptions::default() };
    let with_waveform = run(config, &mut tiny(workload), observed).unwrap();
    let report = run(config, &mut tiny(workload), RunOptions { engine, ..RunOptions::default() }).unwrap();
    assert_eq!(report, with_waveform, "{workload} on {}", engine.as_str());
    (format!("{report:#?}"), vcd)
}

#[test]
fn both_engines_give_the_same_report_and_the_same_waveform() {
    let configurations = [gebhart("baseline"), gebhart("rfc"), small_cache()];
    for (config, workload) in configurations.iter().zip(["hotspot", "bfs", "nw"]) {
        let interpreted = reported(config, workload, EngineName::Interpreter);
        assert!(!interpreted.1.is_empty(), "{workload}");
        assert!(interpreted == reported(config, workload, EngineName::Compiled), "{workload}");
    }
}
