//! The affine detector beside what a base and a stride give, a lane at a time.

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::affine::AffineDetector;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::check;

#[derive(Clone)]
struct Tuples;

/// The value of a tuple: each lane has the stride more than the one below it.
fn value(base: u32, stride: u32, lanes: usize) -> Vec<u32> {
    (0..lanes as u32).map(|lane| base.wrapping_add(stride.wrapping_mul(lane))).collect()
}

impl Reference for Tuples {
    /// The lanes of each value.
    type Operation = Vec<Vec<u32>>;

    fn inputs(&self, values: &Vec<Vec<u32>>, inputs: &mut Pins) {
        for (k, value) in values.iter().enumerate() {
            inputs.set(&format!("value{k}_value_i"), BigUint::from_slice(value));
        }
    }

    fn cycle(&mut self, values: &Vec<Vec<u32>>, outputs: &mut Pins) {
        for (k, lanes) in values.iter().enumerate() {
            let (base, stride) = (lanes[0], lanes[1].wrapping_sub(lanes[0]));
            let is_affine = value(base, stride, lanes.len()) == *lanes;
            outputs.set(&format!("value{k}_affine_o"), u8::from(is_affine));
            outputs.set(&format!("value{k}_base_o"), base);
            outputs.set(&format!("value{k}_stride_o"), stride);
        }
    }
}

/// Numbers, many of them small, or close to where 32 bits, signed or not, wrap around.
fn number() -> impl Strategy<Value = u32> {
    let around = |edge: u32| (0..80_u32).prop_map(move |near| edge.wrapping_sub(40).wrapping_add(near));
    prop_oneof![any::<u32>(), around(0), around(1 << 31)]
}

/// A tuple's value, one of which a lane is off by something, often by one bit, or any.
fn lanes(lanes: usize) -> impl Strategy<Value = Vec<u32>> {
    let tuple = || (number(), number()).prop_map(move |(base, stride)| value(base, stride, lanes));
    let by = prop_oneof![(0..32_u32).prop_map(|bit| 1 << bit), any::<u32>()];
    let off = (tuple(), 0..lanes, by).prop_map(|(mut value, lane, by)| {
        value[lane] = value[lane].wrapping_add(by);
        value
    });
    prop_oneof![3 => tuple(), 2 => off, 1 => vec(any::<u32>(), lanes)]
}

fn traffic(cycles: usize) -> impl Strategy<Value = (AffineDetector, Vec<Vec<Vec<u32>>>)> {
    (prop_oneof![Just(3), Just(4), Just(7), Just(32)], 1..4_usize).prop_flat_map(move |(count, values)| {
        let cycle = vec(lanes(count), values);
        (Just(AffineDetector { lanes: count, values }), vec(cycle, 1..cycles))
    })
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn values_of_base_and_stride_are_found((detector, cycles) in traffic(40)) {
        check(&detector, &Tuples, &Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((detector, cycles) in traffic(20)) {
        check(&detector, &Tuples, &Lockstep::with_verilog(), &cycles)?;
    }
}

#[test]
fn strides_fall_stand_still_and_run_through_zero() {
    let values = [value(7, 0, 32), value(100, 3_u32.wrapping_neg(), 32), value(u32::MAX - 5, 4, 32)];
    let cycles: Vec<Vec<Vec<u32>>> = values.into_iter().map(|value| vec![value]).collect();
    let detector = AffineDetector { lanes: 32, values: 1 };
    check(&detector, &Tuples, &Lockstep::default(), &cycles).unwrap();
}

#[test]
fn verilog_text() {
    let netlist = elaborate(&AffineDetector { lanes: 3, values: 1 }).unwrap();
    insta::assert_snapshot!(emit(&netlist).modules[0].text);
}
