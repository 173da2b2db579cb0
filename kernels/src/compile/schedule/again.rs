//! The second pass, behind allocation: single instructions are moved between loads and uses that are next to them.
//!
//! What the first pass puts between a load and its use it takes from the loads behind, which may have nothing left. Values stay
//! in their registers, so that no order needs more of them.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Range;

use super::super::Compiled;
use super::dependences::{Accesses, Dependences};
use super::latency::Latency;
use super::list;
use crate::program::{self, PhysReg, Predicate};

/// So many machine instructions behind a load from device memory its use is not near.
const FAR: usize = 3;
/// So often in a row an instruction is moved without gain: what one load gets another may miss, and find elsewhere.
const SIDEWAYS: usize = 8;
/// At most so many orders of a stretch are tried, so that time grows with a kernel.
const TRIES: usize = 1000;

/// What a warp loses in an order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Cost {
    /// By how many machine instructions loads from device memory are nearer to their first use than [`FAR`], all together.
    near: usize,
    /// The cycles that a warp alone waits.
    stalls: u64,
}

/// A stretch of instructions that have their registers.
pub(super) struct Stretch {
    dependences: Dependences,
    /// Machine instructions of each.
    lengths: Vec<usize>,
}

/// What an instruction can keep a value in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    Register(PhysReg),
    Predicate(Predicate),
}

impl Stretch {
    pub fn new(compiled: &Compiled, latencies: &[Latency], stretch: Range<usize>) -> Stretch {
        let instructions = &compiled.kernel.instructions[stretch.clone()];
        let mut dependences = Dependences::new(&compiled.kernel, instructions, &latencies[stretch.clone()]);
        let ranges = || compiled.lowering.ranges[stretch.clone()].iter();
        let of =
            |range: &Range<u32>| &compiled.program.instructions[range.start as usize..range.end as usize];
        dependences.keep_values(ranges().map(|range| accesses(of(range))));
        Stretch { dependences, lengths: ranges().map(ExactSizeIterator::len).collect() }
    }

    /// An order of its instructions, by their positions, in which loads are less near to their uses; `None` if none is found.
    pub fn better(&self) -> Option<Vec<usize>> {
        let order: Vec<usize> = (0..self.lengths.len()).collect();
        let near = self.cost(&order).near;
        let (found, order) = self.with_loads_apart(order);
        (found.near < near).then_some(order)
    }

    /// What an order costs.
    fn cost(&self, order: &[usize]) -> Cost {
        let near = self.near(order).map(|(_, distance)| FAR - distance).sum();
        Cost { near, stalls: list::stalls(&self.dependences, order) }
    }

    /// The order with single instructions moved between loads and uses that are near, and what it costs.
    fn with_loads_apart(&self, order: Vec<usize>) -> (Cost, Vec<usize>) {
        let mut now = (self.cost(&order), order);
        let mut best = now.clone();
        let mut seen = BTreeSet::from([now.1.clone()]);
        let (mut tries, mut sideways) = (TRIES, 0);
        while now.0.near > 0 && sideways < SIDEWAYS {
            let near = self.near(&now.1);
            let moved = near.flat_map(|(user, _)| self.with_one_in_front(&now.1, user)).take(tries);
            let costs = moved.map(|order| (self.cost(&order), order)).inspect(|_| tries -= 1);
            let Some(next) = costs.filter(|(_, order)| !seen.contains(order)).min() else { break };
            sideways = if next.0.near < best.0.near { 0 } else { sideways + 1 };
            seen.insert(next.1.clone());
            best = best.min(next.clone());
            now = next;
        }
        best
    }

    /// For each load from device memory whose first use is near the place of that in the order, and how many machine
    /// instructions it is behind the load.
    fn near(&self, order: &[usize]) -> impl Iterator<Item = (usize, usize)> {
        let loads = (0..order.len()).filter(|&place| self.dependences.latencies[order[place]].is_load);
        loads.filter_map(|load| {
            let mut distance = 1;
            for place in load + 1..order.len() {
                if distance >= FAR {
                    break;
                }
                if self.waits_for(order[place], order[load]) {
                    return Some((place, distance));
                }
                distance += self.lengths[order[place]];
            }
            None
        })
    }

    /// Whether an instruction waits for what another one loads.
    fn waits_for(&self, position: usize, load: usize) -> bool {
        let cycles = self.dependences.latencies[load].cycles;
        self.dependences.successors[load].contains(&(position, cycles))
    }

    /// The orders in which one instruction stands in front of that at `place`, and all others as they are.
    fn with_one_in_front<'o>(&'o self, order: &'o [usize], place: usize) -> impl Iterator<Item = Vec<usize>> {
        let comes_before = |first: usize, second: usize| {
            self.dependences.successors[first].iter().any(|&(successor, _)| successor == second)
        };
        let earlier = (0..place).rev().filter(move |&from| {
            order[from + 1..place].iter().all(|&between| !comes_before(order[from], between))
        });
        let later = (place + 1..order.len()).filter(move |&from| {
            order[place..from].iter().all(|&between| !comes_before(between, order[from]))
        });
        earlier.chain(later).map(move |from| {
            let mut order = order.to_vec();
            let position = order.remove(from);
            order.insert(if from < place { place - 1 } else { place }, position);
            order
        })
    }
}

/// Where machine instructions, one after the other, read what was there before them, and where they write.
fn accesses(instructions: &[program::Instruction]) -> Accesses<Place> {
    let (mut uses, mut definitions) = (Vec::new(), Vec::new());
    for instruction in instructions {
        let sources = instruction.sources.iter().map(|source| Place::Register(source.register));
        let sources = sources.chain(instruction.predicate_sources.iter().copied().map(Place::Predicate));
        uses.extend(sources.filter(|place| !definitions.contains(place)));
        definitions.extend(instruction.results.iter().map(|result| Place::Register(result.register)));
        definitions.extend(instruction.predicate_results.iter().copied().map(Place::Predicate));
    }
    (uses, definitions)
}
