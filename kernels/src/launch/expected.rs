//! Whether the results of a run are as expected.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::compare::{CheckReport, Mismatch, compare};
use super::error::LaunchError;
use super::fill::read_elements;
use super::sequence::{HostMemory, Sequence};

/// Why the results of a run are not as they should be.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A result is wrong.
    #[error("{}: {mismatch}", launch_file.display())]
    Mismatch {
        /// The launch file.
        launch_file: PathBuf,
        /// Where, what was expected and what was found.
        mismatch: Box<Mismatch>,
    },
    /// Expected or found contents could not be had.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

/// Compares result buffers with their expected contents, after the last launch of `sequence`. Buffers that
/// `expected` leaves out are not compared and not counted.
pub fn check_results(
    sequence: &Sequence,
    memory: &dyn HostMemory,
    expected: &BTreeMap<String, Vec<u8>>,
) -> Result<CheckReport, CheckError> {
    let mut report = CheckReport::default();
    for (index, buffer) in sequence.file().buffers.iter().enumerate() {
        let (Some(result), Some(expected)) = (&buffer.result, expected.get(&buffer.name)) else {
            continue;
        };
        let found = memory.read(sequence.bound(index)).map_err(|message| buffer.origin.error(message))?;
        let elements =
            compare(&buffer.name, buffer.element, result.tolerance, expected, found).map_err(|mismatch| {
                CheckError::Mismatch { launch_file: sequence.file().path.clone(), mismatch }
            })?;
        report.add(elements);
    }
    Ok(report)
}

/// The expected contents that the launch file names files of, by buffer.
pub fn expected_files(sequence: &Sequence) -> Result<BTreeMap<String, Vec<u8>>, LaunchError> {
    let file = sequence.file();
    let mut expected = BTreeMap::new();
    for (buffer, &length) in file.buffers.iter().zip(sequence.lengths()) {
        if let Some(named) = buffer.result.as_ref().and_then(|result| result.expected.as_ref()) {
            let path = file.folder().join(named);
            let bytes = read_elements(&path, buffer.element, length, &buffer.origin)?;
            expected.insert(buffer.name.clone(), bytes);
        }
    }
    Ok(expected)
}
