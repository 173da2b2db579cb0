//! Needleman-Wunsch scores, row by row. Integers: exact.

use super::reference::{Inputs, Outputs};

const PENALTY: i32 = 10;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let n = inputs.size("n");
    let similarity = inputs.integers("similarity");
    let score: Vec<i32> = similarity.chunks_exact(n * n).flat_map(|pair| align(pair, n)).collect();
    Outputs::default().integers("score", &score)
}

/// Scores of one pair, (n + 1) x (n + 1).
fn align(similarity: &[i32], n: usize) -> Vec<i32> {
    let width = n + 1;
    let mut score = vec![0; width * width];
    for row in 0..width {
        for column in 0..width {
            let gaps = -PENALTY * (row + column) as i32;
            score[row * width + column] = if row == 0 || column == 0 {
                gaps
            } else {
                let here = row * width + column;
                let matched = score[here - width - 1] + similarity[(row - 1) * n + column - 1];
                matched.max(score[here - 1] - PENALTY).max(score[here - width] - PENALTY)
            };
        }
    }
    score
}
