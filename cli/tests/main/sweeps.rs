//! `warpfile sweep` and `warpfile compare`.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use serde_json::Value;

use crate::command::Place;
use crate::runs::{SOFT_DEFINITIONS, write_soft_definition};

/// Combinations of which some are the same: a baseline is one run whatever the entries of a cache that it has not.
const SWEEP: &str =
    "sweep --kernels vectoradd,nw,bfs --size tiny --design rfc,two-level --set rfc.entries=2,4 --out r";
/// Baseline, two caches and `two-level`, of each kernel.
const RUNS: usize = 3 * 4;

/// Cells of results.csv by column.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut lines = csv.lines().map(|line| line.split(','));
    let at = lines.next().and_then(|mut names| names.position(|known| known == name)).expect(name);
    lines.map(|mut cells| cells.nth(at).expect("as many cells as names").to_owned()).collect()
}

/// results.csv without what is measured on the clock.
fn without_times(csv: &str) -> String {
    let names: Vec<&str> = csv.lines().next().expect("a heading").split(',').collect();
    let is_kept = |at: usize| !["wall_time_s", "warp_instructions_per_second"].contains(&names[at]);
    let kept = |line: &str| {
        let cells = line.split(',').enumerate().filter(|(at, _)| is_kept(*at));
        cells.map(|(_, cell)| cell).collect::<Vec<_>>().join(",") + "\n"
    };
    csv.lines().map(kept).collect()
}

#[test]
fn every_run_has_one_row_and_is_made_once() {
    let place = Place::new();
    let told = place.succeeds(SWEEP);
    assert!(told.starts_with(&format!("{RUNS} runs: {RUNS} made now, 0 were there")), "{told}");
    let csv = place.read("r/results.csv");
    let runs: BTreeSet<String> = column(&csv, "run").into_iter().collect();
    assert_eq!((csv.lines().count(), runs.len()), (1 + RUNS, RUNS));
    let with_cache: Vec<(String, String)> =
        column(&csv, "design").into_iter().zip(column(&csv, "rfc.entries")).take(4).collect();
    let expected = [("baseline", ""), ("rfc", "2"), ("rfc", "4"), ("two-level", "")];
    assert_eq!(with_cache, expected.map(|(design, entries)| (design.to_owned(), entries.to_owned())));
    assert!(place.bytes("r/results.parquet").starts_with(b"PAR1"));

    let before = place.contents();
    let again = place.succeeds(SWEEP);
    assert!(again.starts_with(&format!("{RUNS} runs: 0 made now, {RUNS} were there")), "{again}");
    assert!(place.contents() == before, "nothing changes");
    // One value more is one run a kernel more.
    let more = place.succeeds(&SWEEP.replace("rfc.entries=2,4", "rfc.entries=2..7"));
    assert!(more.starts_with(&format!("{} runs: 9 made now, {RUNS} were there", RUNS + 9)), "{more}");
}

#[test]
fn a_sweep_gives_the_figures_of_single_runs() {
    let place = Place::new();
    place.succeeds(SWEEP);
    place.succeeds("run nw --size tiny --design rfc --set rfc.entries=4 --out run");
    let csv = place.read("r/results.csv");
    let of = |name: &str| column(&csv, name);
    let is_it = |row: &usize| of("kernel")[*row] == "nw" && of("rfc.entries")[*row] == "4";
    let row = (0..RUNS).find(is_it).expect("a row");
    let report: Value = serde_json::from_str(&place.read("run/report.json")).expect("JSON");
    let rfc = &report["kernels"][0]["designs"][1];
    for name in ["cycles", "ipc", "mrf_reads", "energy_normalised_registers", "energy_normalised_gpu"] {
        assert_eq!(of(name)[row].parse::<f64>().ok(), rfc[name].as_f64(), "{name}");
    }
    assert_eq!(of("counters.rfc.reads")[row], rfc["counters"]["rfc"]["reads"].to_string());
    assert_eq!(of("kernel_hash")[row], report["kernels"][0]["hash"].as_str().expect("text"));
}

