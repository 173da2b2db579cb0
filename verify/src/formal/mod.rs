//! Proofs of a circuit's invariants over the exported Verilog, with two tools: ABC and `yosys-smtbmc`.
//!
//! Three things can come out of it for an invariant. *Proven*: it holds in every cycle, whatever the inputs are, by
//! property directed reachability (ABC) or by k-induction (`yosys-smtbmc`). *Bounded*: it holds in the first cycles
//! after reset. *Refuted*: there are inputs that break it, and a waveform of them. What the circuit assumes
//! of its inputs ([`Module::assumption`](warpfile_hdl::rtl::Module::assumption)) is taken for granted; what the circuits
//! in it assume is proven like their invariants, or, if the outermost cannot keep it alone, left to whoever drives that.
//!
//! A circuit without state has its invariants proven alone, and not again in those around it.
//!
//! ABC is asked of one invariant after the other, then, with what it has proven taken for granted, of those left.
//!
//! An invariant that says "if this, then that" says nothing if "this" never is: ABC looks for a way there.
//!
//! In `yosys-smtbmc` invariants are proven together: those that fail are taken out, one attempt after the other, until
//! those left hold, each with the help of the others only. A circuit is what its Verilog says, in two-state logic, from
//! any state that its first cycle, under reset, leads to.

mod abc;
mod smtbmc;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use thiserror::Error;
use warpfile_hdl::rtl::netlist::{KeptBy, Module, Netlist};

use crate::ToolError;
use smtbmc::{Answer, Model};

/// A tool that proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prover {
    /// ABC: bounded model checking, then property directed reachability.
    Abc,
    /// `yosys-smtbmc`: bounded model checking, then k-induction.
    Smtbmc,
}

/// How much is tried.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Tools that are asked, in turn.
    pub provers: Vec<Prover>,
    /// Cycles from the first, under reset, in which every invariant is to hold.
    pub depth: u32,
    /// Cycles in a row that k-induction assumes.
    pub induction: u32,
    /// Solver of `yosys-smtbmc`, by the name of its command.
    pub solver: String,
    /// How long one attempt may take.
    pub patience: Duration,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort {
            provers: vec![Prover::Abc, Prover::Smtbmc],
            depth: 20,
            induction: 4,
            solver: "z3".to_owned(),
            patience: Duration::from_secs(60),
        }
    }
}

/// What is known of an invariant, the weaker first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing: a circuit within assumes it and the outermost cannot keep it alone; everything else is proven assuming it.
    Assumed,
    /// Nothing: the tool did not finish the first cycles.
    Open,
    /// It holds in so many cycles.
    Bounded(u32),
    /// It holds in every cycle.
    Proven,
    /// It is broken in this cycle.
    Refuted(u32),
}

/// Whether what an invariant is about comes to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// In this cycle for the first time.
    In(u32),
    /// Not in so many cycles.
    NotIn(u32),
}

/// An invariant of a circuit, or of one in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Path of the circuit that it belongs to; empty for the outermost.
    pub path: String,
    /// Its name.
    pub invariant: String,
    /// Who is to keep it: the circuit that it belongs to, the circuits around that, or those around the outermost.
    pub kept_by: KeptBy,
}

impl Property {
    /// Path and name.
    pub fn full_name(&self) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        format!("{}{dot}{}", self.path, self.invariant)
    }
}

/// What is known of an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The invariant.
    pub property: Property,
    /// What ABC says, if it was asked.
    pub abc: Option<Verdict>,
    /// What `yosys-smtbmc` says, if it was asked.
    pub smtbmc: Option<Verdict>,
    /// Whether the premise of an "if this, then that" comes to pass; `None` for other invariants, and without ABC.
    pub reached: Option<Reached>,
}

