//! Running the Verilog tools.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use thiserror::Error;
use warpfile_gen::WriteError;

/// A tool could not do its work.
#[derive(Debug, Error)]
pub enum ToolError {
    /// The tool is not installed.
    #[error("`{tool}` is not installed; `scripts/test` installs it, or: apt-get install {package}")]
    Missing {
        /// The command.
        tool: String,
        /// Debian's package.
        package: &'static str,
    },
    /// The tool could not be started, or a folder for it could not be made.
    #[error("cannot run `{tool}`: {source}")]
    Start {
        /// The command.
        tool: String,
        /// Why.
        source: io::Error,
    },
    /// The tool ended with an error.
    #[error("`{tool}` failed on `{circuit}`:\n{output}")]
    Failed {
        /// The command.
        tool: String,
        /// The outermost module.
        circuit: String,
        /// What it printed.
        output: String,
    },
    /// The exported files could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file of a simulation could not be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl ToolError {
    /// A tool that ended with an error on a circuit.
    pub fn failed(tool: &str, circuit: &str, output: String) -> ToolError {
        ToolError::Failed { tool: tool.into(), circuit: circuit.into(), output }
    }
}

/// Runs `tool` (of Debian's `package`) in `folder`.
pub fn run(
    tool: &str,
    package: &'static str,
    arguments: &[&str],
    folder: &Path,
) -> Result<Output, ToolError> {
    Command::new(tool).args(arguments).current_dir(folder).output().map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => ToolError::Missing { tool: tool.into(), package },
        _ => ToolError::Start { tool: tool.into(), source },
    })
}

/// Everything a tool printed.
pub fn printed(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// An empty folder that goes away by itself.
pub fn scratch() -> Result<tempfile::TempDir, ToolError> {
    tempfile::tempdir().map_err(|source| ToolError::Start { tool: "a temporary folder".into(), source })
}

/// Writes a file of a simulation.
pub fn write_file(folder: &Path, name: &str, text: &str) -> Result<(), ToolError> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|source| ToolError::File { path, source })
}
