//! Potentials and forces between particles of neighbouring boxes, pair by pair, in double precision; of numbers that lie in memory in
//! double precision, or in the first half of as many bits.

use super::reference::{Inputs, Outputs};

const STEEPNESS: f64 = 0.5;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (counts, forces) = forces(inputs, &inputs.wide("position"), &inputs.wide("charge"));
    Outputs::default().integers("count", &counts).wide("force", &forces)
}

/// Of numbers of 32 bits, each of which has 64 in memory.
pub(super) fn half_used(inputs: &Inputs) -> Outputs {
    let used = |name: &str| inputs.floats(name).into_iter().step_by(2).map(f64::from).collect::<Vec<f64>>();
    let (counts, forces) = forces(inputs, &used("position"), &used("charge"));
    let stored: Vec<f32> = forces.iter().flat_map(|force| [*force as f32, 0.0]).collect();
    Outputs::default().integers("count", &counts).floats("force", &stored)
}

/// Boxes near every box; potential and force of every particle.
fn forces(inputs: &Inputs, positions: &[f64], charges: &[f64]) -> (Vec<i32>, Vec<f64>) {
    let shape = ["width", "height", "depth"].map(|name| inputs.size(name));
    let particles = inputs.size("particles");
    let boxes = shape.iter().product::<usize>();
    let mut counts = Vec::new();
    let mut forces = Vec::new();
    for own in 0..boxes {
        let near: Vec<usize> = (0..boxes).filter(|&other| adjacent(shape, own, other)).collect();
        counts.push(near.len() as i32);
        for particle in own * particles..(own + 1) * particles {
            let mut sum = [0.0; 4];
            for other in near.iter().flat_map(|&other| other * particles..(other + 1) * particles) {
                let effect = force(place(positions, particle), place(positions, other));
                for (sum, effect) in sum.iter_mut().zip(effect) {
                    *sum += charges[other] * effect;
                }
            }
            forces.extend(sum);
        }
    }
    (counts, forces)
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
