//! Corner cases of operations by hand, where the documentation promises a value. The random netlists cover
//! the rest.

use warpfile_engine::{Compiled, Engine, Interpreter, Options};
use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::{NodeId, Op};

use crate::behaviour::Sketch;

/// Value of one operation on constants of (width, value).
fn result<const N: usize>(operands: [(u32, u64); N], width: u32, op: impl Fn([NodeId; N]) -> Op) -> u64 {
    let mut sketch = Sketch::new("operation");
    let operands = operands.map(|(width, value)| sketch.constant(width, value));
    let node = sketch.node(op(operands), width);
    sketch.output("result_o", node, None);
    let mut engine = Interpreter::new(&sketch.netlist(), &Options::checked()).expect("sound");
    engine.step();
    let output = engine.output("result_o").expect("there");
    assert_eq!(output.width(), width);
    engine.get(output)
}

#[test]
fn arithmetic_wraps_to_the_width() {
    assert_eq!(result([(4, 15), (4, 2)], 4, |[a, b]| Op::Add(a, b)), 1);
    assert_eq!(result([(4, 0), (4, 1)], 4, |[a, b]| Op::Sub(a, b)), 15);
    assert_eq!(result([(4, 7), (4, 7)], 4, |[a, b]| Op::Mul(a, b)), 1);
    assert_eq!(result([(64, u64::MAX), (64, 2)], 64, |[a, b]| Op::Add(a, b)), 1);
    assert_eq!(result([(70, 0), (70, 1)], 70, |[a, b]| Op::Sub(a, b)), u64::MAX);
}

#[test]
fn a_shift_by_the_width_or_more_gives_0() {
    for width in [8, 64, 65] {
        let by = u64::from(width);
        assert_eq!(result([(width, 1), (8, by)], width, |[a, b]| Op::ShiftLeft(a, b)), 0);
        assert_eq!(result([(width, 1), (8, by)], width, |[a, b]| Op::ShiftRight(a, b)), 0);
        assert_eq!(result([(width, 6), (8, 1)], width, |[a, b]| Op::ShiftRight(a, b)), 3);
        assert_eq!(result([(width, 6), (8, 0)], width, |[a, b]| Op::ShiftLeft(a, b)), 6);
        // 2^64 + 1: only the low word is a small amount.
        let mut sketch = Sketch::new("far");
        let value = sketch.constant(width, 6);
        let amount = Bits::from_words(65, &[1, 1]).expect("fits");
        let amount = sketch.node(Op::Constant(amount), 65);
        let shifted = sketch.node(Op::ShiftLeft(value, amount), width);
        sketch.output("shifted_o", shifted, None);
        let mut engine = Interpreter::new(&sketch.netlist(), &Options::checked()).expect("sound");
        engine.step();
        assert_eq!(engine.peek("shifted_o"), Ok(0u32.into()));
    }
}

#[test]
fn an_empty_priority_encode_gives_index_0() {
    assert_eq!(result([(8, 0)], 3, |[a]| Op::PriorityEncode(a)), 0);
    assert_eq!(result([(100, 0)], 7, |[a]| Op::PriorityEncode(a)), 0);
    assert_eq!(result([(8, 0b1010_0000)], 3, |[a]| Op::PriorityEncode(a)), 5);
    assert_eq!(result([(8, 0)], 8, |[a]| Op::LowestOne(a)), 0);
}

#[test]
fn an_index_beyond_the_last_selects_nothing() {
    let vector = (24, 0x33_22_11);
    assert_eq!(result([vector, (2, 2)], 8, |[vector, index]| Op::LaneSelect { vector, index }), 0x33);
    assert_eq!(result([vector, (2, 3)], 8, |[vector, index]| Op::LaneSelect { vector, index }), 0);
    assert_eq!(result([(3, 4)], 5, |[a]| Op::Decode(a)), 16);
    assert_eq!(result([(3, 5)], 5, |[a]| Op::Decode(a)), 0);
}

#[test]
fn one_hot_select_ors_all_selected_lanes() {
    let op = |[select, vector]: [NodeId; 2]| Op::OneHotSelect { select, vector };
    assert_eq!(result([(3, 0b101), (12, 0x8_f_1)], 4, op), 9);
    assert_eq!(result([(3, 0), (12, 0x8_f_1)], 4, op), 0);
}

