//! Puts the instructions of a stretch in order, one after the other.

use std::cmp::Reverse;

use super::dependences::Dependences;
use super::latency::SHARED;
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
    /// A load from device memory, or what delays one that could begin, and only waits for arithmetic: other warps fill so
    /// short a wait.
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
/// As long as values occupy fewer than `registers`: first what loads from device memory wait for, of that what is one; then
/// what waits for nothing, and of that what the longest chain of latencies hangs on. Above: what frees most.
pub(super) fn order(dependences: &Dependences, mut values: Values, registers: i64) -> Vec<usize> {
    let count = dependences.predecessors.len();
    let heights = heights(dependences);
    let delays_load = delays_load(dependences);
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
            } else if delays_load[ready.position] && wait < SHARED.into() {
                Class::LeadsToLoad
            } else {
                Class::Fits
            };
            // A load goes as soon as its address is there, before what leads to others.
            let is_later = class == Class::LeadsToLoad && !dependences.latencies[ready.position].is_load;
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

/// The cycles that a warp alone would wait in this order for what its instructions need.
pub(super) fn stalls(dependences: &Dependences, order: &[usize]) -> u64 {
    let mut from = vec![0; order.len()];
    let mut now = 0;
    for &position in order {
        now = now.max(from[position]) + 1;
        for &(successor, cycles) in &dependences.successors[position] {
            from[successor] = from[successor].max(now - 1 + u64::from(cycles));
        }
    }
    now - order.len() as u64
}

/// For each instruction whether a load from device memory begins later if it does.
///
/// The address of a load that itself waits for another load can be computed while that one is on its way, and then stands
/// between it and its use.
fn delays_load(dependences: &Dependences) -> Vec<bool> {
    let earliest = earliest(dependences);
    let mut latest = vec![u64::MAX; earliest.len()];
    for position in (0..earliest.len()).rev() {
        let own = if dependences.latencies[position].is_load { earliest[position] } else { u64::MAX };
        let behind = dependences.successors[position].iter();
        let led_to = behind.map(|&(successor, cycles)| latest[successor].saturating_sub(cycles.into())).min();
        latest[position] = own.min(led_to.unwrap_or(u64::MAX));
    }
    let mut delays: Vec<bool> = latest
        .iter()
        .zip(earliest)
        .map(|(&latest, earliest)| latest < earliest + u64::from(SHARED))
        .collect();
    // What becomes no machine instruction can be placed whenever something needs it.
    for position in (0..delays.len()).rev().filter(|&position| dependences.latencies[position].cycles == 0) {
        delays[position] |= dependences.successors[position].iter().any(|&(successor, _)| delays[successor]);
    }
    delays
}

/// For each instruction the cycle in which all it needs is there, if every instruction begins as soon as it can.
fn earliest(dependences: &Dependences) -> Vec<u64> {
    let mut earliest = vec![0; dependences.latencies.len()];
    for position in 0..earliest.len() {
        for &(successor, cycles) in &dependences.successors[position] {
            earliest[successor] = earliest[successor].max(earliest[position] + u64::from(cycles));
        }
    }
    earliest
}

/// For each instruction the cycles from it to the end of what depends on it.
fn heights(dependences: &Dependences) -> Vec<u64> {
    let mut heights: Vec<u64> =
        dependences.latencies.iter().map(|latency| u64::from(latency.cycles)).collect();
    for position in (0..heights.len()).rev() {
        let behind = dependences.successors[position].iter();
        let longest = behind.map(|&(successor, cycles)| u64::from(cycles) + heights[successor]).max();
        heights[position] = heights[position].max(longest.unwrap_or(0));
    }
    heights
}
