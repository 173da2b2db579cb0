//! Proofs of invariants, and counterexamples to those of broken circuits.

use serde_json::{Value, json};
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::netlist::{Netlist, Op};
use warpfile_verify::formal::{Effort, Verdict, prove};

fn circuit(name: &str, overrides: &Value) -> Netlist {
    let library = library();
    let entry = library.iter().find(|entry| entry.name == name).expect("in the library");
    entry.elaborate_with(overrides).expect("sound")
}

fn effort() -> Effort {
    Effort { depth: 8, induction: 2, ..Effort::default() }
}

/// A counterexample is found, and written as a waveform.
fn is_refuted(netlist: &Netlist, invariant: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let waveform = folder.path().join("counterexample.vcd");
    let proofs = prove(netlist, &effort(), Some(&waveform)).expect("the tools run").proofs;
    let proof = proofs.iter().find(|proof| proof.invariant == invariant).expect("an invariant");
    assert!(matches!(proof.verdict, Verdict::Refuted(_)), "{proof:?}");
    let text = std::fs::read_to_string(waveform).expect("written");
    assert!(text.contains("$enddefinitions") && text.contains("clk_i"), "{text}");
}

#[test]
fn an_invariant_is_proven_by_induction_or_bounded_where_that_does_not_close() {
    let netlist = circuit("fifo", &json!({"depth": 5, "width": 1}));
    let proofs = prove(&netlist, &effort(), None).expect("the tools run").proofs;
    let verdicts: Vec<_> = proofs.iter().map(|proof| (proof.invariant.as_str(), proof.verdict)).collect();
    let never_exceeds = ("count_never_exceeds_depth", Verdict::Proven(2));
    // It holds of rows that there are, and nothing says that head and tail are such.
    let distance = ("count_is_the_distance_of_tail_and_head", Verdict::Bounded(8));
    assert_eq!(verdicts, [never_exceeds, distance]);
}

#[test]
fn a_fifo_that_takes_words_when_it_is_full_is_refuted() {
    let mut netlist = circuit("fifo", &json!({"depth": 5, "width": 1}));
    let module = &mut netlist.modules[0];
    let ready = module.ports.iter_mut().find(|port| port.name == "in_ready_o").expect("a port");
    let node = ready.driver.expect("an output");
    module.nodes[node.index()].op = Op::Constant(warpfile_hdl::rtl::Bits::ones(1));
    is_refuted(&netlist, "count_never_exceeds_depth");
}

#[test]
fn an_arbiter_that_grants_all_requests_is_refuted() {
    let mut netlist = circuit("round_robin_arbiter", &json!({"requests": 5}));
    let module = &mut netlist.modules[0];
    let lowest = module.nodes.iter_mut().find(|node| matches!(node.op, Op::LowestOne(_))).expect("a grant");
    let Op::LowestOne(requests) = lowest.op else { unreachable!("just found") };
    lowest.op = Op::Wire(requests);
    is_refuted(&netlist, "one_request_at_most_is_granted");
}