#[test]
fn lane_sums_do_not_carry_into_the_next_lane() {
    assert_eq!(result([(16, 0x01ff), (16, 0x0101)], 16, |[a, b]| Op::LaneAdd { a, b, lanes: 2 }), 0x0200);
}

#[test]
fn a_concatenation_has_its_first_part_lowest() {
    assert_eq!(result([(4, 0xa), (8, 0xbc)], 12, |[a, b]| Op::Concat(vec![a, b])), 0xbca);
    assert_eq!(result([(4, 1), (4, 2), (4, 3)], 12, |parts| Op::Concat(parts.to_vec())), 0x321);
}

#[test]
fn prefixes_count_what_lies_below() {
    assert_eq!(result([(6, 0b010100)], 6, |[a]| Op::PrefixOr(a)), 0b111100);
    // Lanes of 2 bits: 0, 0, 0, 1, 1, 2.
    assert_eq!(result([(6, 0b010100)], 12, |[a]| Op::PrefixCount(a)), 0b10_01_01_00_00_00);
    assert_eq!(result([(6, 0b010100)], 3, |[a]| Op::PopCount(a)), 2);
}

#[test]
fn lanes_are_spread_grouped_and_repeated_from_the_lowest() {
    assert_eq!(result([(3, 0b101)], 12, |[a]| Op::SpreadLanes(a)), 0xf0f);
    assert_eq!(result([(12, 0x0f0)], 3, |[a]| Op::GroupOr(a)), 0b010);
    assert_eq!(result([(4, 0x9)], 12, |[a]| Op::Replicate(a)), 0x999);
    assert_eq!(result([(12, 0x123), (12, 0x193)], 3, |[a, b]| Op::LaneEq(a, b)), 0b101);
    let op = |[mask, then, otherwise]: [NodeId; 3]| Op::LaneMux { mask, then, otherwise };
    assert_eq!(result([(3, 0b010), (12, 0xabc), (12, 0x123)], 12, op), 0x1b3);
}

#[test]
fn lanes_that_fill_vectors_are_spread_combined_and_grouped_when_compiled() {
    for lane in [8, 16, 32, 64] {
        for lanes in [128, 256, 512].map(|width| width / lane).into_iter().filter(|&lanes| lanes > 1) {
            let mut sketch = Sketch::new("lanes");
            let (bits, other) = (sketch.input("bits_i", lanes), sketch.input("other_i", lanes * lane));
            let width = lanes * lane;
            let spread = sketch.node(Op::SpreadLanes(bits), width);
            let less = sketch.node(Op::LaneAdd { a: other, b: spread, lanes }, width);
            let inverse = sketch.node(Op::Not(spread), width);
            let [counted, kept] =
                [(less, spread), (other, inverse)].map(|(a, b)| sketch.node(Op::And(a, b), width));
            let either = sketch.node(Op::Or(counted, kept), width);
            let different = sketch.node(Op::Xor(either, other), width);
            let changed = sketch.node(Op::GroupOr(different), lanes);
            sketch.output("changed_o", changed, None);
            sketch.output("either_o", either, None);
            let mut compiled = Compiled::new(&sketch.netlist(), &Options::default()).expect("sound");
            let [bits, other] = ["bits_i", "other_i"].map(|name| compiled.input(name).expect("there"));
            let changed = compiled.output("changed_o").expect("there");
            // No lane is 0, so that none borrows from the next.
            let words = vec![0x0123_4567_89ab_cdef; width as usize / 64];
            compiled.set_words(other, &words);
            for pattern in [0, 1, 0x8000_0000_0000_0001, 0x5a5a_5a5a_a5a5_a5a5, u64::MAX] {
                let pattern = pattern & (u64::MAX >> (64 - lanes));
                compiled.set(bits, pattern);
                compiled.step();
                assert_eq!(compiled.get(changed), pattern, "{lanes} lanes of {lane} bits");
            }
        }
    }
}

