//! Sharing of registers and scratchpad between two thread blocks: what the compiler knows and does for it.
//!
//! How many blocks are resident ([`mod@residents`]); which scratchpad variables an instruction may access ([`variables`]), where
//! their access ranges lie ([`ranges`]), and which of them are shared ([`layout`]); where a thread releases the shared
//! scratchpad ([`release`]), checked by [`check`], which knows the paths of the program and nothing of the pass, and how both are put into a kernel ([`insert`]),
//! as text ([`listing`]); and registers in the order of their first use ([`order`]).
//!
//! Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", PhD thesis, IIT Kanpur, 2018, chapters 2
//! and 3.

pub mod check;
pub mod insert;
pub mod layout;
pub mod listing;
pub mod order;
pub mod ranges;
pub mod release;
pub mod residents;
pub mod variables;

pub use residents::{Residents, Resource, Threshold, residents, with_pairs};

use serde::{Deserialize, Serialize};

use super::cfg::{Cfg, Flow};

/// How scratchpad is shared, for the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchpadOptions {
    /// The part that a block has for itself.
    pub threshold: Threshold,
    /// Where `relssp` goes.
    pub placement: Placement,
    /// Bytes of a block with which as many blocks are resident as without scratchpad, so that none shares: kernels that take no
    /// more are left as they are.
    pub unlimited_bytes: u32,
}

/// Where `relssp` goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// As early as every path allows (Equations 3.1 and 3.2).
    Optimal,
    /// At the common postdominator of all accesses (§3.2.3), for comparison.
    Postdominator,
    /// Nowhere: scratchpad is only laid out (*Shared-OWF-Reorder* of Fig. 3.10), and released at the end of a block.
    None,
}

/// The flow that a graph is of.
fn flow_of(cfg: &Cfg) -> Vec<Flow> {
    let mut flow = Vec::new();
    for block in cfg.blocks() {
        flow.extend(block.instructions.clone().skip(1).map(|_| Flow::Next));
        let targets = block.successors.iter().map(|to| cfg.block(*to).instructions.start).collect();
        flow.push(Flow::To { targets, exits: block.exits });
    }
    flow
}

/// A set of scratchpad variables, one bit each.
pub type VariableSet = u64;

/// Scratchpad variables of a kernel at most: what a set holds.
pub const MAX_VARIABLES: usize = VariableSet::BITS as usize;

#[cfg(test)]
mod tests;
