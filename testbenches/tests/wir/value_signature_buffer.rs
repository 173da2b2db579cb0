//! The value signature buffer beside a map from rows to what they hold.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::wir::ValueSignatureBuffer;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};

use super::{check, verilog};

/// A value that has been computed.
#[derive(Clone, Copy, Debug)]
struct Lookup {
    hash: usize,
    register: usize,
    insert: bool,
    drop: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cycle {
    lookup: Option<Lookup>,
    sweep: bool,
}

/// Row to hash and register (§V-A: direct-indexed by the low bits).
#[derive(Clone)]
struct Rows {
    count: usize,
    rows: BTreeMap<usize, (usize, usize)>,
    turn: usize,
}

impl Rows {
    fn new(buffer: &ValueSignatureBuffer) -> Rows {
        Rows { count: buffer.rows, rows: BTreeMap::new(), turn: 0 }
    }
}

impl Reference for Rows {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        inputs.set("sweep_i", u8::from(cycle.sweep));
        let Some(lookup) = cycle.lookup else { return };
        inputs.set("lookup_valid_i", 1_u8);
        inputs.set("lookup_hash_i", lookup.hash);
        inputs.set("lookup_register_i", lookup.register);
        inputs.set("lookup_insert_i", u8::from(lookup.insert));
        inputs.set("lookup_drop_i", u8::from(lookup.drop));
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        let (mut hit, mut evicted) = (None, None);
        match cycle.lookup {
            Some(Lookup { hash, register, insert, drop }) => {
                let row = hash % self.count;
                hit = self.rows.get(&row).filter(|(known, _)| *known == hash).map(|&(_, register)| register);
                if hit.is_none() && (insert || drop) {
                    evicted = self.rows.remove(&row);
                }
                if hit.is_none() && insert {
                    self.rows.insert(row, (hash, register));
                }
            }
            None if cycle.sweep => {
                evicted = self.rows.remove(&self.turn);
                self.turn = (self.turn + 1) % self.count;
            }
            None => {}
        }
        outputs.set("lookup_hit_o", u8::from(hit.is_some()));
        outputs.set("lookup_register_o", hit.unwrap_or(0));
        outputs.set("evicted_valid_o", u8::from(evicted.is_some()));
        outputs.set("evicted_register_o", evicted.map_or(0, |(_, register)| register));
    }
}

fn traffic() -> impl Strategy<Value = (ValueSignatureBuffer, Vec<Cycle>)> {
    (1..4_u32, 0..4_usize, 1..5_usize).prop_flat_map(|(index_bits, more, register_bits)| {
        let hash_bits = index_bits as usize + more;
        let lookup = (0..1_usize << hash_bits, 0..1_usize << register_bits, any::<bool>(), any::<bool>())
            .prop_map(|(hash, register, insert, drop)| Lookup { hash, register, insert, drop });
        let cycle = (option::weighted(0.8, lookup), any::<bool>())
            .prop_map(|(lookup, sweep)| Cycle { lookup, sweep });
        let buffer = ValueSignatureBuffer { rows: 1 << index_bits, hash_bits, register_bits };
        (Just(buffer), vec(cycle, 1..150))
    })
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn a_hit_is_the_last_register_registered_under_the_hash((buffer, cycles) in traffic()) {
        check(&buffer, &Rows::new(&buffer), &Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((buffer, cycles) in traffic()) {
        check(&buffer, &Rows::new(&buffer), &Lockstep::with_verilog(), &cycles)?;
    }
}

#[test]
fn verilog_text() {
    insta::assert_snapshot!(verilog(&ValueSignatureBuffer { rows: 4, hash_bits: 8, register_bits: 3 }));
}
