//! The potential of all atoms near enough at each point of the lattice, in double precision.

use super::reference::{Inputs, Outputs};

/// Distance of points, and beyond which an atom has no potential: the edge of a bin.
const SPACING: f64 = 0.5;
const CUTOFF: f64 = 4.0;
/// Points along a bin's edge.
const EDGE: usize = 8;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let bins = ["bins_x", "bins_y", "bins_z"].map(|name| inputs.size(name));
    let depth = inputs.size("depth");
    let around = bins.map(|count| count + 2);
    let words = inputs.doubles("atoms");
    // Places are from the corner of the lattice, outside of which is a bin on each side.
    let atoms: Vec<([f64; 3], f64)> = words
        .chunks_exact(4)
        .enumerate()
        .filter(|(_, atom)| atom[3] != 0.0)
        .map(|(index, atom)| {
            let bin = unflattened(index / depth, around);
            (std::array::from_fn(|axis| (bin[axis] as f64 - 1.0) * CUTOFF + atom[axis]), atom[3])
        })
        .collect();
    let points = bins.map(|count| count * EDGE);
    let potential = |index| {
        let point = unflattened(index, points).map(|at| at as f64 * SPACING);
        let of = |(place, charge): &([f64; 3], f64)| {
            let squared: f64 = place.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum();
            let smooth = 1.0 - squared / (CUTOFF * CUTOFF);
            if smooth > 0.0 { charge / squared.sqrt() * smooth * smooth } else { 0.0 }
        };
        atoms.iter().map(of).sum()
    };
    let lattice: Vec<f64> = (0..points.iter().product()).map(potential).collect();
    Outputs::default().doubles("lattice", &lattice)
}

/// Places along x, y and z of an element in a box of such a size.
fn unflattened(index: usize, size: [usize; 3]) -> [usize; 3] {
    [index % size[0], index / size[0] % size[1], index / (size[0] * size[1])]
}
