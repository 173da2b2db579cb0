//! Why a kernel could not be executed.

use crate::ptx::ir::Kernel;

use super::memory::MemoryError;

/// Why a kernel could not be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecError {
    /// The launch does not fit the kernel.
    #[error("kernel `{kernel}`: {message}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// What was found and what is accepted.
        message: String,
    },
    /// An instruction failed in some lane.
    #[error("kernel `{kernel}`, line {line}, `{instruction}`, block {block:?}, thread {thread}: {message}")]
    Fault {
        /// The kernel.
        kernel: String,
        /// Line of the PTX file.
        line: u32,
        /// Its text.
        instruction: String,
        /// The block.
        block: [u32; 3],
        /// The thread, and where it is in its warp.
        thread: String,
        /// What was found and what is accepted.
        message: String,
    },
    /// Some warps wait at a barrier that the others never reach.
    #[error("kernel `{kernel}`, block {block:?}: no warp can go on; {waiting}")]
    Deadlock {
        /// The kernel.
        kernel: String,
        /// The block.
        block: [u32; 3],
        /// Which warps wait where.
        waiting: String,
    },
    /// The instruction limit was reached.
    #[error(
        "kernel `{kernel}`, block {block:?}: more than {limit} warp instructions in one block, the last on line \
         {line}; accepted: kernels that end, and do not wait for later blocks (or a higher exec.max_warp_instructions)"
    )]
    Endless {
        /// The kernel.
        kernel: String,
        /// The block.
        block: [u32; 3],
        /// The limit.
        limit: u64,
        /// Line of the instruction that reached it.
        line: u32,
    },
    /// Device memory.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Whoever saw the instructions cannot go on.
    #[error("{0}")]
    Observer(String),
}

impl ExecError {
    /// A launch that does not fit.
    pub(super) fn launch(kernel: &Kernel, message: impl Into<String>) -> ExecError {
        ExecError::Launch { kernel: kernel.name.clone(), message: message.into() }
    }
}

/// What went wrong in a lane, before it is known whose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Trouble {
    pub(super) lane: usize,
    pub(super) message: String,
}
