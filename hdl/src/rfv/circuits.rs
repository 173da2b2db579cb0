//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::{RenameTable, VirtualRegisterFile};
use crate::library::{CircuitEntry, Folder, Testbench};
use crate::regfile::Geometry;

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "rfv",
    circuits,
    testbenches: &[
        Testbench { circuit: "rename_table", tests: &["rename_table"] },
        Testbench { circuit: "allocation_limiter", tests: &["allocation_limiter"] },
        Testbench { circuit: "virtual_register_file", tests: &["virtual_register_file"] },
    ],
};

fn circuits() -> Vec<CircuitEntry> {
    let one_lane = json!({"banks": 1, "rows": 5, "lanes": 1, "lanes_per_cluster": 1});
    let uneven = json!({"banks": 2, "rows": 7, "lanes": 6, "lanes_per_cluster": 3});
    let two_rows = json!({"banks": 1, "rows": 2, "lanes": 1, "lanes_per_cluster": 1});
    vec![
        CircuitEntry::new(RenameTable { names: 512, banks: 8, rows: 32, warps: 16, issues: 2 }).odd([
            json!({"names": 2, "banks": 1, "rows": 2, "warps": 1}),
            json!({"names": 5, "banks": 2, "rows": 2, "warps": 2, "issues": 1}),
            json!({"names": 21, "banks": 4, "rows": 3, "warps": 5}),
        ]),
        CircuitEntry::new(VirtualRegisterFile {
            names: 512,
            warps: 16,
            geometry: Geometry { banks: 8, rows: 32, ..Geometry::GEBHART_2011 },
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            issues: 2,
        })
        .odd([
            json!({"names": 7, "warps": 1, "geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1}),
            json!({"names": 33, "warps": 5, "geometry": uneven, "collectors": 3, "access_cycles": 4}),
            json!({"names": 7, "warps": 2, "geometry": one_lane, "collectors": 3, "units": 2, "id_bits": 2, "issues": 1}),
        ])
        .proven_at(json!({"names": 2, "warps": 1, "geometry": two_rows, "collectors": 2, "units": 1, "id_bits": 1})),

    ]
}
