//! Which blocks of a grid an SM runs: with n simulated SMs every n-th, dealt before anything runs.

/// The share of one SM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// Number of the SM.
    pub sm: u64,
    /// SMs simulated.
    pub sms: u64,
}

impl Share {
    /// Whether the SM runs this block of the grid.
    pub fn contains(self, block: u64) -> bool {
        block % self.sms == self.sm
    }

    /// How many of the first `blocks` blocks of the grid the SM runs.
    pub fn count(self, blocks: u64) -> u64 {
        blocks.saturating_sub(self.sm).div_ceil(self.sms)
    }
}

#[cfg(test)]
mod tests {
    use super::Share;

    #[test]
    fn every_block_is_run_by_one_sm() {
        for sms in 1..5 {
            let shares = (0..sms).map(|sm| Share { sm, sms });
            for block in 0..12 {
                assert_eq!(shares.clone().filter(|share| share.contains(block)).count(), 1);
            }
        }
    }

    #[test]
    fn an_sm_runs_as_many_blocks_as_it_contains() {
        for (sms, blocks) in (1..5).flat_map(|sms| (0..12).map(move |blocks| (sms, blocks))) {
            for share in (0..sms).map(|sm| Share { sm, sms }) {
                let contained = (0..blocks).filter(|&block| share.contains(block)).count() as u64;
                assert_eq!(share.count(blocks), contained, "{share:?}, {blocks} blocks");
            }
        }
    }
}
