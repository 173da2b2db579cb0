//! Potentials and forces between particles of neighbouring boxes, pair by pair, in double precision.

use super::reference::{Inputs, Outputs};

const STEEPNESS: f64 = 0.5;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let shape = ["width", "height", "depth"].map(|name| inputs.size(name));
    let particles = inputs.size("particles");
    let (positions, charges) = (inputs.wide("position"), inputs.wide("charge"));
    let boxes = shape.iter().product::<usize>();
    let mut counts = Vec::new();
    let mut forces = Vec::new();
    for own in 0..boxes {
        let near: Vec<usize> = (0..boxes).filter(|&other| adjacent(shape, own, other)).collect();
        counts.push(near.len() as i32);
        for particle in own * particles..(own + 1) * particles {
            let mut sum = [0.0; 4];
            for other in near.iter().flat_map(|&other| other * particles..(other + 1) * particles) {
                let effect = force(place(&positions, particle), place(&positions, other));
                for (sum, effect) in sum.iter_mut().zip(effect) {
                    *sum += charges[other] * effect;
                }
            }
            forces.extend(sum);
        }
    }
    Outputs::default().integers("count", &counts).wide("force", &forces)
}

/// Whether two boxes touch, or are the same.
fn adjacent([width, height, _]: [usize; 3], a: usize, b: usize) -> bool {
    let coordinates = |number: usize| [number % width, number / width % height, number / (width * height)];
    coordinates(a).iter().zip(coordinates(b)).all(|(a, b)| a.abs_diff(b) <= 1)
}

/// x, y, z and the addend of the exponent.
fn place(positions: &[f64], particle: usize) -> [f64; 4] {
    std::array::from_fn(|index| positions[4 * particle + index])
}

/// Force and potential at `here` of a unit charge at `there`.
fn force(here: [f64; 4], there: [f64; 4]) -> [f64; 4] {
    let dot: f64 = (0..3).map(|axis| here[axis] * there[axis]).sum();
    let potential = (-STEEPNESS * (here[3] + there[3] - dot)).exp();
    let [x, y, z] = std::array::from_fn(|axis| 2.0 * potential * (here[axis] - there[axis]));
    [x, y, z, potential]
}
