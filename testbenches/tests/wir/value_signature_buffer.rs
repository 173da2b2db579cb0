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
    /// By way.
    lookups: [Option<Lookup>; 2],
    sweep: bool,
}

/// Row to hash and register (§V-A: direct-indexed by the low bits).
#[derive(Clone)]
struct Rows {
    count: usize,
    ways: usize,
    rows: BTreeMap<usize, (usize, usize)>,
    turn: usize,
}

impl Rows {
    fn new(buffer: &ValueSignatureBuffer) -> Rows {
        Rows { count: buffer.rows, ways: buffer.ways, rows: BTreeMap::new(), turn: 0 }
    }

    /// The ports of a way: an only one has no number.
    fn port(&self, name: &str, way: usize) -> String {
        if self.ways > 1 { format!("{name}{way}") } else { name.to_owned() }
    }
}

impl Reference for Rows {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        inputs.set("sweep_i", u8::from(cycle.sweep));
        for way in 0..self.ways {
            let Some(lookup) = cycle.lookups[way] else { continue };
            let port = self.port("lookup", way);
            inputs.set(&format!("{port}_valid_i"), 1_u8);
            inputs.set(&format!("{port}_hash_i"), lookup.hash);
            inputs.set(&format!("{port}_register_i"), lookup.register);
            inputs.set(&format!("{port}_insert_i"), u8::from(lookup.insert));
            inputs.set(&format!("{port}_drop_i"), u8::from(lookup.drop));
        }
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        let before = self.rows.clone();
        let mut evicted = [None; 2];
        let lookups = &cycle.lookups[..self.ways];
        if cycle.sweep && lookups.iter().all(Option::is_none) {
            evicted[0] = self.rows.remove(&self.turn);
            self.turn = (self.turn + 1) % self.count;
        }
        let mut changed = None;
        for (way, lookup) in lookups.iter().enumerate() {
            let (mut hit, mut inserted) = (None, false);
            if let Some(Lookup { hash, register, insert, drop }) = *lookup {
                let row = hash % self.count;
                hit = before.get(&row).filter(|(known, _)| *known == hash).map(|&(_, register)| register);
                if hit.is_none() && changed != Some(row) {
                    if insert || drop {
                        evicted[way] = self.rows.remove(&row);
                    }
                    inserted = insert;
                    if insert {
                        self.rows.insert(row, (hash, register));
                    }
                    changed = (insert || evicted[way].is_some()).then_some(row);
                }
            }
            let port = self.port("lookup", way);
            outputs.set(&format!("{port}_hit_o"), u8::from(hit.is_some()));
            outputs.set(&format!("{port}_register_o"), hit.unwrap_or(0));
            outputs.set(&format!("{port}_inserted_o"), u8::from(inserted));
        }
        for (way, evicted) in evicted.iter().enumerate().take(self.ways) {
            let port = self.port("evicted", way);
            outputs.set(&format!("{port}_valid_o"), u8::from(evicted.is_some()));
            outputs.set(&format!("{port}_register_o"), evicted.map_or(0, |(_, register)| register));
        }
    }
}

fn traffic() -> impl Strategy<Value = (ValueSignatureBuffer, Vec<Cycle>)> {
    (1..4_u32, 0..4_usize, 1..5_usize, 1..3_usize).prop_flat_map(|(index_bits, more, register_bits, ways)| {
        let hash_bits = index_bits as usize + more;
        let lookup = (0..1_usize << hash_bits, 0..1_usize << register_bits, any::<bool>(), any::<bool>())
            .prop_map(|(hash, register, insert, drop)| Lookup { hash, register, insert, drop });
        let lookups = [option::weighted(0.7, lookup.clone()), option::weighted(0.7, lookup)];
        let cycle = (lookups, any::<bool>()).prop_map(|(lookups, sweep)| Cycle { lookups, sweep });
        let buffer = ValueSignatureBuffer { rows: 1 << index_bits, hash_bits, register_bits, ways };
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
    insta::assert_snapshot!(verilog(&ValueSignatureBuffer {
        rows: 4,
        hash_bits: 8,
        register_bits: 3,
        ways: 1
    }));
}

#[test]
fn verilog_text_of_two_ways() {
    let buffer = ValueSignatureBuffer { rows: 4, hash_bits: 8, register_bits: 3, ways: 2 };
    insta::assert_snapshot!(verilog(&buffer));
}
