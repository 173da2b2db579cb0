//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::{
    CachedRegisterFile, InnerPolicy, RegisterFileCache, Replacement, SourceAllocator, TwoLevelScheduler,
};
use crate::library::{CircuitEntry, Folder, Testbench};
use crate::regfile::{ExtraRead, Geometry};

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "rfc",
    circuits,
    testbenches: &[
        Testbench {
            circuit: "register_file_cache",
            tests: &["register_file_cache", "cached_register_file", "shared_registers"],
        },
        Testbench { circuit: "source_allocator", tests: &["source_allocator"] },
        Testbench {
            circuit: "cached_register_file",
            tests: &["register_file_cache", "cached_register_file", "shared_registers"],
        },
        Testbench { circuit: "two_level_scheduler", tests: &["two_level_scheduler"] },
    ],
};

fn circuits() -> Vec<CircuitEntry> {
    let one_lane = json!({"banks": 1, "rows": 5, "lanes": 1, "lanes_per_cluster": 1});
    let uneven = json!({"banks": 2, "rows": 7, "lanes": 6, "lanes_per_cluster": 3});
    vec![
        CircuitEntry::new(RegisterFileCache {
            slots: 8,
            entries: 6,
            replacement: Replacement::Fifo,
            liveness: true,
            evict_idle_first: false,
            lanes: 32,
            lanes_per_cluster: 4,
            register_bits: 10,
            collectors: 8,
            issues: 1,
            shared: false,
        })
        .odd([
            json!({"slots": 1, "entries": 1, "lanes": 1, "lanes_per_cluster": 1, "register_bits": 1}),
            json!({"slots": 5, "entries": 3, "replacement": "lru", "evict_idle_first": true, "liveness": false}),
            json!({"slots": 2, "entries": 3, "lanes": 1, "lanes_per_cluster": 1, "register_bits": 3, "collectors": 2, "issues": 2}),
            json!({"slots": 3, "entries": 2, "lanes": 1, "lanes_per_cluster": 1, "register_bits": 3, "collectors": 2, "shared": true}),
        ])
        .proven_at(json!({"slots": 2, "entries": 2, "lanes": 2, "lanes_per_cluster": 1, "register_bits": 2, "collectors": 2})),
        CircuitEntry::new(SourceAllocator { slots: 8, lanes: 32, register_bits: 10, collectors: 8, writers: 2 }).odd([
            json!({"slots": 1, "lanes": 1, "register_bits": 1, "collectors": 2}),
            json!({"slots": 5, "lanes": 6, "collectors": 5}),
        ])
        .proven_at(json!({"slots": 2, "lanes": 1, "register_bits": 1, "collectors": 2})),
        CircuitEntry::new(CachedRegisterFile {
            geometry: Geometry::GEBHART_2011,
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            slots: 8,
            entries: 6,
            replacement: Replacement::Fifo,
            allocate_sources: false,
            liveness: true,
            bypass_idle: false,
            evict_idle_first: false,
            issues: 1,
            gated: false,
            shared: false,
            extra_read: ExtraRead::None,
        })
        .odd([
            json!({"geometry": one_lane, "slots": 1, "entries": 1, "units": 1, "id_bits": 1}),
            json!({"geometry": uneven, "slots": 5, "entries": 3, "replacement": "lru", "bypass_idle": true, "allocate_sources": true, "gated": true}),
            json!({
                "geometry": one_lane, "collectors": 2, "slots": 2, "entries": 2, "units": 2, "id_bits": 2,
                "replacement": "lru", "evict_idle_first": true, "allocate_sources": true, "issues": 2,
            }),
            json!({
                "geometry": uneven, "collectors": 2, "slots": 3, "entries": 2, "units": 2, "id_bits": 2,
                "allocate_sources": true, "shared": true, "extra_read": "in-turn",
            }),
        ]),
        CircuitEntry::new(TwoLevelScheduler { warps: 32, slots: 8, policy: InnerPolicy::Greedy }).odd([
            json!({"warps": 1, "slots": 1}),
            json!({"warps": 11, "slots": 3, "policy": "round-robin"}),
        ])
        .proven_at(json!({"warps": 5, "slots": 2, "policy": "round-robin"})),

    ]
}
