//! The table of `docs/verification.md`: that it is complete, and that what it says is proven still is.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread::{available_parallelism, scope};
use std::time::Duration;

use serde_json::json;
use warpfile_gen::emit;
use warpfile_hdl::library::{CircuitEntry, library};
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_records as records;
use warpfile_verify::formal::{Effort, Prover, Reached, Verdict, properties, prove};

const PAGE: &str = include_str!("../../docs/verification.md");
/// Where the table begins.
const BEGIN: &str = "<!-- warpfile prove --write: begin -->";

/// What the page says of an invariant.
#[derive(Debug)]
struct Row {
    invariant: String,
    verdict: String,
    /// What ABC says.
    abc: String,
    /// When that which it is about first comes to pass: `cycle 3`, `not in 12`, or nothing.
    premise: String,
}

/// What the page says of each circuit, in order.
fn page() -> BTreeMap<String, Vec<Row>> {
    let (_, table) = PAGE.split_once(BEGIN).expect("the page has a table");
    let mut page: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    let mut circuit = "";
    for row in table.lines().filter_map(|line| line.strip_prefix("| ")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if matches!(cells[0], "circuit" | "---") {
            continue;
        }
        circuit = if cells[0].is_empty() { circuit } else { cells[0] };
        let [invariant, verdict, abc, premise] = [2, 3, 4, 6].map(|cell| cells[cell].to_owned());
        page.entry(circuit.to_owned()).or_default().push(Row { invariant, verdict, abc, premise });
    }
    page
}

fn netlist(entry: &CircuitEntry) -> Netlist {
    entry.elaborate_with(&entry.proven_at).expect("sound")
}

#[test]
fn the_page_names_every_invariant_of_every_circuit() {
    let page = page();
    for entry in library() {
        let invariants: Vec<String> =
            properties(&netlist(&entry)).iter().map(|property| property.full_name()).collect();
        assert!(!invariants.is_empty(), "{} names no invariant", entry.name);
        let rows = page.get(entry.name).map(Vec::as_slice).unwrap_or_default();
        let named: Vec<&String> = rows.iter().map(|row| &row.invariant).collect();
        let how = "run: warpfile prove --write docs/verification.md";
        assert_eq!(named, invariants.iter().collect::<Vec<_>>(), "{}: {how}", entry.name);
    }
}

#[test]
fn what_the_page_says_is_proven_still_is() {
    let page = page();
    let library = library();
    let entries = Mutex::new(library.iter().rev());
    let next = || entries.lock().expect("no one panics with it").next();
    // What a proof follows from beside the circuit and what the page says of it. ABC does not say which one it is.
    let sources = records::sources(&["verify/src/formal", "verify/tests/proofs.rs"]);
    let yosys = records::version("yosys", "-V");
    let workers = available_parallelism().map_or(1, usize::from);
    scope(|threads| {
        let work = || {
            while let Some(entry) = next() {
                let (netlist, page) = (netlist(entry), &page[entry.name]);
                let verilog: String = emit(&netlist).modules.into_iter().map(|file| file.text).collect();
                let claims = format!("{page:?}");
                let of = [&verilog, &claims, &sources, &yosys].map(String::as_str);
                records::check("proof", &netlist.top().name, &of, || check(entry, &netlist, page));
            }
        };
        (0..workers).for_each(|_| drop(threads.spawn(work)));
    });
}

/// Cycles that are looked at.
const DEPTH: u32 = 6;

/// ABC alone, which closes within seconds what it closes at all.
fn check(entry: &CircuitEntry, netlist: &Netlist, page: &[Row]) {
    // What ABC does not prove on the page is not waited for.
    let seconds = if page.iter().all(|row| row.abc == "proven" || row.abc == "assumed") { 120 } else { 5 };
    let patience = Duration::from_secs(seconds);
    let effort = Effort { provers: vec![Prover::Abc], depth: DEPTH, patience, ..Effort::default() };
    let proofs = prove(netlist, &effort, None).expect("the tools run").proofs;
    for (proof, row) in proofs.iter().zip(page) {
        let name = proof.property.full_name();
        assert_eq!(name, row.invariant, "{}", entry.name);
        let verdict = proof.verdict();
        let agrees = match row.abc.as_str() {
            "proven" => verdict == Verdict::Proven,
            "assumed" => verdict == Verdict::Assumed,
            _ => !matches!(verdict, Verdict::Refuted(_)),
        };
        assert!(agrees, "{}: {name}: the page says {}, now it is {verdict:?}", entry.name, row.abc);
        // An invariant says nothing if what it is about never comes to pass.
        if let Some(cycle) = row.premise.strip_prefix("cycle ").and_then(|cycle| cycle.parse().ok())
            && cycle < DEPTH
        {
            assert_eq!(proof.reached, Some(Reached::In(cycle)), "{}: {name}", entry.name);
        }
    }
}

/// A switch that the page has off, with other invariants: nobody of an owner block waits with it either.
#[test]
fn locks_of_single_warps_are_proven_too() {
    let library = library();
    let entry = library.iter().find(|entry| entry.name == "register_access_unit").expect("there is one");
    let parameters = json!({"warps": 4, "blocks": 2, "register_bits": 2, "warp_locks": true});
    let netlist = entry.elaborate_with(&parameters).expect("sound");
    let verilog: String = emit(&netlist).modules.into_iter().map(|file| file.text).collect();
    let sources = records::sources(&["verify/src/formal", "verify/tests/proofs.rs"]);
    records::check(
        "proof",
        &netlist.top().name,
        &[&verilog, &sources, &records::version("yosys", "-V")],
        || {
            let patience = Duration::from_secs(120);
            let effort = Effort { provers: vec![Prover::Abc], depth: DEPTH, patience, ..Effort::default() };
            let proofs = prove(&netlist, &effort, None).expect("the tools run").proofs;
            let names: Vec<String> = proofs.iter().map(|proof| proof.property.full_name()).collect();
            for name in ["beside_an_owner_a_lock_is_of_an_ended_partner", "an_owner_is_never_held_back"] {
                assert!(names.iter().any(|one| one == name), "{names:?}");
            }
            for proof in &proofs {
                assert_eq!(proof.verdict(), Verdict::Proven, "{}", proof.property.full_name());
            }
        },
    );
}

#[test]
fn what_proven_invariants_are_about_comes_to_pass() {
    for (circuit, rows) in page() {
        for Row { invariant, premise, .. } in rows.iter().filter(|row| row.verdict == "proven") {
            assert!(
                !premise.starts_with("not in"),
                "{circuit}: {invariant} is about what is {premise} cycles"
            );
        }
    }
}
