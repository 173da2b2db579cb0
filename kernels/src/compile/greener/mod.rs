//! The compiler of registers that sleep: the power state of each register behind each instruction that accesses it.
//!
//! A register stays ON if it is accessed again within the threshold on every way ([`distance`]); if not it goes to SLEEP
//! where its value may still be needed, and OFF where it is not (Table 4.1). Two sources and one destination of an
//! instruction have a code ([`encode`]), the rest goes to SLEEP.
//!
//! OFF loses the value in all lanes. The thesis's liveness is a thread's: a register that is dead for the lanes that go on
//! may hold what lanes need that wait, at the other side of a branch, behind a loop, where lanes meet again.
//! [`Liveness::Sound`] is that of the warp ([`Lifetimes`]).
//!
//! Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", PhD thesis, IIT Kanpur, 2018, chapter 4;
//! what differs is in `docs/decisions/0124-registers-that-sleep.md`.

pub mod distance;
pub mod encode;
pub mod listing;
pub mod states;

use serde::{Deserialize, Serialize};

use super::bitset::BitSet;
use super::function::{Access, Function};
use super::graph::{GraphError, Graphs};
use super::lifetime::Lifetimes;
use super::liveness::Liveness as Live;
use super::soft::as_marked;
use crate::program::Program;
use distance::{Distances, FAR};

pub use states::{CODE_BITS, CODES, Codes, PowerState, PowerStates};

/// The largest threshold.
pub const MAX_THRESHOLD: u8 = 200;

/// Whose values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Liveness {
    /// Those of every lane of the warp, also of lanes that wait elsewhere.
    Sound,
    /// Those of a thread, as in the thesis: lanes that wait may lose theirs.
    Thesis,
}

/// How states are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// W: instructions to the next access at most for which a register stays ON, 1 to [`MAX_THRESHOLD`]. The thesis
    /// chose 3 (§4.3).
    pub threshold: u8,
    /// Whose values are kept.
    pub liveness: Liveness,
}

/// The power states of a program.
///
/// # Errors
/// The program's control flow is not known, or leaves it.
pub fn compile(program: &Program, parameters: &Parameters) -> Result<PowerStates, GraphError> {
    let mut instructions: Vec<Codes> = program.instructions.iter().map(encode::format).collect();
    if program.instructions.is_empty() {
        return Ok(PowerStates { instructions });
    }
    let graphs = Graphs::of(program)?;
    let live = live_after(program, &graphs, parameters.liveness);
    each_state(&graphs.lanes, &live, parameters.threshold, |position, access, state| {
        let codes = &mut instructions[position];
        let mut strongest = [PowerState::Off; CODES];
        let sources = access.uses.iter().copied().zip(codes.sources);
        let results = access.definitions.iter().map(|definition| definition.register).zip(codes.results);
        for (register, code) in sources.chain(results) {
            if let Some(code) = code.map(usize::from) {
                strongest[code] = strongest[code].max(state(register));
            }
        }
        codes.codes = strongest;
    });
    Ok(PowerStates { instructions })
}

/// Registers that are live behind each instruction.
fn live_after(program: &Program, graphs: &Graphs, liveness: Liveness) -> Vec<BitSet> {
    match liveness {
        Liveness::Sound => {
            let lifetimes = Lifetimes::new(&graphs.warps, &as_marked(program));
            (0..program.instructions.len()).map(|position| lifetimes.live_after(position).clone()).collect()
        }
        Liveness::Thesis => live_in_threads(&graphs.lanes),
    }
}

/// The same of a thread alone.
fn live_in_threads(function: &Function) -> Vec<BitSet> {
    let liveness = Live::per_thread(function);
    let mut after = vec![BitSet::default(); function.instructions.len()];
    for block in function.cfg.block_ids() {
        liveness.each_backward(function, block, |position, _, live| after[position] = live.clone());
    }
    after
}

/// Visits every instruction with the state that a register should have behind it: Table 4.1.
fn each_state(
    function: &Function,
    live: &[BitSet],
    threshold: u8,
    mut visit: impl FnMut(usize, &Access, &dyn Fn(u32) -> PowerState),
) {
    let distances = Distances::new(function, threshold);
    for block in function.cfg.block_ids() {
        distances.each_backward(function, block, |position, access, distance| {
            visit(position, access, &|register| {
                let register = register as usize;
                let may_sleep = distance[register] == FAR;
                match (live[position].contains(register), may_sleep) {
                    (_, false) => PowerState::On,
                    (true, true) => PowerState::Sleep,
                    (false, true) => PowerState::Off,
                }
            });
        });
    }
}

#[cfg(test)]
mod tests;
