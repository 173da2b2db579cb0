//! Engine and Verilog side by side.

use std::path::Path;

use serde_json::json;
use warpfile_gen::{Files, Style, emit_in};
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_verify::lockstep::{Comparison, Sides, Simulator};
use warpfile_verify::stimulus;
use warpfile_verify::testbench::Stimulus;

fn fifo() -> Netlist {
    let library = library();
    let fifo = library.iter().find(|entry| entry.name == "fifo").expect("in the library");
    fifo.elaborate_with(&json!({"depth": 3, "width": 5})).expect("sound")
}

fn compare<'a>(
    netlist: &'a Netlist,
    files: &'a Files,
    stimuli: &'a [Stimulus],
    simulator: Simulator,
) -> Comparison<'a> {
    // Verilator's runtime is there already if other tests have run.
    let cache = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("verilated"));
    let sides = Sides { netlist, files, style: Style::Lanes, cache };
    sides.compare(stimuli, 7, simulator).expect("both run")
}

#[test]
fn a_broken_line_of_verilog_is_found_where_it_first_shows() {
    let netlist = fifo();
    let sound = emit_in(&netlist, Style::Lanes);
    let mut broken = sound.clone();
    // The oldest word is one that came later.
    let text = &mut broken.modules[0].text;
    let (right, wrong) = ("tail_q <= ", "tail_q <= 2'd1 ^ ");
    assert!(text.contains(right), "{text}");
    *text = text.replace(right, wrong);
    let stimuli = stimulus::random(&netlist, 300, 3).expect("no assumptions");
    for simulator in Simulator::ALL {
        assert_eq!(compare(&netlist, &sound, &stimuli, simulator).difference, None);
        let comparison = compare(&netlist, &broken, &stimuli, simulator);
        let difference = comparison.difference.clone().expect("it is broken");
        assert_eq!(difference.output, "out_data_o", "{difference}");
        let mut waveform = Vec::new();
        comparison.write_waveform(&difference, &mut waveform).expect("memory takes all");
        let text = String::from_utf8(waveform).expect("text");
        for scope in ["inputs", "engine", "verilog"] {
            assert!(text.contains(&format!("$scope module {scope}")), "{text}");
        }
        assert!(text.contains(&format!("#{}\n", 10 * difference.cycle)), "{text}");
    }
}

#[test]
fn random_stimulus_is_the_same_for_the_same_seed_and_moves_every_input() {
    let netlist = fifo();
    let stimuli = stimulus::random(&netlist, 500, 3).expect("no assumptions");
    assert_eq!(stimuli, stimulus::random(&netlist, 500, 3).expect("no assumptions"));
    assert_ne!(stimuli, stimulus::random(&netlist, 500, 4).expect("no assumptions"));
    for input in 0..3 {
        let first = &stimuli[0].inputs[input];
        assert!(stimuli.iter().any(|stimulus| stimulus.inputs[input] != *first), "input {input}");
    }
    assert!(stimuli.iter().any(|stimulus| stimulus.reset));
}
