//! Every construction error, with its text.

use insta::assert_snapshot;
use serde::{Deserialize, Serialize};
use warpfile_hdl::parts::Fifo;
use warpfile_hdl::rtl::{
    Bits, Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Problem, Record, elaborate,
};

use crate::probe::{errors_of, probe};

/// A word of so many bits.
#[derive(Clone, Copy, Record)]
#[params(usize)]
struct Word<T = Field> {
    #[bits(*p)]
    data: T,
}

#[test]
fn all_errors_are_reported_at_once_with_their_lines() {
    probe!(Probe, |m, io| {
        io.out_o.set(io.a_i + io.b_i);
        let lost = m.wire("lost", 3);
        m.invariant("lost_is_wide", lost);
    });
    let errors = elaborate(&Probe {}).unwrap_err().0;
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert_eq!(errors[0].path, "probe");
    let lines: Vec<u32> = errors.iter().filter_map(|e| e.source).map(|s| s.line).collect();
    assert_eq!(lines[1], lines[0] + 2);
    assert_eq!(lines[2], lines[0] + 1);
    assert!(matches!(errors[2].problem, Problem::NotDriven { .. }));
    assert!(errors[0].source.is_some_and(|s| s.file.ends_with("tests/errors.rs")));
}

#[test]
fn widths_must_agree() {
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(io.a_i + io.b_i);
    }), @"probe: `+` needs operands of one width: `a_i` has 8 bits, `b_i` has 4 (errors.rs:LINE)");
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(io.a_i.eq(io.b_i));
    }), @"probe: `eq` needs operands of one width: `a_i` has 8 bits, `b_i` has 4 (errors.rs:LINE)");
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(io.b_i);
    }), @"probe: `out_o` takes 8 bits, `b_i` has 4 (errors.rs:LINE)");
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(io.b_i.mux(io.a_i, 0));
    }), @"probe: the condition of `mux` takes 1 bit, `b_i` has 4 (errors.rs:LINE)");
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(0);
        m.when(io.a_i, || {
            io.out_o.set(1);
        });
    }), @"probe: the condition of `when` takes 1 bit, `a_i` has 8 (errors.rs:LINE)");
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(io.a_i).valid_when(io.b_i);
    }), @"probe: the condition of `valid_when` takes 1 bit, `b_i` has 4 (errors.rs:LINE)");
}

#[test]
fn a_poisoned_signal_causes_no_further_errors() {
    assert_snapshot!(errors_of!(|m, io| {
        let wrong = io.a_i + io.b_i;
        let table = m.table::<Word>("rows", 4, &3);
        table.write("w", wrong, Word { data: wrong.popcount() });
        io.out_o.set((wrong.lane_select(io.b_i, 3) | 7).eq(300).mux(wrong, 1000));
        m.when(wrong.any(), || {
            table.clear_row(wrong);
        });
    }), @r"
        probe: `+` needs operands of one width: `a_i` has 8 bits, `b_i` has 4 (errors.rs:LINE)
        probe: table `rows` has no valid bits; declare them with `.valid_bits()` (errors.rs:LINE)
    ");
}

#[test]
fn slices_and_extensions_stay_inside() {
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(io.a_i.slice(4, 5).zext(8));
    }), @"probe: bits 4 … 8 of `a_i` were asked for, which has 8 bits (errors.rs:LINE)");
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(io.a_i.zext(4).zext(8));
    }), @"probe: `a_i` has 8 bits and cannot be extended to 4 (errors.rs:LINE)");
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(io.a_i.slice(2, 0).zext(8));
    }), @"probe: the width of a slice is 0; allowed: 1 to 1048576 (errors.rs:LINE)");
}

#[test]
fn sizes_are_those_of_hardware() {
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(0);
        m.wire("nothing", 0).set(0);
        m.register("huge", 1 << 30).no_reset().set(0);
        m.table::<Word>("rows", 0, &1).clear_valid();
        m.invariant("replicated", io.a_i.replicate(0).any());
        m.invariant("joined", m.cat([]));
    }), @r"
        probe: the width of `nothing` is 0; allowed: 1 to 1048576 (errors.rs:LINE)
        probe: the width of `huge` is 1073741824; allowed: 1 to 1048576 (errors.rs:LINE)
        probe: the depth of table `rows` is 0; allowed: 1 to 1048576 (errors.rs:LINE)
        probe: the width of a replication is 0; allowed: 1 to 1048576 (errors.rs:LINE)
        probe: `cat` of nothing (errors.rs:LINE)
    ");
}

