//! Parts of a circuit that wait for changes, and what they read of each other.

use num_bigint::BigUint;
use warpfile_engine::Options;
use warpfile_hdl::rtl::netlist::*;
use warpfile_random::{Beside, Cycle};

use crate::behaviour::Sketch;

/// Sums long enough to be a part of their own.
const LONG: usize = 120;

/// A long sum that takes `value` and `other` in turn.
fn long(top: &mut Sketch, value: NodeId, other: NodeId) -> NodeId {
    let mut sum = value;
    for turn in 0..LONG {
        sum = top.node(if turn % 2 == 0 { Op::Add(sum, other) } else { Op::Xor(sum, value) }, 16);
    }
    sum
}

/// A value that matters under `enable_i` only and is put together in one part, where much is worked out under it, is read in another,
/// where so little is that nobody asks for `enable_i`. What that part holds must follow from the value it was told of, not from
/// what the value is put together of.
#[test]
fn a_part_sees_of_another_what_it_was_told_of() {
    let mut top = Sketch::new("together");
    let [enable, a, b, o, p] = [("enable_i", 1), ("a_i", 16), ("b_i", 16), ("o_i", 16), ("p_i", 16)]
        .map(|(name, width)| top.input(name, width));
    let none = top.constant(16, 0);
    // Where it is put together: in a part that is long enough to ask for `enable_i`.
    let sum = long(&mut top, a, a);
    let together = top.node(Op::Concat(vec![b, sum, sum, sum, b]), 80);
    let middle = top.node(Op::Slice { value: together, low: 32 }, 16);
    let shown = top.node(Op::Mux { condition: enable, then: middle, otherwise: none }, 16);
    let beside = long(&mut top, p, p);
    let all = top.node(Op::Xor(shown, beside), 16);
    top.output("middle_o", all, None);
    // Where it is read: in one that is not.
    let low = top.node(Op::Slice { value: together, low: 0 }, 16);
    let read = (0..4).fold(low, |read, _| top.node(Op::Add(read, o), 16));
    // Two readers elsewhere, so that it stays there.
    for (name, seed) in [("first_o", 3), ("second_o", 5)] {
        let seed = top.constant(16, seed);
        let shown = top.node(Op::Mux { condition: enable, then: read, otherwise: none }, 16);
        let begin = top.node(Op::Add(p, seed), 16);
        let beside = long(&mut top, begin, p);
        let all = top.node(Op::Xor(shown, beside), 16);
        top.output(name, all, None);
    }
    let netlist = Netlist { modules: vec![top.0], top: ModuleId(0) };
    let options = Options { smallest_part: Some(8), ..Options::default() };
    let mut engines = Beside::new(&netlist, &options).expect("a sound netlist");
    // Without `enable_i` another `b_i`, which nobody looks at, while `o_i` changes; with it the `b_i` of before.
    for inputs in [[1, 2, 3, 7, 1], [0, 2, 9, 8, 1], [1, 2, 3, 8, 1]] {
        let inputs = inputs.map(|value: u32| BigUint::from(value)).to_vec();
        engines.apply(&Cycle { reset: false, inputs, times: 1 });
        engines.step();
        engines.compare().unwrap_or_else(|unequal| panic!("{unequal}"));
    }
}

/// Two parts that each read more words than a sketch has numbers for, and are alike.
#[test]
fn parts_that_read_thousands_of_words_are_right() {
    const WORDS: u32 = 4200;
    let mut top = Sketch::new("thousands");
    for half in 0..2 {
        let inputs: Vec<NodeId> =
            (0..WORDS).map(|word| top.input(&format!("half{half}_{word}_i"), 16)).collect();
        let sum = inputs.into_iter().reduce(|sum, word| top.node(Op::Add(sum, word), 16)).expect("inputs");
        top.output(&format!("half{half}_o"), sum, None);
    }
    let netlist = Netlist { modules: vec![top.0], top: ModuleId(0) };
    let options = Options { smallest_part: Some(8), ..Options::default() };
    let mut engines = Beside::new(&netlist, &options).expect("a sound netlist");
    for turn in 0..3 {
        let inputs = (0..2 * WORDS).map(|word| BigUint::from(word * word * (turn + 1) % 65_521)).collect();
        engines.apply(&Cycle { reset: false, inputs, times: 1 });
        engines.step();
        engines.compare().unwrap_or_else(|unequal| panic!("{unequal}"));
    }
}
