//! Blocks that share in pairs, by the words of §2.2.3 and §2.3: what the access units have in common.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use warpfile_testbenches::lockstep::Pins;

use super::bits;

/// A resident block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// With the block in the neighbouring slot.
    pub shares: bool,
    pub warps: BTreeSet<usize>,
}

/// The blocks of an SM.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// By slot.
    pub slots: Vec<Option<Block>>,
    /// For each pair of slots the owner.
    owners: Vec<Option<usize>>,
    warps_per_block: usize,
    /// Pairs of warp slots by which blocks lie behind those of their number.
    shift: usize,
    /// Whether the SM is in sharing mode, and what each block or warp has for itself.
    pub sharing: bool,
    pub private: usize,
}

/// What is wished for in a cycle; what the contract does not allow is left out.
#[derive(Clone, Debug)]
pub struct Intent {
    /// A kernel begins: sharing mode and private part.
    pub configure: Option<(bool, usize)>,
    /// Slot of a block that comes, and whether it shares if it is the first of its pair.
    pub launch: Option<(usize, bool)>,
    /// What each warp's next instruction accesses, 0 for nothing.
    pub access: Vec<usize>,
    pub issue: Vec<bool>,
    pub end_warps: Vec<bool>,
    pub end_blocks: Vec<bool>,
    pub release: Vec<bool>,
}

impl Blocks {
    /// None is resident. `slots` for blocks of so many warps each.
    pub fn new(slots: usize, warps_per_block: usize) -> Blocks {
        Blocks {
            slots: vec![None; slots],
            owners: vec![None; slots.div_ceil(2)],
            warps_per_block,
            shift: 0,
            sharing: false,
            private: 0,
        }
    }

    /// The same with blocks in other warp slots, `shift` pairs behind.
    pub fn behind(self, shift: usize) -> Blocks {
        Blocks { shift, ..self }
    }

    /// Warp slots: blocks 2 i and 2 i + 1 have every other one.
    pub fn warps(&self) -> usize {
        2 * self.owners.len() * self.warps_per_block
    }

    fn home(&self, slot: usize) -> BTreeSet<usize> {
        let pairs = self.warps() / 2;
        (0..self.warps_per_block)
            .map(|number| 2 * ((slot / 2 * self.warps_per_block + number + self.shift) % pairs) + slot % 2)
            .collect()
    }

    pub fn is_resident(&self, slot: usize) -> bool {
        self.slots[slot].is_some()
    }

    /// The block with which a block shares, if both are resident.
    pub fn partner(&self, slot: usize) -> Option<usize> {
        let other = slot ^ 1;
        (self.shares(slot) && other < self.slots.len() && self.shares(other)).then_some(other)
    }

    pub fn shares(&self, slot: usize) -> bool {
        self.slots[slot].as_ref().is_some_and(|block| block.shares)
    }

    pub fn owns(&self, slot: usize) -> bool {
        self.owners[slot / 2] == Some(slot)
    }

    /// The slot of the block of a warp.
    pub fn slot_of(&self, warp: usize) -> Option<usize> {
        let has = |block: &Option<Block>| block.as_ref().is_some_and(|block| block.warps.contains(&warp));
        self.slots.iter().position(has)
    }

    pub fn warps_of(&self, slot: usize) -> BTreeSet<usize> {
        self.slots[slot].as_ref().map(|block| block.warps.clone()).unwrap_or_default()
    }

    /// Warps whose next instruction needs what they share.
    pub fn needing(&self, intent: &Intent) -> BTreeSet<usize> {
        self.beyond(&intent.access, (self.sharing, self.private))
    }

    /// Those that access something beyond a private part, in a mode.
    pub fn beyond(&self, access: &[usize], (sharing, private): (bool, usize)) -> BTreeSet<usize> {
        let needs = |warp: &usize| {
            let shares = self.slot_of(*warp).is_some_and(|slot| self.shares(slot));
            sharing && shares && access[*warp] > private
        };
        (0..self.warps()).filter(needs).collect()
    }

    /// §2.2.3: a block takes locks if it is the owner, which its partner becomes that way while nobody else holds or needs one.
    pub fn may_take(
        &self,
        slot: usize,
        holds: impl Fn(usize) -> bool,
        needs: impl Fn(usize) -> bool,
    ) -> bool {
        match self.partner(slot) {
            None => true,
            Some(partner) => self.owns(slot) || (!holds(partner) && !needs(partner)),
        }
    }

    /// The block to come, if there is room for it.
    pub fn launched(&self, intent: &Intent) -> Option<(usize, bool)> {
        let (slot, wish) =
            intent.launch.filter(|(slot, _)| intent.configure.is_none() && !self.is_resident(*slot))?;
        let other = slot ^ 1;
        let shares = match self.slots.get(other) {
            None => false,
            Some(Some(block)) => block.shares,
            Some(None) => wish,
        };
        Some((slot, shares))
    }

