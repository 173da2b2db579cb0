//! The exported benchmark tops compute the engines' signature.

use warpfile_engine::{Engine, Interpreter};
use warpfile_gen::Style;
use warpfile_testbenches::bench::{Activity, benchmarks};
use warpfile_testbenches::testbench::Stimulus;
use warpfile_testbenches::witness::{Witnessed, simulate_with_verilator};
use warpfile_verify::lockstep::Simulator;

use super::list::RACE;

/// With few rows, as a build takes its time for each.
const SMALL: [&str; 5] =
    ["round_robin_arbiter", "fifo", "register_file_cache", "source_allocator", "two_level_scheduler"];

#[test]
fn verilator_and_both_engines_have_the_same_signature_in_every_cycle() {
    let mut chosen = benchmarks();
    chosen.retain(|one| SMALL.contains(&one.circuit.as_str()) && one.activity == Activity::Busy);
    let netlists: Vec<_> = chosen.iter().map(|benchmark| benchmark.netlist().unwrap()).collect();
    let cycles = vec![Stimulus { reset: false, inputs: vec![] }; 300];
    let circuits: Vec<_> =
        netlists.iter().map(|netlist| Witnessed::new(netlist, Style::Words, 1, &cycles).unwrap()).collect();
    let simulated = simulate_with_verilator(&circuits).unwrap();
    for ((benchmark, circuit), simulated) in chosen.iter().zip(&circuits).zip(&simulated) {
        circuit
            .compare(simulated, Simulator::Verilator)
            .unwrap_or_else(|difference| panic!("{}: {difference}", benchmark.name()));
    }
}

#[test]
fn the_signature_does_not_depend_on_unreset_state_that_outputs_do_not_show() {
    // Every output of these is either qualified or made of state that is reset.
    for benchmark in benchmarks().iter().filter(|benchmark| SMALL[..2].contains(&benchmark.circuit.as_str()))
    {
        let netlist = benchmark.netlist().unwrap();
        let signature = |zeroed: bool, seed: u64| {
            let options = warpfile_engine::Options { zeroed, seed, ..RACE };
            let mut engine = Interpreter::new(&netlist, &options).unwrap();
            engine.run(500);
            engine.get(engine.output("signature_o").unwrap())
        };
        assert_eq!(signature(true, 0), signature(false, 7), "{}", benchmark.name());
    }
}
