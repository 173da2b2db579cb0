//! The tool that mutates circuits.

use std::collections::{BTreeMap, BTreeSet};

use warpfile_engine::{Engine, Interpreter, Observe, Options};
use warpfile_hdl::library::library;
use warpfile_hdl::parts::Fifo;
use warpfile_hdl::rtl::elaborate;
use warpfile_hdl::rtl::netlist::{Direction, Netlist};
use warpfile_random::{inputs_of, random_cycles};
use warpfile_testbenches::mutation::circuits::circuits;
use warpfile_testbenches::mutation::mutants;
use warpfile_testbenches::mutation::prove::alone;
use warpfile_testbenches::mutation::report::{Reasons, explain, json, page, reason};
use warpfile_testbenches::mutation::run::{Outcome, Score};

#[test]
fn each_mutant_changes_its_circuit_and_has_a_name_of_its_own() {
    for entry in library() {
        let netlist = entry.elaborate_with(&entry.odd[0]).unwrap();
        let module = &netlist.modules[netlist.top.index()];
        let mutants = mutants(&netlist, netlist.top.index());
        let names: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.name.as_str()).collect();
        assert_eq!(names.len(), mutants.len(), "{}", entry.name);
        for mutant in &mutants {
            let mut changed = module.clone();
            mutant.change.apply(&mut changed);
            assert!(changed != *module, "{}: {}", entry.name, mutant.name);
        }
    }
}

#[test]
fn a_queue_is_mutated_in_every_way_there_is_for_it() {
    let netlist = elaborate(&Fifo { depth: 3, width: 4 }).unwrap();
    let names: Vec<String> = mutants(&netlist, 0).into_iter().map(|mutant| mutant.name).collect();
    for way in [
        "Add becomes Sub",
        "And becomes Or",
        "Eq becomes Ne",
        "Mux swaps its values",
        "constant off by one",
        "register `count`: enable stuck at 0",
        "register `count`: enable stuck at 1",
        "register `head`: reset value off by one",
        "read `head`: address off by one",
        "write `tail`: enable stuck at 1",
    ] {
        assert!(names.iter().any(|name| name.ends_with(way)), "{way}: {names:#?}");
    }
}

#[test]
fn every_circuit_of_the_library_has_a_testbench_that_is_scored() {
    for entry in library() {
        assert!(circuits().iter().any(|tested| tested.circuit == entry.name), "{}", entry.name);
    }
}

/// Ports of the sub-circuits of the outermost module, of one direction: the name in the module that is cut from them,
/// and the path in the whole circuit.
fn ports_below(netlist: &Netlist, direction: Direction) -> Vec<(String, String)> {
    let ports = netlist.top().instances.iter().flat_map(|instance| {
        let of_instance = netlist.modules[instance.module.index()].ports.iter();
        let name =
            |port: &str| (format!("below_{}_{port}", instance.name), format!("{}.{port}", instance.name));
        of_instance.filter(move |port| port.direction == direction).map(move |port| name(&port.name))
    });
    ports.collect()
}

fn outputs_of(netlist: &Netlist) -> Vec<(String, String)> {
    let outputs = netlist.top().ports.iter().filter(|port| port.direction == Direction::Output);
    outputs.map(|port| (port.name.clone(), port.name.clone())).collect()
}

#[test]
fn a_circuit_that_is_cut_from_its_sub_circuits_does_the_same_with_what_they_give() {
    let options = Options { zeroed: true, observe: Observe::All, ..Options::default() };
    for entry in library() {
        let netlist = entry.elaborate_with(&entry.odd[0]).unwrap();
        let Some(cut) = alone(&netlist) else {
            assert!(netlist.top().instances.is_empty(), "{}", entry.name);
            continue;
        };
        let (given, taken) =
            (ports_below(&netlist, Direction::Output), ports_below(&netlist, Direction::Input));
        let compared: Vec<_> = outputs_of(&netlist).into_iter().chain(taken).collect();
        assert_eq!((cut.modules.len(), cut.top().instances.len()), (1, 0), "{}", entry.name);
        assert_eq!(inputs_of(&cut).count(), inputs_of(&netlist).count() + given.len(), "{}", entry.name);
        assert_eq!(outputs_of(&cut).len(), compared.len(), "{}", entry.name);

        let mut whole = Interpreter::new(&netlist, &options).unwrap();
        let mut part = Interpreter::new(&cut, &options).unwrap();
        for (number, cycle) in random_cycles(&netlist, 1, 60).iter().enumerate() {
            whole.set_reset(cycle.reset);
            part.set_reset(cycle.reset);
            for ((name, _), value) in inputs_of(&netlist).zip(&cycle.inputs) {
                whole.set_big(whole.input(name).unwrap(), value);
                part.set_big(part.input(name).unwrap(), value);
            }
            whole.step();
            for (input, path) in &given {
                part.set_big(part.input(input).unwrap(), &whole.get_big(whole.probe(path).unwrap()));
            }
            part.step();
            for (output, path) in &compared {
                let found = part.get_big(part.output(output).unwrap());
                let expected = whole.get_big(whole.probe(path).unwrap());
                assert_eq!(found, expected, "{}: {output} in cycle {number}", entry.name);
            }
        }
    }
}

