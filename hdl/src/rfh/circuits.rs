//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::RegisterFileHierarchy;
use crate::library::{CircuitEntry, Folder, Testbench};
use crate::regfile::Geometry;

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "rfh",
    circuits,
    testbenches: &[
        Testbench { circuit: "upper_register_files", tests: &["register_file_hierarchy"] },
        Testbench { circuit: "register_file_hierarchy", tests: &["register_file_hierarchy"] },
    ],
};

fn circuits() -> Vec<CircuitEntry> {
    let one_lane = json!({"banks": 1, "rows": 5, "lanes": 1, "lanes_per_cluster": 1});
    let uneven = json!({"banks": 2, "rows": 7, "lanes": 6, "lanes_per_cluster": 3});
    let two_rows = json!({"banks": 1, "rows": 2, "lanes": 1, "lanes_per_cluster": 1});
    vec![
        CircuitEntry::new(RegisterFileHierarchy {
            geometry: Geometry { banks: 8, rows: 64, ..Geometry::GEBHART_2011 },
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            slots: 8,
            orf_entries: 3,
            issues: 2,
        })
        .odd([
            json!({"geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1, "slots": 1, "orf_entries": 1}),
            json!({"geometry": uneven, "collectors": 5, "access_cycles": 4, "slots": 5, "orf_entries": 4}),
            json!({"geometry": one_lane, "collectors": 3, "units": 2, "id_bits": 2, "slots": 2, "orf_entries": 2, "issues": 1}),
        ])
        .proven_at(json!({"geometry": two_rows, "collectors": 2, "units": 2, "id_bits": 1, "slots": 2, "orf_entries": 1})),

    ]
}
