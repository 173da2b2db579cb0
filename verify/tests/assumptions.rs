//! What a circuit assumes of its inputs: stimulus keeps it, the engine checks it, proofs use it.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_gen::emit;
use warpfile_hdl::rtl::netlist::{Netlist, Op};
use warpfile_hdl::rtl::{Bits, Circuit, Documented, In, Module, Out, Ports, elaborate};
use warpfile_verify::formal::{Effort, Prover, Verdict, prove};
use warpfile_verify::stimulus::{self, StimulusError};

const ASSUMPTION: &str = "it_is_not_counted_below_0";
const INVARIANT: &str = "no_more_was_taken_than_given";

/// Account: what was given less what was taken.
///
/// Timing: seen from the next cycle on.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Account {
    /// Bits.
    width: usize,
}

#[derive(Ports)]
#[params(Account)]
struct AccountIo<'m> {
    give_i: In<'m>,
    take_i: In<'m>,
    #[bits(p.width)]
    count_o: Out<'m>,
}

impl Circuit for Account {
    type Io<'m> = AccountIo<'m>;
    const NAME: &'static str = "account";

    fn build<'m>(&self, m: &Module<'m>, io: &AccountIo<'m>) {
        let count = m.register("count", self.width).reset(0);
        let is_full = count.eq((1 << self.width) - 1);
        let gives = io.give_i & !is_full;
        count.set(count + gives.zext(self.width) - io.take_i.zext(self.width));
        io.count_o.set(count);
        m.assumption(ASSUMPTION, io.take_i.implies(count.ne(0)));
        // Without the assumption the count goes from 0 to all ones.
        let last = m.register("last", self.width).reset(0);
        last.set(count);
        m.invariant(INVARIANT, last.eq(0).implies(count.le(1)));
    }
}

/// Account holder: an account that is asked for more than it has, or not.
///
/// Timing: as the account.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Holder {
    /// Whether it looks before it takes.
    looks: bool,
}

#[derive(Ports)]
#[params(Holder)]
struct HolderIo<'m> {
    give_i: In<'m>,
    take_i: In<'m>,
    #[bits(2)]
    count_o: Out<'m>,
}

impl Circuit for Holder {
    type Io<'m> = HolderIo<'m>;
    const NAME: &'static str = "holder";

    fn build<'m>(&self, m: &Module<'m>, io: &HolderIo<'m>) {
        let account = m.instance("account", Account { width: 2 });
        account.give_i.set(io.give_i);
        let may = if self.looks { account.count_o.ne(0) } else { m.lit(1, 1) };
        account.take_i.set(io.take_i & may);
        io.count_o.set(account.count_o);
    }
}

fn account() -> Netlist {
    elaborate(&Account { width: 2 }).expect("sound")
}

/// The property that a run first breaks; inputs in the order of the ports.
fn violation(netlist: &Netlist, cycles: impl Iterator<Item = (bool, Vec<BigUint>)>) -> Option<String> {
    let mut engine = Interpreter::new(netlist, &Options::checked()).expect("sound");
    let ports = ["give_i", "take_i"].map(|name| engine.input(name).expect("an input"));
    for (reset, inputs) in cycles {
        engine.set_reset(reset);
        ports.iter().zip(inputs).for_each(|(&port, value)| engine.set_big(port, &value));
        engine.step();
    }
    engine.violation().map(|violation| violation.path)
}

#[test]
fn random_stimulus_keeps_what_a_circuit_assumes() {
    let netlist = account();
    let stimuli = stimulus::random(&netlist, 2000, 5).expect("it can be kept");
    let takes = stimuli.iter().filter(|stimulus| stimulus.inputs[1] == BigUint::from(1u32)).count();
    assert!(takes > 200, "{takes} cycles");
    assert_eq!(violation(&netlist, stimuli.into_iter().map(|s| (s.reset, s.inputs))), None);
}

#[test]
fn the_engine_notices_inputs_that_break_an_assumption() {
    let take = vec![BigUint::ZERO, BigUint::from(1u32)];
    let broken = violation(&account(), [(false, take)].into_iter());
    assert_eq!(broken.as_deref(), Some(ASSUMPTION));
}

#[test]
fn an_assumption_that_no_inputs_keep_is_an_error() {
    let mut netlist = account();
    let module = &mut netlist.modules[0];
    let condition = module.invariants[0].condition;
    module.nodes[condition.index()].op = Op::Constant(Bits::zero(1));
    let error = stimulus::random(&netlist, 10, 5).expect_err("it cannot be kept");
    let StimulusError::Assumption { assumption, .. } = error else { panic!("{error}") };
    assert_eq!(assumption, ASSUMPTION);
}

#[test]
fn an_assumption_is_assumed_of_the_outermost_circuit_and_asserted_of_those_within() {
    let outermost = &emit(&account()).modules[0].text;
    assert!(outermost.contains(&format!("{ASSUMPTION}: assume (")), "{outermost}");
    let holder = emit(&elaborate(&Holder { looks: true }).expect("sound"));
    let within = holder.modules.iter().find(|module| module.text.contains(ASSUMPTION)).expect("it is there");
    assert!(within.text.contains(&format!("{ASSUMPTION}: assert (")), "{}", within.text);
}

fn verdicts(netlist: &Netlist) -> Vec<(String, Verdict)> {
    let effort =
        Effort { provers: vec![Prover::Abc, Prover::Smtbmc], depth: 6, induction: 2, ..Effort::default() };
    let proofs = prove(netlist, &effort, None).expect("the tools run").proofs;
    let verdict = |name: String, abc: Option<Verdict>, smtbmc: Option<Verdict>| {
        // What ABC refutes the other tool is not asked.
        assert!(smtbmc.is_none_or(|smtbmc| Some(smtbmc) == abc), "{name}: {abc:?}, {smtbmc:?}");
        (name, abc.expect("it was asked"))
    };
    proofs.iter().map(|proof| verdict(proof.property.full_name(), proof.abc, proof.smtbmc)).collect()
}

#[test]
fn a_proof_takes_for_granted_what_the_circuit_assumes() {
    let mut netlist = account();
    assert_eq!(verdicts(&netlist), [(INVARIANT.to_owned(), Verdict::Proven)]);
    netlist.modules[0].invariants.remove(0);
    assert!(matches!(verdicts(&netlist)[..], [(_, Verdict::Refuted(_))]));
}

#[test]
fn what_a_circuit_within_assumes_is_proven_or_left_to_the_surroundings() {
    let named = |verdict| {
        let within = |name: &str| format!("account.{name}");
        vec![(within(ASSUMPTION), verdict), (within(INVARIANT), Verdict::Proven)]
    };
    let of = |looks| verdicts(&elaborate(&Holder { looks }).expect("sound"));
    assert_eq!(of(true), named(Verdict::Proven));
    assert_eq!(of(false), named(Verdict::Assumed));
}
