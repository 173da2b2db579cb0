//! Comparison of result buffers with what is expected.

use std::fmt;

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

/// The elements of a result that are not as expected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Mismatch {
    /// The buffer's name.
    pub buffer: String,
    /// How far its elements may be off; integers are equal whatever it says.
    pub tolerance: Tolerance,
    /// Elements of the buffer that are not as expected.
    pub wrong: usize,
    /// Elements of the buffer.
    pub elements: usize,
    /// The first of those that are not as expected, [`SHOWN`] at most.
    pub first: Vec<Difference>,
    /// The one that is off by most.
    pub worst: Difference,
}

/// Elements that a [`Mismatch`] shows.
pub const SHOWN: usize = 5;

/// An element that is not as expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Its index.
    pub index: usize,
    /// What was expected.
    pub expected: Number,
    /// What was found.
    pub found: Number,
}

impl Difference {
    /// How far it is off; infinitely where one of both is no number.
    fn distance(&self) -> f64 {
        let distance = match (self.expected, self.found) {
            (Number::Integer(expected), Number::Integer(found)) => expected.abs_diff(found) as f64,
            (Number::Float(expected), Number::Float(found)) => (expected - found).abs(),
            (Number::Integer(_), Number::Float(_)) | (Number::Float(_), Number::Integer(_)) => f64::INFINITY,
        };
        if distance.is_nan() { f64::INFINITY } else { distance }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "element {}: expected {}, found {}", self.index, self.expected, self.found)
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { buffer, tolerance, wrong, elements, first, worst } = self;
        write!(f, "buffer `{buffer}`: {wrong} of {elements} elements differ{}", allowed(*tolerance, worst))?;
        for difference in first {
            write!(f, "\n  {difference}")?;
        }
        if *wrong > first.len() {
            write!(f, "\n  and {} more", wrong - first.len())?;
        }
        if *wrong > 1 {
            write!(f, "\n  off by most: {worst}")?;
        }
        Ok(())
    }
}

/// ` by more than 1e-6 and 1e-5 of what is expected`; nothing where elements are to be equal.
fn allowed(Tolerance { absolute, relative }: Tolerance, of: &Difference) -> String {
    if matches!(of.expected, Number::Integer(_)) {
        return String::new();
    }
    let relative = (relative > 0.0).then(|| format!("{relative:?} of what is expected"));
    let absolute = (absolute > 0.0).then(|| format!("{absolute:?}"));
    let bounds: Vec<String> = absolute.into_iter().chain(relative).collect();
    if bounds.is_empty() { String::new() } else { format!(" by more than {}", bounds.join(" and ")) }
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
    let (mut wrong, mut first, mut worst) = (0, Vec::new(), None);
    for (index, (expected, found)) in pairs.enumerate() {
        let difference = Difference { index, expected: element.read(expected), found: element.read(found) };
        if tolerance.accepts(difference.expected, difference.found) {
            continue;
        }
        wrong += 1;
        if first.len() < SHOWN {
            first.push(difference);
        }
        if worst.is_none_or(|worst: Difference| worst.distance() < difference.distance()) {
            worst = Some(difference);
        }
    }
    let elements = expected.len() / size;
    match worst {
        None => Ok(elements as u64),
        Some(worst) => {
            let buffer = buffer.to_string();
            Err(Box::new(Mismatch { buffer, tolerance, wrong, elements, first, worst }))
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
        assert_eq!((mismatch.worst.index, mismatch.wrong, mismatch.elements), (0, 1, 1));
        let told = "buffer `x`: 1 of 1 elements differ by more than 0.001 of what is expected\n  \
                    element 0: expected 1000.0, found 1001.0999755859375";
        assert_eq!(mismatch.to_string(), told);
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
    fn the_first_wrong_elements_and_the_worst_are_named() {
        let expected: Vec<u8> = (0..10).collect();
        let found = [1, 1, 3, 3, 5, 5, 7, 7, 18, 10];
        let mismatch = compare("bytes", ElementType::U8, Tolerance::EXACT, &expected, &found).unwrap_err();
        assert_eq!(
            mismatch.to_string(),
            "buffer `bytes`: 6 of 10 elements differ\n  element 0: expected 0, found 1\n  \
             element 2: expected 2, found 3\n  element 4: expected 4, found 5\n  \
             element 6: expected 6, found 7\n  element 8: expected 8, found 18\n  and 1 more\n  \
             off by most: element 8: expected 8, found 18"
        );
    }

    #[test]
    fn what_is_no_number_is_off_by_most() {
        let bytes = |values: [f32; 3]| values.map(f32::to_le_bytes).concat();
        let found = bytes([1e30, f32::NAN, 0.0]);
        let mismatch =
            compare("x", ElementType::F32, Tolerance::EXACT, &bytes([0.0; 3]), &found).unwrap_err();
        assert_eq!((mismatch.worst.index, mismatch.wrong), (1, 2));
    }
}