#[test]
fn a_decoded_index_is_spread_to_its_lane_when_compiled() {
    for (lanes, index_bits) in [(16, 4), (12, 4), (16, 5)] {
        let mut sketch = Sketch::new("spread");
        let (index, valid) = (sketch.input("index_i", index_bits), sketch.input("valid_i", 1));
        let decoded = sketch.node(Op::Decode(index), lanes);
        let mask = sketch.node(Op::Replicate(valid), lanes);
        let gated = sketch.node(Op::And(decoded, mask), lanes);
        for (name, bits) in [("always_o", decoded), ("gated_o", gated)] {
            let spread = sketch.node(Op::SpreadLanes(bits), 4 * lanes);
            sketch.output(name, spread, None);
        }
        let mut compiled = Compiled::new(&sketch.netlist(), &Options::default()).expect("sound");
        let [index, valid] = ["index_i", "valid_i"].map(|name| compiled.input(name).expect("there"));
        let [always, gated] = ["always_o", "gated_o"].map(|name| compiled.output(name).expect("there"));
        for number in 0..1 << index_bits {
            for holds in [0, 1] {
                compiled.set(index, number);
                compiled.set(valid, holds);
                compiled.step();
                let lane = if number < u64::from(lanes) { 0xf << (4 * number) } else { 0 };
                assert_eq!(compiled.get(always), lane, "lane {number} of {lanes}");
                assert_eq!(compiled.get(gated), lane * holds, "lane {number} of {lanes}");
            }
        }
    }
}

#[test]
fn a_value_beside_a_constant_that_changes_nothing_is_the_value() {
    let unchanged: [fn(NodeId, NodeId, NodeId) -> Op; 7] = [
        |a, _, ones| Op::And(ones, a),
        |a, zero, _| Op::Or(a, zero),
        |a, zero, _| Op::Xor(zero, a),
        |a, zero, _| Op::Add(a, zero),
        |a, zero, _| Op::Sub(a, zero),
        |a, zero, _| Op::LaneAdd { a, b: zero, lanes: 2 },
        |a, zero, _| Op::Mux { condition: zero, then: zero, otherwise: a },
    ];
    for op in unchanged {
        let mut sketch = Sketch::new("unchanged");
        let a = sketch.input("a_i", 12);
        let zero = sketch.node(Op::Constant(Bits::zero(12)), 12);
        let bit = sketch.node(Op::Constant(Bits::zero(1)), 1);
        let ones = sketch.node(Op::Not(zero), 12);
        let op = match op(a, zero, ones) {
            Op::Mux { then, otherwise, .. } => Op::Mux { condition: bit, then, otherwise },
            other => other,
        };
        let value = sketch.node(op, 12);
        sketch.output("value_o", value, None);
        let mut compiled = Compiled::new(&sketch.netlist(), &Options::default()).expect("sound");
        let (a, value) = (compiled.input("a_i").expect("there"), compiled.output("value_o").expect("there"));
        compiled.set(a, 0xa5c);
        compiled.step();
        assert_eq!(compiled.get(value), 0xa5c);
    }
}

#[test]
fn a_hash_is_a_parity_for_each_row_of_its_matrix() {
    let rows = [0b0011, 0b1111, 0b1000].map(|mask| Bits::new(4, mask).expect("fits"));
    assert_eq!(result([(4, 0b1101)], 3, |[value]| Op::XorHash { value, rows: rows.to_vec() }), 0b111);
    assert_eq!(result([(4, 0b0011)], 3, |[value]| Op::XorHash { value, rows: rows.to_vec() }), 0);
}

#[test]
fn lanes_above_an_extended_value_are_0_when_compiled() {
    for width in [128, 192, 256, 512] {
        let mut sketch = Sketch::new("extended");
        let narrow = sketch.input("narrow_i", 128);
        let wide = sketch.input("wide_i", width);
        let extended = match width {
            128 => narrow,
            _ => sketch.node(Op::ZeroExtend(narrow), width),
        };
        let lanes = width / 64;
        let equal = sketch.node(Op::LaneEq(extended, wide), lanes);
        sketch.output("equal_o", equal, None);
        let netlist = sketch.netlist();
        let options = Options::default();
        let mut compiled = Compiled::new(&netlist, &options).expect("sound");
        let port = compiled.input("narrow_i").expect("there");
        compiled.set_words(port, &[1, 0]);
        compiled.step();
        let output = compiled.output("equal_o").expect("there");
        let all = (1u64 << lanes) - 1;
        assert_eq!(compiled.get(output), all & !1, "{width} bits: only lane 0 is not 0");
    }
}

