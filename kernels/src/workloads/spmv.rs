//! The product, row by row of the sorted matrix, in double precision.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let [lengths, starts, order, columns] =
        ["lengths", "starts", "order", "columns"].map(|name| inputs.integers(name));
    let (values, x) = (inputs.doubles("values"), inputs.doubles("x"));
    let mut y = vec![0.0; x.len()];
    for (row, (&length, &place)) in lengths.iter().zip(&order).enumerate() {
        let entries = starts.iter().take(length as usize).map(|&start| start as usize + row);
        y[place as usize] = entries.map(|entry| values[entry] * x[columns[entry] as usize]).sum();
    }
    Outputs::default().doubles("y", &y)
}
