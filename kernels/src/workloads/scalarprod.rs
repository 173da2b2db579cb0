//! Scalar products, summed in double precision.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let length = inputs.size("length");
    let (a, b) = (inputs.doubles("a"), inputs.doubles("b"));
    let pairs = a.chunks_exact(length).zip(b.chunks_exact(length));
    let products: Vec<f64> = pairs.map(|(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum()).collect();
    Outputs::default().doubles("products", &products)
}
