//! Scores on a page, with every mutant that no test notices.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::run::{Outcome, Score};

/// Why mutants that no test notices are the same function, by circuit and name. A `*` in a name stands for a number.
pub type Reasons = BTreeMap<String, BTreeMap<String, String>>;

/// Why a mutant of a circuit is the same function, if there is a reason.
pub fn reason<'a>(reasons: &'a Reasons, circuit: &str, mutant: &str) -> Option<&'a str> {
    let reason = reasons.get(circuit)?.iter().find(|(pattern, _)| matches(pattern, mutant));
    reason.map(|(_, reason)| reason.as_str())
}

/// Whether a name is that of a pattern in which `*` stands for a number.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            number.len() < rest.len() && matches(after, number)
        }),
    }
}

/// Sets the outcome of mutants that there is a reason for. Those of them that a test notices are given back: the reason is
/// wrong.
pub fn explain(score: &mut Score, reasons: &Reasons) -> Vec<(String, Outcome)> {
    let mut wrong = Vec::new();
    for (name, outcome) in &mut score.run {
        match (reason(reasons, &score.circuit, name), &outcome) {
            (Some(reason), Outcome::Survived) => *outcome = Outcome::Equivalent(reason.into()),
            (Some(_), Outcome::Killed(_) | Outcome::Endless(_) | Outcome::NoCircuit) => {
                wrong.push((name.clone(), outcome.clone()));
            }
            (Some(_) | None, _) => {}
        }
    }
    wrong
}

/// One line about a circuit.
pub fn line(score: &Score) -> String {
    format!(
        "{}: {:.1} %, {} of {} killed, {} equivalent, {} not a circuit ({} of {} mutants run)",
        score.circuit,
        score.per_cent(),
        score.killed(),
        score.worth(),
        score.count(|outcome| matches!(outcome, Outcome::Equivalent(_))),
        score.count(|outcome| *outcome == Outcome::NoCircuit),
        score.run.len(),
        score.mutants,
    )
}

/// The page of all scores.
pub fn page(scores: &[Score]) -> String {
    let mut text = String::from(
        "# Mutation score\n\n\
         How many changes of a circuit its testbench notices. A mutant differs from its circuit in one place: an operator\n\
         swapped, a constant off by one, an enable stuck, ports swapped, a write mask inverted, an address off by one, a\n\
         priority reversed. It is killed if a test fails or does not end. [Decision\n\
         48](decisions/0048-mutants-of-netlists.md) says what is mutated, what counts as equivalent and how that is\n\
         proven. Continuous integration runs three mutants of each circuit, other ones with every commit, and thirty of one\n\
         whose circuit or testbench is not what it was when its score was kept ([decision\n\
         58](decisions/0058-records-and-a-slice.md)). Written by `scripts/mutate --keep`. ",
    );
    let _ = writeln!(text, "{}\n", extent(scores));
    text.push_str("| circuit | mutants | run | killed | equivalent | not a circuit | survived | score |\n");
    text.push_str("|---|--:|--:|--:|--:|--:|--:|--:|\n");
    for score in scores {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {:.1} % |",
            score.circuit,
            score.mutants,
            score.run.len(),
            score.killed(),
            score.count(|outcome| matches!(outcome, Outcome::Equivalent(_))),
            score.count(|outcome| *outcome == Outcome::NoCircuit),
            score.count(|outcome| *outcome == Outcome::Survived),
            score.per_cent(),
        );
    }
    text.push_str("\n## Mutants that no test notices\n\n");
    text.push_str("*Proven*: Yosys finds the same outputs and next states in every state in which the invariants hold.\n");
    for score in scores {
        let unnoticed: Vec<String> =
            score.run.iter().filter_map(|(name, outcome)| unnoticed(name, outcome)).collect();
        if !unnoticed.is_empty() {
            let _ = writeln!(text, "\n### {}\n\n{}", score.circuit, unnoticed.join("\n"));
        }
    }
    text
}

/// Of which circuits all mutants were run.
fn extent(scores: &[Score]) -> String {
    let sampled: Vec<&str> = scores
        .iter()
        .filter(|score| score.run.len() < score.mutants)
        .map(|score| score.circuit.as_str())
        .collect();
    match sampled.as_slice() {
        [] => "All mutants of all circuits were run.".into(),
        sampled => format!(
            "All mutants were run of {} of the {} circuits. A sample by\nhash was run of: {}.",
            scores.len() - sampled.len(),
            scores.len(),
            sampled.join(", ")
        ),
    }
}

/// The scores as JSON, a mutant a line so that a difference can be read.
///
/// # Errors
/// None that are known: strings are written.
pub fn json(scores: &BTreeMap<String, Score>) -> serde_json::Result<String> {
    let mut circuits = Vec::new();
    for (circuit, Score { circuit: name, of, mutants, run }) in scores {
        let outcomes = run.iter().map(|outcome| Ok(format!("      {}", serde_json::to_string(outcome)?)));
        let outcomes = outcomes.collect::<serde_json::Result<Vec<_>>>()?.join(",\n");
        let [circuit, name, of] = [circuit, name, of].map(serde_json::to_string);
        circuits.push(format!(
            "  {}: {{\n    \"circuit\": {},\n    \"of\": {},\n    \"mutants\": {mutants},\n    \"run\": [\n{outcomes}\n    ]\n  }}",
            circuit?, name?, of?
        ));
    }
    Ok(format!("{{\n{}\n}}\n", circuits.join(",\n")))
}

fn unnoticed(name: &str, outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Killed(_) | Outcome::Endless(_) | Outcome::NoCircuit => None,
        Outcome::Equivalent(how) => Some(format!("- {name}: {how}")),
        Outcome::Survived => Some(format!("- {name}: **not noticed**")),
    }
}
