//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::{Fifo, RoundRobinArbiter};
use crate::library::{CircuitEntry, Folder, Testbench};

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "parts",
    circuits,
    testbenches: &[
        Testbench { circuit: "round_robin_arbiter", tests: &["arbiter"] },
        Testbench { circuit: "fifo", tests: &["fifo"] },
    ],
};

fn circuits() -> Vec<CircuitEntry> {
    vec![
        CircuitEntry::new(RoundRobinArbiter { requests: 4 })
            .odd([json!({"requests": 1}), json!({"requests": 5})])
            .proven_at(json!({"requests": 5})),
        CircuitEntry::new(Fifo { depth: 8, width: 32 })
            .odd([json!({"depth": 5, "width": 1}), json!({"depth": 1, "width": 65})]),
    ]
}
