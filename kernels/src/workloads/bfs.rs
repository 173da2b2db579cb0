//! Breadth-first search with a queue. Depths are integers and do not depend on the order of a level: exact.

use std::collections::VecDeque;

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (offsets, edges) = (inputs.integers("offsets"), inputs.integers("edges"));
    let source = inputs.size("source");
    let mut depth = vec![-1; inputs.size("nodes")];
    depth[source] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(node) = queue.pop_front() {
        for &neighbour in &edges[offsets[node] as usize..offsets[node + 1] as usize] {
            let neighbour = neighbour as usize;
            if depth[neighbour] < 0 {
                depth[neighbour] = depth[node] + 1;
                queue.push_back(neighbour);
            }
        }
    }
    Outputs::default().integers("depth", &depth)
}
