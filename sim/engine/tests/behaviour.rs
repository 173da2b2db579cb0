//! What the engine promises around a circuit: reset, seeds, qualifiers, lanes, invariants, errors.

use warpfile_engine::{ActivityKind, Engine, EngineError, Interpreter, Observe, Options, flatten, plan};
use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::*;

use crate::lockstep::netlist;

pub(crate) const SOURCE: SourceLine = SourceLine { file: "circuit.rs", line: 7 };

/// A module in the making, for circuits of a few nodes.
pub(crate) struct Sketch(pub(crate) Module);

impl Sketch {
    pub(crate) fn new(name: &str) -> Sketch {
        Sketch(Module {
            name: name.to_owned(),
            doc: String::new(),
            parameters: Vec::new(),
            ports: Vec::new(),
            nodes: Vec::new(),
            registers: Vec::new(),
            tables: Vec::new(),
            instances: Vec::new(),
            invariants: Vec::new(),
        })
    }

    pub(crate) fn node(&mut self, op: Op, width: u32) -> NodeId {
        self.0.nodes.push(Node { op, width, name: None, source: SOURCE });
        NodeId(self.0.nodes.len() as u32 - 1)
    }

    pub(crate) fn named(&mut self, name: &str, op: Op, width: u32) -> NodeId {
        let node = self.node(op, width);
        self.0.nodes[node.index()].name = Some(name.to_owned());
        node
    }

    pub(crate) fn constant(&mut self, width: u32, value: u64) -> NodeId {
        self.node(Op::Constant(Bits::new(width, value).expect("fits")), width)
    }

    pub(crate) fn input(&mut self, name: &str, width: u32) -> NodeId {
        let port = PortId(self.0.ports.len() as u32);
        let (name, direction) = (name.to_owned(), Direction::Input);
        self.0.ports.push(Port { name, direction, width, driver: None, valid_when: None });
        self.node(Op::Input(port), width)
    }

    pub(crate) fn output(&mut self, name: &str, driver: NodeId, valid_when: Option<NodeId>) {
        let (name, width) = (name.to_owned(), self.0.nodes[driver.index()].width);
        let driver = Some(driver);
        self.0.ports.push(Port { name, direction: Direction::Output, width, driver, valid_when });
    }

    /// A register without a next value yet.
    pub(crate) fn register(&mut self, name: &str, width: u32, reset: Option<u64>) -> NodeId {
        let id = RegisterId(self.0.registers.len() as u32);
        let reset = reset.map(|value| Bits::new(width, value).expect("fits"));
        let (name, next) = (name.to_owned(), NodeId(0));
        self.0.registers.push(Register { name, width, reset, next, enable: None, source: SOURCE });
        self.node(Op::Register(id), width)
    }

    pub(crate) fn netlist(self) -> Netlist {
        Netlist { modules: vec![self.0], top: ModuleId(0) }
    }
}

/// Counts cycles with `enable_i`; `count_o` means something only while enabled. Wrong from 3 on, says an
/// invariant. Holds a second register without reset.
pub(crate) fn counter() -> Netlist {
    let mut sketch = Sketch::new("counter");
    let enable = sketch.input("enable_i", 1);
    let count = sketch.register("count", 8, Some(0));
    let one = sketch.constant(8, 1);
    let next = sketch.named("next", Op::Add(count, one), 8);
    sketch.0.registers[0].next = next;
    sketch.0.registers[0].enable = Some(enable);
    let three = sketch.constant(8, 3);
    let below = sketch.node(Op::Lt(count, three), 1);
    sketch.0.invariants.push(Invariant {
        name: "stays_below_3".to_owned(),
        condition: below,
        kept_by: KeptBy::Circuit,
        source: SOURCE,
    });
    let noise = sketch.register("noise", 100, None);
    sketch.0.registers[1].next = noise;
    sketch.output("count_o", count, Some(enable));
    sketch.output("noise_o", noise, None);
    sketch.netlist()
}

fn engine(netlist: &Netlist) -> Interpreter {
    Interpreter::new(netlist, &Options::checked()).expect("a sound netlist")
}

