//! What table operations put into the netlist.

use warpfile_hdl::rtl::netlist::{Op, RowExpr, Table, Update};
use warpfile_hdl::rtl::{Field, Record, elaborate};

use crate::probe::probe;

/// A row of a cache, with so many lanes.
#[derive(Clone, Copy, Record)]
#[params(usize)]
struct Line<T = Field> {
    #[bits(4)]
    tag: T,
    #[bits(4 * p)]
    #[lanes(*p)]
    #[lanes_per_array(4)]
    data: T,
    #[bits(*p)]
    #[lanes(*p)]
    dirty: T,
    user: [T; 2],
}

probe!(Cache, |m, io| {
    let rows = m.table::<Line>("rows", 6, &8).valid_bits().ports(2, 2);
    let row = io.b_i.low(3);
    let hits = rows.matching("lookup", io.valid_i, |row| {
        row.valid() & row.tag.eq(io.b_i) & !row.bit_of(io.a_i.low(6)) & row.dirty.bit(0)
    });
    let read = rows.read("now", row, io.valid_i).lanes(io.a_i);
    let later = rows.read_clocked("later", row, 1);
    io.out_o.set(read.data.low(8) ^ later.dirty ^ hits.zext(8) ^ read.valid().zext(8));

    m.when(io.valid_i, || {
        rows.write_fields("fill", row, |line| {
            [(line.tag, io.b_i), (line.dirty, io.b_i.zext(8)), (line.user[1], io.valid_i)]
        })
        .lanes(io.a_i);
        m.when(io.a_i.bit(0), || rows.clear_rows(hits)).otherwise(|| rows.clear_row(row));
    });
    rows.add("count", row, |line| line.tag, 1);
    rows.set_rows(1);
    rows.clear_valid();
});

fn cache() -> (Table, Vec<Op>) {
    let netlist = elaborate(&Cache {}).unwrap();
    let module = &netlist.modules[0];
    (module.tables[0].clone(), module.nodes.iter().map(|n| n.op.clone()).collect())
}

#[test]
fn a_table_has_the_record_it_declares() {
    let (table, _) = cache();
    assert_eq!((table.depth, table.address_bits, table.has_valid), (6, 3, true));
    let fields: Vec<_> =
        table.fields.iter().map(|f| (f.name.as_str(), f.width, f.lanes, f.lanes_per_array)).collect();
    assert_eq!(
        fields,
        [("tag", 4, 1, 1), ("data", 32, 8, 4), ("dirty", 8, 8, 1), ("user0", 1, 1, 1), ("user1", 1, 1, 1)]
    );
}

#[test]
fn each_call_is_a_port() {
    let (table, _) = cache();
    let reads: Vec<_> = table.reads.iter().map(|r| (r.name.as_str(), r.clocked, r.lanes.is_some())).collect();
    assert_eq!(reads, [("now", false, true), ("later", true, false)]);
    assert_eq!(table.matches.len(), 1);
    assert!(matches!(table.matches[0].condition, RowExpr::And(..)));
}

#[test]
fn updates_are_in_program_order_under_their_conditions() {
    let (table, ops) = cache();
    let op = |node: warpfile_hdl::rtl::netlist::NodeId| &ops[node.index()];
    let [
        Update::Write { enable: fill, fields, set_valid: true, .. },
        Update::ClearRows { enable: clear_hits, .. },
        Update::ClearRow { enable: clear_row, .. },
        Update::Add { enable: always, field: 0, .. },
        Update::SetRows { .. },
        Update::ClearRows { rows: all, enable: last },
    ] = &table.updates[..]
    else {
        panic!("{:#?}", table.updates)
    };
    assert!(matches!(op(*fill), Op::Input(_)));
    let written: Vec<_> = fields.iter().map(|f| (f.field, f.lanes.is_some())).collect();
    assert_eq!(written, [(0, false), (2, true), (4, false)]);
    assert!(matches!(op(*clear_hits), Op::And(..)) && matches!(op(*clear_row), Op::And(..)));
    assert_ne!(clear_hits, clear_row);
    assert!(matches!(op(*always), Op::Constant(bits) if bits.is_ones()));
    assert!(matches!(op(*all), Op::Constant(bits) if bits.is_ones() && bits.width() == 6));
    assert_eq!(last, always);
}

/// A field of one lane.
#[derive(Clone, Copy, Record)]
struct Whole<T = Field> {
    #[bits(8)]
    #[lanes(1)]
    data: T,
}

probe!(OneLane, |m, io| {
    let rows = m.table::<Whole>("rows", 2, &());
    rows.write("write", io.b_i.bit(0), Whole { data: io.a_i }).lanes(io.valid_i).keep_valid();
    io.out_o.set(rows.read("read", io.b_i.bit(1), 1).lanes(io.valid_i).data);
});

#[test]
fn a_field_of_one_lane_can_be_masked() {
    let netlist = elaborate(&OneLane {}).unwrap();
    let Update::Write { fields, set_valid: false, .. } = &netlist.modules[0].tables[0].updates[0] else {
        panic!("the table has one write")
    };
    assert!(fields[0].lanes.is_some());
}
