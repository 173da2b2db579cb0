//! How often each byte occurs.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let mut histogram = [0; 256];
    for &byte in inputs.bytes("bytes") {
        histogram[usize::from(byte)] += 1;
    }
    Outputs::default().integers("histogram", &histogram)
}
