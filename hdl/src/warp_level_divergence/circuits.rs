//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::RegisterSlots;
use crate::library::{CircuitEntry, Folder, Testbench};

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "warp_level_divergence",
    circuits,
    testbenches: &[Testbench { circuit: "register_slots", tests: &["register_slots"] }],
};

/// One scheduler's half of 48 warps (Jatala, Table 2.3).
fn circuits() -> Vec<CircuitEntry> {
    vec![
        CircuitEntry::new(RegisterSlots { warps: 24 })
            .odd([json!({"warps": 1}), json!({"warps": 5})])
            .proven_at(json!({"warps": 3})),
    ]
}
