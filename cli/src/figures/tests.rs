//! Figures made from injected results: structure, not simulation.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use serde_json::Value;
use warpfile_kernels::exec::ExecOptions;
use warpfile_sim::counters::Counts;
use warpfile_sim::mechanisms::hybrid::{RSP_COUNTERS, ScratchpadCounters};
use warpfile_sim::mechanisms::rfc;
use warpfile_sim::sm::{Accesses, EngineName, MRF, Residency, RunReport, WorkingSet};

use super::kept::KeptRuns;
use super::report::FigureReport;
use super::sweep::{Point, Ran, Setup};
use super::{
    Figure, Options, Outputs, PAPERS, PaperArguments, Variation, by_id, chosen, list, make, run, svg,
};
use crate::code::Code;
use crate::figures::svg::Sheet;
use crate::input::{Input, Source};

fn options(workloads: &[&str]) -> Options {
    let variation = Variation::of("tiny", workloads);
    Options { variation, engine: EngineName::default(), threads: 0, runs: None }
}

/// A machine in which a cache of n entries avoids n of 20 accesses, a flush costs one more, liveness saves two
/// writes, and IPC grows with the active warps.
pub fn injected(source: &Source<'_>, setup: &Setup) -> Result<Ran> {
    Ok(Ran { report: injected_report(source, setup), is_new: true })
}

fn injected_report(source: &Source<'_>, setup: &Setup) -> RunReport {
    let config = &setup.config;
    let salt = source.input().word().len() as u64;
    let cached = config.design.contains("rfc");
    let all_active = config.design.as_str() == "baseline" || config.scheduler.active_warps == config.sm.warps;
    let cache = config.of::<rfc::Parameters>();
    let entries = if cached { cache.entries } else { 0 };
    let flushed = u64::from(cached && !all_active);
    let live = if cached && cache.use_last_read { 200 } else { 0 };
    let accesses = |count: u64| Accesses {
        reads: count,
        writes: count / 2,
        cluster_reads: 8 * count,
        cluster_writes: 4 * count,
    };
    let mut mrf = accesses(2000 - 100 * entries + 50 * flushed + salt);
    mrf.writes -= live.min(mrf.writes);
    mrf.cluster_writes -= (8 * live).min(mrf.cluster_writes);
    let mut counters = Counts::default();
    counters.add(MRF, &mrf);
    if cached {
        counters.add(rfc::COUNTERS, &accesses(100 * entries + live));
    }
    if config.design.contains("rsp") || config.design.contains("hybrid") {
        let scratchpad = ScratchpadCounters {
            accesses: accesses(600),
            operand_reads: 500,
            result_writes: 200,
            transfers: 100,
            strands: 50 + salt,
            ..ScratchpadCounters::default()
        };
        counters.add(RSP_COUNTERS, &scratchpad);
    }
    let active = if config.design.as_str() == "baseline" { 32 } else { config.scheduler.active_warps };
    let cycles = 1000 + 100 * salt + 2000 / active + config.latency.alu;
    RunReport {
        design: config.design.as_str().to_owned(),
        cycles,
        warp_instructions: 1000,
        ipc: 1000.0 / cycles as f64,
        operands_checked: 3000,
        operands: accesses(2000 + salt),
        counters,
        residency: vec![Residency { resident_warps: if salt > 3 { 32 } else { 8 }, ..Residency::default() }],
        working_set: setup.working_set_window.map(|window| WorkingSet {
            window_cycles: window.get(),
            windows: 10,
            registers: 100 * active + salt,
            most_registers: 20 * active,
        }),
        ..RunReport::default()
    }
}

fn figure(id: &str, workloads: &[&str]) -> FigureReport {
    let options = options(workloads);
    make(by_id(id).expect("known"), &options, &injected).expect("no run fails")
}

fn is_simulated(figure: &Figure) -> bool {
    matches!(figure.method, super::Method::Runs { .. })
}

/// The document that `--json` prints.
fn document(report: &FigureReport) -> Value {
    serde_json::from_str(&crate::output::json(report).expect("no floating-point oddities")).expect("JSON")
}

#[test]
fn every_figure_has_claims_tables_charts_and_a_row_for_every_workload() {
    for entry in list().filter(|figure| is_simulated(figure)) {
        let report = figure(entry.id, &[]);
        let of_paper = PAPERS.iter().flat_map(|paper| paper.figures).any(|figure| figure.id == entry.id);
        assert!(!of_paper || !report.content.claims.is_empty(), "{}", entry.id);
        assert!(!report.content.charts.is_empty(), "{}", entry.id);
        let text = report.to_markdown();
        for workload in &report.workloads {
            let row = format!("| {workload} ");
            assert!(text.contains(&row), "{}: {workload} is missing", entry.id);
        }
        assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
    }
}

