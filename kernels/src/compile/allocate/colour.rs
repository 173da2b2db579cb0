//! Gives each group its first register.
//!
//! Greedy colouring depends only on the order. Two good orders are tried: smallest degree last (Chaitin,
//! Briggs), and order of appearance, which is optimal for straight code. The better is improved by recolouring
//! with the highest groups first, as long as that helps.

use std::collections::BTreeSet;

use super::groups::Groups;
use super::interference::Interference;

/// Most rounds of improvement, each of which places every group once.
const ROUNDS: usize = 250;
/// So many groups are placed in all rounds together, so that time grows with a kernel.
const PLACED: usize = 500_000;
/// Rounds of the largest kernels.
const FEWEST_ROUNDS: usize = 4;

/// The first register of each group.
pub fn colour(groups: &Groups, interference: &Interference) -> Vec<usize> {
    let graph = GroupGraph::new(groups, interference);
    let lower_bound = interference.max_live();
    let present: Vec<usize> =
        (0..groups.groups().len()).filter(|&group| !groups.groups()[group].members.is_empty()).collect();
    let by_size = |order: &[usize]| {
        let mut order = order.to_vec();
        order.sort_by_key(|&group| std::cmp::Reverse(groups.groups()[group].size));
        order
    };
    let smallest_last = graph.smallest_last(&present);
    let mut best: Option<Colouring> = None;
    for order in [smallest_last.clone(), present.clone(), by_size(&smallest_last), by_size(&present)] {
        keep_better(&mut best, graph.greedy(&order));
    }
    let Some(mut best) = best else { return Vec::new() };
    let mut order = best.order.clone();
    let rounds = (PLACED / present.len().max(1)).clamp(FEWEST_ROUNDS, ROUNDS);
    for round in 0..rounds {
        if best.count <= lower_bound {
            break;
        }
        let attempt = graph.greedy(&order);
        order = reorder(&attempt, &graph.sizes, round);
        if attempt.count < best.count {
            best = attempt;
        }
    }
    best.bases
}

/// A colouring and the order that led to it.
#[derive(Clone, Debug)]
struct Colouring {
    bases: Vec<usize>,
    order: Vec<usize>,
    count: usize,
}

fn keep_better(best: &mut Option<Colouring>, attempt: Colouring) {
    if best.as_ref().is_none_or(|best| attempt.count < best.count) {
        *best = Some(attempt);
    }
}

/// Next order to try: groups that end highest come first; every third round, groups of equal register together
/// in reverse, which never needs more registers (Culberson's iterated greedy).
fn reorder(attempt: &Colouring, sizes: &[usize], round: usize) -> Vec<usize> {
    let mut order = attempt.order.clone();
    let end = |group: usize| attempt.bases[group] + sizes[group];
    if round % 3 == 2 {
        let high = attempt.count;
        order.sort_by_key(|&group| end(group) != high);
    } else {
        order.sort_by_key(|&group| std::cmp::Reverse(end(group)));
    }
    order
}

/// Interference between groups, slot by slot.
struct GroupGraph {
    sizes: Vec<usize>,
    /// For each group: neighbour, own slot, neighbour's slot.
    edges: Vec<Vec<(usize, usize, usize)>>,
}

impl GroupGraph {
    fn new(groups: &Groups, interference: &Interference) -> GroupGraph {
        let edges = groups
            .groups()
            .iter()
            .enumerate()
            .map(|(index, group)| {
                let mut edges = BTreeSet::new();
                for &(register, slot) in &group.members {
                    for &other in interference.neighbours(register.0) {
                        if let Some((neighbour, at)) =
                            groups.place(crate::compile::optimise::resolve::VReg(other))
                            && neighbour != index
                        {
                            edges.insert((neighbour, slot, at));
                        }
                    }
                }
                edges.into_iter().collect()
            })
            .collect();
        GroupGraph { sizes: groups.groups().iter().map(|group| group.size).collect(), edges }
    }

    /// Repeatedly takes away the group with the fewest interfering slots; the reverse of that order.
    fn smallest_last(&self, present: &[usize]) -> Vec<usize> {
        let mut degree: Vec<usize> = self.edges.iter().map(Vec::len).collect();
        let mut queue: BTreeSet<(usize, usize)> =
            present.iter().map(|&group| (degree[group], group)).collect();
        let mut order = Vec::with_capacity(present.len());
        let mut taken = vec![false; self.sizes.len()];
        while let Some((_, group)) = queue.pop_first() {
            order.push(group);
            taken[group] = true;
            for &(neighbour, _, _) in &self.edges[group] {
                if !taken[neighbour] {
                    queue.remove(&(degree[neighbour], neighbour));
                    degree[neighbour] -= 1;
                    queue.insert((degree[neighbour], neighbour));
                }
            }
        }
        order.reverse();
        order
    }

    /// Each group in turn gets the lowest aligned registers that are free for it.
    fn greedy(&self, order: &[usize]) -> Colouring {
        let mut bases = vec![usize::MAX; self.sizes.len()];
        let mut count = 0;
        let mut blocked: Vec<bool> = Vec::new();
        for &group in order {
            blocked.clear();
            for &(neighbour, slot, at) in &self.edges[group] {
                if bases[neighbour] == usize::MAX {
                    continue;
                }
                // The base that would put this slot on the neighbour's register.
                if let Some(base) = (bases[neighbour] + at).checked_sub(slot) {
                    if blocked.len() <= base {
                        blocked.resize(base + 1, false);
                    }
                    blocked[base] = true;
                }
            }
            let size = self.sizes[group];
            let base = (0..)
                .step_by(size)
                .find(|&base| !blocked.get(base).copied().unwrap_or(false))
                .unwrap_or(blocked.len());
            bases[group] = base;
            count = count.max(base + size);
        }
        Colouring { bases, order: order.to_vec(), count }
    }
}
