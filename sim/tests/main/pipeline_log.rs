//! The log of every instruction's way through the pipeline.

use std::collections::HashMap;
use std::ops::Range;

use warpfile_sim::config::{Config, preset};
use warpfile_sim::sm::{PipelineLog, RunOptions, RunReport};

use crate::tiny::run_tiny;

/// The stages in which an instruction can be, in order.
const STAGES: [&str; 4] = ["Wt", "Op", "Ex", "Wb"];

/// A row of a log: when its stages begin, and when it retires.
#[derive(Debug, Default)]
struct Row {
    labels: Vec<String>,
    stages: Vec<(u64, String)>,
    retired: Option<u64>,
    flushed: bool,
}

fn config(preset_name: &str, design: &str) -> Config {
    preset(preset_name).expect("complete").with_design(design).expect("known")
}

fn log(config: &Config, workload: &'static str, cycles: Option<Range<u64>>) -> (RunReport, String) {
    let mut written = Vec::new();
    let pipeline_log = Some(PipelineLog { writer: &mut written, cycles });
    let report = run_tiny(config, workload, RunOptions { pipeline_log, ..RunOptions::default() });
    (report, String::from_utf8(written).expect("text"))
}

/// Reads a log as Konata does; panics where it is none.
fn rows(log: &str) -> Vec<Row> {
    let mut lines = log.lines();
    assert_eq!(lines.next(), Some("Kanata\t0004"));
    assert_eq!(lines.next(), Some("C=\t0"));
    let mut now = 0;
    let mut rows: HashMap<u64, Row> = HashMap::new();
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| fields[index].parse::<u64>().expect(line);
        if fields[0] == "C" {
            assert!(number(1) > 0);
            now += number(1);
            continue;
        }
        let row = match fields[0] {
            "I" => {
                assert_eq!(number(1), rows.len() as u64, "rows are numbered in order");
                rows.entry(number(1)).or_default()
            }
            _ => rows.get_mut(&number(1)).expect("it has begun"),
        };
        assert_eq!(row.retired, None, "{line}: nothing comes behind the end");
        match fields[0] {
            "I" => {}
            "L" => row.labels.push(fields[3].to_owned()),
            "S" => row.stages.push((now, fields[3].to_owned())),
            "R" => (row.retired, row.flushed) = (Some(now), number(3) == 1),
            other => panic!("{other} is no command that we write"),
        }
    }
    let mut rows: Vec<(u64, Row)> = rows.into_iter().collect();
    rows.sort_by_key(|(id, _)| *id);
    rows.into_iter().map(|(_, row)| row).collect()
}

#[test]
fn every_instruction_has_a_row_with_its_stages_in_order() {
    for (machine, design, workload) in [
        ("gebhart2011", "rfc", "bfs"),
        ("gtx980-hybrid", "rc", "hotspot"),
        ("gtx980-gpgpusim", "regless", "vectoradd"),
        ("k20x-greener", "greener", "vectoradd"),
    ] {
        let config = config(machine, design);
        let (report, log) = log(&config, workload, None);
        let alone = run_tiny(&config, workload, RunOptions::default());
        assert_eq!((report.cycles, &report.counters), (alone.cycles, &alone.counters), "{design}");
        let rows = rows(&log);
        assert_eq!(rows.len() as u64, report.warp_instructions, "{design}");
        for row in &rows {
            assert_eq!(row.labels.len(), 2, "{row:?}");
            assert!(!row.flushed, "{row:?}");
            let stages: Vec<usize> = (row.stages.iter())
                .map(|(_, name)| STAGES.iter().position(|stage| stage == name).expect("a stage"))
                .collect();
            assert!(stages.starts_with(&[0, 1]) && stages.is_sorted(), "{row:?}");
            let times: Vec<u64> = row.stages.iter().map(|(at, _)| *at).chain(row.retired).collect();
            assert!(times.is_sorted() && row.retired.expect("it retires") < report.cycles, "{row:?}");
        }
        assert!(rows.iter().filter(|row| row.stages.len() == STAGES.len()).count() * 2 > rows.len());
    }
}

#[test]
fn of_some_cycles_only_what_is_decoded_in_them() {
    let config = config("gebhart2011", "rfc");
    let (_, all) = log(&config, "vectoradd", None);
    let (_, some) = log(&config, "vectoradd", Some(100..400));
    let in_window = rows(&all).iter().filter(|row| (100..400).contains(&row.stages[0].0)).count();
    let rows = rows(&some);
    assert_eq!(rows.len(), in_window);
    assert!(in_window > 20 && rows.iter().all(|row| (100..400).contains(&row.stages[0].0)));
}
