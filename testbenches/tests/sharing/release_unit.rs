//! The release unit beside sets of threads.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use warpfile_hdl::sharing::ReleaseUnit;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::bits;

/// A thread: its warp, and its lane there.
type Thread = (usize, usize);

/// A block that comes: its slot, its warps, and lanes of the last.
type Launch = (usize, BTreeSet<usize>, BTreeSet<usize>);

/// An instruction: whether there is one, whether it exits, its warp, its lanes.
type Done = (bool, bool, usize, BTreeSet<usize>);

#[derive(Clone)]
struct Threads {
    parameters: ReleaseUnit,
    /// Threads of each resident block that exist.
    existing: BTreeMap<usize, BTreeSet<Thread>>,
    /// Warps of each resident block.
    warps: BTreeMap<usize, BTreeSet<usize>>,
    released: BTreeSet<Thread>,
}

/// What is wished for in a cycle; what the contract does not allow is left out.
#[derive(Clone, Debug)]
struct Intent {
    launch: Option<Launch>,
    /// For each port; what is there without an instruction means nothing.
    done: Vec<Done>,
    ended: BTreeSet<usize>,
}

impl Threads {
    fn new(parameters: &ReleaseUnit) -> Threads {
        Threads {
            parameters: parameters.clone(),
            existing: BTreeMap::new(),
            warps: BTreeMap::new(),
            released: BTreeSet::new(),
        }
    }

    fn exists(&self, thread: Thread) -> bool {
        self.existing.values().any(|threads| threads.contains(&thread))
    }

    fn launched(&self, intent: &Intent) -> Option<Launch> {
        let (slot, warps, lanes) = intent.launch.clone()?;
        let taken: BTreeSet<usize> = self.warps.values().flatten().copied().collect();
        let warps: BTreeSet<usize> = warps.difference(&taken).copied().collect();
        (!self.existing.contains_key(&slot) && !warps.is_empty()).then_some((slot, warps, lanes))
    }

    fn done(&self, intent: &Intent) -> Vec<Done> {
        let of = |(valid, exits, warp, lanes): &Done| {
            let lanes = lanes.iter().copied().filter(|lane| !valid || self.exists((*warp, *lane)));
            (*valid, *exits, *warp, lanes.collect())
        };
        intent.done.iter().map(of).collect()
    }

    fn ended(&self, intent: &Intent) -> BTreeSet<usize> {
        let is_over = |slot: &&usize| self.existing.get(slot).is_some_and(BTreeSet::is_empty);
        intent.ended.iter().filter(is_over).copied().collect()
    }
}

impl Reference for Threads {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        if let Some((slot, warps, lanes)) = self.launched(intent) {
            inputs.set("launch_valid_i", 1_u8);
            inputs.set("launch_block_i", slot);
            inputs.set("launch_last_i", *warps.last().unwrap());
            inputs.set("launch_warps_i", bits(warps));
            inputs.set("launch_lanes_i", bits(lanes));
        }
        for (port, (valid, exits, warp, lanes)) in self.done(intent).into_iter().enumerate() {
            inputs.set(&format!("done{port}_valid_i"), u8::from(valid));
            inputs.set(&format!("done{port}_exits_i"), u8::from(exits));
            inputs.set(&format!("done{port}_warp_i"), warp);
            inputs.set(&format!("done{port}_lanes_i"), bits(lanes));
        }
        inputs.set("block_ended_i", bits(self.ended(intent)));
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        // §3.2.2: for every i, A_i implies R_i.
        let all = self.existing.iter().filter(|(_, threads)| threads.is_subset(&self.released));
        outputs.set("released_o", bits(all.map(|(slot, _)| *slot)));
        let (launched, done, ended) = (self.launched(intent), self.done(intent), self.ended(intent));
        for (_, exits, warp, lanes) in done.into_iter().filter(|(valid, ..)| *valid) {
            for thread in lanes.into_iter().map(|lane| (warp, lane)) {
                if exits {
                    self.existing.values_mut().for_each(|threads| {
                        threads.remove(&thread);
                    });
                } else {
                    self.released.insert(thread);
                }
            }
        }
        for slot in ended {
            self.existing.remove(&slot);
            self.warps.remove(&slot);
        }
        if let Some((slot, warps, lanes)) = launched {
            let last = warps.last().copied();
            let of_warp = |warp: usize| {
                let all: Vec<usize> = (0..self.parameters.lanes).collect();
                let some = if Some(warp) == last { lanes.iter().copied().collect() } else { all };
                some.into_iter().map(move |lane| (warp, lane))
            };
            self.existing.insert(slot, warps.iter().flat_map(|warp| of_warp(*warp)).collect());
            self.released.retain(|(warp, _)| !warps.contains(warp));
            self.warps.insert(slot, warps);
        }
    }
}

fn sizes(cycles: usize) -> impl Strategy<Value = (ReleaseUnit, Vec<Intent>)> {
    (1..6_usize, 1..5_usize, 1..4_usize, 1..4_usize).prop_flat_map(move |(warps, lanes, blocks, ports)| {
        let some = |count: usize| prop::collection::btree_set(0..count, 0..=count);
        let launch = prop::option::weighted(0.4, (0..blocks, some(warps), some(lanes)));
        let done = (prop::bool::weighted(0.7), prop::bool::weighted(0.4), 0..warps, some(lanes));
        let intent = (launch, vec(done, ports), some(blocks));
        let intent = intent.prop_map(|(launch, done, ended)| Intent { launch, done, ended });
        (Just(ReleaseUnit { warps, lanes, blocks, ports }), vec(intent, 1..cycles))
    })
}

fn check(circuit: &ReleaseUnit, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &Threads::new(circuit), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn a_block_is_released_by_all_its_threads((circuit, cycles) in sizes(60)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, cycles) in sizes(40)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }
}

/// Lanes part: one side releases early, a thread of the other exits without, and the last one releases.
#[test]
fn padded_lanes_and_threads_that_exit_hold_nothing_back() {
    let circuit = ReleaseUnit { warps: 2, lanes: 4, blocks: 1, ports: 1 };
    let set = |members: &[usize]| members.iter().copied().collect::<BTreeSet<usize>>();
    let quiet = Intent { launch: None, done: vec![(false, false, 0, set(&[]))], ended: BTreeSet::new() };
    let done = |exits, warp, lanes: &[usize]| Intent {
        done: vec![(true, exits, warp, set(lanes))],
        ..quiet.clone()
    };
    let cycles = [
        Intent { launch: Some((0, set(&[0, 1]), set(&[0, 1]))), ..quiet.clone() },
        done(false, 0, &[0, 1]),
        done(true, 0, &[2]),
        done(false, 1, &[0, 1]),
        done(false, 0, &[3]),
        quiet.clone(),
    ];
    check(&circuit, Lockstep::default(), &cycles).unwrap();
    let mut reference = Threads::new(&circuit);
    let released: Vec<bool> = cycles
        .iter()
        .map(|intent| {
            let mut outputs = Pins::default();
            reference.cycle(intent, &mut outputs);
            outputs.get("released_o") == Some(&1_u8.into())
        })
        .collect();
    assert_eq!(released, [false, false, false, false, false, true]);
}
