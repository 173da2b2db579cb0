//! When an entry that the compiler gives to values is held.

use std::collections::BTreeMap;
use std::ops::Range;

/// Beginnings with ends, in positions of instructions. One may begin with the instruction that is another's end: operands
/// are read before results are written.
#[derive(Clone, Debug, Default)]
pub struct Occupancy {
    held: BTreeMap<usize, usize>,
}

impl Occupancy {
    /// Holds the entry if it is free all the time; whether it was.
    pub fn hold(&mut self, span: &Range<usize>) -> bool {
        let free = self.free_until(span.start) >= span.end;
        if free {
            self.held.insert(span.start, span.end);
        }
        free
    }

    /// The last end of a span from `start` on for which it is free; `start` itself if it is not free there.
    pub fn free_until(&self, start: usize) -> usize {
        let before = self.held.range(..=start).next_back();
        if before.is_some_and(|(_, &end)| end > start) {
            return start;
        }
        self.held.range(start..).next().map_or(usize::MAX, |(&next, _)| next)
    }
}