#[test]
fn nothing_is_left_above_an_extended_mask_when_compiled() {
    // One bit repeated, and bits of lanes widened; both end in the word that the value ends in.
    let masks: [(u32, u32, u32); 4] = [(1, 5, 8), (1, 65, 68), (1, 100, 128), (3, 96, 128)];
    for (bits, mask_width, width) in masks {
        let mut sketch = Sketch::new("masked");
        let (condition, value) = (sketch.input("condition_i", bits), sketch.input("value_i", width));
        let mask = match bits {
            1 => sketch.node(Op::Replicate(condition), mask_width),
            _ => sketch.node(Op::SpreadLanes(condition), mask_width),
        };
        let extended = sketch.node(Op::ZeroExtend(mask), width);
        for (name, op) in [("left_o", Op::And(extended, value)), ("right_o", Op::And(value, extended))] {
            let masked = sketch.node(op, width);
            sketch.output(name, masked, None);
        }
        let mut compiled = Compiled::new(&sketch.netlist(), &Options::default()).expect("sound");
        let [condition, value] = ["condition_i", "value_i"].map(|name| compiled.input(name).expect("there"));
        compiled.set_big(value, &Bits::ones(width).to_biguint());
        for (pattern, expected) in [(0, Bits::zero(width)), ((1 << bits) - 1, Bits::ones(mask_width))] {
            compiled.set(condition, pattern);
            compiled.step();
            for name in ["left_o", "right_o"] {
                let masked = compiled.peek(name).expect("there");
                assert_eq!(masked, expected.to_biguint(), "{name}: {mask_width} of {width} bits");
            }
        }
    }
}

#[test]
fn wide_lanes_that_are_selected_together_are_ored_when_compiled() {
    for computed in [false, true] {
        let mut sketch = Sketch::new("selected");
        let inputs = ["a_i", "b_i", "c_i"].map(|name| sketch.input(name, 128));
        let select = sketch.input("select_i", 3);
        let lanes = inputs.map(|input| if computed { sketch.node(Op::Not(input), 128) } else { input });
        let vector = sketch.node(Op::Concat(lanes.to_vec()), 384);
        let selected = sketch.node(Op::OneHotSelect { select, vector }, 128);
        sketch.output("selected_o", selected, None);
        let mut compiled = Compiled::new(&sketch.netlist(), &Options::default()).expect("sound");
        let values = [[0b0011, 0b1000], [0b0101, 0], [0b1001, 0b0100]];
        for (name, value) in ["a_i", "b_i", "c_i"].iter().zip(&values) {
            let port = compiled.input(name).expect("there");
            let value = if computed { value.map(|word: u64| !word) } else { *value };
            compiled.set_words(port, &value);
        }
        let (select, output) =
            (compiled.input("select_i").expect("there"), compiled.output("selected_o").expect("there"));
        for bits in 0..8 {
            compiled.set(select, bits);
            compiled.step();
            let mut expected = [0, 0];
            for (_, value) in (0..3).zip(&values).filter(|(bit, _)| bits >> bit & 1 == 1) {
                expected = [expected[0] | value[0], expected[1] | value[1]];
            }
            assert_eq!(compiled.get_words(output), expected, "select {bits:#b}, computed: {computed}");
        }
    }
}

#[test]
fn a_sum_of_lanes_that_is_cut_and_joined_is_the_sum_when_compiled() {
    let mut sketch = Sketch::new("cut");
    let input = sketch.input("lanes_i", 256);
    let sum = sketch.node(Op::LaneAdd { a: input, b: input, lanes: 32 }, 256);
    let cut = sketch.node(Op::Slice { value: sum, low: 0 }, 255);
    let one = sketch.constant(1, 1);
    let joined = sketch.node(Op::Concat(vec![one, cut]), 256);
    sketch.output("joined_o", joined, None);
    let mut compiled = Compiled::new(&sketch.netlist(), &Options::default()).expect("sound");
    let port = compiled.input("lanes_i").expect("there");
    compiled.set_words(port, &[0x0101_0101_0101_0101; 4]);
    compiled.step();
    let output = compiled.output("joined_o").expect("there");
    assert_eq!(compiled.get_words(output)[0], 0x0404_0404_0404_0405);
}

