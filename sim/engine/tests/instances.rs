//! Circuits with equal sub-circuits, where what these are given or hold differs, in parts.

use warpfile_engine::Options;
use warpfile_hdl::rtl::netlist::*;
use warpfile_random::{Beside, random_cycles};

use crate::behaviour::{SOURCE, Sketch};

/// A circuit around two or more instances of others.
struct Around {
    children: Vec<Module>,
    top: Sketch,
}

impl Around {
    fn new(children: Vec<Sketch>) -> Around {
        Around { children: children.into_iter().map(|child| child.0).collect(), top: Sketch::new("top") }
    }

    /// An instance of a child; gives the nodes of its outputs.
    fn instance(&mut self, child: usize, inputs: &[NodeId]) -> Vec<NodeId> {
        let instance = InstanceId(self.top.0.instances.len() as u32);
        let ports: Vec<(PortId, Direction, u32)> = (0..)
            .map(PortId)
            .zip(&self.children[child].ports)
            .map(|(id, port)| {
                (
                    id,
                    port.direction,
                    port.driver.map_or(0, |node| self.children[child].nodes[node.index()].width),
                )
            })
            .collect();
        let of = |wanted: Direction| ports.iter().filter(move |(_, direction, _)| *direction == wanted);
        let inputs = of(Direction::Input).map(|(port, ..)| *port).zip(inputs.iter().copied()).collect();
        let (name, module) = (format!("child{}", instance.0), ModuleId(child as u32));
        self.top.0.instances.push(Instance { name, module, inputs, source: SOURCE });
        let outputs: Vec<(PortId, u32)> =
            of(Direction::Output).map(|(port, _, width)| (*port, *width)).collect();
        outputs
            .into_iter()
            .map(|(port, width)| self.top.node(Op::InstanceOutput { instance, port }, width))
            .collect()
    }

    fn netlist(self) -> Netlist {
        let top = ModuleId(self.children.len() as u32);
        Netlist { modules: self.children.into_iter().chain([self.top.0]).collect(), top }
    }
}

/// Runs both engines, step by step and several cycles at a call.
fn equal_in_parts(netlist: &Netlist) {
    for seed in 0..20 {
        for count_activity in [false, true] {
            let options = Options { seed, count_activity, smallest_part: Some(8), ..Options::default() };
            let mut engines = Beside::new(netlist, &options).expect("a sound netlist");
            for cycle in random_cycles(netlist, seed, 20) {
                engines.apply(&cycle);
                if seed % 2 == 0 {
                    engines.step()
                } else {
                    engines.run(3)
                }
                engines.compare().unwrap_or_else(|unequal| panic!("seed {seed}: {unequal}"));
            }
        }
    }
}

/// A register of 128 bits that takes one of two inputs, which is also an output.
fn choice() -> Sketch {
    let mut child = Sketch::new("choice");
    let [select, a, b] =
        [("select_i", 1), ("a_i", 128), ("b_i", 128)].map(|(name, width)| child.input(name, width));
    let q = child.register("q", 128, Some(0));
    let next = child.node(Op::Mux { condition: select, then: a, otherwise: b }, 128);
    child.0.registers[0].next = next;
    child.output("next_o", next, None);
    child.output("q_o", q, None);
    child
}

#[test]
fn what_one_instance_chose_is_not_taken_for_what_another_did() {
    let mut around = Around::new(vec![choice()]);
    for i in 0..2 {
        let inputs = [("select", 1), ("a", 128), ("b", 128)]
            .map(|(name, width)| around.top.input(&format!("{name}{i}_i"), width));
        let [next, q] = around.instance(0, &inputs)[..] else { unreachable!("two outputs") };
        // The rest of the circuit looks at what the first has chosen.
        let inverse = around.top.node(Op::Not(next), 128);
        around.top.output(&format!("inverse{i}_o"), inverse, None);
        around.top.output(&format!("q{i}_o"), q, None);
    }
    equal_in_parts(&around.netlist());
}

