//! Dyadic convolution from its definition, in double precision.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (data, filter) = (inputs.doubles("data"), inputs.doubles("filter"));
    let taps = &filter[..inputs.size("taps")];
    let convolved = (0..data.len()).map(|i| taps.iter().enumerate().map(|(k, tap)| tap * data[i ^ k]).sum());
    Outputs::default().doubles("data", &convolved.collect::<Vec<f64>>())
}
