//! Recordings: what passed the ports of a circuit, read back and played again.

use num_bigint::BigUint;
use warpfile_engine::recording::{PortRecorder, Recording, RecordingError};
use warpfile_engine::{Engine, Interpreter, Observe, Options};
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_random::Random;

use crate::lockstep::{drive, netlist};

/// A random circuit with others in it, run for some cycles with its first part recorded; values of the part's outputs.
fn recorded(netlist: &Netlist, cycles: u64, most: u64) -> (Vec<u8>, Vec<Vec<BigUint>>) {
    // From zeros, as a part by itself cannot start from the seed of the whole.
    let observe = Observe::Scopes(vec!["child0".to_owned()]);
    let options = Options { observe, zeroed: true, ..Options::default() };
    let mut engine = Interpreter::new(netlist, &options).expect("sound");
    let child = netlist.circuit_at("child0").expect("it has one");
    let outputs: Vec<_> = (child.top().ports.iter())
        .filter(|port| port.driver.is_some())
        .map(|port| engine.probe(&format!("child0.{}", port.name)).expect("observed"))
        .collect();
    let mut file = Vec::new();
    let mut recorder =
        PortRecorder::new(&engine, "child0", "design.child0", most, &mut file).expect("a circuit");
    let mut seen = Vec::new();
    let mut random = Random(5);
    for cycle in 0..cycles {
        // The inputs stay as they are every other time, so that there are cycles in which nothing changes.
        if cycle / 4 % 2 == 0 {
            drive(&mut random, netlist, &mut engine);
        }
        engine.step();
        recorder.record(&engine).expect("memory takes all");
        seen.push(outputs.iter().map(|&output| engine.get_big(output)).collect());
    }
    recorder.finish().expect("memory takes all");
    (file, seen)
}

#[test]
fn a_recording_has_the_values_of_every_cycle() {
    let netlist = netlist(11, 40, 2);
    let (file, seen) = recorded(&netlist, 60, u64::MAX);
    let mut recording = Recording::new(file.as_slice()).expect("a header");
    assert_eq!(recording.header().path, "design.child0");
    assert_eq!(recording.header().circuit, netlist.circuit_at("child0").unwrap().top().name);
    let outputs: Vec<usize> = recording.header().outputs().map(|(index, _)| index).collect();
    for (cycle, seen) in seen.iter().enumerate() {
        assert!(recording.next_cycle().expect("sound"), "cycle {cycle}");
        let read: Vec<BigUint> = outputs.iter().map(|&output| recording.value(output)).collect();
        assert_eq!(read, *seen, "cycle {cycle}");
    }
    assert!(!recording.next_cycle().expect("an end"));
}

#[test]
fn a_circuit_by_itself_does_with_its_recording_what_it_did_in_the_design() {
    let netlist = netlist(11, 40, 2);
    let (file, seen) = recorded(&netlist, 60, u64::MAX);
    let child = netlist.circuit_at("child0").expect("it has one");
    let mut engine =
        Interpreter::new(&child, &Options { zeroed: true, ..Options::default() }).expect("sound");
    let recording = Recording::new(file.as_slice()).expect("a header");
    let outputs: Vec<_> =
        recording.header().outputs().map(|(_, port)| engine.output(&port.name).unwrap()).collect();
    let mut played: Vec<Vec<BigUint>> = Vec::new();
    let cycles = recording
        .replay(&mut engine, |engine| played.push(outputs.iter().map(|&o| engine.get_big(o)).collect()))
        .expect("sound");
    assert_eq!((cycles, played), (60, seen));
}

#[test]
fn a_recording_ends_where_it_is_told_to() {
    let (file, _) = recorded(&netlist(11, 40, 2), 60, 17);
    let mut recording = Recording::new(file.as_slice()).expect("a header");
    let cycles = (0..100).take_while(|_| recording.next_cycle().expect("sound")).count();
    assert_eq!(cycles, 17);
}

#[test]
fn what_is_no_whole_recording_is_refused() {
    let netlist = netlist(11, 40, 2);
    let (file, _) = recorded(&netlist, 60, u64::MAX);
    let error = |bytes: &[u8]| {
        let mut recording = match Recording::new(bytes) {
            Ok(recording) => recording,
            Err(error) => return error.to_string(),
        };
        loop {
            match recording.next_cycle() {
                Ok(true) => {}
                Ok(false) => return "none".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
    };
    assert_eq!(error(&file), "none");
    assert!(error(b"").contains("not a recording"));
    assert!(error(b"warpfile recording 2\n").contains("begins with `warpfile recording 2`"));
    assert!(error(b"warpfile recording 1\ncircuit a\npath b\ninput 0 rst_i\n").contains("line 4"));
    assert!(error(&file[..file.len() - 1]).contains("the file ends here"));

    let mut other = Interpreter::new(&netlist, &Options::default()).expect("sound");
    let recording = Recording::new(file.as_slice()).expect("a header");
    let refused = recording.replay(&mut other, |_| {});
    assert!(matches!(refused, Err(RecordingError::OtherCircuit { .. })), "{refused:?}");
}
