//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::{
    FreePool, LoadGuard, ReferenceCounts, RenameTables, RetryQueue, ReuseBuffer, SEED, ValueHash,
    ValueSignatureBuffer, VerifyCache,
};
use crate::library::{CircuitEntry, Folder, Testbench};
use crate::regfile::Geometry;

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "wir",
    circuits,
    testbenches: &[
        Testbench { circuit: "rename_tables", tests: &["rename_tables"] },
        Testbench { circuit: "reuse_buffer", tests: &["reuse_buffer"] },
        Testbench { circuit: "value_hash", tests: &["value_hash"] },
        Testbench { circuit: "value_signature_buffer", tests: &["value_signature_buffer"] },
        Testbench { circuit: "free_pool", tests: &["free_pool"] },
        Testbench { circuit: "reference_counts", tests: &["reference_counts"] },
        Testbench { circuit: "load_guard", tests: &["load_guard"] },
        Testbench { circuit: "retry_queue", tests: &["retry_queue"] },
        Testbench { circuit: "verify_cache", tests: &["verify_cache"] },
    ],
};

/// At the sizes of Table II and §VII-E, of one of the SM's two schedulers: half the registers and rows, and one way. Two ways, for
/// both schedulers, are at the other parameters.
fn circuits() -> Vec<CircuitEntry> {
    vec![
        CircuitEntry::new(RenameTables { warps: 24, registers: 63, register_bits: 9 })
            .odd([
                json!({"warps": 1, "registers": 2, "register_bits": 1}),
                json!({"warps": 3, "registers": 5, "register_bits": 4}),
            ])
            .proven_at(json!({"warps": 2, "registers": 3, "register_bits": 2})),
        CircuitEntry::new(ReuseBuffer {
            rows: 128,
            form_bits: 8,
            register_bits: 9,
            block_bits: 4,
            barrier_bits: 5,
            id_bits: 9,
            results: 1,
            ways: 1,
            seed: SEED,
        })
        .odd([
            json!({"rows": 2, "form_bits": 1, "register_bits": 1, "block_bits": 1, "barrier_bits": 1, "id_bits": 1}),
            json!({"rows": 8, "form_bits": 3, "register_bits": 3, "block_bits": 2, "barrier_bits": 1, "id_bits": 5}),
            json!({"rows": 4, "form_bits": 2, "register_bits": 2, "block_bits": 1, "barrier_bits": 2, "id_bits": 3,
                   "results": 2}),
            json!({"rows": 16, "form_bits": 3, "register_bits": 4, "block_bits": 2, "barrier_bits": 1, "id_bits": 5,
                   "ways": 2}),
        ])
        .proven_at(json!({"rows": 4, "form_bits": 2, "register_bits": 2, "block_bits": 1, "barrier_bits": 1,
                          "id_bits": 2, "results": 2, "ways": 2})),
        CircuitEntry::new(ValueHash { lanes: 32, hash_bits: 32, seed: SEED })
            .odd([json!({"lanes": 1, "hash_bits": 1}), json!({"lanes": 3, "hash_bits": 5, "seed": 7})]),
        CircuitEntry::new(ValueSignatureBuffer { rows: 128, hash_bits: 32, register_bits: 9, ways: 1 })
            .odd([
                json!({"rows": 2, "hash_bits": 1, "register_bits": 1}),
                json!({"rows": 8, "hash_bits": 5, "register_bits": 3}),
                json!({"rows": 16, "hash_bits": 6, "register_bits": 4, "ways": 2}),
            ])
            .proven_at(json!({"rows": 4, "hash_bits": 3, "register_bits": 2, "ways": 2})),
        CircuitEntry::new(FreePool { registers: 512, ways: 1 })
            .odd([json!({"registers": 2}), json!({"registers": 5}), json!({"registers": 11, "ways": 2})])
            .proven_at(json!({"registers": 6, "ways": 2})),
        // A quarter of the 512 registers of a scheduler: mapping those takes Yosys more than 7 GB.
        CircuitEntry::new(ReferenceCounts {
            registers: 128,
            count_bits: 10,
            hold_bits: 8,
            allocations: 1,
            increments: 6,
            decrements: 6,
            holds: 5,
            drops: 6,
            queries: 5,
        })
        .odd([
            json!({"registers": 2, "count_bits": 2, "hold_bits": 2, "increments": 1, "decrements": 1, "holds": 1,
                   "drops": 1, "queries": 1}),
            json!({"registers": 11, "count_bits": 3, "hold_bits": 3, "increments": 2, "decrements": 3, "holds": 2,
                   "drops": 3, "queries": 2}),
            json!({"registers": 7, "count_bits": 3, "hold_bits": 4, "allocations": 2, "increments": 4, "decrements": 4,
                   "holds": 3, "drops": 4, "queries": 4}),
        ])
        .proven_at(json!({"registers": 3, "count_bits": 3, "hold_bits": 2, "allocations": 2, "increments": 2,
                          "decrements": 1, "holds": 1, "drops": 1, "queries": 1})),
        CircuitEntry::new(LoadGuard { warps: 24, barrier_bits: 5 })
            .odd([json!({"warps": 1, "barrier_bits": 1}), json!({"warps": 5, "barrier_bits": 2})])
            .proven_at(json!({"warps": 3, "barrier_bits": 2})),
        CircuitEntry::new(RetryQueue { depth: 8, id_bits: 9, patience: 32 })
            .odd([
                json!({"depth": 1, "id_bits": 1, "patience": 1}),
                json!({"depth": 5, "id_bits": 3, "patience": 6}),
            ])
            .proven_at(json!({"depth": 3, "id_bits": 2, "patience": 2})),
        CircuitEntry::new(VerifyCache {
            entries: 4,
            register_bits: 9,
            lanes: Geometry::GEBHART_2011.lanes,
            lanes_per_array: Geometry::GEBHART_2011.lanes_per_cluster,
            ways: 1,
        })
        .odd([
            json!({"entries": 1, "register_bits": 1, "lanes": 1, "lanes_per_array": 1}),
            json!({"entries": 3, "register_bits": 4, "lanes": 4, "lanes_per_array": 2}),
            json!({"entries": 5, "register_bits": 4, "lanes": 4, "lanes_per_array": 2, "ways": 2}),
        ])
        .proven_at(json!({"entries": 3, "register_bits": 3, "lanes": 1, "lanes_per_array": 1, "ways": 2})),
    ]
}
