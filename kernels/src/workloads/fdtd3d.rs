//! The finite differences, whole grid by whole grid, in double precision.

use super::reference::{Inputs, Outputs};

const RADIUS: usize = 4;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let [nx, ny, nz] = ["nx", "ny", "nz"].map(|name| inputs.size(name));
    let (row, layer) = (nx + 2 * RADIUS, (nx + 2 * RADIUS) * (ny + 2 * RADIUS));
    let weights = inputs.doubles("weights");
    let mut grid = inputs.doubles("before");
    for _ in 0..inputs.size("iterations") {
        let mut after = grid.clone();
        for z in RADIUS..nz + RADIUS {
            for y in RADIUS..ny + RADIUS {
                for x in RADIUS..nx + RADIUS {
                    let cell = z * layer + y * row + x;
                    let around = |distance: usize| -> f64 {
                        let strides = [1, row, layer].map(|stride| stride * distance);
                        strides.iter().map(|stride| grid[cell - stride] + grid[cell + stride]).sum()
                    };
                    let neighbours: f64 =
                        (1..=RADIUS).map(|distance| weights[distance] * around(distance)).sum();
                    after[cell] = weights[0] * grid[cell] + neighbours;
                }
            }
        }
        grid = after;
    }
    Outputs::default().doubles("before", &grid)
}
