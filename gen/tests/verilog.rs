//! Snapshots of the Verilog of small netlists.

use insta::assert_snapshot;
use warpfile_gen::{Style, emit, emit_in};
use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::*;

use crate::builder::{Builder, HERE};

fn text(netlist: &Netlist) -> String {
    emit(netlist).modules.pop().unwrap().text
}

fn counter() -> Netlist {
    let mut b =
        Builder::new("counter_4", "Counter: wraps.\n\nTiming: the count is seen from the next cycle.");
    b.module.parameters = vec![("bits".into(), "4".into())];
    let up = b.input("up_i", 1);
    let clear = b.input("clear_i", 1);
    let count = b.node(Op::Register(RegisterId(0)), 4);
    let (one, zero) = (b.constant(4, 1), b.constant(4, 0));
    let more = b.node(Op::Add(count, one), 4);
    let counted = b.node(Op::Mux { condition: up, then: more, otherwise: count }, 4);
    let next = b.node(Op::Mux { condition: clear, then: zero, otherwise: counted }, 4);
    b.module.registers.push(Register {
        name: "count".into(),
        width: 4,
        reset: Some(Bits::zero(4)),
        next,
        enable: None,
        source: HERE,
    });
    b.output("count_o", count);
    let last = b.constant(4, 15);
    let wrap = b.node(Op::Eq(count, last), 1);
    b.output("wrap_o", wrap);
    let low = b.node(Op::Slice { value: more, low: 0 }, 2);
    b.output("low_o", low);
    let quiet = b.node(Op::Not(wrap), 1);
    b.module.invariants.push(Invariant {
        name: "never_wraps".into(),
        condition: quiet,
        kept_by: KeptBy::Circuit,
        source: HERE,
    });
    b.netlist()
}

/// A table of five rows with a tag, a laned value and a counter, and every kind of port.
fn table() -> Netlist {
    let mut b = Builder::new("store_5", "Store: every kind of table port.");
    let address = b.input("address_i", 3);
    let enable = b.input("enable_i", 1);
    let tag = b.input("tag_i", 6);
    let value = b.input("value_i", 16);
    let lanes = b.input("lanes_i", 4);
    let clear = b.input("clear_i", 1);
    let rows = b.table("rows", 5, &[("tag", 6, 1), ("value", 16, 4), ("uses", 3, 1)]);
    let seen = b.read(rows, "lookup", address, enable, false);
    let kept = b.read(rows, "capture", address, enable, true);
    b.module.tables[0].matches.push(MatchPort {
        name: "probe".into(),
        enable,
        condition: RowExpr::And(
            Box::new(RowExpr::Valid),
            Box::new(RowExpr::Eq(
                Box::new(RowExpr::Slice(Box::new(RowExpr::Field(0)), 1, 4)),
                Box::new(RowExpr::Slice(Box::new(RowExpr::Outer(tag)), 0, 4)),
            )),
        ),
        source: HERE,
    });
    let fields = vec![
        FieldWrite { field: 0, value: tag, lanes: None },
        FieldWrite { field: 1, value, lanes: Some(lanes) },
    ];
    b.update(rows, Update::Write { name: "fill".into(), address, enable, fields, set_valid: true });
    let amount = b.node(Op::Slice { value: tag, low: 0 }, 3);
    b.update(rows, Update::Add { name: "use".into(), address, enable, field: 2, amount });
    let all = b.node(Op::Constant(Bits::ones(5)), 5);
    b.update(rows, Update::ClearRows { rows: all, enable: clear });

    for (name, port, field, width) in
        [("tag_o", seen, 0, 6), ("value_o", seen, 1, 16), ("uses_o", seen, 2, 3), ("captured_o", kept, 1, 16)]
    {
        let read = b.node(Op::TableRead { table: rows, port, field }, width);
        b.output(name, read);
    }
    let valid = b.node(Op::TableReadValid { table: rows, port: seen }, 1);
    b.output("valid_o", valid);
    let hits = b.node(Op::TableMatch { table: rows, port: 0 }, 5);
    let index = b.node(Op::PriorityEncode(hits), 3);
    b.output("hit_o", index);
    b.netlist()
}

/// A parent with two instances of one child.
fn hierarchy() -> Netlist {
    let mut child = Builder::new("masked_sum", "Sum of the lanes where the mask has a 1.");
    let a = child.input("a_i", 8);
    let mask = child.input("mask_i", 2);
    let spread = child.node(Op::SpreadLanes(mask), 8);
    let kept = child.node(Op::And(a, spread), 8);
    let sums = child.node(Op::LaneAdd { a: kept, b: kept, lanes: 2 }, 8);
    child.output("sum_o", sums);
    let mut parent = Builder::new("pair", "Two sums.");
    let a = parent.input("a_i", 8);
    let mask = parent.input("mask_i", 2);
    for name in ["left", "right"] {
        parent.module.instances.push(Instance {
            name: name.into(),
            module: ModuleId(0),
            inputs: vec![(PortId(0), a), (PortId(1), mask)],
            source: HERE,
        });
    }
    let out = |b: &mut Builder, i| b.node(Op::InstanceOutput { instance: InstanceId(i), port: PortId(2) }, 8);
    let (left, right) = (out(&mut parent, 0), out(&mut parent, 1));
    let both = parent.node(Op::Xor(left, right), 8);
    parent.output("both_o", both);
    Netlist { modules: vec![child.module, parent.module], top: ModuleId(1) }
}

#[test]
fn a_register_takes_its_next_value_by_branches() {
    assert_snapshot!(text(&counter()));
}

#[test]
fn a_table_keeps_masked_lanes_apart_and_guards_missing_rows() {
    assert_snapshot!(text(&table()));
}

#[test]
fn instances_share_one_module() {
    let files = emit(&hierarchy());
    assert_eq!(files.list.text, "masked_sum.v\npair.v\n");
    assert_snapshot!(files.modules.iter().map(|f| f.text.as_str()).collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_manifest_lists_geometry_and_ports() {
    assert_snapshot!(emit(&table()).manifest.text);
}

#[test]
fn the_same_netlist_gives_the_same_bytes() {
    assert_eq!(emit(&table()), emit(&table()));
}

#[test]
fn a_table_in_whole_words() {
    assert_snapshot!(emit_in(&table(), Style::Words).modules.pop().unwrap().text);
}

#[test]
fn the_lowest_one_by_masks() {
    let mut b = Builder::new("lowest_6", "Lowest: number of the lowest 1 of six bits.");
    let requests = b.input("requests_i", 6);
    let lowest = b.node(Op::PriorityEncode(requests), 3);
    b.output("lowest_o", lowest);
    assert_snapshot!(emit_in(&b.netlist(), Style::Words).modules.pop().unwrap().text);
}
