//! Sets of small numbers, for dataflow.
//!
//! Only words with a member are kept: of the many registers of a long kernel, few are alive at a time.

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BitSet {
    /// Words other than 0 and where they are, in increasing order.
    words: Vec<(u32, u64)>,
}

/// Word and bit of a number.
fn place(value: usize) -> (u32, u64) {
    ((value / 64) as u32, 1 << (value % 64))
}

impl BitSet {
    /// Where a word is, or would be.
    fn find(&self, index: u32) -> Result<usize, usize> {
        self.words.binary_search_by_key(&index, |&(found, _)| found)
    }

    fn word(&self, index: u32) -> u64 {
        self.find(index).map_or(0, |at| self.words[at].1)
    }

    /// Whether `value` is a member.
    pub fn contains(&self, value: usize) -> bool {
        let (index, bit) = place(value);
        self.word(index) & bit != 0
    }

    /// Adds `value`; true if it was not a member.
    pub fn insert(&mut self, value: usize) -> bool {
        let (index, bit) = place(value);
        match self.find(index) {
            Ok(at) => {
                let word = &mut self.words[at].1;
                let new = *word & bit == 0;
                *word |= bit;
                new
            }
            Err(at) => {
                self.words.insert(at, (index, bit));
                true
            }
        }
    }

    /// Removes `value`.
    pub fn remove(&mut self, value: usize) {
        let (index, bit) = place(value);
        if let Ok(at) = self.find(index) {
            self.words[at].1 &= !bit;
            if self.words[at].1 == 0 {
                self.words.remove(at);
            }
        }
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// Adds all members of `other`; true if that changed anything.
    pub fn union_with(&mut self, other: &BitSet) -> bool {
        let mut changed = false;
        let mut missing = Vec::new();
        for &(index, more) in &other.words {
            match self.find(index) {
                Ok(at) => {
                    let word = &mut self.words[at].1;
                    changed |= more & !*word != 0;
                    *word |= more;
                }
                Err(_) => missing.push((index, more)),
            }
        }
        changed |= !missing.is_empty();
        if !missing.is_empty() {
            self.words.extend(missing);
            self.words.sort_unstable_by_key(|&(index, _)| index);
        }
        changed
    }

    /// Removes what is not in `other`.
    pub fn intersect_with(&mut self, other: &BitSet) {
        self.words.retain_mut(|(index, word)| {
            *word &= other.word(*index);
            *word != 0
        });
    }

    /// Number of members that are in `other` too.
    pub fn common_with(&self, other: &BitSet) -> usize {
        self.words.iter().map(|&(index, word)| (word & other.word(index)).count_ones() as usize).sum()
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.words.iter().map(|(_, word)| word.count_ones() as usize).sum()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Members in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().flat_map(|&(index, word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(index as usize * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::BitSet;

    fn set(members: &BTreeSet<usize>) -> BitSet {
        let mut set = BitSet::default();
        for &member in members {
            set.insert(member);
        }
        set
    }

    fn some() -> impl Strategy<Value = BTreeSet<usize>> {
        prop::collection::btree_set(0..400_usize, 0..40)
    }

    proptest! {
        #[test]
        fn it_is_a_set(a in some(), b in some(), one in 0..400_usize) {
            let members = |set: &BitSet| set.iter().collect::<BTreeSet<usize>>();
            prop_assert_eq!(members(&set(&a)), a.clone());
            prop_assert_eq!(set(&a).len(), a.len());
            prop_assert_eq!(set(&a).is_empty(), a.is_empty());
            prop_assert_eq!(set(&a).contains(one), a.contains(&one));
            prop_assert_eq!(set(&a).common_with(&set(&b)), a.intersection(&b).count());
            let mut changed = set(&a);
            prop_assert_eq!(changed.insert(one), !a.contains(&one));
            changed.remove(one);
            prop_assert_eq!(&changed, &set(&a.iter().copied().filter(|&member| member != one).collect()));
            let mut union = set(&a);
            prop_assert_eq!(union.union_with(&set(&b)), !b.is_subset(&a));
            prop_assert_eq!(&union, &set(&a.union(&b).copied().collect()));
            let mut common = set(&a);
            common.intersect_with(&set(&b));
            prop_assert_eq!(&common, &set(&a.intersection(&b).copied().collect()));
        }
    }
}