impl Proof {
    /// The strongest of what the tools say; a counterexample beats all.
    pub fn verdict(&self) -> Verdict {
        self.abc.max(self.smtbmc).unwrap_or(Verdict::Open)
    }
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
    let unknown = |property| Proof { property, abc: None, smtbmc: None, reached: None };
    let netlist = &pass_on(netlist, effort)?;
    let mut proofs: Vec<Proof> = properties(netlist).into_iter().map(unknown).collect();
    let provers = if proofs.is_empty() { &[] } else { effort.provers.as_slice() };
    let mut waveform = waveform;
    for prover in provers {
        match prover {
            Prover::Abc => with_abc(netlist, effort, &mut waveform, &mut proofs)?,
            Prover::Smtbmc => with_smtbmc(netlist, effort, &mut waveform, &mut proofs)?,
        }
    }
    Ok(Proofs { proofs, time: begin.elapsed() })
}

/// Everything that is to be proven of a circuit: its invariants, and the invariants and assumptions of those in it. The
/// invariants of one in it that has no state are left to the proof of that one alone: they hold of every input or of
/// none.
pub fn properties(netlist: &Netlist) -> Vec<Property> {
    let mut properties = Vec::new();
    for (path, module) in netlist.circuits() {
        let module = &netlist.modules[module.index()];
        let is_wanted = |kept_by: KeptBy| match kept_by {
            KeptBy::Circuit => path.is_empty() || has_state(module),
            KeptBy::Environment => !path.is_empty(),
            KeptBy::Surroundings => true,
        };
        for invariant in module.invariants.iter().filter(|invariant| is_wanted(invariant.kept_by)) {
            let (invariant, kept_by) = (invariant.name.clone(), invariant.kept_by);
            properties.push(Property { path: path.clone(), invariant, kept_by });
        }
    }
    properties
}

/// Whether a circuit, or one in it, may have state.
fn has_state(module: &Module) -> bool {
    !(module.registers.is_empty() && module.tables.is_empty() && module.instances.is_empty())
}

/// The netlist in which what circuits within assume and the first cycles break is left to the surroundings: the one that
/// is broken first, then, with that assumed, the next. A module that is there several times has all its places alike.
fn pass_on(netlist: &Netlist, effort: &Effort) -> Result<Netlist, ToolError> {
    let mut netlist = netlist.clone();
    loop {
        let mut properties = properties(&netlist);
        properties.retain(|property| property.kept_by == KeptBy::Environment);
        if properties.is_empty() {
            return Ok(netlist);
        }
        let model = abc::Model::new(&netlist, &[])?;
        let mut first: Option<(u32, Property)> = None;
        for property in properties {
            if let Verdict::Refuted(cycle) = model.first_cycles(&property, effort)?
                && first.as_ref().is_none_or(|(before, _)| cycle < *before)
            {
                first = Some((cycle, property));
            }
        }
        let Some((_, broken)) = first else { return Ok(netlist) };
        let circuits = netlist.circuits();
        let modules = circuits.iter().filter(|(path, _)| *path == broken.path).map(|(_, module)| *module);
        for module in modules {
            let module = &mut netlist.modules[module.index()];
            let invariant = module.invariants.iter_mut().find(|invariant| invariant.name == broken.invariant);
            invariant.into_iter().for_each(|invariant| invariant.kept_by = KeptBy::Surroundings);
        }
    }
}

/// Path and name.
type Name = (String, String);

fn name(property: &Property) -> Name {
    (property.path.clone(), property.invariant.clone())
}

fn with_abc(
    netlist: &Netlist,
    effort: &Effort,
    waveform: &mut Option<&Path>,
    proofs: &mut [Proof],
) -> Result<(), ToolError> {
    let model = abc::Model::new(netlist, &[])?;
    for proof in &mut *proofs {
        if proof.property.kept_by == KeptBy::Surroundings {
            proof.abc = Some(Verdict::Assumed);
            continue;
        }
        let verdict = model.verdict(&proof.property, effort)?;
        proof.abc = Some(verdict);
        proof.reached = model.reached(&proof.property, effort)?;
        if let (Verdict::Refuted(cycle), Some(path)) = (verdict, *waveform) {
            // That there is a counterexample is known; the other tool writes it down.
            let effort = Effort { depth: cycle + 1, ..effort.clone() };
            let candidate = BTreeSet::from([name(&proof.property)]);
            smtbmc::Model::new(netlist, &candidate)?.first_cycles(&effort, Some(path))?;
            *waveform = None;
        }
    }
    with_what_is_proven(netlist, effort, proofs)
}

