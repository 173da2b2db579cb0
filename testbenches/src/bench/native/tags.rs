//! An associative memory, the other way round: which line holds a tag.

/// Lines, each with a tag.
pub(super) struct Tags {
    /// The tag of each line; beyond the last tag if it has none.
    tag_of: Vec<u32>,
    /// For each tag the number of lines that hold it, and in the low bits the sum of their numbers.
    holders: Vec<u32>,
}

/// Bits of the sum of the lines' numbers.
const SUM_BITS: u32 = 20;

impl Tags {
    /// `lines` lines without a tag, 512 at most; tags of `bits` bits.
    pub fn new(lines: usize, bits: u32) -> Tags {
        Tags { tag_of: vec![1 << bits; lines], holders: vec![0; (1 << bits) + 1] }
    }

    /// Whether a line holds the tag, and the lowest line that does; line 0 if none does.
    #[inline(always)]
    pub fn find(&self, tag: usize) -> (bool, usize) {
        let holders = self.holders[tag];
        if holders >> SUM_BITS > 1 {
            return (true, self.lowest(tag));
        }
        (holders != 0, (holders & ((1 << SUM_BITS) - 1)) as usize)
    }

    /// A line gets a tag instead of the one it has.
    #[inline(always)]
    pub fn set(&mut self, line: usize, tag: usize) {
        let held = 1 << SUM_BITS | line as u32;
        let before = &mut self.holders[self.tag_of[line] as usize];
        *before = before.wrapping_sub(held);
        self.tag_of[line] = tag as u32;
        self.holders[tag] += held;
    }

    #[cold]
    fn lowest(&self, tag: usize) -> usize {
        self.tag_of.iter().position(|&held| held as usize == tag).unwrap_or(0)
    }
}
