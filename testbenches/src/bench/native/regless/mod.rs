//! Loops of RegLess's circuits, as the preset of the GTX 980 sizes them: 16 warps of 256 registers, 8 banks of 16 lines.

pub(super) mod access_distributor;
pub(super) mod access_queue;
mod bank;
pub(super) mod capacity_manager;
mod line_ledger;
pub(super) mod metadata_store;
pub(super) mod read_unit;
pub(super) mod staging_bank;
pub(super) mod staging_unit;
mod staging_unit_inputs;
pub(super) mod warp_stack;

/// Warps of a shard.
const WARPS: usize = 16;
/// Banks of a shard.
const BANKS: usize = 8;
/// Lines of a bank.
const LINES: usize = 16;
/// Bits of an access's place in a read unit.
const PLACE_BITS: u32 = 9;
/// Ports for results.
const WRITES: usize = 3;

/// Bits of what is drawn of a warp and of its register, so that half the tags looked for are there.
const WARP_DRAWN: u32 = 1;
const REGISTER_DRAWN: u32 = 4;

/// What an access does to its line: the region holds it on, it may be evicted, its value is dead.
const KEEP: u8 = 0;
const EVICT: u8 = 1;
const ERASE: u8 = 2;

/// Kinds of annotations; one of kind 1 preloads and invalidates the copy in memory.
const PRELOAD: u8 = 0;
const INVALIDATION: u8 = 2;

/// Kinds of requests to memory.
const FETCH: u8 = 0;
const WRITE: u8 = 1;
const INVALIDATE: u8 = 2;
const DROP: u8 = 3;

/// The lowest bit of the first of `candidates` behind the last one taken, or else of all.
#[inline(always)]
fn choose(candidates: u16, behind_last: u16) -> u16 {
    let behind = candidates & behind_last;
    lowest(if behind != 0 { behind } else { candidates })
}

/// The lowest 1 bit.
#[inline(always)]
fn lowest(bits: u16) -> u16 {
    bits & bits.wrapping_neg()
}

/// The bits above the one of `bit`; none if there is none.
#[inline(always)]
fn above(bit: u16) -> u16 {
    if bit == 0 { 0 } else { !(bit | (bit - 1)) }
}

/// The number of the lowest bit; 0 if there is none.
#[inline(always)]
fn index(bits: u16) -> usize {
    if bits == 0 { 0 } else { bits.trailing_zeros() as usize }
}

/// Where outputs of these widths begin in the words of the signature.
const fn places<const N: usize>(widths: [u32; N], mut used: u32) -> ([u32; N], u32) {
    let mut places = [0; N];
    let mut k = 0;
    while k < N {
        if used % 64 + widths[k] > 64 {
            used = used.next_multiple_of(64);
        }
        places[k] = used % 64;
        used += widths[k];
        k += 1;
    }
    (places, used)
}
