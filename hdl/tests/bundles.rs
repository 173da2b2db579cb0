//! Structs of ports as a whole: handles to them, passed through to a circuit inside, connected with the other side.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};
use warpfile_hdl::rtl::netlist::{Netlist, Op};
use warpfile_hdl::rtl::{Circuit, Documented, In, Module, Out, PortLookup, Ports, elaborate, resolve_ports};

/// Holds a word until it is taken.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Holder {
    /// Words.
    words: usize,
}

#[derive(Ports)]
#[params(Holder)]
struct HolderIo<'m> {
    #[flatten]
    way: Way<'m>,
}

#[derive(Ports)]
#[params(Holder)]
struct Way<'m> {
    #[repeat_plain(p.words)]
    put: Vec<PutIo<'m>>,
    #[repeat_plain(p.words)]
    get: Vec<GetIo<'m>>,
    #[repeat(2)]
    #[bits(p.words)]
    full_o: Vec<Out<'m>>,
}

/// A word that is offered.
#[derive(Ports)]
#[flipped(PutIo)]
struct GetIo<'m> {
    valid_o: Out<'m>,
    ready_i: In<'m>,
    #[repeat(1)]
    #[bits(8)]
    #[valid_when(valid_o)]
    word_o: Vec<Out<'m>>,
}

impl Circuit for Holder {
    type Io<'m> = HolderIo<'m>;
    const NAME: &'static str = "holder";
    fn build<'m>(&self, m: &Module<'m>, io: &HolderIo<'m>) {
        for (put, get) in io.way.put.iter().zip(&io.way.get) {
            put.ready_o.set(get.ready_i);
            get.valid_o.set(put.valid_i);
            get.word_o[0].set(put.word_i[0]);
        }
        io.way.full_o[0].set(m.lit(self.words, 0));
        io.way.full_o[1].set(m.lit(self.words, 0));
    }
}

/// Two holders, one behind the other.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
struct Chain {
    /// Words of the first.
    first: usize,
    /// Words of the second.
    second: usize,
}

#[derive(Ports)]
#[params(Chain)]
struct ChainIo<'m> {
    #[with(Holder { words: p.first })]
    outside: Way<'m>,
}

impl Circuit for Chain {
    type Io<'m> = ChainIo<'m>;
    const NAME: &'static str = "chain";
    fn build<'m>(&self, m: &Module<'m>, io: &ChainIo<'m>) {
        let first = m.instance("first", Holder { words: self.first });
        let second = m.instance("second", Holder { words: self.second });
        m.connect(&first.way.get, &second.way.put);
        let outside = &io.outside;
        m.pass_through(&outside.put, &first.way.put);
        m.pass_through(&outside.get, &second.way.get);
        for full in &first.way.full_o {
            full.ignore();
        }
        for (outer, inner) in outside.full_o.iter().zip(&second.way.full_o) {
            outer.set(*inner);
        }
    }
}

/// The name of the port that `instance` gets its input `name` from, or the output of which instance.
fn driver(netlist: &Netlist, instance: &str, name: &str) -> String {
    let top = &netlist.modules[netlist.top.index()];
    let found = top.instances.iter().find(|i| i.name == instance).unwrap();
    let ports = &netlist.modules[found.module.index()].ports;
    let (_, node) = found.inputs.iter().find(|(port, _)| ports[port.index()].name == name).unwrap();
    match &top.nodes[node.index()].op {
        Op::Input(port) => top.ports[port.index()].name.clone(),
        Op::InstanceOutput { instance, port } => {
            let instance = &top.instances[instance.index()];
            format!("{}.{}", instance.name, netlist.modules[instance.module.index()].ports[port.index()].name)
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn inputs_come_from_outside_and_both_sides_drive_each_other() {
    let netlist = elaborate(&Chain { first: 1, second: 1 }).unwrap();
    assert_eq!(driver(&netlist, "first", "put_valid_i"), "outside_put_valid_i");
    assert_eq!(driver(&netlist, "first", "put_word0_i"), "outside_put_word0_i");
    assert_eq!(driver(&netlist, "first", "get_ready_i"), "second.put_ready_o");
    assert_eq!(driver(&netlist, "second", "put_valid_i"), "first.get_valid_o");
    assert_eq!(driver(&netlist, "second", "put_word0_i"), "first.get_word0_o");
    assert_eq!(driver(&netlist, "second", "get_ready_i"), "outside_get_ready_i");
    let top = &netlist.modules[netlist.top.index()];
    let get = top.ports.iter().find(|port| port.name == "outside_get_word0_o").unwrap();
    let valid = top.ports.iter().find(|port| port.name == "outside_get_valid_o").unwrap();
    assert!(get.valid_when.is_some() && valid.valid_when.is_none(), "the struct says so");
}

#[test]
fn lists_of_different_length_are_not_connected() {
    let errors = elaborate(&Chain { first: 2, second: 1 }).unwrap_err().to_string();
    assert!(errors.contains("2 ports or groups cannot be connected with 1"), "{errors}");
    assert!(errors.contains("hdl/tests/bundles.rs"), "{errors}");
}

#[test]
fn handles_have_the_shape_of_the_ports() {
    struct Names;
    impl PortLookup for Names {
        type In = String;
        type Out = (String,);
        type Error = Infallible;
        fn input(&mut self, name: &str) -> Result<String, Infallible> {
            Ok(name.to_owned())
        }
        fn output(&mut self, name: &str) -> Result<(String,), Infallible> {
            Ok((name.to_owned(),))
        }
    }
    let Ok(handles) = resolve_ports(&Holder { words: 2 }, &mut Names);
    let put = &handles.way.put[1];
    assert_eq!((put.valid_i.as_str(), put.word_i[0].as_str()), ("put1_valid_i", "put1_word0_i"));
    assert_eq!(put.ready_o, ("put1_ready_o".to_owned(),));
    assert_eq!(handles.way.full_o[1], ("full1_o".to_owned(),));
    let Ok(handles) = resolve_ports(&Chain { first: 1, second: 1 }, &mut Names);
    assert_eq!(handles.outside.get[0].ready_i, "outside_get_ready_i");
}

/// Stops at the third port.
struct TwoPorts(usize);

impl PortLookup for TwoPorts {
    type In = ();
    type Out = ();
    type Error = String;
    fn input(&mut self, name: &str) -> Result<(), String> {
        self.0 += 1;
        if self.0 > 2 { Err(name.to_owned()) } else { Ok(()) }
    }
    fn output(&mut self, name: &str) -> Result<(), String> {
        self.input(name)
    }
}

#[test]
fn a_port_that_is_not_there_is_named() {
    let error = resolve_ports(&Holder { words: 1 }, &mut TwoPorts(0)).err();
    assert_eq!(error.as_deref(), Some("put_word0_i"));
}
