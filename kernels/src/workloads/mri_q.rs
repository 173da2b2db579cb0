//! The Q matrix in double precision.

use std::f64::consts::TAU;

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let samples = inputs.size("samples");
    let [kx, ky, kz] = ["kx", "ky", "kz"].map(|name| inputs.doubles(name));
    let [x, y, z] = ["x", "y", "z"].map(|name| inputs.doubles(name));
    let (phi_real, phi_imaginary) = (inputs.doubles("phi_real"), inputs.doubles("phi_imaginary"));

    let magnitude: Vec<f64> = (0..samples).map(|k| phi_real[k].powi(2) + phi_imaginary[k].powi(2)).collect();
    let mut weighed = inputs.doubles("weighed");
    for (k, sample) in weighed.chunks_exact_mut(4).take(samples).enumerate() {
        sample.copy_from_slice(&[kx[k], ky[k], kz[k], magnitude[k]]);
    }
    let q = |part: fn(f64) -> f64| -> Vec<f64> {
        let angle = |voxel: usize, k: usize| TAU * (kx[k] * x[voxel] + ky[k] * y[voxel] + kz[k] * z[voxel]);
        let sum = |voxel| (0..samples).map(|k| magnitude[k] * part(angle(voxel, k))).sum();
        (0..x.len()).map(sum).collect()
    };
    Outputs::default()
        .doubles("weighed", &weighed)
        .doubles("q_real", &q(f64::cos))
        .doubles("q_imaginary", &q(f64::sin))
}
