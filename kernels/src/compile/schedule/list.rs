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
    let heights = heights(dependences);
    let delays_load = delays_load(dependences);
    let mut placement = Placement::new(dependences);
    loop {
        let key = |ready: &Ready| {
            let height = heights[ready.position];
            let wait = placement.wait(ready);
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
        let Some(best) = placement.first_by(key) else { return placement.order };
        values.take(placement.ready[best].position);
        placement.place(best);
    }
}

/// The positions of a stretch's instructions in the order in which a warp alone waits least: what waits for nothing, and of
/// that what the longest chain of latencies hangs on.
pub(super) fn soonest(dependences: &Dependences) -> Vec<usize> {
    let heights = heights(dependences);
    let mut placement = Placement::new(dependences);
    loop {
        let key = |ready: &Ready| (placement.wait(ready), Reverse(heights[ready.position]), ready.position);
        let Some(best) = placement.first_by(key) else { return placement.order };
        placement.place(best);
    }
}

/// A stretch of which a part has been placed.
struct Placement<'d> {
    dependences: &'d Dependences,
    /// For each instruction how many of its predecessors have not been placed.
    waiting: Vec<usize>,
    /// For each instruction the first cycle in which what it needs of those placed is there.
    from: Vec<u64>,
    ready: Vec<Ready>,
    /// The cycle behind the last one placed.
    now: u64,
    order: Vec<usize>,
}

impl Placement<'_> {
    fn new(dependences: &Dependences) -> Placement<'_> {
        let waiting = dependences.predecessors.clone();
        let first = (0..waiting.len()).filter(|&position| waiting[position] == 0);
        Placement {
            ready: first.map(|position| Ready { position, from: 0 }).collect(),
            from: vec![0; waiting.len()],
            order: Vec::with_capacity(waiting.len()),
            now: 0,
            dependences,
            waiting,
        }
    }

    /// The cycles until all that an instruction needs is there.
    fn wait(&self, ready: &Ready) -> u64 {
        ready.from.saturating_sub(self.now)
    }

    /// The place in the list of those that are ready of the one with the smallest key.
    fn first_by<K: Ord>(&self, key: impl Fn(&Ready) -> K) -> Option<usize> {
        (0..self.ready.len()).min_by_key(|&index| key(&self.ready[index]))
    }

    /// Places one of those that are ready, by its place in their list.
    fn place(&mut self, index: usize) {
        let chosen = self.ready.swap_remove(index);
        self.now = self.now.max(chosen.from) + 1;
        self.order.push(chosen.position);
        for &(successor, cycles) in &self.dependences.successors[chosen.position] {
            self.from[successor] = self.from[successor].max(self.now - 1 + u64::from(cycles));
            self.waiting[successor] -= 1;
            if self.waiting[successor] == 0 {
                self.ready.push(Ready { position: successor, from: self.from[successor] });
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