#[test]
fn a_file_says_the_same_as_the_command_line_which_replaces_it() {
    let place = Place::new();
    place.write(
        "sweep.toml",
        "kernels = [\"vectoradd\", \"nw\", \"bfs\"]\nsize = \"tiny\"\ndesign = [\"rfc\", \"two-level\"]\n\
         [set]\nrfc.entries = [2, 4]\n",
    );
    let plan = |command: &str| place.succeeds(&format!("{command} --dry-run"));
    assert_eq!(plan("sweep sweep.toml --out r"), plan(SWEEP));
    assert_eq!(
        plan("sweep sweep.toml --out r --set rfc.entries=3 --kernels nw"),
        plan("sweep --kernels nw --size tiny --design rfc,two-level --set rfc.entries=3 --out r")
    );
    assert!(!place.path("r").exists());
}

#[test]
fn shards_together_are_the_sweep_whatever_the_threads() {
    let place = Place::new();
    place.succeeds(&SWEEP.replace("--out r", "--out whole --threads 1"));
    for shard in [3, 1, 2] {
        place.succeeds(&format!("{SWEEP} --shard {shard}/3 --threads 2"));
    }
    let csv = |folder: &str| without_times(&place.read(&format!("{folder}/results.csv")));
    assert_eq!(csv("r"), csv("whole"));
}