/// Asks ABC again about what is neither proven nor refuted, with all that is proven taken for granted, for as long as that
/// proves something more.
fn with_what_is_proven(netlist: &Netlist, effort: &Effort, proofs: &mut [Proof]) -> Result<(), ToolError> {
    let mut before = 0;
    loop {
        let is_proven = |proof: &&Proof| proof.abc == Some(Verdict::Proven);
        let given: Vec<String> =
            proofs.iter().filter(is_proven).map(|proof| proof.property.full_name()).collect();
        let is_left = |proof: &&mut Proof| matches!(proof.abc, Some(Verdict::Bounded(_) | Verdict::Open));
        let mut left = proofs.iter_mut().filter(is_left).peekable();
        if given.len() == before || left.peek().is_none() {
            return Ok(());
        }
        before = given.len();
        let model = abc::Model::new(netlist, &given)?;
        for proof in left {
            // What is given holds in every cycle: a counterexample found beside it is one.
            proof.abc = proof.abc.max(Some(model.verdict(&proof.property, effort)?));
        }
    }
}

/// Of what is not refuted yet.
fn with_smtbmc(
    netlist: &Netlist,
    effort: &Effort,
    waveform: &mut Option<&Path>,
    proofs: &mut [Proof],
) -> Result<(), ToolError> {
    let is_refuted = |proof: &&Proof| matches!(proof.verdict(), Verdict::Refuted(_));
    let asked =
        proofs.iter().filter(|proof| !is_refuted(proof) && proof.property.kept_by != KeptBy::Surroundings);
    let mut candidates: BTreeSet<Name> = asked.map(|proof| name(&proof.property)).collect();
    let reached = bounded(netlist, effort, waveform, &mut candidates, proofs)?;
    let unbroken = candidates.clone();
    let is_proven = reached >= effort.induction && by_induction(netlist, effort, &mut candidates)?;
    for proof in proofs {
        let name = name(&proof.property);
        if is_proven && candidates.contains(&name) {
            proof.smtbmc = Some(Verdict::Proven);
        } else if proof.property.kept_by == KeptBy::Surroundings {
            proof.smtbmc = Some(Verdict::Assumed);
        } else if unbroken.contains(&name) {
            proof.smtbmc = Some(if reached == 0 { Verdict::Open } else { Verdict::Bounded(reached) });
        }
    }
    Ok(())
}

/// Takes those out of the candidates that are broken in the first cycles; in how many the others hold.
fn bounded(
    netlist: &Netlist,
    effort: &Effort,
    waveform: &mut Option<&Path>,
    candidates: &mut BTreeSet<Name>,
    proofs: &mut [Proof],
) -> Result<u32, ToolError> {
    while !candidates.is_empty() {
        let model = Model::new(netlist, candidates)?;
        match model.first_cycles(effort, *waveform)? {
            Answer::Holds => return Ok(effort.depth),
            Answer::Unfinished { cycles } => return Ok(cycles),
            Answer::Broken { cycle, names } => {
                *waveform = None;
                for broken in names.iter().filter(|name| candidates.remove(name)) {
                    let of_name = |proof: &&mut Proof| name(&proof.property) == *broken;
                    let proof = proofs.iter_mut().find(of_name);
                    proof.into_iter().for_each(|proof| proof.smtbmc = Some(Verdict::Refuted(cycle)));
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
    candidates: &mut BTreeSet<Name>,
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
