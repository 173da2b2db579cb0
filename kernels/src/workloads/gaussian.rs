//! Forward elimination row by row, in double precision.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let n = inputs.size("n");
    let (mut a, mut b) = (inputs.doubles("a"), inputs.doubles("b"));
    let mut multipliers = vec![0.0; n * n];
    for row in 1..n {
        let (above, here) = a.split_at_mut(row * n);
        let here = &mut here[..n];
        for (pivot, upper) in above.chunks_exact(n).enumerate() {
            let factor = here[pivot] / upper[pivot];
            multipliers[row * n + pivot] = factor;
            here[pivot] = 0.0;
            for (element, upper) in here.iter_mut().zip(upper).skip(pivot + 1) {
                *element -= factor * upper;
            }
            b[row] -= factor * b[pivot];
        }
    }
    Outputs::default().doubles("a", &a).doubles("b", &b).doubles("multiplier", &multipliers)
}
