//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::{RegisterReuseCache, ReuseCollectors, ReuseRegisterFile};
use crate::library::{CircuitEntry, Folder, Testbench};
use crate::regfile::Geometry;

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "reuse",
    circuits,
    testbenches: &[
        Testbench {
            circuit: "register_reuse_cache",
            tests: &["register_reuse_cache", "reuse_register_file"],
        },
        Testbench { circuit: "reuse_collectors", tests: &["reuse_collectors", "reuse_register_file"] },
        Testbench { circuit: "reuse_register_file", tests: &["reuse_register_file"] },
    ],
};

/// The main register file of a scheduler of Volta to Hopper: two banks.
const VOLTA: Geometry = Geometry { banks: 2, rows: 256, ..Geometry::GEBHART_2011 };

fn circuits() -> Vec<CircuitEntry> {
    let one_lane = json!({"banks": 1, "rows": 5, "lanes": 1, "lanes_per_cluster": 1});
    let uneven = json!({"banks": 4, "rows": 7, "lanes": 6, "lanes_per_cluster": 3});
    let two_rows = json!({"banks": 2, "rows": 2, "lanes": 1, "lanes_per_cluster": 1});
    vec![
        CircuitEntry::new(RegisterReuseCache { geometry: VOLTA, writers: 2 })
            .odd([json!({"geometry": one_lane, "writers": 0}), json!({"geometry": uneven, "writers": 3})])
            .proven_at(json!({"geometry": two_rows})),
        CircuitEntry::new(ReuseCollectors {
            geometry: VOLTA,
            collectors: 4,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            writers: 2,
            shares_banks: false,
            drops_written: true,
        })
        .odd([
            json!({"geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1, "writers": 1, "drops_written": false}),
            json!({"geometry": uneven, "collectors": 5, "access_cycles": 4, "writers": 3, "shares_banks": true}),
        ])
        .proven_at(json!({"geometry": two_rows, "collectors": 2, "units": 1, "id_bits": 1})),
        CircuitEntry::new(ReuseRegisterFile {
            geometry: VOLTA,
            collectors: 4,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            drops_written: true,
            issues: 1,
        })
        .odd([
            json!({"geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1, "drops_written": false}),
            json!({"geometry": uneven, "collectors": 3, "access_cycles": 4, "units": 2, "issues": 2}),
        ])
        .proven_at(json!({"geometry": two_rows, "collectors": 2, "units": 2, "id_bits": 1})),
    ]
}
