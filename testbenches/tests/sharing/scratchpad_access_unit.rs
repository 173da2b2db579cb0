//! The resource access unit for scratchpad beside locks of pairs of blocks.

use std::collections::BTreeSet;

use proptest::prelude::*;
use warpfile_hdl::sharing::ScratchpadAccessUnit;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::pairs_ref::{Blocks, Intent, long_traffic, traffic};
use super::register_access_unit::table_bits;
use super::{bits, packed};

#[derive(Clone)]
pub struct Scratchpad {
    blocks: Blocks,
    byte_bits: usize,
    /// Blocks that hold the lock of their pair.
    holders: BTreeSet<usize>,
    released: BTreeSet<usize>,
}

/// What a cycle comes to.
pub struct Cycle {
    /// What each warp accesses: nothing shared once its block has released it.
    access: Vec<usize>,
    pub held: BTreeSet<usize>,
    issued: BTreeSet<usize>,
    taking: BTreeSet<usize>,
    released: BTreeSet<usize>,
    ended: BTreeSet<usize>,
}

impl Scratchpad {
    pub fn new(circuit: &ScratchpadAccessUnit, blocks: Blocks) -> Scratchpad {
        let byte_bits = circuit.byte_bits;
        Scratchpad { blocks, byte_bits, holders: BTreeSet::new(), released: BTreeSet::new() }
    }

    pub fn of_cycle(&self, intent: &Intent) -> Cycle {
        let blocks = &self.blocks;
        let slots = 0..blocks.slots.len();
        let released: BTreeSet<usize> =
            slots.clone().filter(|slot| blocks.is_resident(*slot) && intent.release[*slot]).collect();
        let is_over = |slot: usize| released.contains(&slot) || self.released.contains(&slot);
        let access: Vec<usize> = (0..blocks.warps())
            .map(|warp| match blocks.slot_of(warp) {
                Some(slot) if is_over(slot) => intent.access[warp].min(blocks.private),
                Some(_) | None => intent.access[warp],
            })
            .collect();
        let intent_now = Intent { access: access.clone(), ..intent.clone() };
        let needing = blocks.needing(&intent_now);
        let needs = |slot: usize| needing.iter().any(|warp| blocks.slot_of(*warp) == Some(slot));
        let may_take = |slot: usize| blocks.may_take(slot, |other| self.holders.contains(&other), needs);
        let is_held = |warp: &usize| blocks.slot_of(*warp).is_some_and(|slot| !may_take(slot));
        let held: BTreeSet<usize> = needing.iter().copied().filter(is_held).collect();
        let issued: BTreeSet<usize> = (0..blocks.warps())
            .filter(|warp| blocks.slot_of(*warp).is_some() && intent.issue[*warp] && !held.contains(warp))
            .collect();
        let taking = needing.intersection(&issued).filter_map(|warp| blocks.slot_of(*warp)).collect();
        let is_done = |slot: &usize| {
            let idle = blocks.warps_of(*slot).is_disjoint(&issued);
            blocks.is_resident(*slot) && intent.end_blocks[*slot] && idle
        };
        let ended = slots.filter(is_done).collect();
        Cycle { access, held, issued, taking, released, ended }
    }
}

impl Reference for Scratchpad {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        let cycle = self.of_cycle(intent);
        self.blocks.inputs(intent, &cycle.ended, inputs);
        inputs.set("byte_i", packed(&cycle.access, self.byte_bits));
        inputs.set("issue_i", bits(cycle.issued));
        inputs.set("release_i", bits(cycle.released));
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let Cycle { held, taking, released, ended, .. } = self.of_cycle(intent);
        let slots = 0..self.blocks.slots.len();
        outputs.set("held_o", bits(held));
        outputs.set("owner_o", bits(self.blocks.owner_warps()));
        outputs.set("shared_o", bits(slots.filter(|slot| self.blocks.shares(*slot))));
        outputs.set("locked_o", bits(self.holders.iter().copied()));
        self.holders.extend(taking.iter().copied());
        self.holders.retain(|slot| !released.contains(slot) && !ended.contains(slot));
        self.released.extend(released);
        let launched = self.blocks.launched(intent).map(|(slot, _)| slot);
        self.released.retain(|slot| !ended.contains(slot) && launched != Some(*slot));
        self.blocks.step(intent, &taking, &ended);
    }
}

fn sizes(cycles: usize) -> impl Strategy<Value = (ScratchpadAccessUnit, Blocks, Vec<Intent>)> {
    (2..6_usize, 1..4_usize, 2..5_usize).prop_flat_map(move |(slots, warps, byte_bits)| {
        let blocks = Blocks::new(slots, warps);
        let circuit = ScratchpadAccessUnit { warps: blocks.warps(), blocks: slots, byte_bits };
        (Just(circuit), Just(blocks), traffic(slots, warps, (1 << byte_bits) - 1, cycles))
    })
}

fn check(
    circuit: &ScratchpadAccessUnit,
    blocks: &Blocks,
    how: Lockstep,
    cycles: &[Intent],
) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &Scratchpad::new(circuit, blocks.clone()), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn one_block_of_a_pair_uses_what_they_share((circuit, blocks, cycles) in sizes(80)) {
        check(&circuit, &blocks, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(24))]
    #[test]
    fn so_it_is_at_the_size_of_table_2_3(shift in 0..24_usize, cycles in long_traffic(8, 6, 65535, 120)) {
        let circuit = ScratchpadAccessUnit { warps: 48, blocks: 8, byte_bits: 16 };
        check(&circuit, &Blocks::new(8, 6).behind(shift), Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, blocks, cycles) in sizes(40)) {
        check(&circuit, &blocks, Lockstep::with_verilog(), &cycles)?;
    }
}

/// §2.4: 93 bits for Table 2.3, as the netlist has them.
#[test]
fn the_tables_have_the_bits_of_section_2_4() {
    let circuit = ScratchpadAccessUnit { warps: 48, blocks: 8, byte_bits: 16 };
    assert_eq!(table_bits(&circuit, &["sh_sm", "sh_tb", "owner", "lock"]), 93);
}
