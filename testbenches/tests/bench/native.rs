//! The hand-written loops beside the engine.

use warpfile_engine::{Compiled, Engine, Interpreter};
use warpfile_testbenches::bench::{Benchmark, benchmarks, loops, native};

use super::list::RACE;

/// A circuit without one has no limit that the engine is measured against; the race says so.
#[test]
fn every_hand_written_loop_is_of_a_benchmark() {
    let benchmarks = benchmarks();
    for (circuit, size) in loops() {
        let is_it = |benchmark: &&Benchmark| (&*benchmark.circuit, benchmark.size) == (circuit, size);
        assert!(benchmarks.iter().any(|benchmark| is_it(&benchmark)), "{circuit} at size {size}");
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
