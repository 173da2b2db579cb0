//! Comparison of result buffers with what is expected.

use super::element::{ElementType, Number};

/// How far a floating-point result may be off: by `absolute`, or by `relative` times the expected magnitude.
/// Integers must be equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// In the units of the value.
    pub absolute: f64,
    /// As a fraction of the expected value.
    pub relative: f64,
}

impl Tolerance {
    /// Equality.
    pub const EXACT: Tolerance = Tolerance { absolute: 0.0, relative: 0.0 };

    fn accepts(self, expected: Number, found: Number) -> bool {
        match (expected, found) {
            (Number::Float(expected), Number::Float(found)) => {
                let bound = self.absolute.max(self.relative * expected.abs());
                expected == found
                    || (expected.is_nan() && found.is_nan())
                    || (expected.is_finite() && (expected - found).abs() <= bound)
            }
            (Number::Integer(_), _) | (_, Number::Integer(_)) => expected == found,
        }
    }
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Buffers compared.
    pub buffers: usize,
    /// Elements compared.
    pub elements: u64,
}

impl CheckReport {
    /// Counts one more buffer.
    pub fn add(&mut self, elements: u64) {
        self.buffers += 1;
        self.elements += elements;
    }
}

/// The first element of a result that is not as expected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "buffer `{buffer}`, element {index}: expected {expected}, found {found} ({wrong} of {elements} elements differ)"
)]
pub struct Mismatch {
    /// The buffer's name.
    pub buffer: String,
    /// Index of the element.
    pub index: usize,
    /// What was expected there.
    pub expected: Number,
    /// What was found there.
    pub found: Number,
    /// Elements of the buffer that are not as expected.
    pub wrong: usize,
    /// Elements of the buffer.
    pub elements: usize,
}

/// Compares little-endian elements; `expected` and `found` have the same length.
pub fn compare(
    buffer: &str,
    element: ElementType,
    tolerance: Tolerance,
    expected: &[u8],
    found: &[u8],
) -> Result<u64, Box<Mismatch>> {
    assert_eq!(expected.len(), found.len(), "lengths of what is compared for buffer {buffer}");
    let size = element.bytes();
    let pairs = expected.chunks_exact(size).zip(found.chunks_exact(size));
    let mut first = None;
    let mut wrong = 0;
    for (index, (expected, found)) in pairs.enumerate() {
        let (expected, found) = (element.read(expected), element.read(found));
        if !tolerance.accepts(expected, found) {
            wrong += 1;
            first.get_or_insert((index, expected, found));
        }
    }
    let elements = expected.len() / size;
    match first {
        None => Ok(elements as u64),
        Some((index, expected, found)) => {
            Err(Box::new(Mismatch { buffer: buffer.to_string(), index, expected, found, wrong, elements }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare_floats(tolerance: Tolerance, expected: f32, found: f32) -> Result<u64, Box<Mismatch>> {
        compare("x", ElementType::F32, tolerance, &expected.to_le_bytes(), &found.to_le_bytes())
    }

    #[test]
    fn a_result_within_the_tolerance_passes_and_one_beyond_it_does_not() {
        let tolerance = Tolerance { absolute: 0.0, relative: 1e-3 };
        assert_eq!(compare_floats(tolerance, 1000.0, 1000.9), Ok(1));
        let mismatch = compare_floats(tolerance, 1000.0, 1001.1).unwrap_err();
        assert_eq!((mismatch.index, mismatch.wrong, mismatch.elements), (0, 1, 1));
    }

    #[test]
    fn an_unexpected_nan_or_infinity_never_passes() {
        let wide = Tolerance { absolute: f64::MAX, relative: 1.0 };
        assert!(compare_floats(wide, 1.0, f32::NAN).is_err());
        assert!(compare_floats(wide, f32::INFINITY, 1.0).is_err());
        assert!(compare_floats(wide, 1.0, f32::INFINITY).is_err());
        assert!(compare_floats(Tolerance::EXACT, f32::NAN, f32::NAN).is_ok());
    }

    #[test]
    fn the_first_wrong_element_is_named() {
        let found = [1u8, 2, 9, 4, 9];
        let mismatch =
            compare("bytes", ElementType::U8, Tolerance::EXACT, &[1, 2, 3, 4, 5], &found).unwrap_err();
        assert_eq!(
            mismatch.to_string(),
            "buffer `bytes`, element 2: expected 3, found 9 (2 of 5 elements differ)"
        );
    }
}
