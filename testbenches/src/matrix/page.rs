//! The matrix as a section of `docs/verification.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use warpfile_kernels::workloads::AddressBits;

use super::{BASELINE, Outcome};

/// Where the section begins and ends on the page.
const BEGIN: &str = "<!-- matrix: scripts/verify --default --keep --addresses 32 -->\n";
const END: &str = "<!-- end of matrix -->\n";

/// The page with the section of these outcomes; `None` if the page has no place for it.
pub fn page(text: &str, outcomes: &[Outcome]) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{}{END}{after}", section(outcomes)))
}

/// A table for each machine and size of addresses: cycles of each design relative to the baseline's, and what was compared.
fn section(outcomes: &[Outcome]) -> String {
    let mut machines: BTreeMap<(&str, AddressBits), Vec<&Outcome>> = BTreeMap::new();
    for outcome in outcomes {
        machines.entry((&outcome.entry.preset, outcome.entry.addresses)).or_default().push(outcome);
    }
    let mut text = String::new();
    for (machine, outcomes) in machines {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n{}", table(machine, &outcomes));
    }
    text + "\n"
}

fn table((preset, addresses): (&str, AddressBits), outcomes: &[&Outcome]) -> String {
    let mut designs: Vec<&str> = outcomes.iter().map(|outcome| outcome.entry.design.as_str()).collect();
    designs.sort_by_key(|design| (*design != BASELINE, *design));
    designs.dedup();
    let mut workloads: Vec<&str> = outcomes.iter().map(|outcome| outcome.entry.workload.as_str()).collect();
    workloads.sort();
    workloads.dedup();
    let find = |workload: &str, design: &str| {
        outcomes.iter().find(|outcome| outcome.entry.workload == workload && outcome.entry.design == design)
    };
    let others = || designs.iter().filter(|design| **design != BASELINE);
    let head: String = others().map(|design| format!(" {design} |")).collect();
    let rule: String = others().map(|_| "--:|").collect();
    let mut text = format!(
        "`{preset}`, addresses of {addresses} bits, cycles of {BASELINE} and relative to them:\n\n| workload | {BASELINE} |{head}\n|---|--:|{rule}\n"
    );
    for workload in workloads {
        let base = find(workload, BASELINE);
        let cell = |outcome: Option<&&Outcome>| match (outcome, base) {
            (None, _) => "not run".to_owned(),
            (Some(outcome), _) if outcome.error.is_some() => "**failed**".to_owned(),
            (Some(outcome), Some(base)) if base.error.is_none() => {
                format!("{:.3}", outcome.cycles as f64 / base.cycles.max(1) as f64)
            }
            (Some(outcome), _) => outcome.cycles.to_string(),
        };
        let baseline = base.map_or("not run".to_owned(), |base| match base.error {
            Some(_) => "**failed**".to_owned(),
            None => base.cycles.to_string(),
        });
        let cells: String = others().map(|design| format!(" {} |", cell(find(workload, design)))).collect();
        let _ = writeln!(text, "| {workload} | {baseline} |{cells}");
    }
    let (operands, elements): (u64, u64) = outcomes.iter().fold((0, 0), |(operands, elements), outcome| {
        (operands + outcome.operands_checked, elements + outcome.elements_checked)
    });
    let failed = outcomes.iter().filter(|outcome| outcome.error.is_some()).count();
    let _ = writeln!(
        text,
        "\n{} runs, {failed} failed; {operands} warp operands compared with the kernels' values, {elements} elements of results \
         with the CPU references.",
        outcomes.len()
    );
    text
}
