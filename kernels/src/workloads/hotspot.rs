//! The heat equation, one whole grid a time step, in double precision.

use super::reference::{Inputs, Outputs};

const STEP_OVER_CAPACITY: f64 = 0.34;
const CONDUCTANCE_X: f64 = 0.1;
const CONDUCTANCE_Y: f64 = 0.12;
const CONDUCTANCE_Z: f64 = 0.002;
const AMBIENT: f64 = 80.0;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (rows, columns) = (inputs.size("rows"), inputs.size("columns"));
    let power = inputs.doubles("power");
    let mut temperature = inputs.doubles("temperature");
    for _ in 0..inputs.size("launches") * inputs.size("steps") {
        let at = |row: usize, column: usize| temperature[row * columns + column];
        let mut later = Vec::with_capacity(temperature.len());
        for row in 0..rows {
            for column in 0..columns {
                let t = at(row, column);
                let vertical =
                    at(row.saturating_sub(1), column) + at((row + 1).min(rows - 1), column) - 2.0 * t;
                let horizontal =
                    at(row, column.saturating_sub(1)) + at(row, (column + 1).min(columns - 1)) - 2.0 * t;
                let heat = power[row * columns + column]
                    + vertical * CONDUCTANCE_Y
                    + horizontal * CONDUCTANCE_X
                    + (AMBIENT - t) * CONDUCTANCE_Z;
                later.push(t + STEP_OVER_CAPACITY * heat);
            }
        }
        temperature = later;
    }
    Outputs::default().doubles("temperature", &temperature)
}
