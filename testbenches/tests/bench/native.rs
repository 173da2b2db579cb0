//! The hand-written loops beside the engine.

use warpfile_engine::{Engine, Interpreter};
use warpfile_testbenches::bench::{benchmarks, native};

use super::list::RACE;

#[test]
fn every_benchmark_has_a_hand_written_loop() {
    for benchmark in benchmarks() {
        let found = native(&benchmark.circuit, benchmark.size);
        assert!(found.is_some(), "testbenches/src/bench/native/ has nothing for `{}`", benchmark.name());
    }
}

#[test]
fn a_hand_written_loop_has_the_signature_of_the_engine() {
    for benchmark in benchmarks() {
        let Some(native) = native(&benchmark.circuit, benchmark.size) else { continue };
        let mut engine = Interpreter::new(&benchmark.netlist().unwrap(), &RACE).unwrap();
        let output = engine.output("signature_o").unwrap();
        // The signature is that of the cycles before: one step more.
        engine.run(1);
        for cycles in [0, 1, 2, 50, 3000] {
            engine.run(cycles + 1 - engine.cycle());
            let signature = native(benchmark.activity, cycles);
            assert_eq!(signature, engine.get(output), "{} after {cycles} cycles", benchmark.name());
        }
    }
}
