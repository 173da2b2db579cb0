//! Runs over time.

use std::collections::BTreeSet;

use warpfile_sim::config::{Config, preset};
use warpfile_sim::mechanisms;
use warpfile_sim::sm::{RunOptions, RunReport, Timeline};

use crate::tiny::run_tiny;

fn run(config: &Config, workload: &'static str) -> (RunReport, Timeline) {
    let report = run_tiny(config, workload, RunOptions { timeline: true, ..RunOptions::default() });
    let timeline = report.timeline.clone().expect("it was asked for");
    (report, timeline)
}

#[test]
fn every_instruction_is_in_its_column_and_nothing_else_changes() {
    for (machine, design, workload) in [
        ("gebhart2011", "rfc", "bfs"),
        ("gtx980-gpgpusim", "regless", "hotspot"),
        ("fermi-wir", "wir-rlpv", "nw"),
    ] {
        let config = preset(machine).expect("complete").with_design(design).expect("known");
        let (report, timeline) = run(&config, workload);
        let alone = run_tiny(&config, workload, RunOptions::default());
        assert_eq!(RunReport { timeline: None, ..report.clone() }, alone, "{design}");
        let warps = &timeline.tracks[0].rows;
        assert_eq!(warps.len() as u64, config.sm.warps);
        let columns = warps[0].values.len() as u64;
        assert!((1..256).contains(&columns), "{columns} columns");
        assert!(
            timeline
                .tracks
                .iter()
                .flat_map(|track| &track.rows)
                .all(|row| row.values.len() as u64 == columns)
        );
        let width = timeline.cycles_per_column;
        assert!(columns * width <= report.cycles && report.cycles < (columns + 2) * width);
        // All but those of the last cycles, which are no column yet.
        let issued: f64 = warps.iter().flat_map(|row| &row.values).flatten().sum::<f64>() * width as f64;
        let all = report.warp_instructions as f64;
        let last = (config.sm.schedulers * config.sm.issues_per_scheduler * width) as f64;
        assert!(issued <= all + 0.5 && issued >= all - last, "{design}: {issued} of {all}");
    }
}

#[test]
fn what_mechanisms_name_is_there_and_a_share() {
    let mut seen = BTreeSet::new();
    for mechanism in mechanisms::ALL.iter().filter(|mechanism| !mechanism.occupancies().is_empty()) {
        let info = mechanism.info();
        let config = preset(info.preset).expect("complete").with_design(info.name).expect("a design");
        let (_, timeline) = run(&config, "vectoradd");
        for occupancy in mechanism.occupancies() {
            let track = timeline.tracks.iter().find(|track| track.title == occupancy.title);
            let rows = &track.unwrap_or_else(|| panic!("{}: no {}", info.name, occupancy.title)).rows;
            assert!(!rows.is_empty());
            let values: Vec<f64> = rows.iter().flat_map(|row| &row.values).flatten().copied().collect();
            assert!(values.iter().all(|value| (0.0..=100.0).contains(value)), "{}", info.name);
            assert!(
                values.iter().any(|value| *value > 0.0),
                "{}: {} is always 0",
                info.name,
                occupancy.title
            );
            seen.insert(occupancy.title);
        }
    }
    assert!(seen.len() >= 7, "{seen:?}");
}
