//! How many thread blocks are resident when some share (§2.2.4, Equations 2.1 to 2.4).

/// The threshold t: the part of its registers or scratchpad that each of two sharing blocks has for itself. An exact
/// fraction, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    percent: u64,
}

impl Threshold {
    /// t = `percent` / 100: the percentage of sharing of Tables 2.5 to 2.8 is 100 - `percent`. `None` unless it is 1 to 100.
    pub fn from_percent(percent: u64) -> Option<Threshold> {
        (1..=100).contains(&percent).then_some(Threshold { percent })
    }

    /// t = 1: nothing is shared.
    pub fn none() -> Threshold {
        Threshold { percent: 100 }
    }

    /// The private part of `units` of a resource, ⌊t · units⌋: registers of a warp, or bytes of a block (Figs. 2.5, 2.7).
    pub fn private(self, units: u64) -> u64 {
        (u128::from(units) * u128::from(self.percent) / 100) as u64
    }
}

/// Thread blocks that are resident at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residents {
    /// Blocks that share with no other: U.
    pub unshared: u64,
    /// Pairs of blocks that share: S.
    pub pairs: u64,
}

impl Residents {
    /// All of them: M, Equation 2.3.
    pub fn blocks(self) -> u64 {
        self.unshared + 2 * self.pairs
    }
}

/// What an SM has of a resource, and what a block of it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// Units of the SM: R.
    pub available: u64,
    /// Units of a block: R_tb.
    pub needed: u64,
}

impl Resource {
    /// Blocks that fit without sharing; `None` if a block needs none of it.
    fn fitting(self) -> Option<u64> {
        self.available.checked_div(self.needed)
    }

    /// Pairs for which there is room beside `blocks` that fit: each takes t · R_tb units more than one block (Equation 2.2).
    fn pairs(self, blocks: u64, threshold: Threshold) -> u64 {
        let left = u128::from(self.available) - u128::from(blocks) * u128::from(self.needed);
        let more = left * 100 / (u128::from(threshold.percent) * u128::from(self.needed));
        more.min(u128::from(blocks)) as u64
    }
}

/// How many blocks are resident on these resources, of which at most `limit` may be for other reasons (threads, block slots, the
/// grid).
///
/// Without sharing b = ⌊R / R_tb⌋ fit, of several resources as many as of the scarcest. No more blocks can share than fit
/// (U ≥ 0, which Equation 2.4 leaves out), and the pairs are those for which every resource has room. Where sharing gains no
/// block, none share.
pub fn residents(resources: &[Resource], limit: u64, threshold: Threshold) -> Residents {
    let alone = fitting(resources).map_or(limit, |fitting| fitting.min(limit));
    let gaining = with_pairs(resources, limit, threshold, alone).next();
    gaining.unwrap_or(Residents { unshared: alone, pairs: 0 })
}

/// The ways to have more blocks resident than the `alone` without sharing, as far as every resource has room for them: those with
/// the most blocks first, of equally many those with the fewest pairs.
///
/// At least `alone` blocks make progress, whatever the others wait for. So many are S + U, ⌊R / R_tb⌋ in Equation 2.1, if the SM
/// has a resource in one piece; of several pieces fewer blocks may fit, and more pairs beside them (Equation 2.2).
pub fn with_pairs(
    resources: &[Resource],
    limit: u64,
    threshold: Threshold,
    alone: u64,
) -> impl Iterator<Item = Residents> + use<> {
    let fitting = fitting(resources).unwrap_or(alone);
    let needed: Vec<Resource> = resources.iter().copied().filter(|resource| resource.needed > 0).collect();
    let room = move |progressing| {
        needed.iter().map(|resource| resource.pairs(progressing, threshold)).min().unwrap_or(0)
    };
    let most = limit.min(fitting.saturating_mul(2));
    let progressing = move |blocks| (alone..=fitting).rev().map(move |progressing| (blocks, progressing));
    (alone + 1..=most).rev().flat_map(progressing).filter_map(move |(blocks, progressing)| {
        let pairs =
            blocks.checked_sub(progressing).filter(|pairs| (1..=room(progressing)).contains(pairs))?;
        Some(Residents { unshared: progressing - pairs, pairs })
    })
}

/// Blocks that fit without sharing; `None` if they need nothing.
fn fitting(resources: &[Resource]) -> Option<u64> {
    resources.iter().filter_map(|resource| resource.fitting()).min()
}
