//! A channel that moves a limited number of bytes a cycle, of which one SM may have a share.

/// A channel. Time is kept exactly, in units of one byte of the whole channel's bandwidth.
pub(super) struct Channel {
    bytes_per_cycle: u64,
    /// One in how many bytes is ours.
    share: u64,
    /// When the channel is free, in cycles × `bytes_per_cycle`.
    free_at: u64,
}

impl Channel {
    /// A channel of `bytes_per_cycle`, shared equally with `share - 1` others.
    pub fn new(bytes_per_cycle: u64, share: u64) -> Channel {
        Channel { bytes_per_cycle, share, free_at: 0 }
    }

    /// Whether a transfer offered in cycle `now` begins in it.
    pub fn is_free(&self, now: u64) -> bool {
        self.free_at < (now + 1) * self.bytes_per_cycle
    }

    /// Moves `bytes`, as soon as the channel is free from cycle `now` on. Gives the cycle in which the
    /// transfer begins.
    pub fn transfer(&mut self, now: u64, bytes: u64) -> u64 {
        let begin = self.free_at.max(now * self.bytes_per_cycle);
        self.free_at = begin + bytes * self.share;
        begin / self.bytes_per_cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_follow_each_other_at_the_bandwidth() {
        let mut channel = Channel::new(32, 1);
        let begins: Vec<_> = (0..4).map(|_| channel.transfer(10, 32)).collect();
        assert_eq!(begins, [10, 11, 12, 13]);
        assert!(!channel.is_free(13) && channel.is_free(14));
        assert_eq!(channel.transfer(100, 32), 100);
    }

    #[test]
    fn a_share_of_one_in_three_takes_three_times_as_long() {
        let mut channel = Channel::new(64, 3);
        let begins: Vec<_> = (0..5).map(|_| channel.transfer(0, 32)).collect();
        assert_eq!(begins, [0, 1, 3, 4, 6]);
    }

    #[test]
    fn several_small_transfers_fit_in_one_cycle() {
        let mut channel = Channel::new(128, 1);
        let begins: Vec<_> = (0..5).map(|_| channel.transfer(0, 32)).collect();
        assert_eq!(begins, [0, 0, 0, 0, 1]);
    }
}
