//! Missing resets.

use warpfile_engine::{Engine, Interpreter, MissingReset, Options, Twin};
use warpfile_hdl::rtl::netlist::{Netlist, Op};

use crate::behaviour::{Sketch, counter};

/// Shows a register of four bits, with a reset or not, while `shows_i` is 1; it takes `next_i` while that is 0.
fn shown(reset: Option<u64>) -> Netlist {
    let mut sketch = Sketch::new("shown");
    let (shows, next) = (sketch.input("shows_i", 1), sketch.input("next_i", 4));
    let takes = sketch.node(Op::Not(shows), 1);
    let state = sketch.register("state", 4, reset);
    sketch.0.registers[0].next = next;
    sketch.0.registers[0].enable = Some(takes);
    sketch.output("state_o", state, Some(shows));
    sketch.netlist()
}

/// Runs these cycles of `shows_i` beside a twin.
fn follow(netlist: &Netlist, cycles: &[u64]) -> Result<(), MissingReset> {
    let mut engine = Interpreter::new(netlist, &Options { seed: 3, ..Options::default() }).unwrap();
    let mut twin = Twin::new(&engine, 4);
    let (shows, next) = (engine.input("shows_i").unwrap(), engine.input("next_i").unwrap());
    cycles.iter().enumerate().try_for_each(|(cycle, &value)| {
        engine.set(shows, value);
        engine.set(next, cycle as u64);
        engine.step();
        // What is set for the next cycle is not of this one.
        engine.set(next, 9);
        twin.follow(&engine)
    })
}

#[test]
fn an_output_that_shows_state_without_a_reset_is_found() {
    let missing = follow(&shown(None), &[1]).unwrap_err();
    assert_eq!((missing.output.as_str(), missing.cycle), ("state_o", 0));
    assert_eq!((missing.seed, missing.other_seed), (3, 4));
    assert_ne!(missing.value, missing.other);
    assert!(
        missing.to_string().contains("`state_o` depends on state that has no reset: in cycle 0"),
        "{missing}"
    );
}

#[test]
fn state_with_a_reset_or_written_before_it_shows_is_sound() {
    assert_eq!(follow(&shown(Some(5)), &[1, 0, 1]), Ok(()));
    assert_eq!(follow(&shown(None), &[0, 1, 0, 0, 1]), Ok(()));
}

#[test]
fn a_cycle_that_was_followed_is_not_followed_again() {
    let netlist = shown(None);
    let mut engine = Interpreter::new(&netlist, &Options::default()).unwrap();
    let mut twin = Twin::new(&engine, 1);
    let shows = engine.input("shows_i").unwrap();
    engine.step();
    for _ in 0..3 {
        assert_eq!(twin.follow(&engine), Ok(()));
    }
    engine.set(shows, 1);
    engine.step();
    assert_eq!(twin.follow(&engine), Ok(()));
}

#[test]
fn a_circuit_under_reset_has_its_twin_under_reset() {
    let mut engine = Interpreter::new(&counter(), &Options::default()).unwrap();
    let mut twin = Twin::new(&engine, 1);
    engine.set_reset(true);
    engine.step();
    // It also shows a register that has no reset.
    let missing = twin.follow(&engine).unwrap_err();
    assert_eq!(missing.output, "noise_o");
}
