//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::{RegisterCache, RegisterCacheHierarchy, RegisterScratchpad, ScratchpadHierarchy};
use crate::library::{CircuitEntry, Folder, Testbench};
use crate::regfile::Geometry;

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "hybrid",
    circuits,
    testbenches: &[
        Testbench { circuit: "register_cache", tests: &["register_cache", "register_cache_hierarchy"] },
        Testbench { circuit: "register_cache_hierarchy", tests: &["register_cache_hierarchy"] },
        Testbench { circuit: "register_scratchpad", tests: &["scratchpad_hierarchy"] },
        Testbench { circuit: "scratchpad_hierarchy", tests: &["scratchpad_hierarchy"] },
    ],
};

/// The main register file of a scheduler: 64 KB in four banks (Table I: 256 KB and 16 banks an SM).
const GTX980: Geometry = Geometry { banks: 4, rows: 128, ..Geometry::GEBHART_2011 };

fn circuits() -> Vec<CircuitEntry> {
    let one_lane = json!({"banks": 1, "rows": 5, "lanes": 1, "lanes_per_cluster": 1});
    let uneven = json!({"banks": 2, "rows": 7, "lanes": 6, "lanes_per_cluster": 3});
    vec![
        CircuitEntry::new(RegisterCache {
            sets: 12,
            liveness: true,
            warps: 16,
            lanes: 32,
            lanes_per_cluster: 4,
            register_bits: 9,
            collectors: 2,
            issues: 2,
            leaving: 0,
            read_allocates: false,
        })
        .odd([
            json!({"sets": 1, "warps": 1, "lanes": 1, "lanes_per_cluster": 1, "register_bits": 1, "issues": 1}),
            json!({"sets": 5, "warps": 3, "lanes": 6, "lanes_per_cluster": 3, "liveness": false, "collectors": 3, "leaving": 2}),
            json!({"sets": 3, "warps": 3, "lanes": 6, "lanes_per_cluster": 3, "read_allocates": true}),
        ])
        .proven_at(json!({"sets": 1, "warps": 2, "lanes": 1, "lanes_per_cluster": 1, "register_bits": 2})),
        CircuitEntry::new(RegisterCacheHierarchy {
            geometry: GTX980,
            collectors: 2,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            sets: 12,
            liveness: true,
            warps: 16,
            issues: 2,
            parallel: false,
            gated: false,
            read_allocates: false,
        })
        .odd([
            json!({"geometry": one_lane, "sets": 1, "warps": 1, "units": 1, "id_bits": 1, "issues": 1}),
            json!({"geometry": uneven, "sets": 3, "warps": 3, "access_cycles": 5, "liveness": false, "collectors": 3, "parallel": true, "gated": true}),
            json!({"geometry": uneven, "sets": 3, "warps": 3, "access_cycles": 5, "gated": true, "read_allocates": true}),
        ]),
        CircuitEntry::new(RegisterScratchpad {
            slots: 4,
            entries: 2,
            lanes: 32,
            lanes_per_cluster: 4,
            register_bits: 9,
            warps: 16,
            id_bits: 9,
            under_way: 6,
            issues: 2,
        })
        .odd([
            json!({"slots": 1, "entries": 1, "lanes": 1, "lanes_per_cluster": 1, "register_bits": 1, "warps": 1, "id_bits": 1, "under_way": 2, "issues": 1}),
            json!({"slots": 3, "entries": 5, "lanes": 6, "lanes_per_cluster": 3, "under_way": 7}),
        ])
        .proven_at(json!({"slots": 2, "entries": 2, "lanes": 1, "lanes_per_cluster": 1, "register_bits": 2, "warps": 2, "id_bits": 2, "under_way": 3})),
        CircuitEntry::new(ScratchpadHierarchy {
            geometry: GTX980,
            collectors: 2,
            access_cycles: 3,
            id_bits: 9,
            units: 6,
            slots: 4,
            entries: 2,
            sets: 8,
            liveness: true,
            warps: 16,
            issues: 2,
            parallel: false,
            gated: false,
        })
        .odd([
            json!({"geometry": one_lane, "slots": 1, "entries": 1, "sets": 0, "warps": 1, "units": 1, "id_bits": 1, "issues": 1}),
            json!({"geometry": uneven, "slots": 3, "entries": 3, "sets": 3, "warps": 3, "access_cycles": 5, "collectors": 3, "parallel": true, "gated": true}),
        ]),
    ]
}
