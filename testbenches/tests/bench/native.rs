//! The hand-written loops beside the engine.

use warpfile_engine::{Compiled, Engine, Interpreter};
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
        let netlist = benchmark.netlist().unwrap();
        let compare = |cycles: u64, signature: u64| {
            let name = benchmark.name();
            assert_eq!(native(benchmark.activity, cycles), signature, "{name} after {cycles} cycles");
        };
        let interpreter = Interpreter::new(&netlist, &RACE).unwrap();
        for_signatures(interpreter, &[0, 1, 2, 50, 3000], compare);
        // So long that what is rare happens, such as an exit that goes away while its request waits.
        let compiled = Compiled::new(&netlist, &RACE).unwrap();
        for_signatures(compiled, &[20_000], compare);
    }
}

/// Calls `check` with the signature after so many `cycles`.
fn for_signatures(mut engine: impl Engine, cycles: &[u64], check: impl Fn(u64, u64)) {
    let output = engine.output("signature_o").unwrap();
    for &cycles in cycles {
        // The signature is that of the cycles before: one step more.
        engine.run(cycles + 1 - engine.cycle());
        check(cycles, engine.get(output));
    }
}
