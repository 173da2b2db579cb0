//! What one SM has of something that the chip has several of.
//!
//! The load of the SMs is taken to be equal. An SM of N that share P channels (or slices) sees as many whole ones as there
//! are for it, at least one, and a part of each: P / N of a channel is one channel, of which the SM has that part. Its rate is
//! that part of a channel's; so is its number of places, rounded down, but at least one.

/// A part of each of several equal things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    /// How many the SM sees.
    pub count: u64,
    /// The SM's part of each of these is `of_chip` over `sms × count`, at most 1.
    of_chip: u64,
    sms: u64,
}

impl Share {
    /// One SM's part of `of_chip` channels or slices that `sms` SMs share.
    pub fn new(of_chip: u64, sms: u64) -> Share {
        Share { count: of_chip.div_ceil(sms), of_chip, sms }
    }

    /// The SM's part of so many places of one.
    pub fn places(self, places: u64) -> usize {
        (places * self.of_chip / (self.sms * self.count)).max(1) as usize
    }

    /// How long something takes that takes `time` where nobody shares it.
    pub fn slower(self, time: u64) -> u64 {
        (time * self.sms * self.count).div_ceil(self.of_chip)
    }

    /// Bytes a cycle and of how many the SM has one, for a channel of a slice of `bytes` a cycle.
    pub fn channel(self, bytes: u64) -> (u64, u64) {
        (bytes * self.of_chip, self.sms * self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chip_with_more_sms_than_channels_gives_each_a_part_of_one() {
        let share = Share::new(4, 16);
        assert_eq!((share.count, share.places(16), share.slower(10)), (1, 4, 40));
        assert_eq!(share.places(1), 1, "at least one");
    }

    #[test]
    fn a_chip_with_more_slices_than_sms_gives_each_several() {
        let share = Share::new(24, 14);
        assert_eq!((share.count, share.places(32), share.slower(14)), (2, 27, 17));
        let whole = Share::new(4, 1);
        assert_eq!((whole.count, whole.places(16), whole.slower(10)), (4, 16, 10));
    }
}
