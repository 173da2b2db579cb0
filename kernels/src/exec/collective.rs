//! Exchange between the lanes of a warp.
//!
//! Lanes of a member mask that are not active do not take part: the executor runs one path at a time.
//!
//! Source: PTX ISA, §9.7.9.6 (shfl), §9.7.13.9 (vote), §9.7.13.11 (match), §9.7.13.13 (redux).

use super::integer::{mask, number};
use super::registers::Lanes;
use crate::program::{LANES, LaneMask};
use crate::ptx::ir::{Redux, Shuffle, Type, Vote};

/// The value each lane gets, and the lanes whose source lane was within the segment. A lane whose source
/// is out of the segment keeps its own value; one whose source is not active gets its own value too.
pub(super) fn shuffle(mode: Shuffle, active: LaneMask, a: &Lanes, b: &Lanes, c: &Lanes) -> (Lanes, LaneMask) {
    let mut out = [0; LANES];
    let mut valid = 0;
    for lane in 0..LANES {
        let by = (b[lane] & 31) as usize;
        let clamp = (c[lane] & 31) as usize;
        let segment = (c[lane] >> 8 & 31) as usize;
        let highest = lane & segment | clamp & !segment;
        let lowest = lane & segment;
        let (from, within) = match mode {
            Shuffle::Up => (lane.wrapping_sub(by), lane as isize - by as isize >= highest as isize),
            Shuffle::Down => (lane + by, lane + by <= highest),
            Shuffle::Bfly => (lane ^ by, lane ^ by <= highest),
            Shuffle::Idx => (lowest | by & !segment, lowest | by & !segment <= highest),
        };
        let from = if within { from } else { lane };
        let source = if active >> from & 1 == 1 { from } else { lane };
        out[lane] = a[source];
        valid |= u32::from(within) << lane;
    }
    (out, valid)
}

/// The result of a vote: a mask for `ballot`, otherwise all lanes or none.
pub(super) fn vote(mode: Vote, members: LaneMask, predicate: LaneMask) -> LaneMask {
    let holds = predicate & members;
    let all_or_none = |condition: bool| if condition { LaneMask::MAX } else { 0 };
    match mode {
        Vote::All => all_or_none(holds == members),
        Vote::Any => all_or_none(holds != 0),
        Vote::Uni => all_or_none(holds == members || holds == 0),
        Vote::Ballot => holds,
    }
}

/// For each lane the members with the same value.
pub(super) fn match_any(members: LaneMask, a: &Lanes) -> Lanes {
    let mut out = [0; LANES];
    for lane in 0..LANES {
        let same = (0..LANES).filter(|&other| members >> other & 1 == 1 && a[other] == a[lane]);
        out[lane] = same.fold(0, |mask, other| mask | 1 << other);
    }
    out
}

/// The members if all have the same value, otherwise 0.
pub(super) fn match_all(members: LaneMask, a: &Lanes) -> LaneMask {
    let first = members.trailing_zeros() as usize;
    let agree = (0..LANES).all(|lane| members >> lane & 1 == 0 || a[lane] == a[first]);
    if agree { members } else { 0 }
}

/// The reduction over the members.
pub(super) fn redux(ty: Type, op: Redux, members: LaneMask, a: &Lanes) -> u64 {
    let values = (0..LANES).filter(|&lane| members >> lane & 1 == 1).map(|lane| a[lane]);
    let reduced = values.reduce(|x, y| match op {
        Redux::Add => x.wrapping_add(y),
        Redux::Min => {
            if number(x, ty) < number(y, ty) {
                x
            } else {
                y
            }
        }
        Redux::Max => {
            if number(x, ty) > number(y, ty) {
                x
            } else {
                y
            }
        }
        Redux::And => x & y,
        Redux::Or => x | y,
        Redux::Xor => x ^ y,
    });
    reduced.unwrap_or(0) & mask(32)
}
