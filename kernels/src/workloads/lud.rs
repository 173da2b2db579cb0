//! LU decomposition row by row (Doolittle), in double precision.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let n = inputs.size("n");
    let mut a = inputs.doubles("a");
    for row in 1..n {
        let (above, here) = a.split_at_mut(row * n);
        let here = &mut here[..n];
        for (pivot, upper) in above.chunks_exact(n).enumerate() {
            let factor = here[pivot] / upper[pivot];
            here[pivot] = factor;
            for (element, upper) in here.iter_mut().zip(upper).skip(pivot + 1) {
                *element -= factor * upper;
            }
        }
    }
    Outputs::default().doubles("a", &a)
}
