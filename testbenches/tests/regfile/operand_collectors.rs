use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_engine::waves::waves;
use warpfile_engine::{Interpreter, Options};
use warpfile_hdl::regfile::{Geometry, OperandCollectors};
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::collectors_ref::Arrival;
use super::operand_collectors_ref::{CollectorCycle, OperandCollectorsReference};
use super::traffic::{geometries, masks, registers};

const UNITS: usize = 3;

fn circuits() -> impl Strategy<Value = OperandCollectors> {
    (geometries(), 2..6_usize, 3..6_usize, 1..3_usize, any::<bool>()).prop_map(
        |(geometry, collectors, access_cycles, writers, shares_banks)| OperandCollectors {
            geometry,
            collectors,
            access_cycles,
            id_bits: 6,
            units: UNITS,
            writers,
            shares_banks,
            holds: false,
        },
    )
}

/// Units that are often all ready, sometimes none.
pub fn ready_units(units: usize) -> impl Strategy<Value = u32> {
    let all = (1 << units) - 1;
    prop_oneof![3 => Just(all), 1 => Just(0), 2 => 0..=all]
}

fn traffic(cycles: usize) -> impl Strategy<Value = (OperandCollectors, Vec<CollectorCycle>)> {
    circuits().prop_flat_map(move |circuit| {
        let Geometry { banks, lanes, .. } = circuit.geometry;
        let registers = registers(circuit.geometry);
        let source = || option::weighted(0.8, (0..registers, masks(lanes)));
        let arrival = (0..64_usize, 0..UNITS, [source(), source(), source()])
            .prop_map(|(id, unit, sources)| Arrival { id, unit, sources });
        let rows = vec(vec(any::<u32>(), lanes), banks);
        let writes = vec(0..registers, circuit.writers);
        let busy_banks = vec(option::weighted(0.3, 0..banks), if circuit.shares_banks { 2 } else { 0 });
        let cycle = (option::weighted(0.8, arrival), ready_units(UNITS), rows, writes, busy_banks).prop_map(
            |(offered, ready_units, rows, writes, busy_banks)| {
                let busy_banks = busy_banks.into_iter().flatten().collect();
                CollectorCycle { offered, ready_units, rows, writes, busy_banks }
            },
        );
        (Just(circuit), vec(cycle, 1..cycles))
    })
}

fn check(circuit: &OperandCollectors, how: Lockstep, cycles: &[CollectorCycle]) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &OperandCollectorsReference::new(circuit), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn operands_are_collected_oldest_first_and_leave_together((circuit, cycles) in traffic(60)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, cycles) in traffic(50)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }
}

#[test]
fn waveform_of_three_operands_of_one_bank_and_an_instruction_behind() {
    let geometry = Geometry { banks: 2, rows: 4, lanes: 1, lanes_per_cluster: 1 };
    let circuit = OperandCollectors {
        geometry,
        collectors: 3,
        access_cycles: 3,
        id_bits: 4,
        units: 1,
        writers: 1,
        shares_banks: false,
        holds: false,
    };
    let mut engine = Interpreter::new(&elaborate(&circuit).unwrap(), &Options::checked()).unwrap();
    let ready = ("unit_ready_i", 1);
    let lanes = [("issue_source0_lanes_i", 1), ("issue_source1_lanes_i", 1), ("issue_source2_lanes_i", 1)];
    let asks = [("issue_source0_valid_i", 1), ("issue_source1_valid_i", 1), ("issue_source2_valid_i", 1)];
    let write = ("write0_register_i", 4);
    // Registers 2, 4 and 6 lie in bank 0; 0 as well, and 1 in bank 1.
    let first = [
        &[ready, write, ("issue_valid_i", 1), ("issue_id_i", 0xa)][..],
        &[("issue_source0_register_i", 2), ("issue_source1_register_i", 4), ("issue_source2_register_i", 6)],
        &lanes,
        &asks,
    ]
    .concat();
    let second = [
        &[ready, write, ("issue_valid_i", 1), ("issue_id_i", 0xb)][..],
        &[("issue_source0_register_i", 0), ("issue_source1_register_i", 1)],
        &lanes,
        &asks[..2],
    ]
    .concat();
    let idle = [ready, write];
    let drawn = waves(
        &mut engine,
        &[
            "issue_valid_i",
            "issue_id_i",
            "read0_valid_o",
            "read0_row_o",
            "read1_valid_o",
            "read1_row_o",
            "write0_blocked_o",
            "dispatch_valid_o",
            "dispatch_id_o",
            "operands_valid_o",
            "operands_id_o",
        ],
        &[&first, &second, &idle, &idle, &idle, &idle, &idle],
    );
    insta::assert_snapshot!(drawn.unwrap(), @r"
    clk_i             ▁▁▔▔▁▁▔▔▁▁▔▔▁▁▔▔▁▁▔▔▁▁▔▔▁▁▔▔
    issue_valid_i     ▔▔▔▔▔▔▔▔▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
    issue_id_i        ═a══╳b══╳0══════════════════
    read0_valid_o     ▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▔▁▁▁▁▁▁▁▁▁▁▁▁
    read0_row_o       ═1══╳2══╳0══╳3══╳═══════════
    read1_valid_o     ▁▁▁▁▁▁▁▁▔▔▔▔▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
    read1_row_o       ════════╳0══╳═══════════════
    write0_blocked_o  ▁▁▁▁▔▔▔▔▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
    dispatch_valid_o  ▁▁▁▁▁▁▁▁▁▁▁▁▔▔▔▔▔▔▔▔▁▁▁▁▁▁▁▁
    dispatch_id_o     ════════════╳a══╳b══╳═══════
    operands_valid_o  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▔▔▔▔▔▔▔▔▁▁▁▁
    operands_id_o     ════════════════╳a══╳b══╳═══
    ");
}
