use std::io::Read;
use std::process::Stdio;

use crate::command::Place;

#[test]
fn every_list_is_a_table_and_a_json_document_with_the_same_names() {
    let place = Place::new();
    for kind in ["kernels", "designs", "circuits", "presets", "technologies", "figures", "parameters"] {
        let text = place.succeeds(&format!("list {kind}"));
        let document = place.json(&format!("list {kind} --json"));
        let entries = document[kind].as_array().unwrap_or_else(|| panic!("{kind}: no list"));
        let names: Vec<&str> = entries.iter().map(|entry| entry["name"].as_str().expect("a name")).collect();
        let shown: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names, shown, "{kind}");
        assert!(entries.iter().all(|entry| entry["summary"].is_string()), "{kind}");
    }
}

#[test]
fn the_lists_name_what_the_main_job_needs() {
    let place = Place::new();
    for (kind, name) in [("kernels", "hotspot"), ("designs", "rfc"), ("presets", "gebhart2011")] {
        let list = place.succeeds(&format!("list {kind}"));
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(name)), "{list}");
    }
}

#[test]
fn parameters_are_listed_with_value_and_accepted_values() {
    let document = Place::new().json("list parameters --json");
    let entries = document["parameters"].as_array().expect("a list");
    let entry = entries.iter().find(|entry| entry["name"] == "rfc.entries").expect("listed");
    assert_eq!(entry["value"], 6);
    assert_eq!(entry["accepted"], "a whole number from 1 to 16");
}

#[test]
fn every_command_explains_itself() {
    let place = Place::new();
    for command in ["run", "sweep", "compare", "figure", "gen", "trace", "annotate", "list"] {
        let help = place.succeeds(&format!("{command} --help"));
        assert!(help.contains("Examples:"), "{help}");
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let mut child = Place::new()
        .command("list parameters --json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
    assert!(child.wait().expect("ended").success() && stderr.is_empty(), "{stderr}");
}

#[test]
fn shells_and_man_are_told_of_every_command() {
    let place = Place::new();
    let help = place.succeeds("--help");
    let commands: Vec<&str> = (help.lines().skip_while(|line| *line != "Commands:").skip(1))
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.contains(&"run") && commands.contains(&"man"), "{commands:?}");

    for shell in ["bash", "zsh", "fish"] {
        let script = place.succeeds(&format!("completions {shell}"));
        assert!(commands.iter().all(|command| script.contains(command)), "{shell}");
        assert!(script.contains("wave-scope"), "{shell}");
    }
    place.write("script", place.succeeds("completions bash"));
    let checked = std::process::Command::new("bash").arg("-n").arg(place.path("script")).status();
    assert!(checked.expect("bash runs").success());

    place.succeeds("man -o pages");
    let mut pages: Vec<String> = commands
        .iter()
        .map(|command| format!("pages/warpfile-{command}.1"))
        .chain(["pages/warpfile.1".into()])
        .collect();
    pages.sort();
    let files: Vec<String> = place.files().into_iter().filter(|file| file.ends_with(".1")).collect();
    assert_eq!(files, pages);
    assert!(pages.iter().all(|page| place.read(page).contains(".TH warpfile")));
    assert!(place.read("pages/warpfile-run.1").contains("kanata"));
}