fn score() -> Score {
    let outcomes = [
        ("a", Outcome::Killed("tests::one".into())),
        ("b", Outcome::Endless("tests::two".into())),
        ("c", Outcome::NoCircuit),
        ("d", Outcome::Equivalent("proven".into())),
        ("e", Outcome::Survived),
        ("f", Outcome::Survived),
    ];
    let run = outcomes.map(|(name, outcome)| (name.to_string(), outcome));
    Score { circuit: "fifo".into(), of: "0123".into(), mutants: 9, run: run.to_vec() }
}

fn reasons(name: &str) -> Reasons {
    [("fifo".to_string(), [(name.to_string(), "no one asks".to_string())].into())].into()
}

#[test]
fn what_is_killed_counts_and_what_is_equivalent_does_not() {
    let mut score = score();
    assert_eq!((score.killed(), score.worth(), score.per_cent()), (2, 4, 50.0));
    assert_eq!(explain(&mut score, &reasons("e")), []);
    assert_eq!((score.killed(), score.worth()), (2, 3));
}

#[test]
fn a_score_is_of_a_circuit_whose_mutants_have_these_names() {
    let named = |names: &str| names.chars().map(String::from).collect();
    assert!(score().is_of(&named("abcdefghi")), "three were not run");
    assert!(!score().is_of(&named("abcdegghi")), "f is gone, and one less");
    assert!(!score().is_of(&named("bcdefghij")), "as many, and a is gone");
    assert!(!score().is_of(&named("abcdefghij")), "one more");
}

#[test]
fn a_reason_for_a_mutant_that_a_test_notices_is_wrong() {
    let wrong = explain(&mut score(), &reasons("a"));
    assert!(matches!(&wrong[..], [(name, Outcome::Killed(_))] if name == "a"), "{wrong:?}");
}

#[test]
fn a_reason_holds_for_all_mutants_that_differ_in_a_number() {
    let reasons = reasons("table `result*`, write `bank*`: stuck");
    let holds = |name: &str| reason(&reasons, "fifo", name).is_some();
    assert!(holds("table `result0`, write `bank12`: stuck"));
    assert!(!holds("table `result`, write `bank12`: stuck"), "no number");
    assert!(!holds("table `result0`, write `bank12`: stuck (2)"), "more after it");
    assert_eq!(reason(&reasons, "l1_port", "table `result0`, write `bank12`: stuck"), None);
}

#[test]
fn the_page_says_of_which_circuits_a_sample_was_run() {
    let all = Score { mutants: score().run.len(), ..score() };
    let full = page(std::slice::from_ref(&all));
    assert!(full.contains("All mutants of all circuits were run."), "{full}");
    let other = Score { circuit: "l1_port".into(), ..score() };
    let page = page(&[all, other]);
    assert!(page.contains("of 1 of the 2 circuits. A sample by\nhash was run of: l1_port."), "{page}");
}

#[test]
fn kept_scores_have_a_mutant_a_line_and_are_read_again() {
    let scores: BTreeMap<String, Score> = [("fifo".to_string(), score())].into();
    let text = json(&scores).unwrap();
    assert!(text.contains("\n      [\"a\",{\"killed\":\"tests::one\"}],\n"), "{text}");
    let read: BTreeMap<String, Score> = serde_json::from_str(&text).unwrap();
    assert_eq!(read["fifo"].run, score().run);
    let fifo = &read["fifo"];
    assert_eq!((fifo.circuit.as_str(), fifo.of.as_str(), fifo.mutants), ("fifo", "0123", 9));
}

#[test]
fn a_mutant_that_was_noticed_and_is_not_any_more_is_told() {
    let with = |name: &str, outcome: Outcome| {
        let mut score = score();
        let found = score.run.iter_mut().find(|(run, _)| run == name).unwrap();
        found.1 = outcome;
        score
    };
    let lost = |now: Score| now.lost(&score()).map(String::from).collect::<Vec<_>>();
    assert!(lost(score()).is_empty());
    assert_eq!(lost(with("a", Outcome::Survived)), ["a"]);
    assert_eq!(lost(with("b", Outcome::Equivalent("it is said".into()))), ["b"]);
    assert!(lost(with("a", Outcome::Endless("tests::other".into()))).is_empty());
    assert!(lost(with("e", Outcome::Killed("tests::new".into()))).is_empty());
}

#[test]
fn the_page_lists_every_mutant_that_no_test_notices_and_why() {
    let mut score = score();
    explain(&mut score, &reasons("f"));
    let page = page(&[score]);
    assert!(page.contains("| fifo | 9 | 6 | 2 | 2 | 1 | 1 | 66.7 % |"), "{page}");
    for line in ["- d: proven\n", "- e: **not noticed**\n", "- f: no one asks\n"] {
        assert!(page.contains(line), "{line}: {page}");
    }
    assert!(!page.contains("- a:") && !page.contains("- b:") && !page.contains("- c:"), "{page}");
}
