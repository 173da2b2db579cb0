//! Jacobi steps of the 7-point stencil, whole grid by whole grid, in double precision.

use super::reference::{Inputs, Outputs};

const CENTRE_WEIGHT: f64 = 0.1666667;
const NEIGHBOUR_WEIGHT: f64 = 0.1388889;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let (nx, ny, nz) = (inputs.size("nx"), inputs.size("ny"), inputs.size("nz"));
    let strides = [1, nx, nx * ny];
    let mut grid = inputs.doubles("before");
    for _ in 0..inputs.size("iterations") {
        let mut after = grid.clone();
        for z in 1..nz - 1 {
            for y in 1..ny - 1 {
                for x in 1..nx - 1 {
                    let cell = (z * ny + y) * nx + x;
                    let neighbours: f64 = strides.iter().map(|s| grid[cell - s] + grid[cell + s]).sum();
                    after[cell] = NEIGHBOUR_WEIGHT * neighbours - CENTRE_WEIGHT * grid[cell];
                }
            }
        }
        grid = after;
    }
    Outputs::default().doubles("before", &grid)
}
