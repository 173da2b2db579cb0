//! Registers that sleep: each row of a register file is ON, in SLEEP or OFF.
//!
//! Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", PhD thesis, IIT Kanpur, 2018, chapter 4.

mod circuits;
mod lookup_table;
mod power_state_decoder;
mod register_power_unit;
mod sleep_transistors;
mod wake_up_controller;

use serde::{Deserialize, Serialize};

use crate::rtl::{Circuit, ParameterError};

pub use circuits::FOLDER;
pub use lookup_table::{EnterIo, LeaveIo, LookupTable, LookupTableIo, SearchIo};
pub use power_state_decoder::{PowerStateDecoder, PowerStateDecoderIo};
pub use register_power_unit::{AccessIo, AccessorIo, ENTERS, LEAVES, RegisterPowerUnit, RegisterPowerUnitIo};
pub use sleep_transistors::{SleepTransistors, SleepTransistorsIo};
pub use wake_up_controller::{WakeUpController, WakeUpControllerIo};

/// Power state of a row, and its code in an instruction (§4.1.1, §4.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PowerState {
    /// Its value is lost.
    Off,
    /// It keeps its value and cannot be accessed.
    Sleep,
    /// It can be accessed.
    On,
}

/// Bits of a power state (§4.2.2).
pub const STATE_BITS: usize = 2;
/// Codes of an instruction: of one destination and two sources (§4.2.2).
pub const CODES: usize = 3;
/// The highest state.
const ON: u64 = PowerState::On as u64;

/// The rows of a register file, counted bank after bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// Banks, 1 to 32.
    pub banks: usize,
    /// Rows of a bank, 1 to 1024.
    pub rows: usize,
}

impl Rows {
    /// Of the file.
    pub fn rows_of_all(&self) -> usize {
        self.banks.saturating_mul(self.rows)
    }

    /// The place of a register among the rows: register r is in bank r mod banks.
    pub fn place(&self, register: usize) -> usize {
        register % self.banks * self.rows + register / self.banks
    }

    fn validate<C: Circuit>(&self) -> Result<(), ParameterError> {
        C::check_range("file.banks", self.banks, 1..=32)?;
        C::check_range("file.rows", self.rows, 1..=1024)
    }
}
