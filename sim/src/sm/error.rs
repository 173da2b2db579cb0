//! Why a run ends early.

use warpfile_engine::recording::RecordingError;
use warpfile_engine::waveform::WaveformError;
use warpfile_engine::{EngineError, MissingReset};
use warpfile_kernels::program::StreamError;

use crate::config::{Config, ConfigError};

/// Why a run ended without a report.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The kernel's instructions could not be produced.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// A block needs more than the SM has.
    #[error(
        "kernel {kernel}: a block needs {needed} {resource}, the SM has {available} ({parameter}); \
         use a smaller block or raise the parameter{remedy}"
    )]
    BlockDoesNotFit {
        /// Kernel.
        kernel: String,
        /// What is short, in the plural.
        resource: &'static str,
        /// What one block needs.
        needed: u64,
        /// What the SM has.
        available: u64,
        /// Parameter that says so.
        parameter: &'static str,
        /// What else would do, if something would.
        remedy: String,
    },
    /// A mechanism cannot run the program.
    #[error("{0}")]
    Mechanism(Box<dyn std::error::Error + Send + Sync>),
    /// A program breaks the contract of [`warpfile_kernels::program`].
    #[error("kernel {kernel}, instruction {pc:#x} ({text}): {problem}")]
    BadInstruction {
        /// Kernel.
        kernel: String,
        /// Address.
        pc: u32,
        /// As printed in listings.
        text: String,
        /// What is wrong, and what would be accepted.
        problem: String,
    },
    /// A stream names an instruction that its program does not have.
    #[error("kernel {kernel}, block {block}, warp {warp}: instruction {index} of {count}")]
    NoSuchInstruction {
        /// Kernel.
        kernel: String,
        /// Block of the launch.
        block: u64,
        /// Warp of the block.
        warp: usize,
        /// Position asked for.
        index: u32,
        /// Instructions of the program.
        count: usize,
    },
    /// An operand that the design delivered, or a result that it answered with, differs from the kernel's value.
    #[error(transparent)]
    WrongOperand(Box<WrongOperand>),
    /// Nothing happened for too long.
    #[error("no progress for {cycles} cycles (sm.watchdog_cycles), at cycle {at}; waiting: {waiting}")]
    NoProgress {
        /// Cycles without progress.
        cycles: u64,
        /// Cycle of the run.
        at: u64,
        /// The warps that wait, with the instruction and the reason.
        waiting: String,
    },
    /// An SM is to be run that is not simulated.
    #[error("SM {sm}; there are {simulated_sms} (chip.simulated_sms), numbered from 0")]
    NoSuchSm {
        /// As asked for.
        sm: u64,
        /// SMs simulated.
        simulated_sms: u64,
    },
    /// A circuit could not be built, or did what it must not.
    #[error("design {design}: {problem}")]
    Circuit {
        /// Design.
        design: String,
        /// What is wrong.
        problem: String,
    },
    /// An output of a circuit depends on what state without a reset was filled with ([`RunOptions::check_seeds`]).
    ///
    /// [`RunOptions::check_seeds`]: super::RunOptions::check_seeds
    #[error("design {design}, circuit {circuit}: {missing}")]
    MissingReset {
        /// Design.
        design: String,
        /// The circuit, as in waveforms.
        circuit: String,
        /// Its output.
        missing: Box<MissingReset>,
    },
    /// The pipeline log could not be written.
    #[error("pipeline log: {0}")]
    PipelineLog(std::io::Error),
    /// The waveform could not be written.
    #[error("waveform: {0}")]
    Waveform(#[from] WaveformError),
    /// The traffic at a circuit's ports could not be recorded.
    #[error("recording: {0}")]
    Recording(#[from] RecordingError),
    /// A circuit does not have a port that the harness drives.
    #[error("design {design}: {source}")]
    Port {
        /// Design.
        design: String,
        /// Port and circuit.
        source: EngineError,
    },
}

impl SimError {
    /// A circuit of the configuration's design that could not be built.
    pub fn circuit(config: &Config, problem: impl std::fmt::Display) -> SimError {
        SimError::Circuit { design: config.design.to_string(), problem: problem.to_string() }
    }

    /// A mechanism's own reason not to run a program.
    pub fn mechanism(problem: impl std::error::Error + Send + Sync + 'static) -> SimError {
        SimError::Mechanism(Box::new(problem))
    }
}

/// What a design gives and the kernel has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// An operand that it has delivered.
    Operand,
    /// A result that it has answered an instruction with.
    Result,
}

impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Compared::Operand => "operand",
            Compared::Result => "result",
        })
    }
}

/// The first wrong operand of a run, or the first wrong result of an instruction that is answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "wrong {compared} in cycle {cycle}: kernel {kernel}, block {block}, warp {warp}, instruction {pc:#x} \
     ({text}), register R{register}, lane {lane}: expected {expected:#010x}, found {found:#010x}"
)]
pub struct WrongOperand {
    /// What has been compared.
    pub compared: Compared,
    /// Cycle of the run in which the operand was delivered.
    pub cycle: u64,
    /// Kernel.
    pub kernel: String,
    /// Block of the launch.
    pub block: u64,
    /// Warp of the block.
    pub warp: usize,
    /// Address of the instruction.
    pub pc: u32,
    /// The instruction as printed in listings.
    pub text: String,
    /// Register of the thread.
    pub register: u16,
    /// Lane.
    pub lane: usize,
    /// The kernel's value.
    pub expected: u32,
    /// What the design delivered.
    pub found: u32,
}
