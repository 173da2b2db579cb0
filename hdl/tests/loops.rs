//! Combinational loops, in one module and through sub-circuits.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use warpfile_hdl::rtl::{Circuit, Documented, Field, In, Module, Out, Ports, Record};

use crate::probe::errors_of;

/// Passes one input through and registers another.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Stage {}

#[derive(Ports)]
struct StageIo<'m> {
    #[bits(8)]
    through_i: In<'m>,
    #[bits(8)]
    through_o: Out<'m>,
    #[bits(8)]
    held_i: In<'m>,
    #[bits(8)]
    held_o: Out<'m>,
}

impl Circuit for Stage {
    type Io<'m> = StageIo<'m>;
    const NAME: &'static str = "stage";
    fn build<'m>(&self, m: &Module<'m>, io: &StageIo<'m>) {
        let held = m.register("held", 8).reset(0);
        held.set(io.held_i);
        io.held_o.set(held);
        io.through_o.set((io.through_i + 1).named("sum"));
    }
}

#[test]
fn a_loop_is_printed_step_by_step() {
    assert_snapshot!(errors_of!(|m, io| {
        let a = m.wire("a", 8);
        let b = (a + io.a_i).named("b");
        a.set(b);
        io.out_o.set(a);
    }), @"probe: combinational loop: `a` <- `b` <- a sum of loops.rs:LINE <- `a` (loops.rs:LINE)");
}

#[test]
fn an_output_that_depends_on_itself_is_a_loop() {
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(io.out_o);
    }), @"probe: combinational loop: `out_o` <- `out_o` (loops.rs:LINE)");
}

#[test]
fn every_knot_is_reported() {
    assert_snapshot!(errors_of!(|m, io| {
        let [a, b] = ["a", "b"].map(|name| m.wire(name, 8));
        a.set(a + 1);
        b.set(b + 1);
        io.out_o.set(a);
    }), @r"
        probe: combinational loop: `a` <- a sum of loops.rs:LINE <- `a` (loops.rs:LINE)
        probe: combinational loop: `b` <- a sum of loops.rs:LINE <- `b` (loops.rs:LINE)
    ");
}

#[test]
fn loops_are_found_through_sub_circuits() {
    assert_snapshot!(errors_of!(|m, io| {
        let [one, two] = ["one", "two"].map(|name| m.instance(name, Stage {}));
        one.through_i.set(two.through_o);
        two.through_i.set(one.through_o);
        one.held_i.set(io.a_i);
        two.held_i.set(one.held_o);
        io.out_o.set(two.held_o);
    }), @"probe: combinational loop: `one.through_o` <- `one.sum` <- a sum of loops.rs:LINE in `one` <- `one.through_i` <- `two.through_o` <- `two.sum` <- a sum of loops.rs:LINE in `two` <- `two.through_i` <- `one.through_o` (loops.rs:LINE)");
}

#[test]
fn a_register_in_the_sub_circuit_breaks_a_loop() {
    assert_eq!(
        errors_of!(|m, io| {
            let stage = m.instance("stage", Stage {});
            // held_o -> through -> held_i: around, but through the register; and through both ports.
            stage.through_i.set(stage.held_o + io.a_i);
            stage.held_i.set(stage.through_o);
            io.out_o.set(stage.held_o);
        }),
        "no error"
    );
}

/// A word of so many bits.
#[derive(Clone, Copy, Record)]
#[params(usize)]
struct Word<T = Field> {
    #[bits(*p)]
    data: T,
}

#[test]
fn a_table_breaks_a_loop_only_through_its_rows() {
    assert_eq!(
        errors_of!(|m, io| {
            let rows = m.table::<Word>("rows", 16, &4);
            let address = m.wire("address", 4);
            let clocked = rows.read_clocked("clocked", address, 1).data;
            // An enable does not change what is read.
            let enable = m.wire("enable", 1);
            let read = rows.read("read", io.b_i, enable).data;
            enable.set(read.any());
            address.set(clocked + read);
            rows.write("write", read, Word { data: address });
            io.out_o.set(clocked.zext(8));
        }),
        "no error"
    );
    assert_snapshot!(errors_of!(|m, io| {
        let rows = m.table::<Word>("rows", 16, &4);
        let address = m.wire("address", 4);
        address.set(rows.read("read", address, 1).data);
        io.out_o.set(address.zext(8));
    }), @"probe: combinational loop: `address` <- `rows.read.data` <- `address` (loops.rs:LINE)");
    assert_snapshot!(errors_of!(|m, io| {
        let rows = m.table::<Word>("rows", 8, &8);
        let key = m.wire("key", 8);
        key.set(rows.matching("find", 1, |row| row.data.eq(key)));
        io.out_o.set(key);
    }), @"probe: combinational loop: `key` <- `rows.find` <- `key` (loops.rs:LINE)");
}
