//! Streaming k-median: one candidate after the other, in double precision.

use super::reference::{Inputs, Outputs};

const PRICE_OF_CENTRE: f64 = 40.0;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (points, candidates) = (inputs.size("points"), inputs.size("candidates"));
    let (coordinates, weight) = (inputs.doubles("coordinates"), inputs.doubles("weight"));
    let cost_at = |candidate: usize| -> Vec<f64> {
        let squared = |point: usize| {
            let dimensions = coordinates.chunks_exact(points);
            dimensions.map(|along| (along[point] - along[candidate]).powi(2)).sum::<f64>()
        };
        (0..points).map(|point| squared(point) * weight[point]).collect()
    };
    let slots = candidates + 1;
    let mut assigned = vec![0; points];
    let mut open: Vec<bool> = (0..slots).map(|slot| slot == 0).collect();
    let mut cost = cost_at(0);
    for slot in 1..slots {
        let there = cost_at(slot * (points / slots));
        let gain = |counts: &dyn Fn(usize) -> bool| -> f64 {
            (0..points).filter(|&point| counts(point)).map(|point| cost[point] - there[point]).sum()
        };
        let moves: Vec<bool> = there.iter().zip(&cost).map(|(there, here)| there < here).collect();
        // What closing a slot brings, if it is open and closing it pays.
        let freed: Vec<Option<f64>> = (0..slots)
            .map(|s| PRICE_OF_CENTRE + gain(&|point| !moves[point] && assigned[point] == s))
            .zip(&open)
            .map(|(freed, &open)| (open && freed > 0.0).then_some(freed))
            .collect();
        let total = gain(&|point| moves[point]) - PRICE_OF_CENTRE + freed.iter().flatten().sum::<f64>();
        if total > 0.0 {
            for (open, freed) in open.iter_mut().zip(&freed) {
                *open &= freed.is_none();
            }
            open[slot] = true;
            for point in 0..points {
                if moves[point] || freed[assigned[point]].is_some() {
                    assigned[point] = slot;
                    cost[point] = there[point];
                }
            }
        }
    }
    let assigned: Vec<i32> = assigned.iter().map(|&slot| slot as i32).collect();
    let open: Vec<i32> = open.iter().map(|&open| i32::from(open)).collect();
    Outputs::default().doubles("cost", &cost).integers("assigned", &assigned).integers("open", &open)
}
