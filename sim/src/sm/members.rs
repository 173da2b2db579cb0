//! Which warps of a partition, and which slots of its active set, are a scheduler's.

/// The numbers of a scheduler among those of its partition: every n-th of n schedulers, one or two.
#[derive(Clone, Copy, Debug)]
pub struct Members {
    schedulers: usize,
    scheduler: usize,
}

impl Members {
    /// Of scheduler `scheduler` of a partition with `schedulers`.
    pub fn new(schedulers: usize, scheduler: usize) -> Members {
        Members { schedulers, scheduler }
    }

    /// The scheduler's number `own` in its partition.
    pub fn number(self, own: usize) -> usize {
        own * self.schedulers + self.scheduler
    }

    /// Whether the scheduler is the only one, so that its numbers are those of the partition.
    #[inline]
    pub fn is_only(self) -> bool {
        self.schedulers == 1
    }

    /// The number of the scheduler.
    pub fn scheduler(self) -> usize {
        self.scheduler
    }

    /// Whether a number of its partition is the scheduler's.
    pub fn has(self, number: usize) -> bool {
        number % self.schedulers == self.scheduler
    }

    /// How the scheduler numbers a number of its partition.
    pub fn own_number(self, number: usize) -> usize {
        number / self.schedulers
    }

    /// All of them, one bit each.
    #[inline]
    pub fn all(self) -> u64 {
        if self.is_only() { u64::MAX } else { EVEN << self.scheduler }
    }

    /// A set of the partition as the scheduler numbers it.
    #[inline]
    pub fn own(self, set: u64) -> u64 {
        if self.is_only() { set } else { even(set >> self.scheduler) }
    }

    /// A set of the scheduler's as its partition numbers it.
    #[inline]
    pub fn set(self, own: u64) -> u64 {
        if self.is_only() { own } else { spread(own) << self.scheduler }
    }
}

/// Every second bit.
const EVEN: u64 = 0x5555_5555_5555_5555;

/// The even bits of a set, side by side.
fn even(set: u64) -> u64 {
    let joined = |set: u64, by: u32, mask: u64| (set | set >> by) & mask;
    let pairs = joined(set & EVEN, 1, 0x3333_3333_3333_3333);
    let fours = joined(pairs, 2, 0x0f0f_0f0f_0f0f_0f0f);
    let bytes = joined(fours, 4, 0x00ff_00ff_00ff_00ff);
    let words = joined(bytes, 8, 0x0000_ffff_0000_ffff);
    joined(words, 16, 0x0000_0000_ffff_ffff)
}

/// The low half of a set in every second bit.
fn spread(set: u64) -> u64 {
    let parted = |set: u64, by: u32, mask: u64| (set | set << by) & mask;
    let words = parted(set & 0xffff_ffff, 16, 0x0000_ffff_0000_ffff);
    let bytes = parted(words, 8, 0x00ff_00ff_00ff_00ff);
    let fours = parted(bytes, 4, 0x0f0f_0f0f_0f0f_0f0f);
    let pairs = parted(fours, 2, 0x3333_3333_3333_3333);
    parted(pairs, 1, EVEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_numbers_every_second_warp() {
        for scheduler in 0..2 {
            let members = Members::new(2, scheduler);
            assert_eq!(members.own(u64::MAX), 0xffff_ffff);
            for own in 0..32 {
                let number = members.number(own);
                assert_eq!(members.own(1 << number), 1 << own);
                assert_eq!(members.set(1 << own), 1 << number);
                assert_eq!(members.own_number(number), own);
                assert!(members.has(number) && !members.has(number + 1));
                assert_eq!(members.all() >> number & 1, 1);
                assert_eq!(Members::new(2, 1 - scheduler).own(1 << number), 0);
            }
        }
    }

    #[test]
    fn an_only_scheduler_has_all() {
        let members = Members::new(1, 0);
        assert_eq!((members.all(), members.own(0xf0), members.number(63)), (u64::MAX, 0xf0, 63));
    }
}
