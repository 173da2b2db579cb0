//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::{
    CODES, ENTERS, LEAVES, LookupTable, PowerStateDecoder, RegisterPowerUnit, Rows, SleepTransistors,
    WakeUpController,
};
use crate::library::{CircuitEntry, Folder, Testbench};

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "greener",
    circuits,
    testbenches: &[
        Testbench { circuit: "power_state_decoder", tests: &["power_state_decoder"] },
        Testbench { circuit: "lookup_table", tests: &["lookup_table"] },
        Testbench { circuit: "wake_up_controller", tests: &["wake_up_controller"] },
        Testbench { circuit: "sleep_transistors", tests: &["sleep_transistors"] },
        Testbench { circuit: "register_power_unit", tests: &["register_power_unit"] },
    ],
};

fn circuits() -> Vec<CircuitEntry> {
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
        ])
        .proven_at(json!({"warps": 2, "entries": 2, "operands": 2, "register_bits": 2, "number_bits": 3, "leaves": 2, "searches": 2})),
        CircuitEntry::new(WakeUpController { file, sleep_latency: 1, off_latency: 2, rush_limit: 0 })
            .odd([
                json!({"file": one, "sleep_latency": 1, "off_latency": 1, "rush_limit": 1}),
                json!({"file": uneven, "sleep_latency": 3, "off_latency": 5, "rush_limit": 2}),
            ])
            .proven_at(json!({"file": {"banks": 1, "rows": 2}, "sleep_latency": 2, "off_latency": 3})),
        CircuitEntry::new(SleepTransistors { file })
            .odd([json!({"file": one}), json!({"file": uneven})])
            .proven_at(json!({"file": {"banks": 2, "rows": 2}})),
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
        ])
        .proven_at(json!({"file": {"banks": 2, "rows": 2}, "warps": 2, "accesses": 2, "entries": 1, "operands": 2,
                          "register_bits": 1, "number_bits": 3})),
    ]
}
