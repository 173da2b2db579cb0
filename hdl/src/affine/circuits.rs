//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::{AffineDetector, TupleTable};
use crate::library::{CircuitEntry, Folder, Testbench};
use crate::regfile::SOURCES;

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "affine",
    circuits,
    testbenches: &[
        Testbench { circuit: "affine_detector", tests: &["affine_detector"] },
        Testbench { circuit: "tuple_table", tests: &["tuple_table"] },
    ],
};

/// Of one of the SM's two schedulers (Kim & Ro, WIR, Table II): half the registers, results of short and of long operations.
fn circuits() -> Vec<CircuitEntry> {
    vec![
        CircuitEntry::new(AffineDetector { lanes: 32, values: 2 })
            .odd([json!({"lanes": 3, "values": 1}), json!({"lanes": 5, "values": 3})]),
        CircuitEntry::new(TupleTable { registers: 512, reads: SOURCES, writes: 2 })
            .odd([
                json!({"registers": 2, "reads": 1, "writes": 1}),
                json!({"registers": 11, "reads": 2, "writes": 3}),
            ])
            .proven_at(json!({"registers": 5, "reads": 2, "writes": 2})),
    ]
}
