//! The convolution from its definition, in double precision; outside the image is zero.

use super::reference::{Inputs, Outputs};

const RADIUS: usize = 8;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (width, height) = (inputs.size("width"), inputs.size("height"));
    let weights = inputs.doubles("weights");
    let rows = convolve(&inputs.doubles("image"), &weights, |cell| cell % width, width, 1);
    let result = convolve(&rows, &weights, |cell| cell / width, height, width);
    Outputs::default().doubles("rows", &rows).doubles("result", &result)
}

/// Along lines of `length` cells that are `stride` apart; `place` is where on its line a cell is.
fn convolve(
    image: &[f64],
    weights: &[f64],
    place: impl Fn(usize) -> usize,
    length: usize,
    stride: usize,
) -> Vec<f64> {
    let at = |cell: usize| {
        let here = place(cell);
        let first = cell - here * stride;
        // The n-th weight is that of the cell RADIUS - n further along the line.
        let line = (0..weights.len()).filter_map(|n| {
            let there = (here + RADIUS).checked_sub(n).filter(|&there| there < length)?;
            Some(weights[n] * image[first + there * stride])
        });
        line.sum()
    };
    (0..image.len()).map(at).collect()
}
