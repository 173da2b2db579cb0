//! The verify cache beside a list of registers with their values.

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::wir::VerifyCache;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};

use super::{check, verilog};

#[derive(Clone, Debug, Default)]
struct Cycle {
    /// By way.
    lookups: [Option<usize>; 2],
    /// Register and value, by way.
    fills: [Option<(usize, Vec<u32>)>; 2],
    written: [Option<usize>; 3],
}

/// Entries in the order of their places: the next to be replaced is at `turn`.
#[derive(Clone)]
struct Entries {
    entries: Vec<Option<(usize, BigUint)>>,
    turn: usize,
    ways: usize,
}

impl Entries {
    fn new(cache: &VerifyCache) -> Entries {
        Entries { entries: vec![None; cache.entries], turn: 0, ways: cache.ways }
    }

    /// The ports of a way: an only one has no number.
    fn port(&self, name: &str, way: usize) -> String {
        if self.ways > 1 { format!("{name}{way}") } else { name.to_owned() }
    }

    fn find(&self, register: usize) -> Option<&BigUint> {
        self.entries.iter().flatten().find(|(known, _)| *known == register).map(|(_, value)| value)
    }
}

impl Reference for Entries {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        for way in 0..self.ways {
            let (lookup, fill) = (self.port("lookup", way), self.port("fill", way));
            inputs.set(&format!("{lookup}_valid_i"), u8::from(cycle.lookups[way].is_some()));
            inputs.set(&format!("{lookup}_register_i"), cycle.lookups[way].unwrap_or(0));
            if let Some((register, value)) = &cycle.fills[way] {
                inputs.set(&format!("{fill}_valid_i"), 1_u8);
                inputs.set(&format!("{fill}_register_i"), *register);
                inputs.set(&format!("{fill}_value_i"), BigUint::new(value.clone()));
            }
        }
        for (k, written) in cycle.written.iter().enumerate().take(self.ways + 1) {
            inputs.set(&format!("written{k}_valid_i"), u8::from(written.is_some()));
            inputs.set(&format!("written{k}_register_i"), written.unwrap_or(0));
        }
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        for way in 0..self.ways {
            let found = cycle.lookups[way].and_then(|register| self.find(register)).cloned();
            let port = self.port("lookup", way);
            outputs.set(&format!("{port}_hit_o"), u8::from(found.is_some()));
            outputs.set(&format!("{port}_value_o"), found.unwrap_or_default());
        }
        let is_written = |register: usize| cycle.written[..=self.ways].contains(&Some(register));
        let is_new =
            |(register, _): &&(usize, Vec<u32>)| !is_written(*register) && self.find(*register).is_none();
        let mut new: Vec<(usize, Vec<u32>)> = Vec::new();
        for fill in cycle.fills[..self.ways].iter().flatten().filter(is_new) {
            let has_come = new.iter().any(|(register, _)| *register == fill.0);
            if !has_come && new.len() < self.entries.len() {
                new.push(fill.clone());
            }
        }
        for entry in &mut self.entries {
            *entry = entry.take().filter(|(register, _)| !is_written(*register));
        }
        for (register, value) in new {
            self.entries[self.turn] = Some((register, BigUint::new(value)));
            self.turn = (self.turn + 1) % self.entries.len();
        }
    }
}

fn traffic() -> impl Strategy<Value = (VerifyCache, Vec<Cycle>)> {
    let lanes = prop_oneof![Just((1, 1)), Just((2, 1)), Just((4, 2))];
    (1..6_usize, 1..5_usize, lanes, 1..3_usize).prop_flat_map(
        |(entries, register_bits, (lanes, lanes_per_array), ways)| {
            let register = || 0..1_usize << register_bits;
            let fill = || option::weighted(0.6, (register(), vec(any::<u32>(), lanes)));
            let (lookup, written) =
                (|| option::weighted(0.7, register()), || option::weighted(0.2, register()));
            let written = [written(), written(), written()];
            let cycle = ([lookup(), lookup()], [fill(), fill()], written)
                .prop_map(|(lookups, fills, written)| Cycle { lookups, fills, written });
            (Just(VerifyCache { entries, register_bits, lanes, lanes_per_array, ways }), vec(cycle, 1..120))
        },
    )
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn a_hit_is_the_value_since_the_last_write((cache, cycles) in traffic()) {
        check(&cache, &Entries::new(&cache), &Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((cache, cycles) in traffic()) {
        check(&cache, &Entries::new(&cache), &Lockstep::with_verilog(), &cycles)?;
    }
}

#[test]
fn verilog_text() {
    let cache = VerifyCache { entries: 2, register_bits: 3, lanes: 2, lanes_per_array: 1, ways: 1 };
    insta::assert_snapshot!(verilog(&cache));
}

#[test]
fn verilog_text_of_two_ways() {
    let cache = VerifyCache { entries: 2, register_bits: 3, lanes: 2, lanes_per_array: 1, ways: 2 };
    insta::assert_snapshot!(verilog(&cache));
}
