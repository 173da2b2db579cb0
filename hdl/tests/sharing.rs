//! What is built once, and what is left out.

use warpfile_hdl::parts::{Fifo, RoundRobinArbiter};
use warpfile_hdl::rtl::elaborate;
use warpfile_hdl::rtl::netlist::{Module, Netlist, Op};

use crate::probe::probe;

fn top(netlist: &Netlist) -> &Module {
    &netlist.modules[netlist.top.index()]
}

probe!(TwoQueues, |m, io| {
    let mut data = io.a_i;
    for name in ["first", "second"] {
        let queue = m.instance(name, Fifo { depth: 2, width: 8 });
        queue.in_valid_i.set(io.valid_i);
        queue.in_data_i.set(data);
        queue.out_ready_i.set(1);
        data = queue.out_data_o;
        for output in [queue.in_ready_o, queue.out_valid_o, queue.count_o] {
            output.ignore();
        }
    }
    let arbiter = m.instance("arbiter", RoundRobinArbiter { requests: 4 });
    arbiter.request_i.set(io.b_i);
    arbiter.take_i.set(1);
    arbiter.valid_o.ignore();
    arbiter.index_o.ignore();
    io.out_o.set(data ^ arbiter.grant_o.zext(8));
});

#[test]
fn equal_circuits_are_one_module_and_children_come_first() {
    let netlist = elaborate(&TwoQueues {}).unwrap();
    let names: Vec<&str> = netlist.modules.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["fifo_2x8", "round_robin_arbiter_4", "probe"]);
    assert_eq!(netlist.top.index(), 2);
    let instances: Vec<_> =
        top(&netlist).instances.iter().map(|i| (i.name.as_str(), i.module.index())).collect();
    assert_eq!(instances, [("first", 0), ("second", 0), ("arbiter", 1)]);
    assert_eq!(top(&netlist).instances[0].inputs.len(), 3);
}

probe!(Wasteful, |m, io| {
    let _unused = (io.a_i * io.a_i).named("unused");
    let sum = io.a_i + io.b_i.zext(8);
    let again = io.a_i + io.b_i.zext(8);
    io.out_o.set(io.valid_i.mux(sum, 0) | (io.valid_i & m.lit(1, 1)).mux(again, 0));
});

#[test]
fn equal_expressions_are_one_node_and_unused_ones_none() {
    let netlist = elaborate(&Wasteful {}).unwrap();
    let count = |is: fn(&Op) -> bool| top(&netlist).nodes.iter().filter(|n| is(&n.op)).count();
    assert_eq!(count(|op| matches!(op, Op::Add(..))), 1);
    assert_eq!(count(|op| matches!(op, Op::Mux { .. })), 1);
    assert_eq!(count(|op| matches!(op, Op::Mul(..) | Op::Or(..) | Op::And(..) | Op::Wire(_))), 0);
}

probe!(Named, |m, io| {
    let later = m.wire("later", 8);
    io.out_o.set(later ^ io.a_i.named("first_operand"));
    later.set(io.b_i.zext(8));
});

#[test]
fn named_signals_keep_their_names() {
    let netlist = elaborate(&Named {}).unwrap();
    let names: Vec<&str> = top(&netlist).nodes.iter().filter_map(|n| n.name.as_deref()).collect();
    assert_eq!(names, ["later", "first_operand"]);
}

probe!(Imported, |m, io| {
    let queue = elaborate(&Fifo { depth: 2, width: 8 }).unwrap();
    let mut data = io.a_i;
    for name in ["first", "second"] {
        let ports = m.instance_of(name, &queue);
        let port = |name: &str| ports.iter().find(|port| port.name == name).unwrap().signal;
        port("in_valid_i").set(io.valid_i);
        port("in_data_i").set(data);
        port("out_ready_i").set(1);
        data = port("out_data_o");
        for name in ["in_ready_o", "out_valid_o", "count_o"] {
            port(name).ignore();
        }
    }
    io.out_o.set(data ^ io.b_i.zext(8));
});

#[test]
fn a_netlist_is_a_sub_circuit_and_shared() {
    let netlist = elaborate(&Imported {}).unwrap();
    let names: Vec<&str> = netlist.modules.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["fifo_2x8", "probe"]);
    let instances: Vec<_> =
        top(&netlist).instances.iter().map(|i| (i.name.as_str(), i.module.index())).collect();
    assert_eq!(instances, [("first", 0), ("second", 0)]);
}

#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, warpfile_hdl::rtl::Documented)]
struct OtherFifo {}

#[derive(warpfile_hdl::rtl::Ports)]
#[params(OtherFifo)]
struct OtherFifoIo<'m> {
    out_o: warpfile_hdl::rtl::Out<'m>,
}

impl warpfile_hdl::rtl::Circuit for OtherFifo {
    type Io<'m> = OtherFifoIo<'m>;
    const NAME: &'static str = "fifo_2x8";
    fn build<'m>(&self, _: &warpfile_hdl::rtl::Module<'m>, io: &OtherFifoIo<'m>) {
        io.out_o.set(1);
    }
}

probe!(TwoOfAName, |m, io| {
    let (queue, other) = (elaborate(&Fifo { depth: 2, width: 8 }), elaborate(&OtherFifo {}));
    m.instance_of("queue", &queue.unwrap());
    m.instance_of("other", &other.unwrap());
    io.out_o.set(io.a_i);
});

#[test]
fn another_module_of_the_same_name_is_an_error() {
    let errors = elaborate(&TwoOfAName {}).unwrap_err().to_string();
    assert!(errors.contains("fifo_2x8"), "{errors}");
}
