//! Element-wise sum. One addition an element: exact.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (a, b) = (inputs.floats("a"), inputs.floats("b"));
    let sum: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
    Outputs::default().floats("sum", &sum)
}
