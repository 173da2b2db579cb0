//! Reference of the metadata store: for each warp a queue of words and the region that waits. Written from §5 and §5.4 of
//! Kloosterman et al. and the contract, not from the circuit.

use std::collections::VecDeque;

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::prelude::*;
use warpfile_hdl::regless::{MetadataStore, NOTES, ShardGeometry};
use warpfile_random::Random;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

/// Kind and register of each annotation that a word has.
type Notes = Vec<Option<(usize, usize)>>;

#[derive(Clone)]
struct Warp {
    words: VecDeque<(bool, Notes)>,
    /// Lines of the region that came last, as many bits as all banks need.
    usage: Option<BigUint>,
    waits: bool,
}

#[derive(Clone)]
struct StoreReference {
    store: MetadataStore,
    warps: Vec<Warp>,
}

/// What a cycle's random number stands for.
struct Cycle {
    word: Option<(usize, bool, bool, BigUint, Notes)>,
    /// The warp whose region is looked at, and whether it begins.
    region: (usize, bool),
    /// The warp whose oldest word is looked at, and whether it is taken out.
    taken_out: (usize, bool),
}

impl StoreReference {
    fn cycle_of(&self, number: u64) -> Cycle {
        let g = &self.store.geometry;
        let mut random = Random(number);
        let warp = |random: &mut Random| random.below(g.warps as u32) as usize;
        let note = |random: &mut Random| {
            (random.below(3) > 0)
                .then(|| (random.below(3) as usize, random.below(1 << g.register_bits) as usize))
        };
        let bits = g.banks * g.line_count_bits();
        let usage = BigUint::from(random.number()) & ((BigUint::from(1u8) << bits) - 1u8);
        let notes = (0..NOTES).map(|_| note(&mut random)).collect();
        let word = (warp(&mut random), random.below(2) == 0, random.below(2) == 0, usage, notes);
        let region = warp(&mut random);
        // Only what waits begins.
        let begins = self.warps[region].waits && random.below(3) == 0;
        Cycle {
            word: (random.below(4) > 0).then_some(word),
            region: (region, begins),
            taken_out: (warp(&mut random), random.below(2) == 0),
        }
    }

    fn may_take(&self, warp: usize, first: bool) -> bool {
        self.warps[warp].words.len() < self.store.words && !(first && self.warps[warp].waits)
    }
}

impl Reference for StoreReference {
    type Operation = u64;

    fn inputs(&self, number: &u64, inputs: &mut Pins) {
        let Cycle { word, region, taken_out } = self.cycle_of(*number);
        if let Some((warp, first, last, usage, notes)) = word {
            inputs.set("metadata_valid_i", 1u8);
            inputs.set("metadata_warp_i", warp);
            inputs.set("metadata_first_i", u8::from(first));
            inputs.set("metadata_last_i", u8::from(last));
            inputs.set("metadata_usage_i", usage);
            for (k, (kind, register)) in notes.iter().enumerate().filter_map(|(k, note)| Some((k, (*note)?)))
            {
                inputs.set(&format!("metadata_note{k}_valid_i"), 1u8);
                inputs.set(&format!("metadata_note{k}_kind_i"), kind);
                inputs.set(&format!("metadata_note{k}_register_i"), register);
            }
        }
        inputs.set("region_warp_i", region.0);
        inputs.set("region_begins_i", u8::from(region.1));
        inputs.set("word_warp_i", taken_out.0);
        inputs.set("word_ready_i", u8::from(taken_out.1));
    }

    fn cycle(&mut self, number: &u64, outputs: &mut Pins) {
        let Cycle { word, region: (region, begins), taken_out: (reader, ready) } = self.cycle_of(*number);
        let (warp, first) = word.as_ref().map_or((0, false), |word| (word.0, word.1));
        let takes = self.may_take(warp, first);
        outputs.set("metadata_ready_o", u8::from(takes));
        let waits = self.warps.iter().enumerate();
        let waits = waits.fold(0_u32, |bits, (w, warp)| bits | u32::from(warp.waits) << w);
        outputs.set("waits_o", waits);
        match &self.warps[region].usage {
            Some(usage) => outputs.set("region_usage_o", usage.clone()),
            None => outputs.set_known("region_usage_o", 0u8, 0u8),
        }
        let oldest = self.warps[reader].words.front().cloned();
        outputs.set("word_valid_o", u8::from(oldest.is_some()));
        let (last, notes) = oldest.unwrap_or((false, vec![None; NOTES]));
        outputs.set("word_last_o", u8::from(last));
        for (k, note) in notes.iter().enumerate() {
            let (kind, register) = note.unwrap_or((0, 0));
            outputs.set(&format!("word_note{k}_valid_o"), u8::from(note.is_some()));
            outputs.set(&format!("word_note{k}_kind_o"), kind);
            outputs.set(&format!("word_note{k}_register_o"), register);
        }
        if ready {
            self.warps[reader].words.pop_front();
        }
        if begins {
            self.warps[region].waits = false;
        }
        if let Some((warp, first, last, usage, notes)) = word.filter(|_| takes) {
            let warp = &mut self.warps[warp];
            warp.words.push_back((last, notes));
            if first {
                (warp.usage, warp.waits) = (Some(usage), true);
            }
        }
    }
}

fn check(store: &MetadataStore, how: &Lockstep, numbers: &[u64]) -> Result<(), TestCaseError> {
    let warp = Warp { words: VecDeque::new(), usage: None, waits: false };
    let reference = StoreReference { store: store.clone(), warps: vec![warp; store.geometry.warps] };
    how.run(&elaborate(store).unwrap(), &reference, numbers)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

fn stores() -> impl Strategy<Value = MetadataStore> {
    let powers = |from: u32, to: u32| (from..=to).prop_map(|power| 1_usize << power);
    let lines = prop_oneof![2..6_usize, Just(6), Just(12)];
    (powers(0, 4), powers(0, 3), lines, 4..9_usize, powers(1, 4)).prop_map(
        |(warps, banks, lines, register_bits, words)| {
            let geometry = ShardGeometry { warps, banks, lines, lanes: 4, lanes_per_slice: 2, register_bits };
            MetadataStore { geometry, words }
        },
    )
}

proptest! {
    #![proptest_config(config(48))]
    #[test]
    fn words_of_a_warp_come_out_in_the_order_they_came((store, numbers) in (stores(), vec(any::<u64>(), 1..400))) {
        check(&store, &Lockstep::default(), &numbers)?;
    }
}

proptest! {
    #![proptest_config(config(2))]
    #[test]
    fn the_verilog_of_a_store_does_the_same((store, numbers) in (stores(), vec(any::<u64>(), 40..80))) {
        check(&store, &Lockstep::with_verilog(), &numbers)?;
    }
}
