//! The verify cache beside a list of registers with their values.

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::wir::{VERIFY_CACHE_WRITERS, VerifyCache};
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};

use super::{check, verilog};

#[derive(Clone, Debug, Default)]
struct Cycle {
    lookup: Option<usize>,
    /// Register and value.
    fill: Option<(usize, Vec<u32>)>,
    written: [Option<usize>; VERIFY_CACHE_WRITERS],
}

/// Entries in the order of their places: the next to be replaced is at `turn`.
#[derive(Clone)]
struct Entries {
    entries: Vec<Option<(usize, BigUint)>>,
    turn: usize,
}

impl Entries {
    fn new(cache: &VerifyCache) -> Entries {
        Entries { entries: vec![None; cache.entries], turn: 0 }
    }

    fn find(&self, register: usize) -> Option<&BigUint> {
        self.entries.iter().flatten().find(|(known, _)| *known == register).map(|(_, value)| value)
    }
}

impl Reference for Entries {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        inputs.set("lookup_valid_i", u8::from(cycle.lookup.is_some()));
        inputs.set("lookup_register_i", cycle.lookup.unwrap_or(0));
        if let Some((register, value)) = &cycle.fill {
            inputs.set("fill_valid_i", 1_u8);
            inputs.set("fill_register_i", *register);
            inputs.set("fill_value_i", BigUint::new(value.clone()));
        }
        for (k, written) in cycle.written.iter().enumerate() {
            inputs.set(&format!("written{k}_valid_i"), u8::from(written.is_some()));
            inputs.set(&format!("written{k}_register_i"), written.unwrap_or(0));
        }
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        let found = cycle.lookup.and_then(|register| self.find(register)).cloned();
        outputs.set("lookup_hit_o", u8::from(found.is_some()));
        outputs.set("lookup_value_o", found.unwrap_or_default());
        let is_written = |register: usize| cycle.written.contains(&Some(register));
        let new = cycle
            .fill
            .as_ref()
            .filter(|(register, _)| !is_written(*register) && self.find(*register).is_none());
        for entry in &mut self.entries {
            *entry = entry.take().filter(|(register, _)| !is_written(*register));
        }
        if let Some((register, value)) = new {
            self.entries[self.turn] = Some((*register, BigUint::new(value.clone())));
            self.turn = (self.turn + 1) % self.entries.len();
        }
    }
}

fn traffic() -> impl Strategy<Value = (VerifyCache, Vec<Cycle>)> {
    (1..6_usize, 1..5_usize, prop_oneof![Just((1, 1)), Just((2, 1)), Just((4, 2))]).prop_flat_map(
        |(entries, register_bits, (lanes, lanes_per_array))| {
            let register = 0..1_usize << register_bits;
            let fill = option::weighted(0.6, (register.clone(), vec(any::<u32>(), lanes)));
            let written = [option::weighted(0.2, register.clone()), option::weighted(0.2, register.clone())];
            let cycle = (option::weighted(0.7, register), fill, written)
                .prop_map(|(lookup, fill, written)| Cycle { lookup, fill, written });
            (Just(VerifyCache { entries, register_bits, lanes, lanes_per_array }), vec(cycle, 1..120))
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
    let cache = VerifyCache { entries: 2, register_bits: 3, lanes: 2, lanes_per_array: 1 };
    insta::assert_snapshot!(verilog(&cache));
}
