//! What `gen` tells the tools that hardware is built with, and that these tools take it.

use std::path::Path;
use std::process::{Command, Output};

use insta::assert_snapshot;

use crate::command::Place;

const FIFO: &str = "fifo --set depth=5 --set width=40";
/// Small, so that it is built in seconds.
const CACHE: &str = "register_file_cache --set slots=4 --set entries=3 --set lanes=4 --set lanes_per_cluster=2 \
                     --set register_bits=4 --set collectors=3 --top-name cache";

#[test]
fn tools_are_told_of_a_circuit_in_their_own_formats() {
    let place = Place::new();
    place.succeeds(&format!("gen {FIFO} --top-name queue -o out"));
    for file in ["queue.core", "Bender.yml", "queue.sdc", "queue_tb.sv", "queue.f"] {
        assert_snapshot!(file, place.read(&format!("out/{file}")));
    }
}

#[test]
fn the_top_module_and_its_files_are_called_as_asked() {
    let place = Place::new();
    place.succeeds("gen register_file_cache --top-name cache -o out");
    assert!(place.read("out/cache.v").contains("\nmodule cache (\n"));
    let manifest = place.json_of("out/manifest.json");
    assert_eq!(manifest["circuit"], "cache");
    assert_eq!(place.read("out/cache.f").lines().last(), Some("cache.v"));
}

#[test]
fn a_name_that_no_module_can_have_is_refused() {
    let place = Place::new();
    let refused = |arguments: &str| place.refused(&format!("gen {arguments} -o out"));
    let reserved = format!("{FIFO} --top-name table");
    let inner = "cached_register_file --top-name Register_File_Cache_8x6xfifox1x0x32x4x10x8x1x0";
    let odd = format!("{FIFO} --top-name 2nd");
    let said = [&odd, &reserved, inner, "rfc --top-name top", &format!("{FIFO} --clock 0")].map(refused);
    assert_snapshot!("names_and_clocks_that_are_refused", said.concat());
}

#[test]
fn an_absolute_file_list_is_read_from_any_folder() {
    let place = Place::new();
    place.succeeds("gen rfc --absolute -o out");
    let elsewhere = tempfile::tempdir().expect("a folder");
    for circuit in ["register_file", "scheduler"] {
        let manifest = place.json_of(&format!("out/{circuit}/manifest.json"));
        let list = place.path(&format!("out/{circuit}/{}.f", manifest["circuit"].as_str().expect("a name")));
        let output = run("iverilog", &["-g2005", "-t", "null", "-c", text(&list)], elsewhere.path());
        assert!(output.status.success(), "{}", said(&output));
    }
    let refused = place.command("gen fifo --absolute -o").arg("a b").output().expect("started");
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("file lists cannot hold this path"), "{}", said(&refused));
}

/// The generated testbench runs as it is, also where there is no clock.
#[test]
fn a_testbench_to_start_from_passes() {
    for circuit in [FIFO, "pattern_matcher"] {
        let place = Place::new();
        place.succeeds(&format!("gen {circuit} --top-name top -o out"));
        let compile = ["-g2012", "-s", "top_tb", "-o", "tb", "-c", "top.f", "top_tb.sv"];
        let output = run("iverilog", &compile, &place.path("out"));
        assert!(output.status.success(), "{}", said(&output));
        let output = run("vvp", &["tb"], &place.path("out"));
        assert!(output.status.success() && said(&output).contains("top_tb: passed"), "{}", said(&output));
    }
}

#[test]
fn fusesoc_lints_and_simulates_a_core() {
    let Some(_) = version("fusesoc") else { return };
    let place = Place::new();
    place.succeeds(&format!("gen {CACHE} -o core"));
    for target in ["lint", "sim"] {
        let arguments = ["--cores-root", "core", "run", "--target", target, "warpfile:circuits:cache"];
        let output = run("fusesoc", &arguments, &place.path(""));
        assert!(output.status.success(), "{target}: {}", said(&output));
        if target == "sim" {
            assert!(said(&output).contains("cache_tb: passed"), "{}", said(&output));
        }
    }
}

/// In both simulators: what is unknown in one has some value in the other.
#[test]
fn the_register_file_cache_equals_its_model_in_cocotb() {
    let Some(python) = version("cocotb-config").and_then(|_| python_of_cocotb()) else { return };
    let place = Place::new();
    place.succeeds(&format!("gen {CACHE} -o out"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testbenches/cocotb/run.py");
    for simulator in ["icarus", "verilator"] {
        let output = run(&python, &[text(&script), "out", "--simulator", simulator], &place.path(""));
        assert!(output.status.success(), "{simulator}: {}", said(&output));
    }
    // The same testbench notices a circuit that differs.
    let wrong = "assign slot_busy_o = flushing_q;";
    let module = place.read("out/cache.v");
    let line = module.lines().find(|line| line.contains("assign slot_busy_o = ")).expect("an output");
    place.write("out/cache.v", module.replace(line, wrong));
    let output = run(&python, &[text(&script), "out"], &place.path(""));
    assert!(!output.status.success() && said(&output).contains("slot_busy_o is 0000, expected "));
}

/// What a tool from PyPI calls itself; without it, why there is nothing to check.
fn version(tool: &str) -> Option<String> {
    let output = Command::new(tool).arg("--version").output();
    let version = output.ok().filter(|output| output.status.success()).map(|output| said(&output));
    if version.is_none() {
        println!("skipped: no {tool} on PATH; PATH=$PATH:$(scripts/python-tools) has it");
    }
    version
}

/// The Python that cocotb is installed for.
fn python_of_cocotb() -> Option<String> {
    let output = Command::new("cocotb-config").arg("--python-bin").output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Runs a tool in a folder, which is also where it keeps what it keeps of its user.
fn run(tool: &str, arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(tool);
    command.args(arguments).current_dir(folder).env("HOME", folder).env_remove("XDG_CONFIG_HOME");
    command.output().unwrap_or_else(|error| panic!("{tool}: {error}"))
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("text")
}
