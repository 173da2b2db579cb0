//! Numbers that decide one thing of a netlist, and what can be decided by one.

/// Numbers that decide one port, register, table, node or update. Each decides one aspect; 0 is the simplest.
pub type Choice = [u16; 6];

/// Widths around which words, halves and lanes end.
const NOTABLE: [u32; 16] = [8, 16, 31, 32, 33, 63, 64, 65, 96, 127, 128, 129, 192, 512, 1024, 2048];

/// Rows around which bytes and words of match lines end, and numbers that are no power of two.
const DEPTHS: [u32; 14] = [1, 2, 3, 5, 8, 13, 31, 32, 33, 63, 64, 65, 70, 128];

/// Numbers of lanes.
const LANES: [u32; 8] = [1, 2, 3, 4, 8, 32, 64, 70];

/// Bits of a lane.
const LANE_WIDTHS: [u32; 8] = [1, 7, 8, 16, 32, 64, 65, 128];

/// Some element of `from`.
pub(crate) fn one_of<T: Copy>(from: &[T], number: u16) -> T {
    from[usize::from(number) % from.len()]
}

/// A width of up to `widest` bits.
pub(crate) fn width(number: u16, widest: u32) -> u32 {
    let (kind, number) = (number % 4, number / 4);
    let width = match kind {
        0 => 1 + u32::from(number) % 4,
        1 => 1 + u32::from(number) % 20,
        2 => one_of(&NOTABLE, number),
        _ => 1 + u32::from(number) % widest,
    };
    width.min(widest)
}

/// Rows of a table, up to `deepest`.
pub(crate) fn depth(number: u16, deepest: u32) -> u32 {
    one_of(&DEPTHS, number).min(deepest)
}

/// Lanes and bits of a lane, together up to `widest` bits.
pub(crate) fn lanes(number: u16, widest: u32) -> (u32, u32) {
    let lanes = one_of(&LANES, number).min(widest);
    (lanes, lane_width(number / 8, lanes, widest))
}

/// Bits of each of `lanes` lanes, together up to `widest` bits.
pub(crate) fn lane_width(number: u16, lanes: u32, widest: u32) -> u32 {
    one_of(&LANE_WIDTHS, number).min(widest / lanes).max(1)
}

/// Number of lanes of a table's fields.
pub(crate) fn field_lanes(number: u16, widest: u32) -> u32 {
    one_of(&LANES, number).min(widest)
}

/// The number that is left of `number` once one of `kinds` kinds has been decided by it; 0 of 0.
pub(crate) fn rest(number: u16, kinds: u16) -> u16 {
    (number / kinds).wrapping_mul(0x9e35)
}

/// The `index`-th number that follows from `number`; 0 follows from 0.
pub(crate) fn nth(number: u16, index: usize) -> u16 {
    let scrambled = u32::from(number).wrapping_mul(0x9e37_79b1).wrapping_mul(2 * index as u32 + 1);
    (scrambled >> 13) as u16
}