#[test]
fn a_word_of_a_sum_of_lanes_is_spread_and_repeated_when_compiled() {
    for (width, spread) in [(512, true), (256, false)] {
        let mut sketch = Sketch::new("word");
        let input = sketch.input("lanes_i", 128);
        let sum = sketch.node(Op::LaneAdd { a: input, b: input, lanes: 8 }, 128);
        // Nothing else reads the sum, and this word of it lies where it does.
        let word = sketch.node(Op::Slice { value: sum, low: 64 }, 64);
        let op = if spread { Op::SpreadLanes(word) } else { Op::Replicate(word) };
        let wide = sketch.node(op, width);
        sketch.output("wide_o", wide, None);
        let mut compiled = Compiled::new(&sketch.netlist(), &Options::default()).expect("sound");
        let port = compiled.input("lanes_i").expect("there");
        compiled.set_words(port, &[0, 0x4001_0000_0002_0003]);
        compiled.step();
        let output = compiled.output("wide_o").expect("there");
        let sum: u64 = 0x8002_0000_0004_0006;
        let byte = |bit: u32| if sum >> bit & 1 == 1 { 0xff } else { 0 };
        let expected: Vec<u64> = match spread {
            true => (0..8)
                .map(|word| u64::from_le_bytes(std::array::from_fn(|at| byte(8 * word + at as u32))))
                .collect(),
            false => vec![sum; 4],
        };
        assert_eq!(compiled.get_words(output), expected, "spread: {spread}");
    }
}

#[test]
fn fields_of_a_record_behind_one_bit_are_joined_when_compiled() {
    let mut sketch = Sketch::new("record");
    let (record, valid) = (sketch.input("record_i", 64), sketch.input("valid_i", 1));
    let field = |sketch: &mut Sketch, low, width| sketch.node(Op::Slice { value: record, low }, width);
    let bit = field(&mut sketch, 5, 1);
    let bit = sketch.node(Op::And(bit, valid), 1);
    // Neighbours, one apart, and one that ends with the word.
    let mut word = bit;
    let mut width = 1;
    for (low, bits) in [(6, 10), (16, 8), (40, 7), (2, 38)] {
        let field = field(&mut sketch, low, bits);
        let zero = sketch.constant(bits, 0);
        let gated = sketch.node(Op::Mux { condition: valid, then: field, otherwise: zero }, bits);
        width += bits;
        word = sketch.node(Op::Concat(vec![word, gated]), width);
    }
    let low = sketch.node(Op::Slice { value: word, low: 1 }, 18);
    sketch.output("word_o", word, None);
    sketch.output("low_o", low, None);
    let mut compiled = Compiled::new(&sketch.netlist(), &Options::default()).expect("sound");
    let [record, valid] = ["record_i", "valid_i"].map(|name| compiled.input(name).expect("there"));
    let [word, low] = ["word_o", "low_o"].map(|name| compiled.output(name).expect("there"));
    for value in [u64::MAX, 0x0123_4567_89ab_cdef, 1 << 63, 1 << 39] {
        for bit in 0..=1 {
            compiled.set(record, value);
            compiled.set(valid, bit);
            compiled.step();
            let cut = |low: u32, bits: u32| value >> low & ((1 << bits) - 1);
            let joined = cut(5, 19) | cut(40, 7) << 19 | cut(2, 38) << 26;
            let expected = if bit == 1 { joined } else { 0 };
            assert_eq!(compiled.get(word), expected, "{value:#x} behind {bit}");
            assert_eq!(compiled.get(low), expected >> 1 & 0x3_ffff, "{value:#x} behind {bit}");
        }
    }
}

#[test]
fn the_sum_of_a_repeated_word_is_that_many_times_the_word_when_compiled() {
    for times in [8, 12, 16] {
        let mut sketch = Sketch::new("repeated");
        let word = sketch.input("word_i", 64);
        let repeated = sketch.node(Op::Replicate(word), 64 * times);
        let words = (0..times).map(|k| sketch.node(Op::Slice { value: repeated, low: 64 * k }, 64));
        let words: Vec<_> = words.collect();
        let sum = words[1..].iter().fold(words[0], |sum, &word| sketch.node(Op::Add(sum, word), 64));
        sketch.output("sum_o", sum, None);
        let mut compiled = Compiled::new(&sketch.netlist(), &Options::default()).expect("sound");
        let (word, sum) =
            (compiled.input("word_i").expect("there"), compiled.output("sum_o").expect("there"));
        for value in [0, 1, u64::MAX, 0x0123_4567_89ab_cdef] {
            compiled.set(word, value);
            compiled.step();
            assert_eq!(compiled.get(sum), value.wrapping_mul(times.into()), "{times} times {value:#x}");
        }
    }
}
