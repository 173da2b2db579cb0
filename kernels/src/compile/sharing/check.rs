//! A checker of releases that knows the paths of a program and nothing of how they are placed.
//!
//! For every instruction: how many `relssp` may have been executed when control comes to it, on any path: none, one, or more.
//! Transfer: each insertion that a step passes is one more. Where paths meet: both. An access to the shared scratchpad wants
//! none, the end of the kernel exactly one, and more than one is wrong anywhere.

use super::release::Insertion;
use crate::compile::cfg::Flow;

/// What is wrong with the places of `relssp`. Instructions are numbered as in the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseError {
    /// The shared scratchpad is accessed on a path that has released it.
    #[error("instruction {access} may access the shared scratchpad after it has been released")]
    AccessAfterRelease {
        /// The access.
        access: usize,
    },
    /// A path to the end that releases nothing.
    #[error("the kernel may end at instruction {at} without a release")]
    NotReleased {
        /// The last instruction.
        at: usize,
    },
    /// A path with two releases.
    #[error("the shared scratchpad may have been released twice at instruction {at}")]
    ReleasedTwice {
        /// Where.
        at: usize,
    },
}

/// Numbers of releases that are possible: bit 0 none, bit 1 one, bit 2 more.
type Counts = u8;
const NONE: Counts = 1;
const ONE: Counts = 2;
const MORE: Counts = 4;

fn add(counts: Counts, releases: usize) -> Counts {
    (0..releases).fold(counts, |counts, _| (counts & NONE) << 1 | (counts & ONE) << 1 | counts & MORE)
}

/// Checks that on every path exactly one `relssp` is executed, after the last access to the shared scratchpad.
///
/// # Errors
/// The first instruction, in program order, at which something is wrong.
pub fn check(flow: &[Flow], shared: &[bool], insertions: &[Insertion]) -> Result<(), ReleaseError> {
    let releases = |insertion: Insertion| insertions.iter().filter(|other| **other == insertion).count();
    let mut before: Vec<Counts> = vec![0; flow.len()];
    let mut at_exit: Vec<Counts> = vec![0; flow.len()];
    let mut work = vec![(0, add(NONE, releases(Insertion::Start)))];
    while let Some((at, counts)) = work.pop() {
        let counts = add(counts, releases(Insertion::Before(at)));
        if before[at] | counts == before[at] {
            continue;
        }
        before[at] |= counts;
        let (targets, exits) = match &flow[at] {
            Flow::Next if at + 1 < flow.len() => (vec![at + 1], false),
            Flow::Next => (Vec::new(), true),
            Flow::To { targets, exits } => (targets.clone(), *exits),
        };
        let counts = before[at];
        for to in targets {
            work.push((to, add(counts, releases(Insertion::Edge { from: at, to: Some(to) }))));
        }
        if exits {
            at_exit[at] |= add(counts, releases(Insertion::Edge { from: at, to: None }));
        }
    }
    for at in 0..flow.len() {
        if (before[at] | at_exit[at]) & MORE != 0 {
            return Err(ReleaseError::ReleasedTwice { at });
        }
        if shared[at] && before[at] & ONE != 0 {
            return Err(ReleaseError::AccessAfterRelease { access: at });
        }
        if at_exit[at] & NONE != 0 {
            return Err(ReleaseError::NotReleased { at });
        }
    }
    Ok(())
}