    /// A kernel begins only without blocks.
    pub fn configured(&self, intent: &Intent) -> Option<(bool, usize)> {
        intent.configure.filter(|_| self.slots.iter().all(Option::is_none))
    }

    /// Ports that the units for one resource have.
    pub fn inputs(&self, intent: &Intent, ended: &BTreeSet<usize>, inputs: &mut Pins) {
        if let Some((share, private)) = self.configured(intent) {
            inputs.set("configure_valid_i", 1_u8);
            inputs.set("configure_share_i", u8::from(share));
            inputs.set("configure_private_i", private);
        }
        self.block_inputs(intent, ended, inputs);
    }

    /// Those of them that say which blocks come and end.
    pub fn block_inputs(&self, intent: &Intent, ended: &BTreeSet<usize>, inputs: &mut Pins) {
        if let Some((slot, shares)) = self.launched(intent) {
            inputs.set("launch_valid_i", 1_u8);
            inputs.set("launch_block_i", slot);
            inputs.set("launch_partner_i", if shares { slot ^ 1 } else { self.slots.len() });
            inputs.set("launch_warps_i", bits(self.home(slot)));
        }
        inputs.set("block_ended_i", bits(ended.iter().copied()));
    }

    /// Warps of owner blocks.
    pub fn owner_warps(&self) -> BTreeSet<usize> {
        self.owners.iter().flatten().flat_map(|slot| self.warps_of(*slot)).collect()
    }

    /// Blocks take locks, blocks end, a block comes, in that order.
    pub fn step(&mut self, intent: &Intent, taking: &BTreeSet<usize>, ended: &BTreeSet<usize>) {
        let configured = self.configured(intent);
        let launched = self.launched(intent);
        for &slot in taking {
            self.owners[slot / 2] = Some(slot);
        }
        for &slot in ended {
            if self.owns(slot) {
                self.owners[slot / 2] = self.partner(slot).filter(|partner| !ended.contains(partner));
            }
        }
        for &slot in ended {
            self.slots[slot] = None;
        }
        if let Some((slot, shares)) = launched {
            if shares && self.owners[slot / 2].is_none() {
                self.owners[slot / 2] = Some(slot);
            }
            self.slots[slot] = Some(Block { shares, warps: self.home(slot) });
        }
        if let Some((share, private)) = configured {
            (self.sharing, self.private) = (share, private);
        }
    }
}

/// Traffic of so many cycles for slots and blocks of such sizes; accesses are up to `most`.
pub fn traffic(
    slots: usize,
    warps_per_block: usize,
    most: usize,
    cycles: usize,
) -> impl Strategy<Value = Vec<Intent>> {
    let warps = Blocks::new(slots, warps_per_block).warps();
    intents(slots, warps, vec(0..=most, warps), most, 0.2, 1..cycles)
}

/// The same over many cycles of one kernel: most slots have a block, and at times hardly any warp asks for anything.
pub fn long_traffic(
    slots: usize,
    warps_per_block: usize,
    most: usize,
    cycles: usize,
) -> impl Strategy<Value = Vec<Intent>> {
    let warps = Blocks::new(slots, warps_per_block).warps();
    let often = prop_oneof![Just(0.02), Just(0.1), Just(0.5)];
    let access = often.prop_flat_map(move |often| {
        vec(prop::option::weighted(often, 0..=most).prop_map(Option::unwrap_or_default), warps)
    });
    intents(slots, warps, access, most, 0.01, cycles..cycles + 1)
}

fn intents(
    slots: usize,
    warps: usize,
    access: impl Strategy<Value = Vec<usize>>,
    most: usize,
    configured: f64,
    cycles: std::ops::Range<usize>,
) -> impl Strategy<Value = Vec<Intent>> {
    let some = move |count: usize, often: f64| vec(prop::bool::weighted(often), count);
    let intent = (
        prop::option::weighted(configured, (prop::bool::weighted(0.9), 0..=most / 2)),
        prop::option::weighted(0.5, (0..slots, prop::bool::weighted(0.8))),
        access,
        some(warps, 0.5),
        some(warps, 0.1),
        some(slots, 0.2),
        some(slots, 0.1),
    );
    let intent = intent.prop_map(|(configure, launch, access, issue, end_warps, end_blocks, release)| {
        Intent { configure, launch, access, issue, end_warps, end_blocks, release }
    });
    // Most runs begin with a kernel that shares.
    let begins = prop::option::weighted(0.9, Just((true, 1)));
    (begins, vec(intent, cycles)).prop_map(|(begins, mut intents)| {
        if let Some(first) = intents.first_mut() {
            first.configure = first.configure.or(begins);
        }
        intents
    })
}
