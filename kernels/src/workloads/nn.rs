//! Distances in the plane, in double precision.

use super::reference::{Inputs, Outputs};

const LATITUDE: f64 = 30.0;
const LONGITUDE: f64 = 60.0;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let places = inputs.doubles("places");
    let distances: Vec<f64> =
        places.chunks_exact(2).map(|place| (place[0] - LATITUDE).hypot(place[1] - LONGITUDE)).collect();
    Outputs::default().doubles("distance", &distances)
}
