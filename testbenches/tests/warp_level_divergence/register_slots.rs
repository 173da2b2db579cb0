//! Register slots beside a queue of warps and a set of free slots.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::prelude::*;
use warpfile_hdl::warp_level_divergence::RegisterSlots;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

#[derive(Clone)]
struct Slots {
    warps: usize,
    free: BTreeSet<usize>,
    /// The slots of the kernel.
    all: usize,
    queue: VecDeque<usize>,
    slots: BTreeMap<usize, usize>,
}

/// What is wished for in a cycle; what the contract does not allow is left out.
#[derive(Clone, Debug)]
struct Intent {
    kernel: Option<usize>,
    comes: Option<usize>,
    ended: BTreeSet<usize>,
}

fn bits(warps: impl IntoIterator<Item = usize>) -> BigUint {
    warps.into_iter().fold(BigUint::default(), |set, warp| set | (BigUint::from(1_u8) << warp))
}

impl Slots {
    fn new(circuit: &RegisterSlots) -> Slots {
        Slots {
            warps: circuit.warps,
            free: BTreeSet::new(),
            all: 0,
            queue: VecDeque::new(),
            slots: BTreeMap::new(),
        }
    }

    fn ended(&self, intent: &Intent) -> BTreeSet<usize> {
        intent.ended.iter().copied().filter(|warp| self.slots.contains_key(warp)).collect()
    }

    /// A warp that is not there, or ends in this cycle.
    fn comes(&self, intent: &Intent) -> Option<usize> {
        let is_there = |warp: &usize| {
            self.queue.contains(warp) || (self.slots.contains_key(warp) && !self.ended(intent).contains(warp))
        };
        intent.comes.map(|warp| warp % self.warps).filter(|warp| !is_there(warp))
    }

    fn kernel(&self, intent: &Intent) -> Option<usize> {
        let nobody = self.queue.is_empty() && self.slots.is_empty() && self.comes(intent).is_none();
        intent.kernel.filter(|_| nobody).map(|slots| slots % (self.warps + 1))
    }
}

impl Reference for Slots {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        if let Some(slots) = self.kernel(intent) {
            inputs.set("configure_valid_i", 1_u8);
            inputs.set("configure_slots_i", slots);
        }
        if let Some(warp) = self.comes(intent) {
            inputs.set("arrive_valid_i", 1_u8);
            inputs.set("arrive_warp_i", warp);
        }
        inputs.set("ended_i", bits(self.ended(intent)));
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let (ended, comes, kernel) = (self.ended(intent), self.comes(intent), self.kernel(intent));
        outputs.set("waiting_o", bits(self.queue.iter().copied()));
        let placed = self.queue.front().copied().zip(self.free.first().copied());
        outputs.set("placed_valid_o", u8::from(placed.is_some()));
        if let Some((warp, slot)) = placed {
            outputs.set("placed_warp_o", warp);
            outputs.set("placed_slot_o", slot);
            self.queue.pop_front();
            self.free.remove(&slot);
        }
        self.free.extend(ended.iter().filter_map(|warp| self.slots.remove(warp)));
        self.slots.extend(placed);
        self.queue.extend(comes);
        if let Some(slots) = kernel {
            self.all = slots;
            self.free = (0..slots).collect();
        }
        assert_eq!(self.free.len() + self.slots.len(), self.all);
    }
}

fn sizes(cycles: usize) -> impl Strategy<Value = (RegisterSlots, Vec<Intent>)> {
    (1..10_usize).prop_flat_map(move |warps| {
        let kernel = prop::option::weighted(0.2, 0..=warps);
        let comes = prop::option::weighted(0.7, 0..warps);
        // Few end, so that warps wait, or many, so that slots are free.
        let ends = prop::sample::select(vec![0.05, 0.4]).prop_flat_map(prop::bool::weighted);
        let ended = (ends, prop::collection::btree_set(0..warps, 0..=warps));
        let ended = ended.prop_map(|(ends, warps)| if ends { warps } else { BTreeSet::new() });
        let intent = (kernel, comes, ended);
        let intent = intent.prop_map(|(kernel, comes, ended)| Intent { kernel, comes, ended });
        // A kernel is there from the first cycle on.
        let first =
            (0..=warps).prop_map(|slots| Intent { kernel: Some(slots), comes: None, ended: BTreeSet::new() });
        let intents = (first, vec(intent, 1..cycles));
        let intents = intents.prop_map(|(first, others)| [first].into_iter().chain(others).collect());
        (Just(RegisterSlots { warps }), intents)
    })
}

fn check(circuit: &RegisterSlots, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &Slots::new(circuit), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn the_oldest_warp_gets_the_lowest_slot((circuit, cycles) in sizes(120)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, cycles) in sizes(60)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }
}