#[test]
fn constants_must_fit() {
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(256);
        m.register("count", 2).reset(4).set(-1);
        m.invariant("bits", m.lit(4, Bits::zero(5)).any());
    }), @r"
        probe: the constant 256 does not fit 8 bits (errors.rs:LINE)
        probe: the constant 4 does not fit 2 bits (errors.rs:LINE)
        probe: the constant -1 does not fit 2 bits (errors.rs:LINE)
        probe: the constant 0 of 5 bits does not fit 4 bits (errors.rs:LINE)
    ");
}

#[test]
fn lanes_must_fill_a_vector() {
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(io.a_i.lane_add(io.a_i, 3));
    }), @"probe: `lane_add`: the 8 bits of `a_i` do not divide into lanes of 3 bits (errors.rs:LINE)");
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(m.lit(3, 1).lane_mux(io.a_i, io.a_i));
    }), @"probe: `lane_mux`: the 8 bits of `a_i` do not divide into 3 lanes (errors.rs:LINE)");
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(io.a_i.xor_hash([Bits::ones(7)]).zext(8));
    }), @"probe: a row of `xor_hash` takes 8 bits, the mask has 7 (errors.rs:LINE)");
}

#[test]
fn only_targets_are_assigned_and_only_outputs_qualified_or_ignored() {
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(0);
        io.a_i.set(1);
        (io.a_i + 1).set(1);
        io.a_i.valid_when(io.valid_i);
        io.out_o.ignore();
    }), @r"
        probe: `a_i` cannot be assigned: only outputs, wires, registers and the inputs of a sub-circuit can (errors.rs:LINE)
        probe: a sum of errors.rs:LINE cannot be assigned: only outputs, wires, registers and the inputs of a sub-circuit can (errors.rs:LINE)
        probe: `a_i` is not an output of this circuit (errors.rs:LINE)
        probe: `out_o` is not an output of a sub-circuit (errors.rs:LINE)
    ");
}

#[test]
fn everything_is_driven_exactly_once() {
    assert_snapshot!(errors_of!(|m, io| {
        m.wire("lost", 3);
        m.register("stuck", 2).reset(0);
        let _queue = m.instance("queue", Fifo { depth: 2, width: 8 });
    }), @r"
        probe: `out_o` is not driven (errors.rs:LINE)
        probe: `lost` is not driven (errors.rs:LINE)
        probe: `stuck` is not driven (errors.rs:LINE)
        probe: `queue.in_valid_i` is not driven (errors.rs:LINE)
        probe: `queue.in_data_i` is not driven (errors.rs:LINE)
        probe: `queue.out_ready_i` is not driven (errors.rs:LINE)
    ");
    assert_snapshot!(errors_of!(|m, io| {
        m.when(io.valid_i, || {
            io.out_o.set(1);
        });
    }), @"probe: `out_o` is not driven when none of the conditions on its assignments holds; give it a default before them (errors.rs:LINE)");
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(0);
        m.when(io.valid_i, || {
            io.out_o.set(1);
        });
        io.out_o.set(2);
    }), @"probe: `out_o` is driven twice: what errors.rs:LINE assigns is always overridden (errors.rs:LINE)");
}

/// A field with the name of the valid bits.
#[derive(Clone, Copy, Record)]
struct Clashing<T = Field> {
    valid: T,
}

/// A field with the name of an element of another.
#[derive(Clone, Copy, Record)]
struct Twice<T = Field> {
    data: [T; 2],
    data1: T,
}

#[test]
fn names_are_unique_and_survive_in_verilog() {
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(0);
        m.wire("twice", 1).set(0);
        m.register("twice", 1).reset(0).set(0);
        m.register("count", 1).reset(0).set(0);
        m.wire("count_q", 1).set(0);
        io.a_i.named("a_i");
        m.table::<Clashing>("reg", 2, &()).valid_bits();
        m.table::<Twice>("rows", 2, &());
        m.invariant("It holds", io.valid_i);
    }), @r"
        probe: the name `twice` is taken by another wire (errors.rs:LINE)
        probe: the name `count_q` is taken by another register (errors.rs:LINE)
        probe: the name `a_i` is taken by another port (errors.rs:LINE)
        probe: `reg` is not a name: lower-case letters, digits and `_`, a letter first, no Verilog keyword (errors.rs:LINE)
        probe: the name `valid` is taken by another part of the record, its valid bit (errors.rs:LINE)
        probe: the name `data1` is taken by another field of the table (errors.rs:LINE)
        probe: `It holds` is not a name: lower-case letters, digits and `_`, a letter first, no Verilog keyword (errors.rs:LINE)
    ");
}

