//! Jacobi steps of Laplace's equation with the boundary held, whole grid by whole grid, in double precision.

use super::reference::{Inputs, Outputs};

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let [nx, ny, nz] = ["nx", "ny", "nz"].map(|name| inputs.size(name));
    let strides = [1, nx, nx * ny];
    let mut grid = inputs.doubles("before");
    for _ in 0..inputs.size("iterations") {
        let mut after = grid.clone();
        for z in 1..nz - 1 {
            for y in 1..ny - 1 {
                for x in 1..nx - 1 {
                    let cell = (z * ny + y) * nx + x;
                    let sum: f64 = strides.iter().map(|s| grid[cell - s] + grid[cell + s]).sum();
                    after[cell] = sum / 6.0;
                }
            }
        }
        grid = after;
    }
    Outputs::default().doubles("before", &grid)
}
