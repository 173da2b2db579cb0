//! Running sums.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (mut before, mut up_to, mut totals) = (Vec::new(), Vec::new(), Vec::new());
    for array in inputs.integers("elements").chunks_exact(inputs.size("length")) {
        let mut sum = 0;
        for element in array {
            before.push(sum);
            sum += element;
            up_to.push(sum);
        }
        totals.push(sum);
    }
    Outputs::default().integers("before", &before).integers("up_to", &up_to).integers("totals", &totals)
}
