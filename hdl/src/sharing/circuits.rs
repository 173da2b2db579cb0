//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::{
    DynamicExecution, OwnerWarpFirst, RegisterAccessUnit, ReleaseUnit, ResourceAccessUnit,
    ScratchpadAccessUnit,
};
use crate::library::{CircuitEntry, Folder, Testbench};

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "sharing",
    circuits,
    testbenches: &[
        Testbench { circuit: "register_access_unit", tests: &["register_access_unit"] },
        Testbench { circuit: "scratchpad_access_unit", tests: &["scratchpad_access_unit"] },
        Testbench { circuit: "resource_access_unit", tests: &["resource_access_unit"] },
        Testbench { circuit: "release_unit", tests: &["release_unit"] },
        Testbench { circuit: "owner_warp_first", tests: &["owner_warp_first"] },
        Testbench { circuit: "dynamic_execution", tests: &["dynamic_execution"] },
    ],
};

/// Table 2.3: 1536 threads are 48 warps, 8 thread blocks; registers of a thread and 48 KB of scratchpad are counted from 1.
fn circuits() -> Vec<CircuitEntry> {
    vec![
        CircuitEntry::new(RegisterAccessUnit { warps: 48, blocks: 8, register_bits: 8, warp_locks: false })
            .odd([
                json!({"warps": 2, "blocks": 2, "register_bits": 1, "warp_locks": true}),
                json!({"warps": 6, "blocks": 3, "register_bits": 3, "warp_locks": false}),
            ])
            .proven_at(json!({"warps": 4, "blocks": 2, "register_bits": 2})),
        CircuitEntry::new(ScratchpadAccessUnit { warps: 48, blocks: 8, byte_bits: 16 })
            .odd([
                json!({"warps": 1, "blocks": 2, "byte_bits": 1}),
                json!({"warps": 5, "blocks": 3, "byte_bits": 4}),
            ])
            .proven_at(json!({"warps": 3, "blocks": 2, "byte_bits": 2})),
        CircuitEntry::new(ResourceAccessUnit { warps: 48, blocks: 8, register_bits: 8, byte_bits: 16 })
            .odd([
                json!({"warps": 1, "blocks": 2, "register_bits": 1, "byte_bits": 1}),
                json!({"warps": 6, "blocks": 3, "register_bits": 3, "byte_bits": 4}),
            ])
            .proven_at(json!({"warps": 3, "blocks": 2, "register_bits": 2, "byte_bits": 2})),
        CircuitEntry::new(ReleaseUnit { warps: 48, lanes: 32, blocks: 8, ports: 2 })
            .odd([
                json!({"warps": 1, "lanes": 1, "blocks": 1, "ports": 1}),
                json!({"warps": 5, "lanes": 3, "blocks": 3, "ports": 3}),
            ])
            .proven_at(json!({"warps": 2, "lanes": 2, "blocks": 2, "ports": 1})),
        CircuitEntry::new(OwnerWarpFirst { warps: 24 })
            .odd([json!({"warps": 1}), json!({"warps": 5})])
            .proven_at(json!({"warps": 4})),
        CircuitEntry::new(DynamicExecution { warps: 48, window: 1000, steps: 10 })
            .odd([json!({"warps": 1, "window": 2, "steps": 1}), json!({"warps": 5, "window": 7, "steps": 3})])
            .proven_at(json!({"warps": 2, "window": 3, "steps": 2})),
    ]
}
