//! What is found to be equal in circuits, and where it is moved.

use serde_json::json;
use warpfile_hdl::library::library;

use super::*;
use crate::Options;
use crate::compiled::simplify::simplify;
use crate::plan::inst::Inst;

/// The plan of a circuit of the library.
fn plan(circuit: &str, parameters: &serde_json::Value) -> Plan {
    let entry = library().into_iter().find(|entry| entry.name == circuit).expect("a circuit of the library");
    let netlist = entry.elaborate_with(parameters).expect("sound parameters");
    let mut plan = Plan::new(&netlist, &Options::default()).expect("a sound netlist");
    simplify(&mut plan);
    plan
}

/// A staging unit of four banks.
fn banks() -> Plan {
    let geometry =
        json!({"warps": 2, "banks": 4, "lines": 12, "lanes": 4, "lanes_per_slice": 2, "register_bits": 6});
    plan("operand_staging_unit", &json!({"geometry": geometry}))
}

#[test]
fn banks_of_a_staging_unit_run_one_code() {
    let mut plan = plan("operand_staging_unit", &json!({}));
    let before = plan.program.len();
    let instances = Instances::arrange(&mut plan, true).expect("eight banks");
    assert_eq!(instances.count, 8);
    let inside = 8 * instances.first().len();
    assert!(2 * inside > before, "{inside} of {before} instructions");
    let in_banks = |path: &str| ["bank", "queue", "preloads"].iter().any(|name| path.starts_with(name));
    for (meter, edge) in plan.register_meters.iter().zip(&plan.registers) {
        assert_eq!(instances.instance_at(edge.q).is_some(), in_banks(&meter.path), "{}", meter.path);
    }
}

#[test]
fn what_corresponds_is_as_far_apart_everywhere() {
    let mut plan = banks();
    let instances = Instances::arrange(&mut plan, true).expect("four banks");
    for id in instances.first() {
        let first = &plan.program[id];
        for (distance, other) in instances.others(id) {
            let other = &plan.program[other];
            assert_eq!(std::mem::discriminant(first), std::mem::discriminant(other));
            assert_eq!(first.result(&plan) + distance, other.result(&plan));
            let operands = |inst: &Inst| {
                let mut places = Vec::new();
                inst.visit_operands(&plan, &mut |(place, _)| places.push(place));
                places
            };
            for (place, other) in operands(first).into_iter().zip(operands(other)) {
                let distance = if instances.places.hold(place) { distance } else { 0 };
                assert_eq!(place + distance, other, "an operand of {first:?}");
            }
        }
    }
}

/// As the interpreter's function expects, which some instructions are left to.
#[test]
fn operands_still_lie_below_results() {
    let mut plan = banks();
    Instances::arrange(&mut plan, true).expect("four banks");
    for inst in plan.program.iter().filter(|inst| !matches!(inst, Inst::Given { .. })) {
        inst.visit_operands(&plan, &mut |(place, _)| assert!(place < inst.result(&plan), "{inst:?}"));
    }
}

#[test]
fn a_loop_has_to_be_worth_it() {
    let geometry =
        json!({"warps": 4, "banks": 2, "lines": 6, "lanes": 6, "lanes_per_slice": 3, "register_bits": 5});
    let mut two_banks = plan("operand_staging_unit", &json!({"geometry": geometry}));
    let before = format!("{two_banks:?}");
    assert!(Instances::arrange(&mut two_banks, false).is_none(), "a few instructions are saved");
    assert_eq!(format!("{two_banks:?}"), before);
    assert!(Instances::arrange(&mut two_banks, true).is_some());
}

#[test]
fn a_circuit_without_equal_parts_stays_as_it_is() {
    let mut plan = plan("fifo", &json!({}));
    let before = format!("{plan:?}");
    assert!(Instances::arrange(&mut plan, true).is_none());
    assert_eq!(format!("{plan:?}"), before);
}
