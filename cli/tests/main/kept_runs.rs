//! Runs that `figure` and `fidelity` keep.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::command::Place;

const FIGURE: &str = "figure gebhart-6 --size tiny --workloads vectoradd,nw,hotspot --threads 2";

/// Files of the runs that are kept, with what tells a file from another of the same name.
fn kept(place: &Place) -> BTreeMap<String, u64> {
    let files = place.files().into_iter().filter(|name| name.ends_with(".run.json"));
    files.map(|name| (name.clone(), fs::metadata(place.path(&name)).expect("there").ino())).collect()
}

#[test]
fn a_figure_that_is_killed_goes_on_where_it_was() {
    let place = Place::new();
    let expected = place.succeeds(FIGURE);
    let with_runs = format!("{FIGURE} --runs kept/runs");
    let mut figure = place.command(&with_runs).stdout(Stdio::null()).spawn().expect("started");
    let started = Instant::now();
    while kept(&place).len() < 3 {
        assert!(started.elapsed() < Duration::from_secs(120), "no three runs have ended");
        thread::sleep(Duration::from_millis(1));
    }
    figure.kill().expect("killed");
    figure.wait().expect("ended");
    let before = kept(&place);
    assert_eq!(place.succeeds(&with_runs), expected);
    let after = kept(&place);
    assert!(after.len() > before.len(), "killed too late: {} runs", before.len());
    assert!(before.iter().all(|(name, file)| after[name] == *file), "a run that was there was made again");
    // What each of two threads was writing when it was killed stays until it is old, and nothing else does.
    let others: Vec<String> = place.files().into_iter().filter(|name| !after.contains_key(name)).collect();
    let (unfinished, folders): (Vec<&String>, Vec<&String>) =
        others.iter().partition(|name| name.ends_with(".partial"));
    assert!(folders == ["kept", "kept/runs"] && unfinished.len() <= 2, "{others:?}");
    // Nothing is made a third time.
    assert_eq!((place.succeeds(&with_runs), kept(&place)), (expected, after));
}

#[test]
fn another_figure_has_the_runs_that_are_there() {
    let place = Place::new();
    place.succeeds(&format!("{FIGURE} --runs runs"));
    let before = kept(&place);
    let other = FIGURE.replace("gebhart-6", "gebhart-7");
    assert_eq!(place.succeeds(&format!("{other} --runs runs")), place.succeeds(&other));
    let after = kept(&place);
    assert!(before.iter().all(|(name, file)| after[name] == *file));
}

#[test]
fn what_is_there_is_read_and_a_file_that_is_no_run_is_named() {
    let place = Place::new();
    let figure = "figure gebhart-7 --size tiny --workloads vectoradd --runs runs";
    let expected = place.succeeds(figure);
    let name = kept(&place).into_keys().next().expect("a run");
    let text = place.read(&name);
    let mut run: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let cycles = &mut run["report"]["cycles"];
    *cycles = (cycles.as_u64().expect("a number") + 1_000_000).into();
    place.write(&name, run.to_string());
    assert_ne!(place.succeeds(figure), expected);
    let lost = text.replacen("\"mrf.reads\"", "\"mrf.readings\"", 1);
    for (broken, found) in
        [("{}", "missing field"), (&text[..text.len() / 2], "EOF"), (&lost, "mrf.readings")]
    {
        place.write(&name, broken);
        let error = place.refused(figure);
        assert!(error.contains(&name) && error.contains("without the file it is made again"), "{error}");
        assert!(error.contains(found), "{error}");
    }
    fs::remove_file(place.path(&name)).expect("there");
    assert_eq!(place.succeeds(figure), expected);
}
