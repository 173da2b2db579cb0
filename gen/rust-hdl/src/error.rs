//! Why a circuit does not fit a block.

use thiserror::Error;
use warpfile_engine::EngineError;
use warpfile_hdl::rtl::ElaborationErrors;

/// Why a circuit cannot be had as a block.
#[derive(Debug, Error)]
pub enum BridgeError {
    /// The circuit does not elaborate.
    #[error(transparent)]
    Elaboration(#[from] ElaborationErrors),
    /// The engine does not run it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A port of the circuit is not declared.
    #[error("{module} has {direction}s that are not declared: {}", ports.join(", "))]
    Undeclared {
        /// The circuit's module.
        module: String,
        /// `input` or `output`.
        direction: &'static str,
        /// The ports, with their types.
        ports: Vec<String>,
    },
    /// A declared port does not exist.
    #[error("{module} has no {direction} `{port}`; it has: {}", known.join(", "))]
    Unknown {
        /// The circuit's module.
        module: String,
        /// `input` or `output`.
        direction: &'static str,
        /// What is declared.
        port: String,
        /// The ports there are.
        known: Vec<String>,
    },
    /// A port has another width.
    #[error("{module}: `{port}` is declared with {declared} bits and has {width}")]
    Width {
        /// The circuit's module.
        module: String,
        /// The port.
        port: String,
        /// Bits of the declared type.
        declared: usize,
        /// Bits of the port.
        width: u32,
    },
}