#[test]
fn outputs_are_as_settled_before_the_edge() {
    let mut engine = engine(&counter());
    let (enable, count) = (engine.input("enable_i").unwrap(), engine.output("count_o").unwrap());
    engine.set(enable, 1);
    let mut seen = Vec::new();
    for _ in 0..3 {
        engine.step();
        seen.push(engine.get(count));
    }
    assert_eq!(seen, [0, 1, 2]);
    assert_eq!(engine.peek("next").unwrap(), 3u32.into());
    assert_eq!(engine.peek("count_q").unwrap(), 2u32.into());
}

#[test]
fn an_input_set_after_a_cycle_does_not_change_its_edge() {
    let mut engine = engine(&counter());
    let (enable, count) = (engine.input("enable_i").unwrap(), engine.output("count_o").unwrap());
    engine.set(enable, 1);
    engine.step();
    engine.set(enable, 0);
    engine.step();
    assert_eq!(engine.get(count), 1);
    engine.step();
    assert_eq!(engine.get(count), 1);
}

#[test]
fn reset_returns_registers_to_their_reset_value_and_keeps_the_others() {
    let mut engine = engine(&counter());
    let (enable, count) = (engine.input("enable_i").unwrap(), engine.output("count_o").unwrap());
    engine.set(enable, 1);
    engine.step();
    engine.step();
    let noise = engine.peek("noise_q").unwrap();
    engine.set_reset(true);
    engine.step();
    assert_eq!(engine.get(count), 2, "reset is synchronous");
    engine.set_reset(false);
    engine.step();
    assert_eq!(engine.get(count), 0);
    assert_eq!(engine.peek("noise_q").unwrap(), noise);
}

#[test]
fn only_state_without_reset_depends_on_the_seed() {
    let [first, same, other] = [1, 1, 2].map(|seed| {
        let mut engine = Interpreter::new(&counter(), &Options { seed, ..Options::checked() }).unwrap();
        engine.step();
        (engine.peek("count_q").unwrap(), engine.peek("noise_q").unwrap())
    });
    assert_eq!(first, same);
    assert_eq!(first.0, other.0);
    assert_ne!(first.1, other.1);
    assert!(first.1.bits() > 64, "every word is filled");
}

#[test]
fn a_qualified_output_is_meaningful_only_while_its_qualifier_holds() {
    let mut engine = engine(&counter());
    let (enable, count) = (engine.input("enable_i").unwrap(), engine.output("count_o").unwrap());
    let noise = engine.output("noise_o").unwrap();
    for enabled in [0, 1, 0] {
        engine.set(enable, enabled);
        engine.step();
        assert_eq!(engine.is_meaningful(count), enabled == 1);
        assert!(engine.is_meaningful(noise));
    }
    assert!(count.is_qualified() && !noise.is_qualified());
}

#[test]
fn the_first_violated_invariant_is_kept_with_its_cycle() {
    let mut engine = engine(&counter());
    let enable = engine.input("enable_i").unwrap();
    engine.set(enable, 1);
    (0..3).for_each(|_| engine.step());
    assert_eq!(engine.violation(), None);
    (0..5).for_each(|_| engine.step());
    let violation = engine.violation().expect("count is 3 in cycle 3");
    assert_eq!(violation.to_string(), "invariant `stays_below_3` does not hold in cycle 3");
}

#[test]
fn invariants_are_not_checked_under_reset_or_when_not_asked_for() {
    let mut unchecked = Interpreter::new(&counter(), &Options::default()).unwrap();
    let enable = unchecked.input("enable_i").unwrap();
    unchecked.set(enable, 1);
    (0..8).for_each(|_| unchecked.step());
    assert_eq!(unchecked.violation(), None);

    let mut sketch = Sketch::new("never");
    let zero = sketch.constant(1, 0);
    sketch.0.invariants.push(Invariant {
        name: "never_holds".to_owned(),
        condition: zero,
        kept_by: KeptBy::Circuit,
        source: SOURCE,
    });
    let mut checked = engine(&sketch.netlist());
    checked.set_reset(true);
    checked.step();
    assert_eq!(checked.violation(), None);
    checked.set_reset(false);
    checked.step();
    assert_eq!(checked.violation().map(|violation| violation.cycle), Some(1));
}

