//! What assignments under conditions come to: the netlist is evaluated here, apart from any engine.

use proptest::prelude::*;
use warpfile_hdl::rtl::netlist::{Module, NodeId, Op};
use warpfile_hdl::rtl::{elaborate, netlist::Netlist};

use crate::probe::probe;

/// The value of `node` with `valid_i`, `a_i` and `b_i` given; registers are 0.
fn value(module: &Module, inputs: [u64; 3], node: NodeId) -> u64 {
    let n = &module.nodes[node.index()];
    let of = |id: &NodeId| value(module, inputs, *id);
    let mask = (1 << n.width) - 1;
    match &n.op {
        Op::Input(port) => inputs[port.index()],
        Op::Constant(bits) => bits.words()[0],
        Op::Register(_) => 0,
        Op::Wire(a) => of(a),
        Op::Not(a) => !of(a) & mask,
        Op::And(a, b) => of(a) & of(b),
        Op::Or(a, b) => of(a) | of(b),
        Op::Slice { value, low } => of(value) >> low & mask,
        Op::Mux { condition, then, otherwise } => match of(condition) {
            0 => of(otherwise),
            _ => of(then),
        },
        other => panic!("{other:?} is not used here"),
    }
}

fn out(netlist: &Netlist, inputs: [u64; 3]) -> u64 {
    let top = &netlist.modules[netlist.top.index()];
    value(top, inputs, top.ports[3].driver.unwrap())
}

/// Next value of the first register, if it is enabled.
fn next(netlist: &Netlist, inputs: [u64; 3]) -> Option<u64> {
    let top = &netlist.modules[netlist.top.index()];
    let register = &top.registers[0];
    let enabled = register.enable.is_none_or(|enable| value(top, inputs, enable) == 1);
    enabled.then(|| value(top, inputs, register.next))
}

probe!(LastWins, |m, io| {
    let [p, q, r, s] = std::array::from_fn(|i| io.b_i.bit(i));
    io.out_o.set(1);
    m.when(p, || {
        io.out_o.set(2);
        m.when(q, || {
            io.out_o.set(3);
        })
        .else_when(r, || {
            io.out_o.set(4);
        })
        .otherwise(|| {
            io.out_o.set(5);
        });
    });
    m.when(s, || {
        io.out_o.set(io.a_i);
    });
});

probe!(BothArms, |m, io| {
    let [p, q, r, _] = std::array::from_fn(|i| io.b_i.bit(i));
    m.when(p, || {
        io.out_o.set(1);
    })
    .else_when(q, || {
        m.when(r, || {
            io.out_o.set(2);
        })
        .otherwise(|| {
            io.out_o.set(3);
        });
    })
    .otherwise(|| {
        io.out_o.set(4);
    });
});

probe!(Held, |m, io| {
    let [p, q, r, s] = std::array::from_fn(|i| io.b_i.bit(i));
    let held = m.register("held", 8).reset(0);
    io.out_o.set(held);
    m.when(p, || {
        m.when(q, || {
            held.set(1);
        });
        m.when(r, || {
            held.set(2);
        });
    })
    .otherwise(|| {
        m.when(s, || {
            held.set(3);
        });
    });
});

fn bits(b: u64) -> [bool; 4] {
    std::array::from_fn(|i| b >> i & 1 == 1)
}

#[test]
fn the_last_assignment_that_holds_wins() {
    let netlist = elaborate(&LastWins {}).unwrap();
    for b in 0..16 {
        let expected = match bits(b) {
            [_, _, _, true] => 77,
            [true, true, _, _] => 3,
            [true, false, true, _] => 4,
            [true, false, false, _] => 5,
            [false, _, _, _] => 1,
        };
        assert_eq!(out(&netlist, [0, 77, b]), expected, "b = {b:04b}");
    }
}

#[test]
fn assigning_in_every_arm_needs_no_default() {
    let netlist = elaborate(&BothArms {}).unwrap();
    for b in 0..16 {
        let expected = match bits(b) {
            [true, _, _, _] => 1,
            [_, true, true, _] => 2,
            [_, true, false, _] => 3,
            [false, false, _, _] => 4,
        };
        assert_eq!(out(&netlist, [0, 0, b]), expected, "b = {b:04b}");
    }
}

#[test]
fn a_register_is_enabled_exactly_where_an_assignment_holds() {
    let netlist = elaborate(&Held {}).unwrap();
    for b in 0..16 {
        let expected = match bits(b) {
            [true, _, true, _] => Some(2),
            [true, true, false, _] => Some(1),
            [false, _, _, true] => Some(3),
            [true, false, false, _] | [false, _, _, false] => None,
        };
        assert_eq!(next(&netlist, [0, 0, b]), expected, "b = {b:04b}");
    }
}

/// A random nest of conditional blocks: what is assigned, and under which bit of `b_i`.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
enum Step {
    Set(u8),
    When(usize, Vec<Step>, Vec<Step>),
}

/// A circuit that assigns `out_o` as its parameter says.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize, warpfile_hdl::rtl::Documented)]
struct Nest {
    /// The blocks.
    steps: Vec<Step>,
}

impl warpfile_hdl::rtl::Circuit for Nest {
    type Io<'m> = crate::probe::ProbeIo<'m>;
    const NAME: &'static str = "nest";
    fn build<'m>(&self, m: &warpfile_hdl::rtl::Module<'m>, io: &Self::Io<'m>) {
        io.out_o.set(0);
        describe(m, io, &self.steps);
    }
    fn module_name(&self) -> String {
        "nest".to_string()
    }
}

fn describe<'m>(m: &warpfile_hdl::rtl::Module<'m>, io: &crate::probe::ProbeIo<'m>, steps: &[Step]) {
    for step in steps {
        match step {
            Step::Set(value) => {
                io.out_o.set(*value);
            }
            Step::When(bit, then, otherwise) => {
                m.when(io.b_i.bit(*bit), || describe(m, io, then)).otherwise(|| describe(m, io, otherwise));
            }
        }
    }
}

/// The same in plain Rust.
fn run(steps: &[Step], b: u64, out: &mut u64) {
    for step in steps {
        match step {
            Step::Set(value) => *out = u64::from(*value),
            Step::When(bit, then, otherwise) => {
                run(if b >> bit & 1 == 1 { then } else { otherwise }, b, out);
            }
        }
    }
}

fn nests() -> impl Strategy<Value = Vec<Step>> {
    let set = any::<u8>().prop_map(Step::Set);
    let block = |inner: BoxedStrategy<Step>| {
        let steps = || prop::collection::vec(inner.clone(), 0..3);
        (0..4_usize, steps(), steps()).prop_map(|(bit, then, otherwise)| Step::When(bit, then, otherwise))
    };
    let step = set.prop_recursive(4, 32, 3, move |inner| block(inner.boxed()));
    prop::collection::vec(block(step.boxed()), 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn nested_blocks_mean_what_they_mean_in_rust(steps in nests()) {
        // Overriding for certain is an error of its own; all else must elaborate.
        match elaborate(&Nest { steps: steps.clone() }) {
            Ok(netlist) => for b in 0..16 {
                let mut expected = 0;
                run(&steps, b, &mut expected);
                prop_assert_eq!(out(&netlist, [0, 0, b]), expected, "b = {:04b}", b);
            },
            Err(errors) => for error in &errors.0 {
                prop_assert!(error.to_string().contains("is driven twice"), "{}", error);
            },
        }
    }
}
