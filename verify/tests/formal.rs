//! Proofs of invariants, and counterexamples to those of broken circuits.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::netlist::{Netlist, Op};
use warpfile_hdl::rtl::{Circuit, Documented, In, Module, Out, Ports, elaborate};
use warpfile_verify::formal::{Effort, Prover, Reached, Verdict, prove};

fn circuit(name: &str, overrides: &Value) -> Netlist {
    let library = library();
    let entry = library.iter().find(|entry| entry.name == name).expect("in the library");
    entry.elaborate_with(overrides).expect("sound")
}

fn effort(prover: Prover) -> Effort {
    Effort { provers: vec![prover], depth: 8, induction: 2, ..Effort::default() }
}

/// A counterexample is found by each tool, and written as a waveform.
fn is_refuted(netlist: &Netlist, invariant: &str) {
    for prover in [Prover::Abc, Prover::Smtbmc] {
        let folder = tempfile::tempdir().expect("a folder");
        let waveform = folder.path().join("counterexample.vcd");
        let proofs = prove(netlist, &effort(prover), Some(&waveform)).expect("the tools run").proofs;
        let proof = proofs.iter().find(|proof| proof.property.invariant == invariant).expect("an invariant");
        assert!(matches!(proof.verdict(), Verdict::Refuted(_)), "{prover:?}: {proof:?}");
        let text = std::fs::read_to_string(waveform).expect("written");
        assert!(text.contains("$enddefinitions") && text.contains("clk_i"), "{prover:?}: {text}");
    }
}

fn verdicts(netlist: &Netlist, prover: Prover) -> Vec<(String, Verdict)> {
    let proofs = prove(netlist, &effort(prover), None).expect("the tools run").proofs;
    proofs.iter().map(|proof| (proof.property.full_name(), proof.verdict())).collect()
}

#[test]
fn an_invariant_is_proven_by_induction_or_bounded_where_that_does_not_close() {
    let netlist = circuit("fifo", &json!({"depth": 5, "width": 1}));
    let never_exceeds = ("count_never_exceeds_depth".to_owned(), Verdict::Proven);
    // It holds of rows that there are, and nothing says that head and tail are such.
    let distance = |verdict| ("count_is_the_distance_of_tail_and_head".to_owned(), verdict);
    assert_eq!(verdicts(&netlist, Prover::Smtbmc), [never_exceeds.clone(), distance(Verdict::Bounded(8))]);
    // Reachability finds by itself what there is to say of them.
    assert_eq!(verdicts(&netlist, Prover::Abc), [never_exceeds, distance(Verdict::Proven)]);
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

/// A register without a reset.
///
/// Timing: none.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Unreset {
    /// Bits.
    width: usize,
}

#[derive(Ports)]
#[params(Unreset)]
struct UnresetIo<'m> {
    set_i: In<'m>,
    #[bits(p.width)]
    value_o: Out<'m>,
}

impl Circuit for Unreset {
    type Io<'m> = UnresetIo<'m>;
    const NAME: &'static str = "unreset";

    fn build<'m>(&self, m: &Module<'m>, io: &UnresetIo<'m>) {
        let value = m.register("value", self.width).no_reset();
        let seen = m.register("seen", 1).reset(0);
        m.when(io.set_i, || {
            value.set(m.lit(self.width, 1));
            seen.set(m.lit(1, 1));
        });
        io.value_o.set(value);
        m.invariant("it_is_not_3", value.ne(3));
        m.invariant("once_set_it_is_1", seen.implies(value.eq(1)));
        m.invariant("when_it_was_set_and_is_2_anything_goes", (seen & value.eq(2)).implies(value.eq(7)));
    }
}

#[test]
fn state_without_a_reset_starts_as_anything() {
    let netlist = elaborate(&Unreset { width: 3 }).expect("sound");
    for prover in [Prover::Abc, Prover::Smtbmc] {
        let verdicts: Vec<Verdict> =
            verdicts(&netlist, prover).into_iter().map(|(_, verdict)| verdict).collect();
        assert!(
            matches!(verdicts[..], [Verdict::Refuted(_), Verdict::Proven, Verdict::Proven]),
            "{verdicts:?}"
        );
    }
}

