//! Sobel's filter as two convolutions of 3 × 3 weights. Half of a sum is exact in single precision, so results are equal.

use super::reference::{Inputs, Outputs};

const ACROSS: [[i32; 3]; 3] = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]];
const DOWN: [[i32; 3]; 3] = [[1, 2, 1], [0, 0, 0], [-1, -2, -1]];

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (width, height) = (inputs.size("width"), inputs.size("height"));
    let image = inputs.bytes("image");
    let convolved = |x: usize, y: usize, weights: &[[i32; 3]; 3]| -> i32 {
        let term = |i: usize, j: usize| {
            let row = (y + i).saturating_sub(1).min(height - 1);
            let column = (x + j).saturating_sub(1).min(width - 1);
            weights[i][j] * i32::from(image[row * width + column])
        };
        (0..9).map(|place| term(place / 3, place % 3)).sum()
    };
    let edge = |place: usize| {
        let (x, y) = (place % width, place / width);
        let sum = convolved(x, y, &ACROSS).abs() + convolved(x, y, &DOWN).abs();
        (sum / 2).min(255) as u8
    };
    let edges: Vec<u8> = (0..width * height).map(edge).collect();
    Outputs::default().bytes("edges", &edges)
}