#[test]
fn the_json_of_every_figure_names_its_values_in_snake_case() {
    for entry in list().filter(|figure| is_simulated(figure)) {
        let document = document(&figure(entry.id, &["hotspot", "bfs"]));
        for key in
            ["id", "title", "source", "command", "size", "workloads", "effort", "claims", "tables", "notes"]
        {
            assert!(document.get(key).is_some(), "{}: {key}", entry.id);
        }
        let tables = document["tables"].as_array().expect("a list");
        let keys: BTreeSet<&str> = tables.iter().filter_map(|table| table["key"].as_str()).collect();
        assert_eq!(keys.len(), tables.len(), "{}: table keys differ", entry.id);
        for row in tables.iter().flat_map(|table| table["rows"].as_array().expect("a list")) {
            for (key, value) in row.as_object().expect("an object") {
                let snake = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                assert!(key.chars().all(snake), "{}: {key}", entry.id);
                assert!(!value.is_object() && !value.is_array(), "{}: {key}", entry.id);
            }
        }
    }
}

#[test]
fn every_chart_is_well_formed_and_stays_inside_its_frame() {
    for entry in list().filter(|figure| is_simulated(figure)) {
        let report = figure(entry.id, &[]);
        check_svg(&svg::draw(Sheet::screen("a < b & c"), &report.content.charts));
    }
}

