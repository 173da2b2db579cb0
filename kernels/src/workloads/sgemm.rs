//! C = alpha A B + beta C in double precision.

use super::reference::{Inputs, Outputs};

const ALPHA: f64 = 1.5;
const BETA: f64 = 0.5;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (n, k) = (inputs.size("n"), inputs.size("k"));
    let (a, b, mut c) = (inputs.doubles("a"), inputs.doubles("b"), inputs.doubles("c"));
    for (row, c_row) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        c_row.iter_mut().for_each(|value| *value *= BETA);
        for (&factor, b_row) in row.iter().zip(b.chunks_exact(n)) {
            for (value, &term) in c_row.iter_mut().zip(b_row) {
                *value += ALPHA * factor * term;
            }
        }
    }
    Outputs::default().doubles("c", &c)
}
