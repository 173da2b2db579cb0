//! Memory behind a shard: lines by warp and register, fetched after a while and in any order.

use std::collections::BTreeMap;

use warpfile_hdl::regless::RequestKind;
use warpfile_random::Random;

/// A warp and its register, and whether it is a compressed line that is named so.
pub type Tag = (usize, usize, bool);

/// A line on its way back.
#[derive(Clone, Debug)]
pub struct Fill {
    pub tag: Tag,
    pub line: u64,
    pub value: Vec<u32>,
    due: u64,
}

#[derive(Clone, Debug, Default)]
pub struct MemoryReference {
    lines: BTreeMap<Tag, Vec<u32>>,
    fills: Vec<Fill>,
    /// Fetches, writes, invalidations and drops taken.
    pub taken: [u64; 4],
    /// Those of compressed lines.
    pub compressed: u64,
}

impl MemoryReference {
    /// Takes a request in `cycle`. Requests are performed in the order they are taken.
    pub fn take(
        &mut self,
        (kind, tag, line, invalidates): (RequestKind, Tag, u64, bool),
        value: Vec<u32>,
        cycle: u64,
        random: &mut Random,
    ) {
        self.taken[kind as usize] += 1;
        self.compressed += u64::from(tag.2);
        match kind {
            RequestKind::Fetch => {
                let copy = self.lines.get(&tag).cloned();
                let value =
                    copy.unwrap_or_else(|| panic!("R{} of warp {} has no copy: {tag:?}", tag.1, tag.0));
                let due = cycle + 1 + u64::from(random.below(40));
                self.fills.push(Fill { tag, line, value, due });
                if invalidates {
                    self.lines.remove(&tag);
                }
            }
            RequestKind::Write => {
                self.lines.insert(tag, value);
            }
            RequestKind::Invalidate => {
                let dropped = self.lines.remove(&tag);
                assert!(dropped.is_some(), "R{} of warp {} is invalidated without a copy", tag.1, tag.0);
            }
            // Compressed lines hold registers of several warps.
            RequestKind::Drop => self.lines.retain(|other, _| other.0 != tag.0 || other.2),
        }
    }

    /// A line that is due in `cycle`, if there is one.
    pub fn fill(&mut self, cycle: u64) -> Option<Fill> {
        let due = self.fills.iter().position(|fill| fill.due <= cycle)?;
        Some(self.fills.remove(due))
    }
}
