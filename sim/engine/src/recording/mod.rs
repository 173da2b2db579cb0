//! What passes the ports of one circuit of a running design, every cycle, kept in a file and played again.
//!
//! A [`PortRecorder`] writes the file while the design runs; a [`Recording`] reads it cycle by cycle. Both hold one
//! cycle in memory, whatever the length. To play a recording, elaborate the circuit by itself
//! ([`Netlist::circuit_at`](warpfile_hdl::rtl::netlist::Netlist::circuit_at) gives it from the design's netlist), prepare
//! an engine of it and call [`Recording::replay`]: a recording begins with the first cycle after the design's reset,
//! where the engine begins. Whoever drives something else than an engine calls [`Recording::next_cycle`] and reads
//! [`Recording::words`] of [`RecordingHeader::inputs`].
//!
//! The file: lines of text, then bytes.
//!
//! ```text
//! warpfile recording 1
//! circuit fifo_8x32          the module's name: that of the circuit and its parameters
//! path register_file.queue   which of the design's circuits it is
//! input 1 rst_i              every port: direction, bits, name; the reset first
//! input 32 in_data_i
//! output 1 in_ready_o
//! cycles
//! ```
//!
//! Then, for every cycle, what changed since the cycle before (before the first all ports are 0): the number of ports
//! that changed; for each of them the number of unchanged ports skipped and its value, lowest byte first, in as many
//! bytes as its bits need. Cycles in a row in which nothing changes are a 0 and how many they are; a 0 and a 0 end the
//! file. Numbers are LEB128.

mod reader;
mod writer;

use std::io;

use thiserror::Error;
use warpfile_hdl::rtl::netlist::Direction;

use crate::EngineError;

pub use reader::Recording;
pub use writer::PortRecorder;

/// First line of a recording, without the version.
const MAGIC: &str = "warpfile recording ";
/// The version that is written and read.
const VERSION: &str = "1";
/// The line after which cycles begin.
const CYCLES: &str = "cycles";
/// The reset, the first of the ports.
const RESET: &str = "rst_i";

/// Which circuit was recorded, and its ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingHeader {
    /// Name of the module: of the circuit and its parameters.
    pub circuit: String,
    /// Where the circuit is in the design: `register_file.cache`.
    pub path: String,
    /// The reset `rst_i`, then the ports in the order of the circuit.
    pub ports: Vec<RecordedPort>,
}

/// A port of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPort {
    /// Name.
    pub name: String,
    /// Direction, seen from the circuit.
    pub direction: Direction,
    /// Bits.
    pub width: u32,
}

impl RecordingHeader {
    /// Index and port of every input but the reset, in the order of the circuit.
    pub fn inputs(&self) -> impl Iterator<Item = (usize, &RecordedPort)> {
        self.ports.iter().enumerate().skip(1).filter(|(_, port)| port.direction == Direction::Input)
    }

    /// Index and port of every output, in the order of the circuit.
    pub fn outputs(&self) -> impl Iterator<Item = (usize, &RecordedPort)> {
        self.ports.iter().enumerate().filter(|(_, port)| port.direction == Direction::Output)
    }
}

impl RecordedPort {
    /// Words of a value.
    fn words(&self) -> usize {
        self.width.div_ceil(64) as usize
    }

    /// Bytes of a value in the file.
    fn bytes(&self) -> usize {
        self.width.div_ceil(8) as usize
    }
}

/// Why a recording cannot be written, read or played.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// The file could not be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The first line is another one.
    #[error("not a recording of ports: it begins with `{found}`, accepted: `{MAGIC}{VERSION}`")]
    NotARecording {
        /// The beginning of the first line.
        found: String,
    },
    /// A line of the header is not understood.
    #[error("line {line} of the recording is `{found}`; accepted: {accepted}")]
    Header {
        /// Line, from 1.
        line: usize,
        /// The line.
        found: String,
        /// What it may be.
        accepted: &'static str,
    },
    /// A cycle cannot be decoded.
    #[error("the recording is damaged in cycle {cycle}: {problem}")]
    Damaged {
        /// Cycle, from 0.
        cycle: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// It is played on another circuit.
    #[error("the recording is of `{recorded}`, not of `{played}`")]
    OtherCircuit {
        /// The module recorded.
        recorded: String,
        /// The module it is played on.
        played: String,
    },
    /// The circuit is not there, or has no such port.
    #[error(transparent)]
    Engine(#[from] EngineError),
}
