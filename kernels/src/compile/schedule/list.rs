//! Puts the instructions of a stretch in order, one after the other.

use std::cmp::Reverse;

use super::dependences::Dependences;
use super::latency::{LONG, SHARED};
use super::pressure::Values;

/// An instruction all of whose predecessors have been placed.
struct Ready {
    position: usize,
    /// The first cycle in which all it needs is there.
    from: u64,
}

/// How soon an instruction should be placed; the smallest is.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// A load from device memory, or what only waits for arithmetic and leads to one: other warps fill so short a wait.
    LeadsToLoad,
    /// There is a register for its result.
    Fits,
    /// There is none, but it leaves not more values than there are: by how many fewer.
    Frees(i64),
    /// In the order of the source, which comes to an instruction that frees; any other might not.
    Grows(usize),
}

/// The positions of a stretch's instructions in their new order.
///
/// As long as values occupy fewer than `registers`: first what leads to loads from device memory, of that what is one; then
/// what waits for nothing, and of that what the longest chain of latencies hangs on. Above: what frees most.
pub(super) fn order(dependences: &Dependences, values: &mut Values, registers: i64) -> Vec<usize> {
    let count = dependences.predecessors.len();
    let heights = heights(dependences);
    let mut waiting = dependences.predecessors.clone();
    let mut from = vec![0; count];
    let first = (0..count).filter(|&position| waiting[position] == 0);
    let mut ready: Vec<Ready> = first.map(|position| Ready { position, from: 0 }).collect();
    let mut order = Vec::with_capacity(count);
    let mut now = 0;
    loop {
        let key = |ready: &Ready| {
            let height = heights[ready.position];
            let wait = ready.from.saturating_sub(now);
            let growth = values.growth(ready.position);
            let class = if values.occupied() + growth > registers {
                if growth > 0 { Class::Grows(ready.position) } else { Class::Frees(growth) }
            } else if height >= LONG.into() && wait < SHARED.into() {
                Class::LeadsToLoad
            } else {
                Class::Fits
            };
            // A load goes as soon as its address is there, before what leads to others.
            let is_later = class == Class::LeadsToLoad && dependences.latencies[ready.position] < LONG;
            (class, is_later, wait, Reverse(height), ready.position)
        };
        let Some(best) = (0..ready.len()).min_by_key(|&index| key(&ready[index])) else { return order };
        let chosen = ready.swap_remove(best);
        now = now.max(chosen.from) + 1;
        values.take(chosen.position);
        order.push(chosen.position);
        for &(successor, cycles) in &dependences.successors[chosen.position] {
            from[successor] = from[successor].max(now - 1 + u64::from(cycles));
            waiting[successor] -= 1;
            if waiting[successor] == 0 {
                ready.push(Ready { position: successor, from: from[successor] });
            }
        }
    }
}

/// For each instruction the cycles from it to the end of what depends on it.
fn heights(dependences: &Dependences) -> Vec<u64> {
    let mut heights: Vec<u64> = dependences.latencies.iter().map(|&cycles| u64::from(cycles)).collect();
    for position in (0..heights.len()).rev() {
        let behind = dependences.successors[position].iter();
        let longest = behind.map(|&(successor, cycles)| u64::from(cycles) + heights[successor]).max();
        heights[position] = heights[position].max(longest.unwrap_or(0));
    }
    heights
}
