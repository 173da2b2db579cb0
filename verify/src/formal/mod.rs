//! Proofs of a circuit's invariants, with `yosys-smtbmc` over the exported Verilog.
//!
//! Three things can come out of it for an invariant. *Proven*: it holds in every state that k cycles in a row without a
//! violation can lead to, and in the first cycles (k-induction). *Bounded*: it holds in the first cycles after reset,
//! whatever the inputs are. *Refuted*: there are inputs that break it, and a waveform of them. What the circuit assumes
//! of its inputs ([`Module::assumption`](warpfile_hdl::rtl::Module::assumption)) is taken for granted; what the circuits
//! in it assume is proven like their invariants.
//!
//! Invariants are proven together: those that fail are taken out, one attempt after the other, until those left hold,
//! each with the help of the others only. A circuit is what its Verilog says, in two-state logic, from any state that its
//! first cycle, under reset, leads to.

mod smtbmc;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use thiserror::Error;
use warpfile_hdl::rtl::netlist::{KeptBy, Netlist};

use crate::ToolError;
use smtbmc::{Answer, Model};

/// How much is tried.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Cycles from the first, under reset, in which every invariant is to hold.
    pub depth: u32,
    /// Cycles in a row that induction assumes.
    pub induction: u32,
    /// Solver, by the name of its command.
    pub solver: String,
    /// How long one attempt may take.
    pub patience: Duration,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { depth: 20, induction: 4, solver: "z3".to_owned(), patience: Duration::from_secs(60) }
    }
}

/// What is known of an invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// By induction over so many cycles.
    Proven(u32),
    /// In so many cycles.
    Bounded(u32),
    /// Broken in this cycle.
    Refuted(u32),
    /// Nothing: the solver did not finish the first cycles.
    Open,
}

/// An invariant of a circuit, or of one in it, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Path of the circuit that it belongs to; empty for the outermost.
    pub path: String,
    /// Its name.
    pub invariant: String,
    /// Whether it is what a circuit in this one assumes.
    pub is_assumption: bool,
    /// What is known.
    pub verdict: Verdict,
}

/// An invariant that inputs break.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{circuit}: invariant `{invariant}` is broken in cycle {cycle}")]
pub struct Counterexample {
    /// The outermost module.
    pub circuit: String,
    /// Path and name of the invariant.
    pub invariant: String,
    /// Cycle, from 0, the first one being under reset.
    pub cycle: u32,
}

/// What came of a circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proofs {
    /// All invariants, circuit by circuit.
    pub proofs: Vec<Proof>,
    /// Time that it took.
    pub time: Duration,
}

/// Proves what it can of a circuit. The first counterexample, if there is one, is written to `waveform`.
///
/// # Errors
/// A tool is not there or does not take the Verilog.
pub fn prove(netlist: &Netlist, effort: &Effort, waveform: Option<&Path>) -> Result<Proofs, ToolError> {
    let begin = Instant::now();
    let mut proofs = properties(netlist);
    let mut candidates: BTreeSet<(String, String)> =
        proofs.iter().map(|proof| (proof.path.clone(), proof.invariant.clone())).collect();
    let reached = bounded(netlist, effort, waveform, &mut candidates, &mut proofs)?;
    let unbroken = candidates.clone();
    let is_proven = reached >= effort.induction && by_induction(netlist, effort, &mut candidates)?;
    for proof in &mut proofs {
        let name = (proof.path.clone(), proof.invariant.clone());
        if is_proven && candidates.contains(&name) {
            proof.verdict = Verdict::Proven(effort.induction);
        } else if unbroken.contains(&name) {
            proof.verdict = if reached == 0 { Verdict::Open } else { Verdict::Bounded(reached) };
        }
    }
    Ok(Proofs { proofs, time: begin.elapsed() })
}

/// Everything that is to be proven.
fn properties(netlist: &Netlist) -> Vec<Proof> {
    let mut proofs = Vec::new();
    for (path, module) in netlist.circuits() {
        for invariant in &netlist.modules[module.index()].invariants {
            let is_assumption = invariant.kept_by == KeptBy::Environment;
            if !(is_assumption && path.is_empty()) {
                let invariant = invariant.name.clone();
                proofs.push(Proof { path: path.clone(), invariant, is_assumption, verdict: Verdict::Open });
            }
        }
    }
    proofs
}

/// Takes those out of the candidates that are broken in the first cycles; in how many the others hold.
fn bounded(
    netlist: &Netlist,
    effort: &Effort,
    mut waveform: Option<&Path>,
    candidates: &mut BTreeSet<(String, String)>,
    proofs: &mut [Proof],
) -> Result<u32, ToolError> {
    while !candidates.is_empty() {
        let model = Model::new(netlist, candidates)?;
        match model.first_cycles(effort, waveform.take())? {
            Answer::Holds => return Ok(effort.depth),
            Answer::Unfinished { cycles } => return Ok(cycles),
            Answer::Broken { cycle, names } => {
                for name in names.iter().filter(|name| candidates.remove(name)) {
                    let of_name = |proof: &&mut Proof| (&proof.path, &proof.invariant) == (&name.0, &name.1);
                    let broken = proofs.iter_mut().find(of_name);
                    broken.into_iter().for_each(|proof| proof.verdict = Verdict::Refuted(cycle));
                }
            }
        }
    }
    Ok(effort.depth)
}

/// Takes those out of the candidates that induction does not show; whether it shows the others.
fn by_induction(
    netlist: &Netlist,
    effort: &Effort,
    candidates: &mut BTreeSet<(String, String)>,
) -> Result<bool, ToolError> {
    while !candidates.is_empty() {
        match Model::new(netlist, candidates)?.induction(effort)? {
            Answer::Holds => return Ok(true),
            Answer::Unfinished { .. } => return Ok(false),
            Answer::Broken { names, .. } => candidates.retain(|name| !names.contains(name)),
        }
    }
    Ok(false)
}