/// The files of runs; each must be whole.
fn whole_runs(place: &Place) -> BTreeSet<String> {
    if !place.path("r/runs").exists() {
        return BTreeSet::new();
    }
    let runs =
        place.files().into_iter().filter(|file| file.starts_with("r/runs/") && file.ends_with(".json"));
    let whole = |file: &String| {
        let run: Value =
            serde_json::from_str(&place.read(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(*file, format!("r/runs/{}.json", run["run"].as_str().expect("text")));
    };
    runs.inspect(whole).collect()
}

/// Killed at moments that fall anywhere, among them while a file is written, and begun again until it ends.
#[test]
fn a_sweep_that_is_killed_loses_no_row_and_has_none_twice() {
    let place = Place::new();
    place.succeeds(&SWEEP.replace("--out r", "--out whole"));
    let begun = Instant::now();
    let (mut kills, mut ended, mut moment) = (0, 0, 0);
    let mut known: BTreeSet<String> = BTreeSet::new();
    while begun.elapsed() < Duration::from_secs(8) && ended < 8 {
        let mut sweep = place.command(SWEEP);
        let mut child = sweep.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
        // Moments that no multiple of each other repeats, from the start to the end of the sweep.
        moment = (moment + 37) % 211;
        thread::sleep(Duration::from_millis(moment));
        if child.try_wait().expect("waited for").is_some() {
            fs::remove_dir_all(place.path("r")).expect("removed");
            ended += 1;
            known.clear();
            continue;
        }
        child.kill().expect("killed");
        child.wait().expect("ended");
        kills += 1;
        let runs = whole_runs(&place);
        assert!(known.is_subset(&runs), "a run is lost after {kills} kills");
        known = runs;
    }
    place.succeeds(SWEEP);
    assert!(kills > 5, "{kills} kills");
    let csv = |folder: &str| without_times(&place.read(&format!("{folder}/results.csv")));
    assert_eq!(csv("r"), csv("whole"), "after {kills} kills");
}

#[test]
fn a_run_that_ends_in_an_error_is_a_row_and_the_others_go_on() {
    let place = Place::new();
    let (name, body) = SOFT_DEFINITIONS[0];
    write_soft_definition(&place, name, body);
    // The paper's soft definitions lose lanes where lines are scarce: a wrong operand.
    let sweep = "sweep --kernels diamond.toml --schedule none --preset gtx980-regless --design regless \
                 --set regless.lines=64 --set regless.max_live_fraction=0.5 --set regless.compressor_lines=0 \
                 --set regless.soft_defs=paper,sound --out r";
    let output = place.run(sweep);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let told = "error: 1 of 3 runs ended in an error, the first: diamond.toml with regless: ";
    assert!(stderr.starts_with(told) && stderr.contains("wrong operand"), "{stderr}");
    let csv = place.read("r/results.csv");
    assert_eq!(csv.matches("wrong operand").count(), 1, "{csv}");
    assert!(csv.contains(",sound,") && csv.contains(",paper,"), "{csv}");
    // It is not made again, and still no success.
    assert_eq!(place.run(sweep).status.code(), Some(1));
}

#[test]
fn what_cannot_be_swept_is_refused_before_anything_is_run() {
    let place = Place::new();
    place.write("key.toml", "kernel = [\"nw\"]\n");
    place.write("value.toml", "kernels = \"nw\"\n[set]\nrfc.entries = [[2], {}]\n");
    place.write("range.toml", "kernels = \"nw\"\nseeds = \"4..4\"\n");
    place.write("toml.toml", "kernels = [\n");
    place.write("entries.toml", "kernels = \"nw\"\n[set]\nrfc.entries = [2, 99]\n");
    place.write("bad.ptx", ".version 7.0\n");
    let commands = [
        "sweep --out r",
        "sweep --kernels nw",
        "sweep --kernels nw,hotspott --out r",
        "sweep --kernels nw --size tyni --out r",
        "sweep --kernels bad.ptx --out r",
        "sweep --kernels nw --design rfc,rcf --out r",
        "sweep --kernels nw --design rfc --set rfc.entries=2,99 --out r",
        "sweep --kernels nw --design rfc --set rfc.entires=2,4 --out r",
        "sweep --kernels nw --design rfc --set rfc.entries=4..4 --out r",
        "sweep --kernels nw --design rfc --set rfc.entries=2,,4 --out r",
        "sweep --kernels nw --design rfc --set rfc.entries=2 --set rfc.entries=4 --out r",
        "sweep --kernels nw --design rfc --set rfc.entries=2,4 --set scheduler.active_warps=32..=33 --out r",
        "sweep --kernels nw --design two-level --set rfc.entries=2,4 --out r",
        "sweep --kernels nw --set design=rfc,two-level --out r",
        "sweep --kernels nw --seeds 0,x --out r",
        "sweep --kernels nw --seeds 0..100000 --set scheduler.active_warps=1..=32 --out r",
        "sweep --kernels nw --shard 3/2 --out r",
        "sweep key.toml --out r",
        "sweep value.toml --out r",
        "sweep range.toml --out r",
        "sweep toml.toml --out r",
        "sweep entries.toml --out r",
        "sweep missing.toml --out r",
        "sweep --kernels nw --size tiny --out key.toml",
    ];
    assert_snapshot!(place.all_refused(&commands));
}

#[test]
fn a_damaged_run_is_named_with_what_to_do() {
    let place = Place::new();
    let sweep = "sweep --kernels vectoradd --size tiny --design rfc --out r";
    place.succeeds(sweep);
    let file = place.files().into_iter().find(|file| file.ends_with(".json")).expect("a run");
    place.write(&file, "{");
    let told = place.refused(sweep);
    assert!(told.contains("remove its file, and it is made again") && told.contains(&file), "{told}");
    fs::remove_file(place.path(&file)).expect("removed");
    assert!(place.succeeds(sweep).starts_with("2 runs: 1 made now, 1 were there"));
}

#[test]
fn two_results_are_compared() {
    let place = Place::new();
    place.succeeds("run nw --size tiny --design rfc --set rfc.entries=4 --out a");
    place.succeeds("run nw --size tiny --design rfc --set rfc.entries=6 --seed 1 --out b");
    let figures = "--figures cycles,mrf_reads,mrf_writes,counters.rfc.reads";
    assert_snapshot!(place.succeeds(&format!("compare a b {figures}")));
    let document = place.json(&format!("compare a b {figures} --json"));
    assert_eq!(document["parameters"][0]["name"], "rfc.entries");
    let change = |at: usize| document["figures"][at]["percent"].as_f64().expect("a number").abs();
    assert!(change(0) >= change(1) && change(0) > 0.0);
    let output = place.run(&format!("compare a b {figures} --within 0.01"));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("a and b differ by more than 0.01 %"));
    place.succeeds(&format!("compare a/report.json b {figures} --within 100"));
    place.succeeds("compare a a --within 0");
    // Another version of the project, which counts something more.
    fs::create_dir(place.path("c")).expect("made");
    place.rewrite("a/report.json", "c/report.json", "\"version\": \"", "\"version\": \"9.");
    place.rewrite("c/report.json", "c/report.json", "\"cycles\": ", "\"flushes\": 3, \"cycles\": ");
    let told = place.succeeds("compare a c --within 0");
    assert!(told.contains("version    0.") && told.contains("9.0."), "{told}");
    assert!(told.contains("Figures only in B: flushes\n") && told.contains("\n0 of "), "{told}");
    let told = place.run("compare c a --within 0");
    assert_eq!(told.status.code(), Some(1), "a figure is gone");
}

#[test]
fn two_sweeps_are_compared_run_by_run() {
    let place = Place::new();
    place.succeeds(SWEEP);
    place.succeeds(&SWEEP.replace("rfc.entries=2,4 --out r", "rfc.entries=4,6 --out s"));
    let told = place.succeeds("compare r s");
    assert!(told.contains("Only in A: kernel=nw size=tiny design=rfc rfc.entries=2\n"), "{told}");
    assert!(told.contains("Only in B: kernel=nw size=tiny design=rfc rfc.entries=6\n"), "{told}");
    assert!(told.contains("\n0 of ") && told.contains(" figures of 9 runs differ."), "{told}");
    assert_eq!(place.run("compare r s --within 5").status.code(), Some(1));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let place = Place::new();
    place.succeeds("run vectoradd --size tiny --design rfc --out a");
    place.write("text.json", "hello");
    place.write("other.json", "{}");
    fs::create_dir(place.path("empty")).expect("made");
    let commands = [
        "compare a missing",
        "compare empty a",
        "compare a text.json",
        "compare a other.json",
        "compare a a --within -1",
        "compare a a --within some",
        "compare a a --figures cylces",
    ];
    assert_snapshot!(place.all_refused(&commands));
}

#[test]
fn a_run_does_not_replace_another_unless_it_is_told_to() {
    let place = Place::new();
    let run = "run vectoradd --size tiny --design rfc --out kept";
    place.succeeds(run);
    let before = place.contents();
    assert_snapshot!(place.refused(run));
    assert!(place.contents() == before);
    place.succeeds(&format!("{run} --seed 1 --force"));
    assert!(place.read("kept/report.json").contains("\"seed\": 1"));
}

#[test]
fn the_hash_of_a_kernel_follows_what_it_is_made_of_and_not_its_name() {
    let place = Place::with_workload("vectoradd");
    let hash = |input: &str| {
        let report = place.json(&format!("run {input} --json"));
        report["kernels"][0]["hash"].as_str().expect("text").to_owned()
    };
    let workload = hash("vectoradd --size tiny");
    assert_eq!(hash("vectoradd.ptx --size tiny"), workload);
    assert_eq!(hash("vectoradd.toml --size tiny"), workload);
    assert_ne!(hash("vectoradd --size tiny --addresses 32"), workload);
    place.rewrite("vectoradd.ptx", "copy.ptx", "\n", "\n\n");
    assert_ne!(hash("copy.ptx --launch vectoradd.toml --size tiny"), workload);

    // What a launch file names counts, too.
    let result = "result = { file = \"sum.bin\", relative = 0.5 }";
    place.rewrite("vectoradd.toml", "filed.toml", "result = \"exact\"", result);
    let filed = "vectoradd.ptx --launch filed.toml --size tiny";
    place.succeeds("run vectoradd --size tiny --dump sum=sum.bin");
    let before = hash(filed);
    let mut sum = place.bytes("sum.bin");
    sum[0] ^= 1;
    place.write("sum.bin", sum);
    assert_ne!(hash(filed), before);

    place.succeeds("trace vectoradd --size tiny -o text --format accelsim");
    let trace = hash("text/kernelslist.g");
    place.rewrite("text/kernel-1.traceg", "text/kernel-1.traceg", "\n", "\n\n");
    assert_ne!(hash("text/kernelslist.g"), trace);
}

#[test]
fn a_job_array_of_slurm_makes_the_sweep() {
    let place = Place::new();
    place.succeeds(&SWEEP.replace("--out r", "--out whole"));
    place.succeeds(&format!("{SWEEP} --slurm 3 --slurm-script sweep.sh"));
    assert!(place.read("sweep.sh").contains("\n#SBATCH --array=1-3\n"));
    assert!(!place.path("r").exists());
    for task in ["2", "3", "1"] {
        let mut sh = std::process::Command::new("sh");
        sh.arg("sweep.sh").current_dir(place.path("")).env("SLURM_ARRAY_TASK_ID", task);
        sh.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
        assert!(sh.output().expect("started").status.success(), "task {task}");
    }
    let csv = |folder: &str| without_times(&place.read(&format!("{folder}/results.csv")));
    assert_eq!(csv("r"), csv("whole"));
    assert!(place.refused(&format!("{SWEEP} --slurm 0")).contains("accepted: a whole number from 1 to 1000"));
}
