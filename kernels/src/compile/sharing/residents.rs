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

/// How many blocks are resident of which each needs `needed` of `available` units of a resource, and of which at most `limit`
/// may be for other reasons (threads, block slots, the grid).
///
/// Without sharing b = ⌊R / R_tb⌋ fit. Each pair takes t · R_tb units more than one block (Equation 2.2), and no more blocks
/// can share than fit (U ≥ 0, which Equation 2.4 leaves out). Where sharing gains no block, none share.
pub fn residents(available: u64, needed: u64, limit: u64, threshold: Threshold) -> Residents {
    let Some(fitting) = available.checked_div(needed) else {
        return Residents { unshared: limit, pairs: 0 };
    };
    let left = u128::from(available - fitting * needed);
    let more = left * 100 / (u128::from(threshold.percent) * u128::from(needed));
    let pairs = more.min(u128::from(fitting)) as u64;
    let most = (fitting + pairs).min(limit);
    match most.checked_sub(fitting) {
        Some(pairs) if pairs > 0 => Residents { unshared: fitting - pairs, pairs },
        Some(_) | None => Residents { unshared: fitting.min(limit), pairs: 0 },
    }
}
