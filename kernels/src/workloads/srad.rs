//! Speckle-reducing anisotropic diffusion (Yu & Acton 2002), whole image by whole image, in double precision.

use super::reference::{Inputs, Outputs};

const SPECKLE_SCALE: f64 = 0.08;
const RATE: f64 = 0.5;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let grid = Grid { rows: inputs.size("rows"), columns: inputs.size("columns") };
    let mut image = inputs.doubles("image");
    let mut coefficient = Vec::new();
    for _ in 0..inputs.size("iterations") {
        coefficient = grid.pixels().map(|(row, column)| grid.coefficient(&image, row, column)).collect();
        image = grid.pixels().map(|(row, column)| grid.diffused(&image, &coefficient, row, column)).collect();
    }
    Outputs::default().doubles("image", &image).doubles("coefficient", &coefficient)
}

struct Grid {
    rows: usize,
    columns: usize,
}

impl Grid {
    fn pixels(&self) -> impl Iterator<Item = (usize, usize)> {
        let columns = self.columns;
        (0..self.rows * columns).map(move |pixel| (pixel / columns, pixel % columns))
    }

    /// A pixel's four neighbours: north, south, west, east. Beyond the border: the pixel itself.
    fn neighbours(&self, row: usize, column: usize) -> [usize; 4] {
        let at = |row: usize, column: usize| row * self.columns + column;
        [
            at(row.saturating_sub(1), column),
            at((row + 1).min(self.rows - 1), column),
            at(row, column.saturating_sub(1)),
            at(row, (column + 1).min(self.columns - 1)),
        ]
    }

    fn coefficient(&self, image: &[f64], row: usize, column: usize) -> f64 {
        let here = image[row * self.columns + column];
        let derivatives = self.neighbours(row, column).map(|pixel| image[pixel] - here);
        let gradient = derivatives.iter().map(|d| d * d).sum::<f64>() / (here * here);
        let laplacian = derivatives.iter().sum::<f64>() / here;
        let variation = (0.5 * gradient - laplacian * laplacian / 16.0) / (1.0 + 0.25 * laplacian).powi(2);
        let excess = (variation - SPECKLE_SCALE) / (SPECKLE_SCALE * (1.0 + SPECKLE_SCALE));
        (1.0 / (1.0 + excess)).clamp(0.0, 1.0)
    }

    fn diffused(&self, image: &[f64], coefficient: &[f64], row: usize, column: usize) -> f64 {
        let here = row * self.columns + column;
        let [north, south, west, east] = self.neighbours(row, column);
        let flow = |towards: usize, weight: usize| coefficient[weight] * (image[towards] - image[here]);
        let divergence = flow(north, here) + flow(south, south) + flow(west, here) + flow(east, east);
        image[here] + 0.25 * RATE * divergence
    }
}
