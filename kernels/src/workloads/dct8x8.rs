//! The transforms as products with the matrix of cosines: in double precision, and in whole numbers with cosines in
//! units of 2^-13 where every product of a row or column is rounded.

use std::f64::consts::PI;
use std::ops::{Add, Mul};

use super::reference::{Inputs, Outputs};

const SIDE: usize = 8;
const FRACTION: i32 = 13;

type Matrix<T> = [[T; SIDE]; SIDE];

pub(super) fn reference(inputs: &Inputs) -> Outputs {
    let width = inputs.size("width");
    let cosines = cosines();
    let inverse = transposed(&cosines);
    let fixed = |matrix: &Matrix<f64>| {
        matrix.map(|row| row.map(|cosine| (cosine * f64::from(1 << FRACTION)).round() as i32))
    };
    let rounded = |sum: i32| (sum + (1 << (FRACTION - 1))) >> FRACTION;
    let image: Vec<i32> = inputs.shorts("image_short").into_iter().map(i32::from).collect();
    let spectrum_short = by_tiles(&image, width, &fixed(&cosines), rounded);
    let restored_short = by_tiles(&spectrum_short, width, &fixed(&inverse), rounded);
    in_single_precision(inputs)
        .shorts("spectrum_short", &spectrum_short)
        .shorts("restored_short", &restored_short)
}

/// The transform and its inverse, as the kernels in single precision have them.
pub(super) fn in_single_precision(inputs: &Inputs) -> Outputs {
    let spectrum = spectrum(inputs);
    let restored = by_tiles(&spectrum, inputs.size("width"), &transposed(&cosines()), |sum| sum);
    Outputs::default().doubles("spectrum", &spectrum).doubles("restored", &restored)
}

/// The transform alone.
pub(super) fn spectrum_alone(inputs: &Inputs) -> Outputs {
    Outputs::default().doubles("spectrum", &spectrum(inputs))
}

fn spectrum(inputs: &Inputs) -> Vec<f64> {
    by_tiles(&inputs.doubles("image"), inputs.size("width"), &cosines(), |sum| sum)
}

/// Rows are the orthonormal functions of the DCT-II.
fn cosines() -> Matrix<f64> {
    std::array::from_fn(|k| {
        std::array::from_fn(|n| {
            let scale = if k == 0 { 0.5_f64.sqrt() } else { 1.0 };
            0.5 * scale * ((2 * n + 1) as f64 * k as f64 * PI / 16.0).cos()
        })
    })
}

fn transposed<T: Copy>(matrix: &Matrix<T>) -> Matrix<T> {
    std::array::from_fn(|i| std::array::from_fn(|j| matrix[j][i]))
}

/// Every tile's rows, then its columns, multiplied by the matrix; `round` is what becomes of each sum.
fn by_tiles<T>(image: &[T], width: usize, matrix: &Matrix<T>, round: impl Fn(T) -> T) -> Vec<T>
where
    T: Copy + Default + Add<Output = T> + Mul<Output = T>,
{
    let product = |line: &[T; SIDE]| -> [T; SIDE] {
        matrix.map(|row| {
            round(row.iter().zip(line).fold(T::default(), |sum, (&factor, &value)| sum + factor * value))
        })
    };
    let mut result = image.to_vec();
    for corner in (0..image.len()).filter(|cell| cell % SIDE == 0 && (cell / width).is_multiple_of(SIDE)) {
        let tile: Matrix<T> = std::array::from_fn(|y| std::array::from_fn(|x| image[corner + y * width + x]));
        let by_rows = tile.map(|row| product(&row));
        let by_columns = transposed(&transposed(&by_rows).map(|column| product(&column)));
        for (y, row) in by_columns.iter().enumerate() {
            result[corner + y * width..][..SIDE].copy_from_slice(row);
        }
    }
    result
}
