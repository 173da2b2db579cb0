//! The circuits of this folder, for those who choose circuits and parameters at run time.

use serde_json::json;

use super::{
    BankedRegisterFile, DualIssueRegisterFile, ExtraRead, Geometry, MainRegisterFile, OperandCollectors,
    RegisterBank, TwoSchedulerRegisterFile,
};
use crate::library::{CircuitEntry, Folder, Testbench};

/// The folder.
pub const FOLDER: Folder = Folder {
    name: "regfile",
    circuits,
    testbenches: &[
        Testbench { circuit: "register_bank", tests: &["bank"] },
        Testbench { circuit: "main_register_file", tests: &["main_register_file"] },
        Testbench { circuit: "operand_collectors", tests: &["operand_collectors", "banked_register_file"] },
        Testbench { circuit: "banked_register_file", tests: &["banked_register_file"] },
        Testbench { circuit: "dual_issue_register_file", tests: &["dual_issue_register_file"] },
        Testbench { circuit: "two_scheduler_register_file", tests: &["two_scheduler_register_file"] },
    ],
};

fn circuits() -> Vec<CircuitEntry> {
    let one_lane = json!({"banks": 1, "rows": 5, "lanes": 1, "lanes_per_cluster": 1});
    let uneven = json!({"banks": 2, "rows": 7, "lanes": 6, "lanes_per_cluster": 3});
    let two_banks = json!({"banks": 2, "rows": 2, "lanes": 1, "lanes_per_cluster": 1});
    vec![
        CircuitEntry::new(RegisterBank { rows: 256, lanes: 32, lanes_per_cluster: 4, writers: 2 }).odd([
            json!({"rows": 5, "lanes": 1, "lanes_per_cluster": 1, "writers": 1}),
            json!({"rows": 100, "lanes": 6, "lanes_per_cluster": 3, "writers": 3}),
        ])
        .proven_at(json!({"rows": 2, "lanes": 2, "lanes_per_cluster": 1, "writers": 3})),
        CircuitEntry::new(MainRegisterFile { geometry: Geometry::GEBHART_2011, writers: 2 })
            .odd([json!({"geometry": one_lane}), json!({"geometry": uneven, "writers": 3})])
            .proven_at(json!({"geometry": two_banks, "writers": 3})),
        CircuitEntry::new(OperandCollectors {
            geometry: Geometry::GEBHART_2011,
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            writers: 2,
            shares_banks: false,
            holds: false,
        })
        .odd([
            json!({"geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1, "writers": 1, "shares_banks": true}),
            json!({"geometry": uneven, "collectors": 5, "access_cycles": 4, "shares_banks": true, "holds": true}),
        ]),
        CircuitEntry::new(BankedRegisterFile {
            geometry: Geometry::GEBHART_2011,
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            extra_read: ExtraRead::None,
        })
        .odd([
            json!({"geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1, "extra_read": "in-turn"}),
            json!({"geometry": uneven, "collectors": 5, "access_cycles": 4, "extra_read": "before-operands"}),
        ]),
        CircuitEntry::new(DualIssueRegisterFile {
            geometry: Geometry { banks: 8, rows: 64, ..Geometry::GEBHART_2011 },
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
        })
        .odd([
            json!({"geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1}),
            json!({"geometry": uneven, "collectors": 5, "access_cycles": 4}),
        ]),
        CircuitEntry::new(TwoSchedulerRegisterFile {
            geometry: Geometry { banks: 8, rows: 128, ..Geometry::GEBHART_2011 },
            collectors: 8,
            access_cycles: 3,
            id_bits: 6,
            units: 6,
            extra_read: ExtraRead::None,
        })
        .odd([
            json!({"geometry": one_lane, "collectors": 2, "units": 1, "id_bits": 1, "extra_read": "in-turn"}),
            json!({"geometry": uneven, "collectors": 5, "access_cycles": 4, "extra_read": "before-operands"}),
        ]),
    ]
}