#[test]
fn outputs_of_sub_circuits_are_read_or_ignored() {
    assert_snapshot!(errors_of!(|m, io| {
        let queue = m.instance("queue", Fifo { depth: 2, width: 8 });
        queue.in_valid_i.set(io.valid_i);
        queue.in_data_i.set(io.a_i);
        queue.out_ready_i.set(1);
        queue.in_ready_o.ignore();
        io.out_o.set(queue.out_data_o).valid_when(queue.out_valid_o);
        // Not a reader: nothing uses the sum.
        let _sum = queue.count_o + 1;
    }), @"probe: nobody reads `queue.count_o`; call `.ignore()` on it if that is meant (errors.rs:LINE)");
}

#[test]
fn parameters_of_sub_circuits_are_checked() {
    assert_snapshot!(errors_of!(|m, io| {
        let queue = m.instance("queue", Fifo { depth: 0, width: 8 });
        queue.in_valid_i.set(io.valid_i);
        io.out_o.set(queue.out_data_o + io.a_i);
    }), @"probe: fifo: parameter `depth` is 0; allowed: 1 to 4096 (errors.rs:LINE)");
}

/// Fields with lanes.
#[derive(Clone, Copy, Record)]
#[params(Lanes)]
struct Laned<T = Field> {
    #[bits(p.bits)]
    #[lanes(p.lanes)]
    #[lanes_per_array(p.per_array)]
    data: T,
    #[bits(9)]
    #[lanes(3)]
    odd: T,
}

struct Lanes {
    bits: usize,
    lanes: usize,
    per_array: usize,
}

#[test]
fn tables_reject_what_they_were_not_declared_for() {
    assert_snapshot!(errors_of!(|m, io| {
        let rows = m.table::<Word>("rows", 16, &8).ports(1, 1);
        let row = rows.read("first", io.b_i, 1);
        rows.read("second", io.b_i, 1);
        io.out_o.set(row.data);
        m.invariant("a_row_is_valid", row.valid());
        rows.write("w", io.b_i, Word { data: io.b_i }).lanes(io.b_i);
        rows.add("w", io.a_i, |word| word.data, 1);
        rows.write_fields("x", io.b_i, |word| [(word.data, io.a_i), (word.data, io.a_i)]);
        rows.clear_valid();
        m.invariant("some_row", rows.matching("first", 1, |row| row.data).any());
        m.invariant("any_row", rows.matching("any", io.a_i, |row| row.data.eq(io.b_i)).any());
        m.invariant("low_row", rows.matching("low", 1, |row| row.data.slice(6, 3).lt(300)).any());
        m.invariant("own_row", rows.matching("own", 1, |row| row.bit_of(io.a_i)).any());
    }), @r#"
        probe: table `rows` declares 1 read ports; `second` is one more (errors.rs:LINE)
        probe: table `rows` has no valid bits; declare them with `.valid_bits()` (errors.rs:LINE)
        probe: field `data` of `w` takes 8 bits, `b_i` has 4 (errors.rs:LINE)
        probe: table `rows` has no field with lanes (errors.rs:LINE)
        probe: the address of `w` takes 4 bits, `a_i` has 8 (errors.rs:LINE)
        probe: the name `w` is taken by another write port of the table (errors.rs:LINE)
        probe: table `rows` declares 1 write ports; `w` is one more (errors.rs:LINE)
        probe: table `rows` declares 1 write ports; `x` is one more (errors.rs:LINE)
        probe: the name `data` is taken by another field of this write (errors.rs:LINE)
        probe: table `rows` has no valid bits; declare them with `.valid_bits()` (errors.rs:LINE)
        probe: the condition of `matching("first")` takes 1 bit, the expression has 8 (errors.rs:LINE)
        probe: an enable takes 1 bit, `a_i` has 8 (errors.rs:LINE)
        probe: `eq` needs operands of one width: a row's value has 8 bits, `b_i` has 4 (errors.rs:LINE)
        probe: bits 6 … 8 of a row's value were asked for, which has 8 bits (errors.rs:LINE)
        probe: a mask of rows takes 16 bits, `a_i` has 8 (errors.rs:LINE)
    "#);
    assert_snapshot!(errors_of!(|m, io| {
        io.out_o.set(0);
        m.table::<Laned>("rows", 16, &Lanes { bits: 30, lanes: 4, per_array: 1 });
        m.table::<Laned>("others", 16, &Lanes { bits: 8, lanes: 4, per_array: 4 });
        m.table::<Laned>("arrays", 16, &Lanes { bits: 6, lanes: 3, per_array: 2 });
        let rows = m.table::<Laned>("threes", 16, &Lanes { bits: 6, lanes: 3, per_array: 3 });
        rows.read("r", io.b_i, 1).lanes(io.a_i);
    }), @r"
        probe: `lanes`: the 30 bits of `rows.data` do not divide into 4 lanes (errors.rs:LINE)
        probe: table `others`: the laned fields of a table have equally many lanes; `odd` has 3, another 4 (errors.rs:LINE)
        probe: `lanes_per_array`: the 3 lanes of `arrays.data` do not divide into arrays of 2 (errors.rs:LINE)
        probe: the lane mask of `r` takes 3 bits, `a_i` has 8 (errors.rs:LINE)
    ");
}

/// A circuit that contains itself.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Endless {}

#[derive(Ports)]
struct EndlessIo<'m> {
    out_o: Out<'m>,
}

impl Circuit for Endless {
    type Io<'m> = EndlessIo<'m>;
    const NAME: &'static str = "endless";
    fn build<'m>(&self, m: &Module<'m>, io: &EndlessIo<'m>) {
        io.out_o.set(m.instance("inner", Endless {}).out_o);
    }
}

