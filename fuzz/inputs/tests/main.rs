//! What the fuzzer would call, called with its seeds and a few changes of each.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs, panic};

use warpfile_engine::recording::Recording;
use warpfile_fuzz_inputs::targets::{TARGETS, Target};
use warpfile_fuzz_inputs::text;
use warpfile_sim::config::preset;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files with such an ending in a folder of the repository, and in its folders if `below`.
fn files(folder: &str, ending: &str, below: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join(folder)).expect("a folder") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_dir() && below {
            found.extend(files(&format!("{folder}/{name}"), ending, true));
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn target(name: &str) -> Target {
    TARGETS.iter().find(|(of, _)| *of == name).expect("a target").1
}

/// How often each input is changed: the environment variable `RANDOM_TIMES` multiplies it.
fn changes() -> u32 {
    let times = env::var("RANDOM_TIMES").map(|text| text.parse().expect("RANDOM_TIMES is a number"));
    3 * times.unwrap_or(1_u32)
}

/// Calls a target with inputs, each of them cut short, and with words and lines of it changed. A panic of
/// it says target, number of the input, and change.
fn call(name: &str, inputs: impl IntoIterator<Item = Vec<u8>>) {
    let target = target(name);
    let mut called = 0;
    for input in inputs {
        assert!(target(&input), "{name}: worth keeping");
        target(&input[..input.len() / 2]);
        for seed in 0..changes() {
            let Some(changed) = text::change(&input, seed) else { continue };
            let ended = panic::catch_unwind(|| target(&changed));
            ended.unwrap_or_else(|_| panic!("{name}: input {called}, change {seed}"));
        }
        called += 1;
    }
    assert!(called > 0, "{name}: no seeds");
}

fn read(paths: Vec<PathBuf>) -> impl Iterator<Item = Vec<u8>> {
    paths.into_iter().map(|path| fs::read(path).expect("readable"))
}

#[test]
fn kernels_are_parsed_compiled_and_executed() {
    call("ptx", read(files("kernels/tests/ptx", ".ptx", false)));
    call("ptx", read(files("kernels/workloads", ".ptx", true)).take(5));
}

#[test]
fn launch_files_are_gone_through() {
    call("launch_file", read(files("kernels/workloads", ".toml", true)));
}

#[test]
fn traces_and_lists_are_read() {
    call("accelsim", read(files("kernels/tests/data/accelsim", ".traceg", false)));
    // Real ones, where there are any.
    if let Some(folder) = env::var_os("TRACES") {
        let found = files(&folder.to_string_lossy(), ".traceg", true);
        call("accelsim", read(found).filter(|trace| trace.len() < 200_000));
    }
    call("kernelslist", read(files("kernels/tests/data/accelsim", "kernelslist.g", true)));
    // A container's records: a launch of nothing, and bytes that are none.
    call("container", [vec![4, 3, 0, 0, 1, 2, 3], vec![9; 40]]);
}

#[test]
fn configurations_are_read_back() {
    let presets = ["gebhart2011", "gtx980-regless"].map(|name| preset(name).expect("complete").to_toml());
    call("config", presets.map(String::into_bytes));
}

#[test]
fn recordings_are_read() {
    let header = "warpfile recording 1\ncircuit fifo_2x3\npath queue\ninput 1 rst_i\ncycles\n\0\0";
    Recording::new(header.as_bytes()).expect("a header");
    call("recording", [header.as_bytes().to_vec()]);
}

/// The programs are not compiled with everything else: libFuzzer is C++ and wants a compiler of its own.
#[test]
fn each_target_is_a_program_of_the_fuzzer() {
    let names: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let programs = files("fuzz/fuzz_targets", ".rs", false);
    let stem = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    assert_eq!(programs.iter().map(stem).collect::<BTreeSet<_>>(), names);
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("readable");
    for (name, program) in names.iter().zip(programs) {
        let text = fs::read_to_string(program).expect("readable");
        assert!(text.contains(&format!("targets::{name}(data)")), "{name}");
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}