#[test]
fn lanes_and_words_are_two_views_of_one_value() {
    let mut sketch = Sketch::new("through");
    let value = sketch.input("value_i", 96);
    sketch.output("value_o", value, None);
    let mut engine = engine(&sketch.netlist());
    let (input, output) = (engine.input("value_i").unwrap(), engine.output("value_o").unwrap());
    engine.set_lanes(input, &[1, 2, 3]);
    engine.step();
    assert_eq!(engine.get_words(output), [1 | 2 << 32, 3]);
    assert_eq!([0, 1, 2, 3, 9].map(|lane| engine.lane(output, lane)), [1, 2, 3, 0, 0]);
    engine.set_lanes(input, &[7]);
    engine.step();
    assert_eq!(engine.get_words(output), [7, 0], "missing lanes are 0");
    engine.set_words(input, &[5, 6]);
    engine.step();
    assert_eq!(engine.get_words(output), [5, 6]);
    engine.set(input, 8);
    engine.step();
    assert_eq!(engine.get_words(output), [8, 0]);
    let wide = num_bigint::BigUint::from(3u32) << 80u32;
    engine.set_big(input, &wide);
    engine.step();
    assert_eq!(engine.get_big(output), wide);
}

#[test]
fn unknown_names_list_the_nearest() {
    let engine = engine(&counter());
    assert_eq!(
        engine.input("enable").unwrap_err().to_string(),
        "no input `enable` in `counter`; the nearest are `enable_i`"
    );
    let probe = engine.probe("count").unwrap_err().to_string();
    assert!(probe.starts_with("no observed signal `count` in `counter`; the nearest are `count_"), "{probe}");
    assert_eq!(
        engine.activity_handle("rows.read").unwrap_err().to_string(),
        "no table port `rows.read` in `counter`; it has none"
    );
}

#[test]
fn rows_that_a_table_does_not_have_are_an_error() {
    let netlist = netlist(3, 5, 1);
    let engine = engine(&netlist);
    let depth = netlist.modules[0].tables[0].depth;
    assert!(engine.peek_row("table0", depth - 1, "field0").is_ok());
    assert_eq!(
        engine.peek_row("table0", depth, "field0"),
        Err(EngineError::RowOutOfRange { table: "table0".to_owned(), row: depth, depth })
    );
    assert!(engine.peek_row("table0", 0, "field9").is_err());
    assert!(engine.peek_row("table9", 0, "field0").is_err());
}

#[test]
fn a_combinational_loop_is_an_error_that_shows_the_loop() {
    let mut sketch = Sketch::new("loop");
    let a = sketch.named("a", Op::Not(NodeId(1)), 1);
    let b = sketch.named("b", Op::Wire(a), 1);
    sketch.output("b_o", b, None);
    let error = Interpreter::new(&sketch.netlist(), &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "combinational loop: b -> a -> b");
}

#[test]
fn a_snapshot_of_another_circuit_is_refused() {
    let mut sketch = Sketch::new("other");
    let value = sketch.input("value_i", 96);
    sketch.output("value_o", value, None);
    let snapshot = engine(&sketch.netlist()).snapshot();
    let mut engine = engine(&counter());
    assert_eq!(
        engine.restore(&snapshot),
        Err(EngineError::ForeignSnapshot { circuit: "counter".to_owned() })
    );
}

#[test]
fn activity_names_ports_and_registers_by_full_path() {
    let inner = counter();
    let mut sketch = Sketch::new("outer");
    let enable = sketch.input("enable_i", 1);
    let inputs = vec![(PortId(0), enable)];
    sketch.0.instances.push(Instance {
        name: "inner".to_owned(),
        module: ModuleId(0),
        inputs,
        source: SOURCE,
    });
    let count = sketch.node(Op::InstanceOutput { instance: InstanceId(0), port: PortId(1) }, 8);
    sketch.output("count_o", count, None);
    let netlist = Netlist { modules: vec![inner.modules[0].clone(), sketch.0], top: ModuleId(1) };

    let mut engine = engine(&netlist);
    let enable = engine.input("enable_i").unwrap();
    for enabled in [1, 0, 1, 1] {
        engine.set(enable, enabled);
        engine.step();
    }
    let report = engine.activity();
    assert_eq!(report.cycles, 4);
    let count = &report.registers[0];
    // 0 -> 1 -> 2 -> 3 flips 1, 2 and 1 bits.
    assert_eq!((count.path.as_str(), count.width, count.cycles, count.toggles), ("inner.count", 8, 3, 4));
    engine.reset_activity();
    assert_eq!(engine.activity().cycles, 0);
    assert_eq!(engine.activity().registers[0].toggles, 0);
}

