//! How often conditions hold, seen in some of the first cycles.
//!
//! What a branch saves depends on it, and no description of a circuit says it: the same circuit is idle under one kernel
//! and busy under another. [`Looker`] has a few cycles interpreted, in which every condition is in the arena, and
//! [`Profile`] keeps what they were.

use std::collections::BTreeSet;

use super::guards::Literal;

/// Cycles in a word.
const WORD: u32 = u64::BITS;

/// Most cycles that are looked at one after the other.
const LONGEST: u64 = 64;

/// How often that is done at most.
const MOST: u64 = 16;

/// What conditions were in the cycles looked at.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Places of the conditions, rising.
    places: Vec<u32>,
    /// By 64 cycles and condition, a bit a cycle: whether the word was not 0.
    words: Vec<Vec<u64>>,
    /// Cycles in the last of them.
    looked: u32,
}

/// How often a condition was asked for, how often it held then, and how often that was another answer than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Odds {
    pub asked: u32,
    pub held: u32,
    pub changed: u32,
}

impl Odds {
    /// How often a processor that learns would have expected the other answer: at most as often as the rarer one comes,
    /// and as often as they change.
    pub fn surprises(self) -> u32 {
        self.held.min(self.asked - self.held).min(self.changed)
    }
}

impl Profile {
    /// Nothing known yet of the conditions at these places.
    pub fn new(places: BTreeSet<u32>) -> Profile {
        Profile { places: places.into_iter().collect(), words: Vec::new(), looked: WORD }
    }

    /// Notes what conditions are in a cycle that has settled.
    pub fn look(&mut self, arena: &[u64]) {
        if self.looked == WORD {
            self.words.push(vec![0; self.places.len()]);
            self.looked = 0;
        }
        let Some(last) = self.words.last_mut() else { return };
        for (bits, &place) in last.iter_mut().zip(&self.places) {
            *bits |= u64::from(arena[place as usize] != 0) << self.looked;
        }
        self.looked += 1;
    }

    /// How often a condition held where those around it did; `None` if these never did, or one is not known.
    pub fn odds(&self, around: &[Literal], condition: Literal) -> Option<Odds> {
        let index = |place| self.places.binary_search(&place).ok();
        let around: Vec<(usize, bool)> = around
            .iter()
            .map(|literal| Some((index(literal.place)?, literal.holds)))
            .collect::<Option<_>>()?;
        let condition = (index(condition.place)?, condition.holds);
        let mut odds = Odds::default();
        let mut before = None;
        for (number, word) in self.words.iter().enumerate() {
            let is_last = number + 1 == self.words.len();
            let looked = if is_last && self.looked < WORD { (1 << self.looked) - 1 } else { u64::MAX };
            let where_it_is = |(index, holds): (usize, bool)| if holds { word[index] } else { !word[index] };
            let asked = around.iter().fold(looked, |all, &literal| all & where_it_is(literal));
            let held = asked & where_it_is(condition);
            odds.asked += asked.count_ones();
            odds.held += held.count_ones();
            for cycle in (0..WORD).filter(|cycle| asked >> cycle & 1 != 0) {
                let answer = held >> cycle & 1;
                odds.changed += u32::from(before.is_some_and(|before| before != answer));
                before = Some(answer);
            }
        }
        (odds.asked > 0).then_some(odds)
    }
}

/// Says which cycles are looked at.
#[derive(Clone, Debug)]
pub struct Looker {
    /// Cycles until about when everything has been seen.
    cycles: u64,
    /// Cycles that are looked at one after the other, and cycles between these.
    length: u64,
    apart: u64,
    /// Cycles still to be looked at before others are run.
    left: u64,
    /// How often others are run still.
    pauses: u64,
    /// What has been seen; `None` before the first cycle looked at.
    profile: Option<Profile>,
}

/// What follows a cycle that has been looked at.
#[derive(Debug)]
pub enum Next {
    /// So many cycles that are not looked at.
    Run(u64),
    /// Everything has been seen.
    Done(Profile),
}

