//! Files that appear under their name only once they are complete.

use super::TraceError;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that is being written, under a name of its own until [`OutputFile::publish`]; removed if that never comes.
pub(super) struct OutputFile {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    published: bool,
}

impl OutputFile {
    /// Starts a file that will be called `path`.
    ///
    /// # Errors
    /// It cannot be created.
    pub fn create(path: &Path) -> Result<OutputFile, TraceError> {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".partial");
        let partial = path.with_file_name(name);
        let file = File::create(&partial).map_err(|error| TraceError::file(&partial, error))?;
        let file = BufWriter::new(file);
        Ok(OutputFile { path: path.to_path_buf(), partial, file, published: false })
    }

    /// Gives the complete file its name.
    ///
    /// # Errors
    /// The rest of it cannot be written, or it cannot be renamed.
    pub fn publish(&mut self) -> Result<(), TraceError> {
        (self.file.flush())
            .and_then(|()| fs::rename(&self.partial, &self.path))
            .map_err(|error| TraceError::file(&self.path, error))?;
        self.published = true;
        Ok(())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if !self.published {
            // Nothing more can be done about a partial file that cannot be removed.
            fs::remove_file(&self.partial).ok();
        }
    }
}