#[test]
fn an_invariant_whose_premise_never_holds_is_noticed() {
    let netlist = elaborate(&Unreset { width: 3 }).expect("sound");
    let proofs = prove(&netlist, &effort(Prover::Abc), None).expect("the tools run").proofs;
    let reached: Vec<Option<Reached>> = proofs.iter().map(|proof| proof.reached).collect();
    // Under reset in cycle 0, set in cycle 1.
    assert_eq!(reached, [None, Some(Reached::In(2)), Some(Reached::NotIn(8))]);
}

/// A sum without a register.
///
/// Timing: combinational.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Sum {
    /// Bits.
    width: usize,
}

#[derive(Ports)]
#[params(Sum)]
struct SumIo<'m> {
    #[bits(p.width)]
    a_i: In<'m>,
    #[bits(p.width)]
    b_i: In<'m>,
    #[bits(p.width)]
    sum_o: Out<'m>,
}

impl Circuit for Sum {
    type Io<'m> = SumIo<'m>;
    const NAME: &'static str = "sum";

    fn build<'m>(&self, m: &Module<'m>, io: &SumIo<'m>) {
        let sum = io.a_i + io.b_i;
        io.sum_o.set(sum);
        m.invariant("a_sum_of_0_is_the_other_number", io.a_i.eq(0).implies(sum.eq(io.b_i)));
        m.invariant("a_sum_is_not_less_than_what_is_added", io.a_i.eq(1).implies(sum.ge(io.b_i)));
        m.invariant("what_is_0_and_1_is_anything", (io.a_i.eq(0) & io.a_i.eq(1)).implies(sum.eq(7)));
    }
}

#[test]
fn what_holds_of_a_circuit_without_state_is_known_and_whether_it_is_about_something() {
    let netlist = elaborate(&Sum { width: 3 }).expect("sound");
    for prover in [Prover::Abc, Prover::Smtbmc] {
        let found: Vec<Verdict> =
            verdicts(&netlist, prover).into_iter().map(|(_, verdict)| verdict).collect();
        assert_eq!(found, [Verdict::Proven, Verdict::Refuted(0), Verdict::Proven], "{prover:?}");
    }
    let proofs = prove(&netlist, &effort(Prover::Abc), None).expect("the tools run").proofs;
    let reached: Vec<Option<Reached>> = proofs.iter().map(|proof| proof.reached).collect();
    // An invariant that is never about anything is found so without a cycle having been looked at.
    assert_eq!(reached, [Some(Reached::In(0)), Some(Reached::In(0)), Some(Reached::NotIn(8))]);
}

/// The sum of all numbers so far.
///
/// Timing: seen from the next cycle on.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Running {
    /// Bits.
    width: usize,
}

#[derive(Ports)]
#[params(Running)]
struct RunningIo<'m> {
    #[bits(p.width)]
    number_i: In<'m>,
    #[bits(p.width)]
    total_o: Out<'m>,
}

impl Circuit for Running {
    type Io<'m> = RunningIo<'m>;
    const NAME: &'static str = "running";

    fn build<'m>(&self, m: &Module<'m>, io: &RunningIo<'m>) {
        let total = m.register("total", self.width).reset(0);
        let sum = m.instance("adder", Sum { width: self.width });
        sum.a_i.set(io.number_i);
        sum.b_i.set(total);
        total.set(sum.sum_o);
        io.total_o.set(total);
        m.invariant("a_total_of_0_becomes_the_number", total.eq(0).implies(sum.sum_o.eq(io.number_i)));
    }
}

#[test]
fn what_holds_of_a_circuit_without_state_is_not_asked_again_around_it() {
    let netlist = elaborate(&Running { width: 3 }).expect("sound");
    for prover in [Prover::Abc, Prover::Smtbmc] {
        let only = ("a_total_of_0_becomes_the_number".to_owned(), Verdict::Proven);
        assert_eq!(verdicts(&netlist, prover), [only], "{prover:?}");
    }
}
