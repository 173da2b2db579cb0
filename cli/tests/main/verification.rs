//! `warpfile verify` and `warpfile power`: what drives a circuit, and what is said.

use insta::assert_snapshot;

use crate::command::Place;

const FIFO: &str = "fifo --set depth=2 --set width=3";

#[test]
fn verilog_that_is_as_written_agrees_with_the_engine() {
    let place = Place::new();
    let printed = place.succeeds(&format!("verify {FIFO} --cycles 40 --seed 5 --seeds 2 --simulator icarus"));
    assert_eq!(printed, "fifo_2x3: the engine and Icarus agree on every output in 80 cycles, seeds 5 to 6\n");
}

#[test]
fn verilog_that_was_changed_is_an_error_with_a_waveform() {
    let place = Place::new();
    place.succeeds(&format!("gen {FIFO} -o mine"));
    place.rewrite("mine/fifo_2x3.v", "mine/fifo_2x3.v", "out_valid_o = ~", "out_valid_o = ");
    let output = place.run(&format!(
        "verify {FIFO} --cycles 40 --seeds 1 --simulator icarus --verilog mine --vcd difference.vcd"
    ));
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("out_valid_o") && told.contains("difference.vcd"), "{told}");
    assert!(place.read("difference.vcd").contains("$scope module verilog"));
}

#[test]
fn a_recording_of_a_run_drives_the_circuit_again() {
    let place = Place::new();
    place.succeeds(
        "run vectoradd --size tiny --design two-level --record ports.wfr --record-circuit scheduler --record-cycles 90",
    );
    let printed =
        place.succeeds("verify two_level_scheduler --recording ports.wfr --seeds 1 --simulator icarus");
    assert!(printed.contains("agree on every output in 90 cycles"), "{printed}");
    let printed = place.succeeds("power two_level_scheduler --recording ports.wfr");
    assert!(printed.contains("MHz, ports.wfr, 90 cycles\n"), "{printed}");
}

#[test]
fn traffic_that_breaks_what_a_circuit_assumes_is_an_error() {
    let place = Place::new();
    let ports = "input 1 rst_i\ninput 1 push_valid_i\ninput 1 push_warp_i\ninput 1 pop_i\n\
                 output 1 top_valid_o\noutput 1 top_warp_o\n";
    // Warp 0 is pushed in every cycle: of the ports only the second changes, once, and stays for three cycles.
    let cycles = [1, 1, 1, 0, 3, 0, 0];
    let header = format!("warpfile recording 1\ncircuit warp_stack_1\npath stack\n{ports}cycles\n");
    place.write("pushes.wfr", [header.as_bytes(), &cycles].concat());
    let output =
        place.run("verify warp_stack --set warps=1 --recording pushes.wfr --seeds 1 --simulator icarus");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("pushes.wfr") && told.contains("`a_full_stack_takes_no_warp`"), "{told}");
}

#[test]
fn power_under_a_kernel_names_the_design_it_runs_through() {
    let place = Place::new();
    let printed =
        place.succeeds("power two_level_scheduler --kernel vectoradd --design two-level --cycles 60");
    assert!(printed.contains("MHz, vectoradd through two-level, at scheduler, 60 cycles\n"), "{printed}");
}

#[test]
fn bad_input_is_refused() {
    let place = Place::new();
    let header = "warpfile recording 1\ncircuit fifo_2x3\npath queue\ninput 1 rst_i\n";
    place.write("narrow.wfr", format!("{header}input 1 in_valid_i\ninput 2 in_data_i\ncycles\n\0\0"));
    place.write("few.wfr", format!("{header}cycles\n\0\0"));
    place.write("text.wfr", "hello\n");
    let commands = [
        "verify fifoo",
        "verify fifo --cycles 0",
        "verify fifo --preset gebhart2011",
        "verify source_allocator --kernel hotspot",
        "verify two_level_scheduler --kernel hotspott",
        "verify two_level_scheduler --kernel hotspot --recording few.wfr",
        "verify two_level_scheduler --recording few.wfr",
        &format!("verify {FIFO} --recording few.wfr"),
        &format!("verify {FIFO} --recording narrow.wfr"),
        &format!("verify {FIFO} --recording text.wfr"),
        &format!("verify {FIFO} --verilog missing"),
        "power fifo",
        "power fifo --random 5 --kernel hotspot",
        "power fifo --random 5 --cycles 3",
        &format!("power {FIFO} --recording narrow.wfr"),
    ];
    assert_snapshot!(place.all_refused(&commands));
}
