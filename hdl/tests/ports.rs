//! Port structs: names, widths, order.

use serde::{Deserialize, Serialize};
use warpfile_hdl::rtl::netlist::Direction;
use warpfile_hdl::rtl::{Circuit, Documented, In, Module, Out, Ports, elaborate};

/// Ports of every kind.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct EveryPort {
    /// Bits of a register number.
    register_bits: usize,
    /// Source operands.
    sources: usize,
}

#[derive(Ports)]
#[params(EveryPort)]
struct Io<'m> {
    issue: Issue<'m>,
    #[repeat(p.sources)]
    #[bits(p.register_bits * 2)]
    source_o: Vec<Out<'m>>,
    #[with(Width(5))]
    other: Sized<'m>,
}

#[derive(Ports)]
#[params(EveryPort)]
struct Issue<'m> {
    handshake: Handshake<'m>,
    #[repeat(p.sources)]
    source: Vec<Source<'m>>,
}

#[derive(Ports)]
struct Handshake<'m> {
    valid_i: In<'m>,
    ready_o: Out<'m>,
}

#[derive(Ports)]
#[params(EveryPort)]
struct Source<'m> {
    valid_i: In<'m>,
    #[bits(p.register_bits)]
    register_i: In<'m>,
}

struct Width(usize);

#[derive(Ports)]
#[params(Width)]
struct Sized<'m> {
    #[bits(p.0)]
    data_i: In<'m>,
}

impl Circuit for EveryPort {
    type Io<'m> = Io<'m>;
    const NAME: &'static str = "every_port";
    fn build<'m>(&self, _: &Module<'m>, io: &Io<'m>) {
        io.issue.handshake.ready_o.set(io.issue.handshake.valid_i);
        for (source, out) in io.issue.source.iter().zip(&io.source_o) {
            let valid = source.valid_i & io.other.data_i.any();
            out.set(source.register_i.zext(2 * self.register_bits)).valid_when(valid);
        }
    }
}

#[test]
fn names_are_prefixed_numbered_and_in_order() {
    let netlist = elaborate(&EveryPort { register_bits: 6, sources: 2 }).unwrap();
    let ports = netlist.modules[0].ports.iter().map(|p| (p.name.as_str(), p.direction, p.width));
    assert_eq!(
        ports.collect::<Vec<_>>(),
        [
            ("issue_handshake_valid_i", Direction::Input, 1),
            ("issue_handshake_ready_o", Direction::Output, 1),
            ("issue_source0_valid_i", Direction::Input, 1),
            ("issue_source0_register_i", Direction::Input, 6),
            ("issue_source1_valid_i", Direction::Input, 1),
            ("issue_source1_register_i", Direction::Input, 6),
            ("source0_o", Direction::Output, 12),
            ("source1_o", Direction::Output, 12),
            ("other_data_i", Direction::Input, 5),
        ]
    );
}

#[test]
fn a_qualified_output_says_when_it_is_valid() {
    let netlist = elaborate(&EveryPort { register_bits: 6, sources: 1 }).unwrap();
    let qualified = netlist.modules[0].ports.iter().filter(|p| p.valid_when.is_some());
    assert_eq!(qualified.map(|p| p.name.as_str()).collect::<Vec<_>>(), ["source0_o"]);
}
