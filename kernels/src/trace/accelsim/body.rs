//! The blocks and warps of a kernel's trace.

use super::super::{MAX_WARPS, TraceError};
use super::text::{LineCursor, TextFile};
use crate::program::{BlockIndex, Launch};

/// Walks through the body of a trace from block to block.
pub(super) struct BodyScanner {
    pub cursor: LineCursor,
    grid: [u32; 3],
    warps: usize,
    blocks: u64,
    /// Inside the block before `next_block`.
    in_block: bool,
    /// The block that comes next.
    next_block: BlockIndex,
    /// Warps met in this block, one bit each.
    seen: u64,
    /// Instruction lines of the warp still to come.
    left: u64,
    /// The file ends without the last `#END_TB`, behind a whole block.
    lacks_end: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A block starts.
    Block(BlockIndex),
    /// A warp starts; its instruction lines follow.
    Warp { warp: usize, instructions: u64 },
    /// The block is complete.
    BlockEnd,
    /// The file is complete.
    End,
}

impl BodyScanner {
    /// A scanner for what follows the header.
    pub fn new(cursor: LineCursor, launch: &Launch) -> BodyScanner {
        let warps = launch.warps_per_block();
        debug_assert!(warps <= MAX_WARPS);
        BodyScanner {
            cursor,
            grid: launch.grid,
            warps,
            blocks: launch.blocks(),
            in_block: false,
            next_block: 0,
            seen: 0,
            left: 0,
            lacks_end: false,
        }
    }

    /// The next event; the instruction lines of a warp that were not taken are skipped.
    ///
    /// # Errors
    /// The file ends or goes on where it must not; a block that is missing or out of grid order; a warp that the block
    /// cannot have.
    pub fn next(&mut self, file: &mut TextFile) -> Result<Event, TraceError> {
        while self.left > 0 {
            self.instruction(file)?;
        }
        let outcome = match self.in_block {
            false => self.next_block(file)?,
            true => self.next_warp(file, self.next_block - 1)?,
        };
        outcome.map_err(|problem| file.error(self.cursor.line(), problem))
    }

    /// Whether the file ends without the last `#END_TB`, known at [`Event::End`].
    pub fn lacks_end(&self) -> bool {
        self.lacks_end
    }

    /// The file ends inside a block. The block is whole if it is the last one and has every warp, and if the last line is
    /// not cut.
    fn end_in_block(&mut self, block: BlockIndex) -> Result<Event, String> {
        let all = u64::MAX >> (u64::BITS as usize - self.warps);
        if self.next_block < self.blocks || self.seen != all || !self.cursor.line_is_ended() {
            return Err(format!("the file ends in block {block}: truncated"));
        }
        self.lacks_end = true;
        self.in_block = false;
        Ok(Event::BlockEnd)
    }

    /// The next instruction line of the warp, `None` after the last.
    ///
    /// # Errors
    /// The warp has fewer lines than it announced.
    pub fn instruction<'a>(&'a mut self, file: &mut TextFile) -> Result<Option<&'a str>, TraceError> {
        if self.left == 0 {
            return Ok(None);
        }
        instruction(&mut self.cursor, &mut self.left, file)
    }

    fn next_block(&mut self, file: &mut TextFile) -> Result<Result<Event, String>, TraceError> {
        let (expected, blocks) = (self.next_block, self.blocks);
        match self.cursor.next_filled(file)? {
            None if expected == blocks => return Ok(Ok(Event::End)),
            None => {
                let problem = format!("the file ends after {expected} of {blocks} blocks: truncated");
                return Ok(Err(problem));
            }
            Some("#BEGIN_TB") => {}
            Some(other) => return Ok(Err(format!("`{}`; `#BEGIN_TB` is accepted", short(other)))),
        }
        let grid = self.grid;
        let found = match self.cursor.next_filled(file)? {
            None => Err("the file ends in a block: truncated".to_string()),
            Some(line) => block_index(line, grid),
        };
        Ok(found.and_then(|found| {
            if found != expected {
                return Err(format!(
                    "block {found} (x fastest) where {expected} is expected; all blocks in grid order are accepted"
                ));
            }
            self.in_block = true;
            self.next_block += 1;
            self.seen = 0;
            Ok(Event::Block(found))
        }))
    }

    fn next_warp(
        &mut self,
        file: &mut TextFile,
        block: BlockIndex,
    ) -> Result<Result<Event, String>, TraceError> {
        let warps = self.warps;
        let warp = loop {
            match self.cursor.next_filled(file)? {
                None => return Ok(self.end_in_block(block)),
                Some("#END_TB") => {
                    self.in_block = false;
                    return Ok(Ok(Event::BlockEnd));
                }
                Some(line) if line.starts_with("cluster ") => {}
                Some(line) => break warp_number(line, warps),
            }
        };
        let warp = match warp {
            Ok(warp) if self.seen >> warp & 1 == 0 => warp,
            Ok(warp) => return Ok(Err(format!("warp {warp} of block {block} comes twice"))),
            Err(problem) => return Ok(Err(problem)),
        };
        self.seen |= 1 << warp;
        let count = match self.cursor.next_filled(file)? {
            None => return Ok(Err(format!("the file ends in warp {warp}: truncated"))),
            Some(line) => assigned(line, "insts")
                .and_then(|value| value.parse().ok())
                .ok_or_else(|| format!("`{}`; `insts = ` and a count is accepted", short(line))),
        };
        Ok(count.map(|instructions| {
            self.left = instructions;
            Event::Warp { warp, instructions }
        }))
    }
}

/// The next of `left` instruction lines.
///
/// # Errors
/// Something else comes, or the end of the file.
pub(super) fn instruction<'a>(
    cursor: &'a mut LineCursor,
    left: &mut u64,
    file: &mut TextFile,
) -> Result<Option<&'a str>, TraceError> {
    let line_before = cursor.line();
    match cursor.next_filled(file)? {
        Some(line) if line.as_bytes()[0].is_ascii_hexdigit() => {
            *left -= 1;
            Ok(Some(line))
        }
        Some(line) => {
            let problem = format!("`{}` where {left} more instructions are announced", short(line));
            Err(file.error(line_before + 1, problem))
        }
        None => {
            let problem = format!("the file ends where {left} more instructions are announced: truncated");
            Err(file.error(line_before, problem))
        }
    }
}

/// The value of a line `key = value`.
fn assigned<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.trim_start().strip_prefix('=').map(str::trim)
}

fn warp_number(line: &str, warps: usize) -> Result<usize, String> {
    assigned(line, "warp").and_then(|value| value.parse().ok()).filter(|&warp| warp < warps).ok_or_else(
        || {
            let last = warps - 1;
            format!("`{}`; `warp = 0` to `warp = {last}` or `#END_TB` is accepted", short(line))
        },
    )
}

fn block_index(line: &str, grid: [u32; 3]) -> Result<BlockIndex, String> {
    let numbers: Option<Vec<u32>> = assigned(line, "thread block")
        .and_then(|value| value.split(',').map(|number| number.trim().parse().ok()).collect());
    match numbers.as_deref() {
        Some(&[x, y, z]) if x < grid[0] && y < grid[1] && z < grid[2] => {
            let [width, height, _] = grid.map(u64::from);
            Ok(u64::from(x) + width * (u64::from(y) + height * u64::from(z)))
        }
        Some(_) | None => {
            Err(format!("`{}`; `thread block = x,y,z` inside the grid of {grid:?} is accepted", short(line)))
        }
    }
}

/// The start of a line, for a message.
pub(super) fn short(line: &str) -> String {
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}
