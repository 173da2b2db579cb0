use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::regfile::Geometry;
use warpfile_hdl::rfh::RegisterFileHierarchy;
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::register_file_hierarchy_ref::{
    Instruction, Intent, Operand, RegisterFileHierarchyReference, Write,
};
use crate::regfile::operand_collectors::ready_units;
use crate::regfile::traffic::{self, geometries, masks, registers};

const UNITS: usize = 3;
/// Instructions in most cycles, some of which copy an operand.
const USUAL: (f64, f64) = (0.7, 0.4);

fn circuits() -> impl Strategy<Value = RegisterFileHierarchy> {
    (geometries(), 2..6_usize, 3..6_usize, 1..4_usize, 1..5_usize, 1..3_usize).prop_map(
        |(geometry, collectors, access_cycles, slots, orf_entries, issues)| RegisterFileHierarchy {
            geometry,
            collectors,
            access_cycles,
            id_bits: 6,
            units: UNITS,
            slots,
            orf_entries,
            issues,
        },
    )
}

fn smallest() -> impl Strategy<Value = RegisterFileHierarchy> {
    let geometry = Geometry { banks: 8, rows: 2, lanes: 4, lanes_per_cluster: 2 };
    circuits().prop_map(move |circuit| RegisterFileHierarchy {
        geometry,
        slots: 1,
        orf_entries: 1,
        ..circuit
    })
}

/// `often`: how likely instructions come, and copy an operand to an upper file.
fn traffic(
    circuits: impl Strategy<Value = RegisterFileHierarchy>,
    cycles: usize,
    often: (f64, f64),
) -> impl Strategy<Value = (RegisterFileHierarchy, Vec<Intent>)> {
    circuits.prop_flat_map(move |circuit| {
        let RegisterFileHierarchy { slots, orf_entries, geometry, .. } = circuit;
        let Geometry { lanes, .. } = geometry;
        let registers = registers(geometry);
        let source = || {
            let operand = (0..registers, option::of(0..=orf_entries))
                .prop_map(|(register, entry)| Operand { register, entry });
            option::weighted(0.8, operand)
        };
        let instruction = || {
            let copy = option::weighted(often.1, (0..3_usize, 0..orf_entries));
            let sources = [source(), source(), source()];
            let instruction = (0..64_usize, 0..UNITS, masks(lanes), 0..slots, sources, copy).prop_map(
                |(id, unit, active, slot, sources, copy)| Instruction {
                    id,
                    unit,
                    active,
                    slot,
                    sources,
                    copy,
                },
            );
            option::weighted(often.0, instruction)
        };
        let write = || {
            let place = option::weighted(0.6, (0..slots, 0..=orf_entries));
            let write = (traffic::writes(registers, lanes), any::<bool>(), place).prop_map(
                |(traffic::Write { register, lanes, values }, main, place)| Write {
                    register,
                    lanes,
                    values,
                    main,
                    place,
                },
            );
            option::weighted(0.4, write)
        };
        let fill = write().prop_map(|fill| fill.map(|fill| Write { main: true, place: None, ..fill }));
        let intent = ([instruction(), instruction()], write(), write(), fill, ready_units(UNITS)).prop_map(
            |(issues, first, second, fill, ready_units)| Intent {
                issues,
                writes: [first, second, fill],
                ready_units,
            },
        );
        (Just(circuit), prop::collection::vec(intent, 1..cycles))
    })
}

fn check(circuit: &RegisterFileHierarchy, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &RegisterFileHierarchyReference::new(circuit), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn operands_are_what_their_level_held_when_the_instruction_was_taken((circuit, cycles) in traffic(circuits(), 80, USUAL)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(24))]
    /// All instructions meet in two entries. A row's number is one bit, as are `valid` and `ready`.
    #[test]
    fn so_it_is_with_one_slot_and_eight_banks_of_two_rows((circuit, cycles) in traffic(smallest(), 300, USUAL)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(24))]
    /// Who reads what another copies sees it arrive, at both ways and at each operand.
    #[test]
    fn so_it_is_with_copies_all_the_time(
        (circuit, cycles) in traffic(
            circuits().prop_map(|circuit| RegisterFileHierarchy { slots: 1, issues: 2, ..circuit }),
            200,
            (0.98, 0.9),
        )
    ) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, cycles) in traffic(circuits(), 60, USUAL)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }
}