impl Looker {
    /// Looks at a few cycles now and then until about so many have been run; `None` if never enough will be.
    pub fn new(cycles: u64) -> Option<Looker> {
        let times = (cycles / 2).clamp(1, MOST);
        let apart = cycles / times;
        let length = (apart / 2).clamp(1, LONGEST);
        let looker = Looker { cycles, length, apart, left: length, pauses: times - 1, profile: None };
        (cycles < u64::MAX).then_some(looker)
    }

    /// Cycles until about when everything has been seen.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Cycles before the first that is looked at.
    pub fn apart(&self) -> u64 {
        self.apart
    }

    /// Notes what conditions are in a cycle that has settled. `places` says where they are.
    pub fn look(&mut self, arena: &[u64], places: impl FnOnce() -> BTreeSet<u32>) -> Next {
        let mut profile = self.profile.take().unwrap_or_else(|| Profile::new(places()));
        profile.look(arena);
        self.left -= 1;
        if self.left == 0 && self.pauses == 0 {
            return Next::Done(profile);
        }
        self.profile = Some(profile);
        if self.left > 0 {
            return Next::Run(0);
        }
        self.left = self.length;
        self.pauses -= 1;
        Next::Run(self.apart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(place: u32, holds: bool) -> Literal {
        Literal { place, holds }
    }

    #[test]
    fn odds_are_counted_where_the_conditions_around_hold() {
        let mut profile = Profile::new(BTreeSet::from([0, 2]));
        for cycle in 0..100u64 {
            profile.look(&[u64::from(cycle % 4 == 0), 7, u64::from(cycle % 20 == 0)]);
        }
        let odds = |around: &[Literal], condition| profile.odds(around, condition);
        assert_eq!(odds(&[], literal(0, true)), Some(Odds { asked: 100, held: 25, changed: 49 }));
        assert_eq!(odds(&[], literal(0, false)), Some(Odds { asked: 100, held: 75, changed: 49 }));
        let inside = Some(Odds { asked: 25, held: 5, changed: 9 });
        assert_eq!(odds(&[literal(0, true)], literal(2, true)), inside);
        let never = Some(Odds { asked: 75, held: 0, changed: 0 });
        assert_eq!(odds(&[literal(0, false)], literal(2, true)), never);
        assert_eq!(odds(&[literal(0, false), literal(2, true)], literal(0, true)), None, "never asked");
        assert_eq!(odds(&[], literal(1, true)), None, "not known");
    }

    #[test]
    fn what_seldom_changes_seldom_surprises() {
        let surprises = |held: fn(u64) -> bool| {
            let mut profile = Profile::new(BTreeSet::from([0]));
            (0..128).for_each(|cycle| profile.look(&[u64::from(held(cycle))]));
            profile.odds(&[], literal(0, true)).map(Odds::surprises)
        };
        assert_eq!(surprises(|_| true), Some(0));
        assert_eq!(surprises(|cycle| cycle < 64), Some(1), "one phase and another");
        assert_eq!(surprises(|cycle| cycle % 4 == 0), Some(32), "the rarer answer");
    }

    /// The cycles that are looked at, and what was seen in them of the number of the cycle.
    fn looked_at(cycles: u64) -> (Vec<u64>, Profile) {
        let mut looker = Looker::new(cycles).expect("an end");
        let (mut cycle, mut looked_at) = (looker.apart(), Vec::new());
        loop {
            looked_at.push(cycle);
            match looker.look(&[cycle], || BTreeSet::from([0])) {
                Next::Run(cycles) => cycle += 1 + cycles,
                Next::Done(profile) => return (looked_at, profile),
            }
        }
    }

    #[test]
    fn a_few_cycles_now_and_then_are_looked_at() {
        let (cycles, profile) = looked_at(1 << 18);
        assert_eq!(cycles.len(), 1024);
        for (number, &cycle) in (0..).zip(&cycles) {
            assert_eq!(cycle, (number / 64 + 1) * 16_384 + number, "the {number}th");
        }
        assert_eq!(profile.odds(&[], literal(0, true)), Some(Odds { asked: 1024, held: 1024, changed: 0 }));
    }

    #[test]
    fn few_cycles_are_enough_to_look_at_some() {
        assert_eq!(looked_at(8).0, [2, 5, 8, 11]);
        assert_eq!(looked_at(0).0, [0]);
        assert!(Looker::new(u64::MAX).is_none());
    }
}
