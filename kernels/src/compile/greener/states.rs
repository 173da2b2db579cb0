//! Power states of registers, and where an instruction holds them.

use serde::{Deserialize, Serialize};

use crate::program::{MAX_RESULTS, MAX_SOURCES};

/// Power state of a register (thesis §4.1.1). Its value is its code in an instruction, and in the circuits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum PowerState {
    /// Loses its value.
    Off = 0,
    /// Keeps its value at low leakage.
    #[default]
    Sleep = 1,
    /// Can be accessed.
    On = 2,
}

impl PowerState {
    /// As the listing of Fig. 4.3 has it.
    pub fn as_str(self) -> &'static str {
        match self {
            PowerState::Off => "OFF",
            PowerState::Sleep => "SLEEP",
            PowerState::On => "ON",
        }
    }
}

/// Codes of an instruction: one destination and two sources (§4.2.2).
pub const CODES: usize = 3;
/// Bits of each.
pub const CODE_BITS: usize = 2;

/// What an instruction says of the registers that it accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Codes {
    /// States after the instruction: of the destination, of the first source, of the second.
    pub codes: [PowerState; CODES],
    /// Which of [`codes`](Codes::codes) each register that is read takes; `None`: it has no code.
    pub sources: [Option<u8>; MAX_SOURCES],
    /// The same of the registers that are written.
    pub results: [Option<u8>; MAX_RESULTS],
}

impl Codes {
    /// State of a register that is read, once it has been read.
    pub fn source(&self, index: usize) -> PowerState {
        self.state(self.sources[index])
    }

    /// State of a register that is written, once it has been written.
    pub fn result(&self, index: usize) -> PowerState {
        self.state(self.results[index])
    }

    /// "Power_State of the remaining registers is assumed to be SLEEP" (§4.2.2).
    fn state(&self, code: Option<u8>) -> PowerState {
        code.map_or(PowerState::Sleep, |code| self.codes[usize::from(code)])
    }

    /// The bits of the instruction: the destination's code lowest.
    pub fn bits(&self) -> u64 {
        self.codes.iter().rev().fold(0, |bits, &code| bits << CODE_BITS | code as u64)
    }

    /// The states that it holds, in the order of Fig. 4.3: destination, sources.
    pub fn listed(&self) -> impl Iterator<Item = PowerState> + '_ {
        let is_taken = |code: u8| self.sources.contains(&Some(code)) || self.results.contains(&Some(code));
        (0..CODES as u8).filter(move |&code| is_taken(code)).map(|code| self.codes[usize::from(code)])
    }
}

/// The power states of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowerStates {
    /// What each instruction says.
    pub instructions: Vec<Codes>,
}
