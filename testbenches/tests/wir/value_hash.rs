//! The hash of a value beside the exclusive or of the columns of its matrix.

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::wir::{SEED, ValueHash, h3_rows};
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};

use super::{check, verilog};

/// Column b of the matrix: what bit b of a value adds to the hash.
#[derive(Clone)]
struct Columns {
    columns: Vec<u64>,
    last: Option<u64>,
}

impl Columns {
    fn new(hash: &ValueHash) -> Columns {
        let rows = h3_rows(hash.lanes * 32, hash.hash_bits, hash.seed);
        let column = |bit: usize| {
            rows.iter()
                .enumerate()
                .fold(0, |column, (row, mask)| column | u64::from(mask.bit(bit as u32)) << row)
        };
        Columns { columns: (0..hash.lanes * 32).map(column).collect(), last: None }
    }

    fn hash(&self, lanes: &[u32]) -> u64 {
        let ones = (0..lanes.len() * 32).filter(|bit| lanes[bit / 32] >> (bit % 32) & 1 == 1);
        ones.fold(0, |hash, bit| hash ^ self.columns[bit])
    }
}

impl Reference for Columns {
    type Operation = Option<Vec<u32>>;

    fn inputs(&self, value: &Option<Vec<u32>>, inputs: &mut Pins) {
        let Some(value) = value else { return };
        inputs.set("valid_i", 1_u8);
        inputs.set("value_i", BigUint::new(value.clone()));
    }

    fn cycle(&mut self, value: &Option<Vec<u32>>, outputs: &mut Pins) {
        outputs.set("valid_o", u8::from(self.last.is_some()));
        if let Some(hash) = self.last {
            outputs.set("hash_o", hash);
        }
        self.last = value.as_ref().map(|value| self.hash(value));
    }
}

fn traffic() -> impl Strategy<Value = (ValueHash, Vec<Option<Vec<u32>>>)> {
    (1..33_usize, 1..33_usize, any::<u64>()).prop_flat_map(|(lanes, hash_bits, seed)| {
        let word = prop_oneof![any::<u32>(), 0..4_u32, Just(u32::MAX)];
        let value = option::weighted(0.8, vec(word, lanes));
        (Just(ValueHash { lanes, hash_bits, seed }), vec(value, 1..30))
    })
}

proptest! {
    #![proptest_config(config(64))]
    #[test]
    fn each_bit_of_a_value_adds_its_column((hash, values) in traffic()) {
        check(&hash, &Columns::new(&hash), &Lockstep::default(), &values)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((hash, values) in traffic()) {
        check(&hash, &Columns::new(&hash), &Lockstep::with_verilog(), &values)?;
    }
}

/// Every bit of a value and every bit of the hash counts at the paper's size: no column is empty, and no two are equal.
#[test]
fn no_bit_of_a_value_is_lost_and_no_two_are_taken_for_each_other() {
    let columns = Columns::new(&ValueHash { lanes: 32, hash_bits: 32, seed: SEED }).columns;
    assert!(columns.iter().all(|column| *column != 0));
    let different: std::collections::BTreeSet<u64> = columns.iter().copied().collect();
    assert_eq!(different.len(), 1024);
}

#[test]
fn verilog_text() {
    insta::assert_snapshot!(verilog(&ValueHash { lanes: 1, hash_bits: 4, seed: SEED }));
}
