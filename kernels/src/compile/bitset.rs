//! Dense sets of small numbers, for dataflow.

/// A set of numbers below a fixed bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitSet {
    words: Vec<u64>,
}

impl BitSet {
    /// The empty set of numbers below `bound`.
    pub fn new(bound: usize) -> BitSet {
        BitSet { words: vec![0; bound.div_ceil(64)] }
    }

    /// Whether `value` is a member.
    pub fn contains(&self, value: usize) -> bool {
        self.words[value / 64] >> (value % 64) & 1 == 1
    }

    /// Adds `value`; true if it was not a member.
    pub fn insert(&mut self, value: usize) -> bool {
        let new = !self.contains(value);
        self.words[value / 64] |= 1 << (value % 64);
        new
    }

    /// Removes `value`.
    pub fn remove(&mut self, value: usize) {
        self.words[value / 64] &= !(1 << (value % 64));
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds all members of `other`, a set with the same bound; true if that changed anything.
    pub fn union_with(&mut self, other: &BitSet) -> bool {
        let mut changed = false;
        for (word, &more) in self.words.iter_mut().zip(&other.words) {
            changed |= more & !*word != 0;
            *word |= more;
        }
        changed
    }

    /// Removes what is not in `other`, a set with the same bound.
    pub fn intersect_with(&mut self, other: &BitSet) {
        for (word, &mask) in self.words.iter_mut().zip(&other.words) {
            *word &= mask;
        }
    }

    /// Number of members that are in `other` too, a set with the same bound.
    pub fn common_with(&self, other: &BitSet) -> usize {
        self.words.iter().zip(&other.words).map(|(a, b)| (a & b).count_ones() as usize).sum()
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Members in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(position, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(position * 64 + bit)
            })
        })
    }
}
