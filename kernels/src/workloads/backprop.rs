//! Forward sums and the adjustment of weights of one layer, in double precision.

use super::reference::{Inputs, Outputs};

const HIDDEN: usize = 16;
const ROW: usize = HIDDEN + 1;
const LEARNING_RATE: f64 = f64::from_bits(0x3fd3_3333_4000_0000); // 0.3 in single precision
const MOMENTUM: f64 = LEARNING_RATE;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (input, delta) = (inputs.doubles("input"), inputs.doubles("delta"));
    let (mut weights, mut change) = (inputs.doubles("weights"), inputs.doubles("change"));
    let (weighted, partial) = forward(&input, &weights);
    adjust(&input, &delta, &mut weights, &mut change);
    Outputs::default()
        .doubles("weights", &weights)
        .doubles("change", &change)
        .doubles("weighted", &weighted)
        .doubles("partial", &partial)
}

/// The forward sums alone.
pub(super) fn forward_sums(inputs: &Inputs) -> Outputs {
    let (weighted, partial) = forward(&inputs.doubles("input"), &inputs.doubles("weights"));
    Outputs::default().doubles("weighted", &weighted).doubles("partial", &partial)
}

/// Sums over groups of 16 inputs, and the tree of partial sums that leads to them: of the inputs of a group,
/// number i holds the sum of as many products from i on as the largest power of two that divides i (all for 0).
fn forward(input: &[f64], weights: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let inputs = input.len() - 1;
    let mut weighted = vec![0.0; weights.len()];
    let mut partial = Vec::with_capacity(inputs);
    for group in (0..inputs).step_by(HIDDEN) {
        for member in 0..HIDDEN {
            let terms = if member == 0 { HIDDEN } else { 1 << member.trailing_zeros() };
            for unit in 1..ROW {
                let first = group + member + 1;
                let sum: f64 =
                    (first..first + terms).map(|node| input[node] * weights[node * ROW + unit]).sum();
                weighted[first * ROW + unit] = sum;
                if member == 0 {
                    partial.push(sum);
                }
            }
        }
    }
    (weighted, partial)
}

/// Every weight but those of hidden unit 0, which is the bias; the bias input counts as 1.
fn adjust(input: &[f64], delta: &[f64], weights: &mut [f64], change: &mut [f64]) {
    for (node, &value) in input.iter().enumerate() {
        let value = if node == 0 { 1.0 } else { value };
        for (unit, &gradient) in delta.iter().enumerate().skip(1) {
            let index = node * ROW + unit;
            change[index] = LEARNING_RATE * gradient * value + MOMENTUM * change[index];
            weights[index] += change[index];
        }
    }
}
