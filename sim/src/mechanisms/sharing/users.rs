//! Which block of a pair uses the scratchpad that they share, one at a time: checked in every run.

use std::fmt;

/// What a block must not do.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It accesses what another one uses.
    InUse { slot: usize, other: usize },
    /// Threads of it access what they have released.
    Released { slot: usize },
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::InUse { slot, other } => {
                write!(to, "block slot {slot} accesses scratchpad that block slot {other} uses")
            }
            Fault::Released { slot } => {
                write!(to, "block slot {slot} accesses shared scratchpad in threads that have released it")
            }
        }
    }
}

/// Users of the shared parts.
#[derive(Debug)]
pub struct Users {
    /// Of each pair the block that has accessed the shared part, and neither released it nor ended.
    of_pair: Vec<Option<usize>>,
    /// Blocks that have released it, one bit each.
    released: u64,
    /// What was wrong in this cycle.
    fault: Option<Fault>,
}

impl Users {
    /// Of so many block slots.
    pub fn new(slots: usize) -> Users {
        Users { of_pair: vec![None; slots.div_ceil(2)], released: 0, fault: None }
    }

    /// Threads of a block access the shared part that have released it.
    pub fn access_after_release(&mut self, slot: usize) {
        self.fault = self.fault.or(Some(Fault::Released { slot }));
    }

    /// A block accesses the shared part: the other one of its pair must not have, or must have released it or ended. Gives
    /// whether it is its first access.
    pub fn access(&mut self, slot: usize) -> bool {
        let user = &mut self.of_pair[slot / 2];
        match *user {
            Some(other) if other != slot => self.fault = self.fault.or(Some(Fault::InUse { slot, other })),
            Some(_) => return false,
            None => *user = Some(slot),
        }
        true
    }

    /// Blocks release the shared part, one bit each.
    pub fn release(&mut self, blocks: u64) {
        self.released |= blocks;
        for user in &mut self.of_pair {
            *user = user.filter(|slot| blocks >> slot & 1 == 0);
        }
    }

    /// A block ends.
    pub fn end(&mut self, slot: usize) {
        self.released &= !(1 << slot);
        let user = &mut self.of_pair[slot / 2];
        *user = user.filter(|user| *user != slot);
    }

    /// Blocks that have released it, one bit each.
    pub fn released(&self) -> u64 {
        self.released
    }

    /// Blocks that use it, one bit each.
    pub fn using(&self) -> u64 {
        self.of_pair.iter().flatten().fold(0, |users, slot| users | 1 << slot)
    }

    /// What was wrong since this was asked last.
    pub fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_has_one_user_until_it_releases_or_ends() {
        let mut users = Users::new(4);
        assert!(users.access(0) && !users.access(0) && users.access(3));
        assert_eq!((users.using(), users.released()), (0b1001, 0));
        users.release(1);
        assert!(users.access(1) && users.take_fault().is_none());
        assert_eq!((users.using(), users.released()), (0b1010, 1));
        users.end(1);
        users.end(0);
        assert!(users.access(0) && users.take_fault().is_none());
        assert_eq!((users.using(), users.released()), (0b1001, 0));
    }

    #[test]
    fn a_second_user_is_a_fault() {
        let mut users = Users::new(2);
        users.access(0);
        users.access(1);
        let fault = users.take_fault().expect("0 uses it").to_string();
        assert_eq!(fault, "block slot 1 accesses scratchpad that block slot 0 uses");
        assert!(users.take_fault().is_none());
        users.access_after_release(0);
        assert!(matches!(users.take_fault(), Some(Fault::Released { slot: 0 })));
    }
}