#[test]
fn only_what_is_observed_can_be_probed() {
    let netlist = netlist(5, 20, 2);
    let probe = |observe, path: &str| {
        let options = Options { observe, ..Options::default() };
        Interpreter::new(&netlist, &options).unwrap().probe(path).is_ok()
    };
    assert!(probe(Observe::All, "n0") && probe(Observe::All, "child0.n0"));
    assert!(!probe(Observe::State, "n0") && !probe(Observe::State, "child0.n0"));
    assert!(probe(Observe::State, "child0.reg0_q"));
    let child = || Observe::Scopes(vec!["child0".to_owned()]);
    assert!(!probe(child(), "n0") && probe(child(), "child0.n0"));
}

#[test]
fn a_port_held_enabled_counts_every_cycle_and_every_array() {
    let mut sketch = Sketch::new("bank");
    let (address, lanes) = (sketch.input("address_i", 2), sketch.input("lanes_i", 8));
    let (enable, value) = (sketch.constant(1, 1), sketch.constant(64, 9));
    let read = |name: &str, lanes| ReadPort {
        name: name.to_owned(),
        address,
        enable,
        lanes,
        clocked: false,
        source: SOURCE,
    };
    let fields = vec![
        Field { name: "data".to_owned(), width: 64, lanes: 8, lanes_per_array: 4 },
        Field { name: "tag".to_owned(), width: 5, lanes: 1, lanes_per_array: 1 },
    ];
    let write = FieldWrite { field: 0, value, lanes: Some(lanes) };
    sketch.0.tables.push(Table {
        name: "rows".to_owned(),
        depth: 3,
        address_bits: 2,
        fields,
        has_valid: false,
        reads: vec![read("all", None), read("some", Some(lanes))],
        matches: Vec::new(),
        updates: vec![Update::Write {
            name: "write".to_owned(),
            address,
            enable,
            fields: vec![write],
            set_valid: false,
        }],
        source: SOURCE,
    });
    let mut engine = engine(&sketch.netlist());
    let lanes = engine.input("lanes_i").unwrap();
    for mask in [0b0000_0001, 0b0001_1000, 0, 0b1111_0000] {
        engine.set(lanes, mask);
        engine.step();
    }
    let counts: Vec<_> = engine
        .activity()
        .ports
        .iter()
        .map(|port| (port.path.clone(), port.kind, port.cycles, port.arrays))
        .collect();
    assert_eq!(
        counts,
        [
            ("rows.all".to_owned(), ActivityKind::Read, 4, 4 * 3),
            ("rows.some".to_owned(), ActivityKind::Read, 4, 4 + 1 + 2 + 1),
            ("rows.write".to_owned(), ActivityKind::Write, 4, 1 + 2 + 1),
        ]
    );
}

#[test]
fn an_undriven_input_of_a_sub_circuit_is_an_error() {
    let inner = counter().modules.remove(0);
    let mut sketch = Sketch::new("outer");
    let (name, module, inputs) = ("inner".to_owned(), ModuleId(0), Vec::new());
    sketch.0.instances.push(Instance { name, module, inputs, source: SOURCE });
    let netlist = Netlist { modules: vec![inner, sketch.0], top: ModuleId(1) };
    let path = "inner.enable_i".to_owned();
    assert_eq!(flatten::Flat::new(&netlist).unwrap_err(), EngineError::UndrivenInput { path });
}

#[test]
fn wires_extensions_and_aligned_slices_cost_no_instruction() {
    let mut sketch = Sketch::new("free");
    let value = sketch.input("value_i", 1024);
    let lane = sketch.node(Op::Slice { value, low: 128 }, 64);
    let wire = sketch.node(Op::Wire(lane), 64);
    let narrow = sketch.input("narrow_i", 5);
    let extended = sketch.node(Op::ZeroExtend(narrow), 60);
    sketch.output("wire_o", wire, None);
    sketch.output("extended_o", extended, None);
    let plan = plan::Plan::new(&sketch.netlist(), &Options::default()).unwrap();
    assert_eq!(plan.program.len(), 0);
}