#[test]
fn endless_nesting_is_an_error() {
    let errors = elaborate(&Endless {}).unwrap_err();
    assert!(
        errors.0.iter().any(|e| e.to_string().contains("sub-circuits are nested more than 64 deep")),
        "{errors}"
    );
}

/// A circuit whose port count comes from its parameter.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Wide {
    /// Ports.
    ports: usize,
    /// Bits of a port.
    bits: usize,
}

#[derive(Ports)]
#[params(Wide)]
struct WideIo<'m> {
    #[repeat(p.ports)]
    #[bits(p.bits)]
    in_i: Vec<In<'m>>,
    any_o: Out<'m>,
}

impl Circuit for Wide {
    type Io<'m> = WideIo<'m>;
    const NAME: &'static str = "wide";
    fn validate(&self) -> Result<(), ParameterError> {
        Self::check(self.bits != 3, "bits", self.bits, "anything but 3")
    }
    fn build<'m>(&self, m: &Module<'m>, io: &WideIo<'m>) {
        io.any_o.set(m.cat(io.in_i.iter().copied()).any());
    }
    fn module_name(&self) -> String {
        "wide".to_string()
    }
}

#[test]
fn a_parameter_error_names_circuit_parameter_value_and_range() {
    let errors = elaborate(&Wide { ports: 1, bits: 3 }).unwrap_err();
    assert_eq!(errors.to_string(), "wide: parameter `bits` is 3; allowed: anything but 3");
}

#[test]
fn unreasonable_ports_are_errors() {
    let text = |wide| crate::probe::without_lines(&elaborate(&wide).unwrap_err().to_string());
    assert_snapshot!(text(Wide { ports: 1_000_000, bits: 1 }), @r"
        wide: 1000000 times `in_i` were asked for; allowed: at most 4096 (errors.rs:LINE)
        wide: `cat` of nothing (errors.rs:LINE)
    ");
    assert_snapshot!(text(Wide { ports: 2, bits: 0 }), @r"
        wide: the width of `in0_i` is 0; allowed: 1 to 1048576 (errors.rs:LINE)
        wide: the width of `in1_i` is 0; allowed: 1 to 1048576 (errors.rs:LINE)
    ");
}

#[test]
fn two_sets_of_parameters_do_not_share_a_module_name() {
    assert_snapshot!(errors_of!(|m, io| {
        let one = m.instance("one", Wide { ports: 1, bits: 8 });
        one.in_i[0].set(io.a_i);
        let two = m.instance("two", Wide { ports: 2, bits: 8 });
        two.in_i[0].set(io.a_i);
        two.in_i[1].set(io.a_i);
        io.out_o.set((one.any_o & two.any_o).zext(8));
    }), @"probe.two: two circuits are called `wide`: (ports = 1, bits = 8) and (ports = 2, bits = 8)");
}