/// Checks nesting, attributes and coordinates of the SVG that is drawn here.
fn check_svg(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut size = [0.0; 2];
    for element in text.split('<').skip(1) {
        let (tag, content) = element.split_once('>').expect("a tag ends");
        assert!(!content.contains('&') || content.contains("&amp;") || content.contains("&lt;"), "{content}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "tags are nested");
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        let name = tag.split(' ').next().unwrap_or_default();
        if name == "svg" {
            size = [number(tag, "width"), number(tag, "height")].map(|value| value.expect("given"));
        }
        for (axis, names) in [["x", "x1", "x2", "cx"], ["y", "y1", "y2", "cy"]].into_iter().enumerate() {
            for value in names.iter().filter_map(|name| number(tag, name)) {
                assert!((-0.5..=size[axis] + 0.5).contains(&value), "{tag}");
            }
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

fn number(tag: &str, attribute: &str) -> Option<f64> {
    let (_, rest) = tag.split_once(&format!(" {attribute}=\""))?;
    rest.split('"').next()?.parse().ok()
}

#[test]
fn means_are_over_workloads_and_categories() {
    let document = document(&figure("gebhart-7", &["hotspot", "bfs"]));
    let rows = document["tables"][0]["rows"].as_array().expect("a list");
    let value = |workload: &str, category: &str| {
        let row = rows.iter().find(|row| row["workload"] == workload && row["category"] == category);
        row.expect("there")["mrf_reads_avoided_percent"].as_f64().expect("a number")
    };
    assert_eq!(value("mean", "other"), value("bfs", "other"));
    let expected = (value("bfs", "other") + value("hotspot", "simulation")) / 2.0;
    assert!((value("mean", "all") - expected).abs() < 1e-9);
}

#[test]
fn ipc_is_averaged_only_where_all_warps_are_resident() {
    let document = document(&figure("gebhart-9", &["hotspot", "bfs"]));
    let rows = document["tables"][0]["rows"].as_array().expect("a list");
    // bfs has 8 resident warps here, hotspot 32: 1000 instructions in 1700 + 2000 / 4 + 8 cycles.
    assert_eq!(rows[0]["greedy_ipc"].as_f64(), Some(1000.0 / 2208.0));
    assert_eq!(rows[0]["greedy_ipc_deviation"].as_f64(), Some(0.0));
}

#[test]
fn a_figure_as_it_is_printed() {
    insta::assert_snapshot!(figure("gebhart-table5", &["hotspot", "bfs"]).to_markdown());
    insta::assert_snapshot!("regless-2", figure("regless-2", &["hotspot", "bfs"]).to_markdown());
}

#[test]
fn the_regions_of_real_kernels_as_they_are_printed() {
    for (id, workloads) in [
        ("regless-5", &["nn"] as &[&str]),
        ("regless-19", &["vectoradd", "hotspot"]),
        ("regless-table2", &["vectoradd", "hotspot", "bfs"]),
    ] {
        let report = figure(id, workloads);
        insta::assert_snapshot!(id, report.to_markdown());
        check_svg(&svg::draw(Sheet::screen(report.title), &report.content.charts));
    }
}

#[test]
fn a_figure_without_workloads_of_its_own_is_made_of_the_common_ones() {
    let all = chosen(by_id("regless-19").expect("known"), &[]).expect("known");
    let common = warpfile_kernels::workloads::common();
    assert!(all.iter().map(|one| one.name).eq(common.iter().map(|one| one.name)));
    assert!(all.len() < warpfile_kernels::workloads::list().len());
}

#[test]
fn the_structures_of_regless_as_they_are_printed() {
    for id in ["regless-11", "regless-12"] {
        let report = figure(id, &[]);
        assert!(!report.content.claims.is_empty() && report.size.is_none() && report.workloads.is_empty());
        insta::assert_snapshot!(id, report.to_markdown());
        check_svg(&svg::draw(Sheet::screen(report.title), &report.content.charts));
        let tables = document(&report)["tables"].clone();
        assert!(tables.as_array().is_some_and(|tables| tables.len() >= 2), "{id}");
    }
}

#[test]
fn accesses_of_real_kernels_as_they_are_printed() {
    for id in ["greener-4.1", "greener-4.2"] {
        let report = figure(id, &["vectoradd"]);
        insta::assert_snapshot!(id, report.to_markdown());
        check_svg(&svg::draw(Sheet::screen(report.title), &report.content.charts));
        assert_eq!(document(&report)["effort"]["runs"].as_u64(), Some(1));
    }
    insta::assert_snapshot!("greener-overheads", figure("greener-overheads", &[]).to_markdown());
}

#[test]
fn a_figure_made_without_workloads_refuses_some() {
    let figure = by_id("regless-11").expect("known");
    let error = chosen(figure, &["bfs".to_owned()]).expect_err("made without").to_string();
    assert_eq!(error, "regless-11 is made without workloads; leave out `--workloads bfs`");
}

#[test]
fn a_failing_run_names_workload_and_configuration() {
    let options = options(&["hotspot"]);
    let fails = |_: &Source<'_>, _: &Setup| anyhow::bail!("a wrong operand");
    let figure = by_id("gebhart-7").expect("known");
    let error = make(figure, &options, &fails);
    let message = format!("{:#}", error.expect_err("fails"));
    assert!(message.starts_with("hotspot with design=rfc rfc.entries=6"), "{message}");
    assert!(message.ends_with("a wrong operand"), "{message}");
}

#[test]
fn a_run_that_several_figures_are_made_of_is_made_once() {
    let runs = KeptRuns::new(EngineName::default(), None).expect("no folder");
    let made = AtomicUsize::new(0);
    let workload = &warpfile_kernels::workloads::list()[0];
    let input = Input::Workload { workload, size: "tiny".to_owned(), code: Code::default() };
    let source = Source::new(&input, ExecOptions::default());
    let get = |design| {
        let setup = Setup {
            config: options(&[]).variation.config(&Point::gtx980(design)).expect("valid"),
            working_set_window: None,
        };
        let simulate = || {
            made.fetch_add(1, Ordering::Relaxed);
            Ok(injected_report(&source, &setup))
        };
        runs.get(&source, &setup, simulate).expect("runs").report
    };
    let (first, other, again) = (get("baseline"), get("two-level"), get("baseline"));
    assert_eq!((first.design.as_str(), other.design.as_str()), ("baseline", "two-level"));
    assert_eq!((first, made.into_inner()), (again, 2));
}

#[test]
fn parameters_that_mechanisms_share_tell_runs_of_each_of_them_apart() {
    let key = |design: &str, latency: u64| {
        let point = Point::new("k20x-greener", design).with("greener.sleep_latency", latency);
        let config = options(&[]).variation.config(&point).expect("valid");
        Setup { config, working_set_window: None }.key()
    };
    for design in ["greener", "greener-comp-opt", "sleep-reg", "two-level+sleep-reg"] {
        assert_ne!(key(design, 1), key(design, 2), "{design}");
    }
    assert_eq!(key("baseline", 1), key("baseline", 2));
}

#[test]
fn one_svg_file_is_not_for_several_figures() {
    let mut paper = PaperArguments::default();
    paper.svg = Some("charts.svg".into());
    let outputs = Outputs { paper, ..Outputs::default() };
    let ids = ["regless-11", "regless-12"].map(str::to_owned);
    let error = run(&ids, &options(&[]), &outputs).expect_err("two figures").to_string();
    assert_eq!(error, "--svg charts.svg takes one figure, there are 2; --out keeps the charts of several");
}

#[test]
fn unknown_figures_and_workloads_are_answered_with_those_that_exist() {
    let error = by_id("gebhart-8").map(|figure| figure.id).expect_err("not there").to_string();
    assert!(error.starts_with("no figure `gebhart-8`; there are: gebhart-2, gebhart-6"), "{error}");
    let error = chosen(by_id("gebhart-2").expect("known"), &["hotspt".to_owned()])
        .expect_err("not there")
        .to_string();
    assert!(error.contains("hotspot"), "{error}");
}

#[test]
fn value_usage_of_real_kernels_adds_up() {
    let options = options(&["vectoradd", "scalarprod"]);
    let report = make(by_id("gebhart-2").expect("known"), &options, &injected).expect("runs");
    let document = document(&report);
    for row in document["tables"][0]["rows"].as_array().expect("a list") {
        let classes = ["read_0_times", "read_once", "read_twice", "read_more_often"];
        let sum: f64 = classes.iter().filter_map(|class| row[format!("{class}_percent")].as_f64()).sum();
        assert!((sum - 100.0).abs() < 1e-9, "{row}");
    }
    check_svg(&svg::draw(Sheet::screen(report.title), &report.content.charts));
}
