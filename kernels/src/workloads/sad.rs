//! Sums of absolute differences, each pixel by pixel.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    Outputs::default()
        .shorts("sums_4", &sums(inputs, 4))
        .shorts("sums_8", &sums(inputs, 8))
        .shorts("sums_16", &sums(inputs, 16))
}

/// Of blocks of `side` × `side` pixels, block by block, position by position; up to 65,280.
fn sums(inputs: &Inputs, side: usize) -> Vec<i32> {
    let [width, height, range] = ["width", "height", "range"].map(|name| inputs.size(name) as i64);
    let pixel = |image: &str, x: i64, y: i64| {
        let place = y.clamp(0, height - 1) * width + x.clamp(0, width - 1);
        i32::from(inputs.bytes(image)[place as usize])
    };
    let mut sums = Vec::new();
    for top in (0..height).step_by(side) {
        for left in (0..width).step_by(side) {
            for down in -range..=range {
                for across in -range..=range {
                    let pixels = (top..top + side as i64)
                        .flat_map(|y| (left..left + side as i64).map(move |x| (x, y)));
                    let difference =
                        |(x, y)| (pixel("image", x, y) - pixel("other", x + across, y + down)).abs();
                    sums.push(pixels.map(difference).sum());
                }
            }
        }
    }
    sums
}
