//! Wavelet transform with the 9/7 filters by lifting (Daubechies & Sweldens 1998), signal by signal, in double
//! precision.

use super::reference::{Inputs, Outputs};

/// Weights of the four steps; the first changes the odd samples.
const STEPS: [f64; 4] = [-1.586134342, -0.05298011854, 0.8829110762, 0.4435068522];
const SCALE: f64 = 1.149604398;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (rows, columns) = (inputs.size("rows"), inputs.size("columns"));
    let mut image = inputs.doubles("image");
    for level in 0..inputs.size("levels") {
        let (height, width) = (rows >> level, columns >> level);
        for row in 0..height {
            transform(&mut image, row * columns, 1, width);
        }
        for column in 0..width {
            transform(&mut image, column, columns, height);
        }
    }
    Outputs::default().doubles("image", &image)
}

/// Transforms the signal that begins at `first`: low frequencies into its first half, high ones into its second.
fn transform(image: &mut [f64], first: usize, stride: usize, length: usize) {
    let mut signal: Vec<f64> = (0..length).map(|index| image[first + index * stride]).collect();
    for (step, weight) in STEPS.into_iter().enumerate() {
        for index in ((step + 1) % 2..length).step_by(2) {
            // Mirrored at both ends; the length is even.
            let before = if index == 0 { signal[1] } else { signal[index - 1] };
            let after = if index == length - 1 { signal[length - 2] } else { signal[index + 1] };
            signal[index] += weight * (before + after);
        }
    }
    for (index, value) in signal.into_iter().enumerate() {
        let (place, value) =
            if index % 2 == 0 { (index / 2, value * SCALE) } else { ((length + index) / 2, value / SCALE) };
        image[first + place * stride] = value;
    }
}
