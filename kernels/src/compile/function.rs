//! What dataflow needs to know of a function, whatever it is made of.
//!
//! PTX over virtual registers, machine code over physical registers, and a trace's instructions over the
//! registers it names all become a [`Function`]; liveness, soft definitions and suspension marks are computed
//! on it alone.

use super::cfg::Cfg;

/// Instructions with their control flow. Registers are numbers below `registers`.
#[derive(Clone, Debug)]
pub struct Function {
    /// Control flow.
    pub cfg: Cfg,
    /// One for each instruction of the graph.
    pub instructions: Vec<Access>,
    /// Bound of the register numbers.
    pub registers: usize,
}

/// What an instruction reads and writes, and how it bears on the warp that executes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Registers read.
    pub uses: Vec<u32>,
    /// Registers written.
    pub definitions: Vec<Definition>,
    /// A branch at which lanes of a warp may go different ways.
    pub may_diverge: bool,
    /// Its results arrive after a long, unpredictable time.
    pub long_latency: bool,
    /// Its warp waits here for others.
    pub barrier: bool,
}

/// A register that an instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The register.
    pub register: u32,
    /// Lanes switched off by a guard keep their old value, so the definition does not end its life.
    pub guarded: bool,
}

impl Access {
    /// Whether it writes `register`.
    pub fn defines(&self, register: u32) -> bool {
        self.definitions.iter().any(|definition| definition.register == register)
    }
}
