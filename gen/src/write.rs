//! Writing the files of a circuit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::Files;

/// A generated file could not be written.
#[derive(Debug, Error)]
pub enum WriteError {
    /// The folder could not be made.
    #[error("cannot create folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file could not be written or put in place.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Writes all files into `folder`, which is made if missing, and gives their paths.
///
/// Every file is written under a temporary name first, and all are renamed once all are written: a full disk
/// leaves no half of a circuit.
pub fn write(files: &Files, folder: &Path) -> Result<Vec<PathBuf>, WriteError> {
    fs::create_dir_all(folder).map_err(|source| WriteError::Folder { path: folder.into(), source })?;
    let staged: Vec<(PathBuf, PathBuf)> = files
        .all()
        .map(|file| (folder.join(format!(".{}.{}", file.name, std::process::id())), folder.join(&file.name)))
        .collect();
    let result = stage(files, &staged);
    if result.is_err() {
        for (temporary, _) in &staged {
            // What was not written cannot be removed; the first error is the one to report.
            let _ = fs::remove_file(temporary);
        }
    }
    result.map(|()| staged.into_iter().map(|(_, path)| path).collect())
}

fn stage(files: &Files, staged: &[(PathBuf, PathBuf)]) -> Result<(), WriteError> {
    for (file, (temporary, path)) in files.all().zip(staged) {
        fs::write(temporary, &file.text).map_err(|source| WriteError::File { path: path.clone(), source })?;
    }
    for (temporary, path) in staged {
        fs::rename(temporary, path).map_err(|source| WriteError::File { path: path.clone(), source })?;
    }
    Ok(())
}