#[test]
fn what_is_narrow_in_one_instance_may_be_wide_in_another() {
    let mut child = Sketch::new("twice");
    let input = child.input("in_i", 8);
    let sum = child.register("sum", 8, Some(0));
    let twice = child.node(Op::Add(input, input), 8);
    child.0.registers[0].next = twice;
    child.output("sum_o", sum, None);
    let mut around = Around::new(vec![child]);
    for (i, width) in [4, 8].into_iter().enumerate() {
        let [a, b] = ["a", "b"].map(|name| around.top.input(&format!("{name}{i}_i"), width));
        let both = around.top.node(Op::And(a, b), width);
        let input = if width < 8 { around.top.node(Op::ZeroExtend(both), 8) } else { both };
        let sum = around.instance(0, &[input])[0];
        around.top.output(&format!("sum{i}_o"), sum, None);
    }
    equal_in_parts(&around.netlist());
}

#[test]
fn valid_bits_of_instances_are_their_own_whatever_a_register_is_called() {
    let mut child = Sketch::new("entries");
    let [enable, address, value] =
        [("enable_i", 1), ("address_i", 2), ("value_i", 8)].map(|(name, width)| child.input(name, width));
    let register = child.register("entries_valid", 4, Some(0));
    let valid = child.node(Op::TableValid(TableId(0)), 4);
    child.0.registers[0].next = valid;
    let write = Update::Write {
        name: "write".to_owned(),
        address,
        enable,
        fields: vec![FieldWrite { field: 0, value, lanes: None }],
        set_valid: true,
    };
    child.0.tables.push(Table {
        name: "entries".to_owned(),
        depth: 4,
        address_bits: 2,
        fields: vec![Field { name: "value".to_owned(), width: 8, lanes: 1, lanes_per_array: 1 }],
        has_valid: true,
        reads: Vec::new(),
        matches: Vec::new(),
        updates: vec![write],
        source: SOURCE,
    });
    child.output("valid_o", valid, None);
    child.output("before_o", register, None);
    let mut around = Around::new(vec![child]);
    for i in 0..3 {
        let inputs = [("enable", 1), ("address", 2), ("value", 8)]
            .map(|(name, width)| around.top.input(&format!("{name}{i}_i"), width));
        for (k, output) in around.instance(0, &inputs).into_iter().enumerate() {
            around.top.output(&format!("out{i}_{k}_o"), output, None);
        }
    }
    equal_in_parts(&around.netlist());
}

/// Three registers of 64 bits.
fn three_registers(name: &str) -> Sketch {
    let mut child = Sketch::new(name);
    let input = child.input("in_i", 64);
    let mut last = input;
    for i in 0..3 {
        let q = child.register(&format!("r{i}"), 64, Some(0));
        child.0.registers[i].next = last;
        child.output(&format!("r{i}_o"), q, None);
        last = q;
    }
    child
}

#[test]
fn registers_that_are_folded_as_a_row_are_still_one() {
    let mut sum = Sketch::new("sum");
    let inputs: Vec<NodeId> = (0..6).map(|i| sum.input(&format!("in{i}_i"), 64)).collect();
    let q = sum.register("q", 64, Some(0));
    let any = inputs[1..].iter().fold(inputs[0], |any, &input| sum.node(Op::Or(any, input), 64));
    sum.0.registers[0].next = any;
    sum.output("q_o", q, None);
    let mut around = Around::new(vec![three_registers("s"), three_registers("t"), sum]);
    let input = around.top.input("in_i", 64);
    let rows = [0, 1].map(|child| {
        let pair = [0, 1].map(|i| {
            let rotation = around.top.constant(64, (7 << i) | child as u64);
            let input = around.top.node(Op::Xor(input, rotation), 64);
            around.instance(child, &[input])
        });
        pair.concat()
    });
    for (i, row) in rows.iter().enumerate() {
        let q = around.instance(2, row)[0];
        around.top.output(&format!("q{i}_o"), q, None);
    }
    equal_in_parts(&around.netlist());
}
