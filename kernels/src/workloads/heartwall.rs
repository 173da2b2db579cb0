//! Template matching by normalised cross-correlation, place by place. Sums are of whole numbers; the correlation is
//! in double precision.

use super::reference::{Inputs, Outputs};

const GOOD_ENOUGH: f64 = 0.8;

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let side = inputs.size("template");
    let mut rows = inputs.integers("row");
    let mut columns = inputs.integers("column");
    let mut templates: Vec<Vec<i32>> = Vec::new();
    let mut quality = vec![0.0; rows.len()];
    let reach = inputs.size("reach") as i32;
    for number in 0..inputs.size("frames") {
        let frame = Frame::of(inputs, number);
        if number == 0 {
            templates =
                rows.iter().zip(&columns).map(|(&row, &column)| frame.patch(row, column, side)).collect();
            continue;
        }
        for (point, template) in templates.iter_mut().enumerate() {
            let mut best = (f64::NEG_INFINITY, 0, 0);
            for row in rows[point] - reach..=rows[point] + reach {
                for column in columns[point] - reach..=columns[point] + reach {
                    let correlation = correlation(template, &frame.patch(row, column, side));
                    if correlation > best.0 {
                        best = (correlation, row, column);
                    }
                }
            }
            (quality[point], rows[point], columns[point]) = best;
            if best.0 >= GOOD_ENOUGH {
                for (old, new) in template.iter_mut().zip(frame.patch(best.1, best.2, side)) {
                    *old = (3 * *old + new) / 4;
                }
            }
        }
    }
    Outputs::default()
        .integers("templates", &templates.concat())
        .integers("row", &rows)
        .integers("column", &columns)
        .doubles("quality", &quality)
}

/// What the camera sees of the picture.
struct Frame<'a> {
    picture: &'a [u8],
    stride: usize,
    side: i32,
    /// Where in the picture it begins.
    first: usize,
}

impl<'a> Frame<'a> {
    fn of(inputs: &'a Inputs, number: usize) -> Self {
        let side = inputs.size("side");
        let stride = side + 2 * inputs.size("frames");
        Frame { picture: inputs.bytes("picture"), stride, side: side as i32, first: number * (stride + 2) }
    }

    /// The pixels around a place, black beyond the edges.
    fn patch(&self, row: i32, column: i32, side: usize) -> Vec<i32> {
        let half = side as i32 / 2;
        let around =
            (row - half..=row + half).flat_map(|r| (column - half..=column + half).map(move |c| (r, c)));
        around.map(|(row, column)| self.pixel(row, column)).collect()
    }

    fn pixel(&self, row: i32, column: i32) -> i32 {
        let inside = |along: i32| (0..self.side).contains(&along);
        if inside(row) && inside(column) {
            i32::from(self.picture[self.first + row as usize * self.stride + column as usize])
        } else {
            0
        }
    }
}

/// Normalised cross-correlation of two patches; 0 if one of them is of a single shade.
fn correlation(a: &[i32], b: &[i32]) -> f64 {
    let covariance = |a: &[i32], b: &[i32]| {
        let products: i64 = a.iter().zip(b).map(|(&a, &b)| i64::from(a) * i64::from(b)).sum();
        let sum = |values: &[i32]| values.iter().map(|&value| i64::from(value)).sum::<i64>();
        (a.len() as i64 * products - sum(a) * sum(b)) as f64
    };
    let (variance_a, variance_b) = (covariance(a, a), covariance(b, b));
    if variance_a > 0.0 && variance_b > 0.0 {
        covariance(a, b) / (variance_a * variance_b).sqrt()
    } else {
        0.0
    }
}
