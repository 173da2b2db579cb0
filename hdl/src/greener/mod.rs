//! Registers that sleep: each row of a register file is ON, in SLEEP or OFF.
//!
//! Source: Jatala, "Hardware and Software Optimizations for GPU Resource Management", PhD thesis, IIT Kanpur, 2018, chapter 4.

mod lookup_table;
mod power_state_decoder;
mod register_power_unit;
mod sleep_transistors;
mod wake_up_controller;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::library::CircuitEntry;
use crate::rtl::{Circuit, ParameterError};

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

/// The circuits of this folder, for the library.
pub fn circuits() -> Vec<CircuitEntry> {
    // A scheduler's quarter of a file of 256 KB in 32 banks (Table 4.2).
    let file = Rows { banks: 8, rows: 64 };
    let one = json!({"banks": 1, "rows": 1});
    let uneven = json!({"banks": 3, "rows": 5});
    let lookup = LookupTable {
        warps: 16,
        entries: 2,
        operands: 7,
        register_bits: 6,
        number_bits: 8,
        enters: ENTERS,
        leaves: LEAVES,
        searches: 9,
    };
    vec![
        CircuitEntry::new(PowerStateDecoder { codes: CODES }).odd([json!({"codes": 1}), json!({"codes": 5})]),
        CircuitEntry::new(lookup).odd([
            json!({"warps": 1, "entries": 1, "operands": 1, "register_bits": 1, "number_bits": 2, "enters": 1,
                   "leaves": 1, "searches": 1}),
            json!({"warps": 3, "entries": 3, "operands": 2, "register_bits": 3, "number_bits": 3, "searches": 2}),
        ]),
        CircuitEntry::new(WakeUpController { file, sleep_latency: 1, off_latency: 2, rush_limit: 0 })
            .odd([
                json!({"file": one, "sleep_latency": 1, "off_latency": 1, "rush_limit": 1}),
                json!({"file": uneven, "sleep_latency": 3, "off_latency": 5, "rush_limit": 2}),
            ])
            .proven_at(json!({"file": {"banks": 1, "rows": 2}, "sleep_latency": 2, "off_latency": 3})),
        CircuitEntry::new(SleepTransistors { file }).odd([json!({"file": one}), json!({"file": uneven})]),
        CircuitEntry::new(RegisterPowerUnit {
            file,
            warps: 16,
            sleep_latency: 1,
            off_latency: 2,
            rush_limit: 0,
            accesses: 9,
            entries: 2,
            operands: 7,
            register_bits: 6,
            number_bits: 8,
        })
        .odd([
            json!({"file": one, "warps": 1, "accesses": 1, "entries": 0, "operands": 1, "register_bits": 1,
                   "number_bits": 2}),
            json!({"file": uneven, "warps": 3, "sleep_latency": 2, "off_latency": 3, "rush_limit": 1, "accesses": 3,
                   "entries": 1, "operands": 2, "register_bits": 3, "number_bits": 3}),
        ]),
    ]
}
