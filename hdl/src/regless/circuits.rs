//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::{
    AccessDistributor, AccessQueue, CapacityManager, Compressor, L1Port, MetadataStore, OperandStagingUnit,
    PatternExpander, PatternMatcher, RegisterReadUnit, ShardGeometry, StagingBank, WarpStack,
};
use crate::library::{CircuitEntry, Folder, Testbench};

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "regless",
    circuits,
    testbenches: &[
        Testbench { circuit: "pattern_matcher", tests: &["patterns"] },
        Testbench { circuit: "pattern_expander", tests: &["patterns"] },
        Testbench { circuit: "compressor", tests: &["compressor"] },
        Testbench { circuit: "l1_port", tests: &["l1_port"] },
        Testbench { circuit: "operand_staging_bank", tests: &["staging_bank"] },
        Testbench { circuit: "access_queue", tests: &["staging_unit"] },
        Testbench { circuit: "operand_staging_unit", tests: &["staging_unit"] },
        Testbench { circuit: "metadata_store", tests: &["metadata_store"] },
        Testbench { circuit: "warp_stack", tests: &["warp_stack", "capacity_manager"] },
        Testbench { circuit: "line_ledger", tests: &["capacity_manager"] },
        Testbench { circuit: "capacity_manager", tests: &["capacity_manager"] },
        Testbench { circuit: "register_read_unit", tests: &["register_read_unit"] },
        Testbench { circuit: "access_distributor", tests: &["access_distributor"] },
        Testbench { circuit: "regless_shard", tests: &["shard"] },
    ],
};

fn circuits() -> Vec<CircuitEntry> {
    // Shards: the smallest, the smallest in which warps and banks differ, and two whose lines are no power of two.
    let smallest =
        json!({"warps": 1, "banks": 1, "lines": 2, "lanes": 1, "lanes_per_slice": 1, "register_bits": 4});
    let two_each =
        json!({"warps": 2, "banks": 2, "lines": 2, "lanes": 1, "lanes_per_slice": 1, "register_bits": 4});
    let six_lines =
        json!({"warps": 4, "banks": 2, "lines": 6, "lanes": 6, "lanes_per_slice": 3, "register_bits": 5});
    let twelve_lines =
        json!({"warps": 2, "banks": 4, "lines": 12, "lanes": 4, "lanes_per_slice": 2, "register_bits": 6});
    vec![
        CircuitEntry::new(PatternMatcher { lanes: 32 }).odd([json!({"lanes": 4}), json!({"lanes": 14})]),
        CircuitEntry::new(PatternExpander { lanes: 32 }).odd([json!({"lanes": 4}), json!({"lanes": 14})]),
        CircuitEntry::new(Compressor {
            warps: 16,
            register_bits: 8,
            osu_lines: 16,
            lanes: 32,
            lines: 12,
            queue: 4,
        })
        .odd([
            json!({"lines": 4}),
            json!({"warps": 1, "register_bits": 1, "osu_lines": 1, "lanes": 4, "lines": 1, "queue": 1}),
            json!({"warps": 11, "register_bits": 5, "osu_lines": 6, "lanes": 14, "lines": 3, "queue": 3}),
        ])
        .proven_at(
            json!({"warps": 1, "register_bits": 1, "osu_lines": 1, "lanes": 4, "lines": 1, "queue": 1}),
        ),
        CircuitEntry::new(L1Port { shards: 4, warps: 16, register_bits: 8, osu_lines: 16, lanes: 32 })
            .odd([
                json!({"shards": 1, "warps": 1, "register_bits": 1, "osu_lines": 1, "lanes": 1}),
                json!({"shards": 3, "warps": 11, "register_bits": 5, "osu_lines": 6, "lanes": 6}),
            ])
            .proven_at(json!({"shards": 3, "warps": 2, "register_bits": 1, "osu_lines": 1, "lanes": 1})),
        CircuitEntry::new(AccessQueue {
            geometry: ShardGeometry::GTX980,
            depth: 4,
            place_bits: 9,
            writers: 3,
        })
        .odd([
            json!({"geometry": smallest, "depth": 2, "place_bits": 1, "writers": 1}),
            json!({"geometry": six_lines, "depth": 3, "place_bits": 5}),
        ])
        .proven_at(json!({"geometry": smallest, "depth": 3, "place_bits": 1, "writers": 1})),
        CircuitEntry::new(StagingBank { geometry: ShardGeometry::GTX980, gated: false })
            .odd([
                json!({"geometry": smallest}),
                json!({"geometry": six_lines}),
                json!({"geometry": twelve_lines}),
                json!({"geometry": six_lines, "gated": true}),
            ])
            .proven_at(json!({"geometry": smallest, "gated": true})),
        CircuitEntry::new(OperandStagingUnit {
            geometry: ShardGeometry::GTX980,
            queue: 4,
            place_bits: 9,
            writes: 3,
            gated: false,
        })
        .odd([
            json!({"geometry": smallest, "queue": 2, "place_bits": 1, "writes": 1}),
            json!({"geometry": six_lines, "queue": 3, "place_bits": 5, "writes": 2}),
            json!({"geometry": six_lines, "queue": 3, "place_bits": 5, "writes": 2, "gated": true}),
            json!({"geometry": twelve_lines, "writes": 1}),
        ]),
        CircuitEntry::new(MetadataStore { geometry: ShardGeometry::GTX980, words: 16 })
            .odd([json!({"geometry": smallest, "words": 2}), json!({"geometry": six_lines, "words": 8})])
            .proven_at(json!({"geometry": two_each, "words": 2})),
        CircuitEntry::new(WarpStack { warps: 16 })
            .odd([json!({"warps": 1}), json!({"warps": 11})])
            .proven_at(json!({"warps": 3})),
        CircuitEntry::new(CapacityManager {
            geometry: ShardGeometry::GTX980,
            metadata_words: 16,
            queue: 4,
            writes: 3,
            issues: 2,
        })
        .odd([
            json!({"geometry": smallest, "metadata_words": 2, "queue": 2, "writes": 1}),
            json!({"geometry": six_lines, "metadata_words": 8, "queue": 3}),
            json!({"geometry": twelve_lines, "writes": 2}),
            json!({"geometry": two_each, "metadata_words": 2, "queue": 2, "writes": 2, "issues": 1}),
        ]),
        CircuitEntry::new(AccessDistributor {
            geometry: ShardGeometry::GTX980,
            units: 6,
            entries: 4,
            writes: 3,
            issues: 2,
        })
        .odd([
            json!({"geometry": smallest, "units": 1, "entries": 2, "writes": 1}),
            json!({"geometry": six_lines, "units": 3, "entries": 8}),
            json!({"geometry": two_each, "units": 2, "entries": 2, "writes": 2, "issues": 1}),
        ])
        .proven_at(json!({"geometry": two_each, "units": 2, "entries": 2, "writes": 1})),
        CircuitEntry::new(RegisterReadUnit {
            geometry: ShardGeometry::GTX980,
            entries: 4,
            id_bits: 9,
            issues: 2,
        })
        .odd([
            json!({"geometry": smallest, "entries": 2, "id_bits": 1}),
            json!({"geometry": six_lines, "entries": 8}),
            json!({"geometry": two_each, "entries": 4, "id_bits": 2, "issues": 1}),
        ])
        .proven_at(json!({"geometry": two_each, "entries": 4, "id_bits": 1})),
    ]
}
