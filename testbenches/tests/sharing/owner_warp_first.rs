//! The OWF scheduler beside a list of warps in the order in which they came.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use warpfile_hdl::sharing::OwnerWarpFirst;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::bits;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Owner,
    Unshared,
    NonOwner,
}

/// Whether a warp comes, goes, is ready; its class.
type Wish = (bool, bool, bool, Class);

#[derive(Clone, Debug)]
struct Intent {
    warps: Vec<Wish>,
    enable: bool,
}

#[derive(Clone)]
struct Scheduler {
    resident: BTreeSet<usize>,
    /// Those that have ended and have not left.
    ended: BTreeSet<usize>,
    /// Resident warps, the oldest first.
    order: Vec<usize>,
}

impl Scheduler {
    /// Resident warps of the cycle: a warp slot is filled again when the one before has left.
    fn resident(&self, intent: &Intent) -> BTreeSet<usize> {
        let comes = |warp: &usize| intent.warps[*warp].0 && !self.ended.contains(warp);
        let goes = |warp: &usize| intent.warps[*warp].1;
        let all = 0..intent.warps.len();
        all.filter(|warp| if self.resident.contains(warp) { !goes(warp) } else { comes(warp) }).collect()
    }
}

impl Reference for Scheduler {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        let of = |condition: &dyn Fn(&Wish) -> bool| {
            bits((0..intent.warps.len()).filter(|warp| condition(&intent.warps[*warp])))
        };
        inputs.set("resident_i", bits(self.resident(intent)));
        inputs.set("ready_i", of(&|warp| warp.2));
        inputs.set("first_i", of(&|warp| warp.3 == Class::Owner));
        inputs.set("last_i", of(&|warp| warp.3 == Class::NonOwner));
        inputs.set("issue_enable_i", u8::from(intent.enable));
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let resident = self.resident(intent);
        self.ended.extend(self.resident.difference(&resident).copied());
        self.order.retain(|warp| resident.contains(warp));
        self.order.extend(resident.difference(&self.resident).copied());
        self.resident = resident;
        let ready = self.order.iter().copied().filter(|warp| intent.warps[*warp].2);
        // The first of the smallest class.
        let picked = ready.min_by_key(|warp| intent.warps[*warp].3).filter(|_| intent.enable);
        outputs.set("issue_valid_o", u8::from(picked.is_some()));
        if let Some(warp) = picked {
            outputs.set_meaningful("issue_warp_o", warp);
        }
        let left = self.ended.pop_first();
        outputs.set("retire_valid_o", u8::from(left.is_some()));
        if let Some(warp) = left {
            outputs.set_meaningful("retire_warp_o", warp);
        }
    }
}

fn sizes(cycles: usize) -> impl Strategy<Value = (OwnerWarpFirst, Vec<Intent>)> {
    (1..12_usize).prop_flat_map(move |warps| {
        let class = prop_oneof![Just(Class::Owner), Just(Class::Unshared), Just(Class::NonOwner)];
        let warp = (prop::bool::weighted(0.3), prop::bool::weighted(0.1), prop::bool::weighted(0.6), class);
        let intent = (vec(warp, warps), prop::bool::weighted(0.9))
            .prop_map(|(warps, enable)| Intent { warps, enable });
        (Just(OwnerWarpFirst { warps }), vec(intent, 1..cycles))
    })
}

fn check(circuit: &OwnerWarpFirst, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    let reference = Scheduler { resident: BTreeSet::new(), ended: BTreeSet::new(), order: Vec::new() };
    how.run(&elaborate(circuit).unwrap(), &reference, cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn the_oldest_of_the_first_class_is_picked((circuit, cycles) in sizes(80)) {
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

/// Example 2.3.2: with all three ready, the owner (O) goes first, then the unshared warp (U), then the non-owner (N).
#[test]
fn owners_go_before_unshared_warps_before_non_owners() {
    let classes = [Class::NonOwner, Class::Unshared, Class::Owner];
    let ready = |which: &[usize]| Intent {
        warps: (0..3).map(|warp| (true, false, which.contains(&warp), classes[warp])).collect(),
        enable: true,
    };
    let cycles = [ready(&[0, 1, 2]), ready(&[0, 1]), ready(&[0])];
    check(&OwnerWarpFirst { warps: 3 }, Lockstep::default(), &cycles).unwrap();
    let mut reference = Scheduler { resident: BTreeSet::new(), ended: BTreeSet::new(), order: Vec::new() };
    for (intent, picked) in cycles.iter().zip([2_u8, 1, 0]) {
        let mut outputs = Pins::default();
        reference.cycle(intent, &mut outputs);
        assert_eq!(outputs.get("issue_warp_o"), Some(&picked.into()));
    }
}
