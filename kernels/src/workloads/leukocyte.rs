//! Scores of circles by the statistics of their points' gradients, in double precision, and their maxima within a disc.

use std::f64::consts::TAU;

use super::reference::{Inputs, Outputs};

const POINTS: usize = 150;
const MARGIN: usize = 22;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let [columns, rows, circles, radius] =
        ["columns", "rows", "circles", "radius"].map(|name| inputs.size(name));
    let (gradient_x, gradient_y) = (inputs.doubles("gradient_x"), inputs.doubles("gradient_y"));
    let score = |column: usize, row: usize, radius: f64| {
        let outward = |n: usize| {
            let (sine, cosine) = (TAU * n as f64 / POINTS as f64).sin_cos();
            let place =
                |centre: usize, along: f64| ((centre + MARGIN) as f64 + nearest(radius * along)) as usize;
            let at = place(column, cosine) * (rows + 2 * MARGIN) + place(row, sine);
            gradient_x[at] * cosine + gradient_y[at] * sine
        };
        let outward: Vec<f64> = (0..POINTS).map(outward).collect();
        let mean = outward.iter().sum::<f64>() / POINTS as f64;
        let squares: f64 = outward.iter().map(|gradient| (gradient - mean).powi(2)).sum();
        // An even image has no edge.
        if squares == 0.0 { 0.0 } else { mean * mean / (squares / (POINTS - 1) as f64) }
    };
    let best = |column, row| {
        (0..circles).map(|circle| score(column, row, (8 + 2 * circle) as f64)).fold(0.0, f64::max)
    };
    let pixels = || (0..columns).flat_map(|column| (0..rows).map(move |row| (column, row)));
    let scores: Vec<f64> = pixels().map(|(column, row)| best(column, row)).collect();
    let within = |(column, row): (usize, usize)| {
        let near =
            |centre: usize, count: usize| centre.saturating_sub(radius)..count.min(centre + radius + 1);
        let mut most: f64 = 0.0;
        for x in near(column, columns) {
            for y in near(row, rows).filter(|y| x.abs_diff(column).pow(2) + y.abs_diff(row).pow(2) <= 144) {
                most = most.max(scores[x * rows + y]);
            }
        }
        most
    };
    let dilated: Vec<f64> = pixels().map(within).collect();
    Outputs::default().doubles("scores", &scores).doubles("dilated", &dilated)
}

/// The whole number next to one that lies between two; half a pixel is rounded up.
fn nearest(along: f64) -> f64 {
    (along + 0.5).floor()
}
