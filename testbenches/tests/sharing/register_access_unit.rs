//! The resource access unit for registers beside locks of pairs of warps.

use std::collections::BTreeSet;

use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::sharing::RegisterAccessUnit;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::pairs_ref::{Blocks, Intent, long_traffic, traffic};
use super::{bits, packed};

#[derive(Clone)]
pub struct Registers {
    blocks: Blocks,
    register_bits: usize,
    /// Whether a warp waits for its partner alone (§2.2.1).
    warp_locks: bool,
    /// Warps that hold the lock of their pair.
    holders: BTreeSet<usize>,
    /// Warps that have ended in their slots, if that makes a difference.
    ended: BTreeSet<usize>,
}

/// What a cycle comes to.
pub struct Cycle {
    pub held: BTreeSet<usize>,
    issued: BTreeSet<usize>,
    taking: BTreeSet<usize>,
    /// Slots of the blocks that may take locks as such.
    blocks_taking: BTreeSet<usize>,
    ended: BTreeSet<usize>,
    blocks_ended: BTreeSet<usize>,
}

impl Registers {
    pub fn new(circuit: &RegisterAccessUnit, blocks: Blocks) -> Registers {
        let RegisterAccessUnit { register_bits, warp_locks, .. } = *circuit;
        Registers { blocks, register_bits, warp_locks, holders: BTreeSet::new(), ended: BTreeSet::new() }
    }

    /// What each warp's next instruction accesses: of one that has ended there is none.
    fn access(&self, intent: &Intent) -> Vec<usize> {
        let of_warp = |(warp, access): (usize, &usize)| if self.ended.contains(&warp) { 0 } else { *access };
        intent.access.iter().enumerate().map(of_warp).collect()
    }

    pub fn of_cycle(&self, intent: &Intent) -> Cycle {
        let blocks = &self.blocks;
        let needing = blocks.beyond(&self.access(intent), (blocks.sharing, blocks.private));
        let of_slot = |warps: &BTreeSet<usize>, slot: usize| {
            warps.iter().any(|warp| blocks.slot_of(*warp) == Some(slot))
        };
        let may_take = |slot: usize| {
            blocks.may_take(slot, |other| of_slot(&self.holders, other), |other| of_slot(&needing, other))
        };
        let is_held = |warp: &usize| {
            let partner = warp ^ 1;
            blocks.slot_of(*warp).is_some_and(|slot| !may_take(slot)) && !self.ended.contains(&partner)
        };
        let held: BTreeSet<usize> = needing.iter().copied().filter(is_held).collect();
        let resident = |warp: &usize| blocks.slot_of(*warp).is_some() && !self.ended.contains(warp);
        let all = || (0..blocks.warps()).filter(resident);
        let issued: BTreeSet<usize> = all()
            .filter(|warp| intent.issue[*warp] && !intent.end_warps[*warp] && !held.contains(warp))
            .collect();
        let ended: BTreeSet<usize> = all().filter(|warp| intent.end_warps[*warp]).collect();
        let taking: BTreeSet<usize> =
            needing.intersection(&issued).copied().filter(|warp| !self.holders.contains(warp)).collect();
        let blocks_taking = taking.iter().filter_map(|warp| blocks.slot_of(*warp));
        let blocks_taking = blocks_taking.filter(|slot| may_take(*slot)).collect();
        let is_done = |slot: &usize| {
            let warps = blocks.warps_of(*slot);
            let idle = |warp: &usize| {
                !issued.contains(warp) && (ended.contains(warp) || !self.holders.contains(warp))
            };
            blocks.is_resident(*slot) && intent.end_blocks[*slot] && warps.iter().all(idle)
        };
        let blocks_ended = (0..blocks.slots.len()).filter(is_done).collect();
        Cycle { held, issued, taking, blocks_taking, ended, blocks_ended }
    }
}

impl Reference for Registers {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        let cycle = self.of_cycle(intent);
        self.blocks.inputs(intent, &cycle.blocks_ended, inputs);
        inputs.set("register_i", packed(&self.access(intent), self.register_bits));
        inputs.set("issue_i", bits(cycle.issued));
        inputs.set("ended_i", bits(cycle.ended));
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let Cycle { held, taking, blocks_taking, ended, blocks_ended, .. } = self.of_cycle(intent);
        let slots = 0..self.blocks.slots.len();
        let sharing =
            slots.filter(|slot| self.blocks.shares(*slot)).flat_map(|slot| self.blocks.warps_of(slot));
        outputs.set("held_o", bits(held));
        outputs.set("owner_o", bits(self.blocks.owner_warps()));
        outputs.set("shared_o", bits(sharing));
        outputs.set("locked_o", bits(self.holders.iter().copied()));
        self.holders.retain(|warp| !ended.contains(warp));
        self.holders.extend(taking);
        let launched = self.blocks.launched(intent);
        self.blocks.step(intent, &blocks_taking, &blocks_ended);
        if self.warp_locks {
            self.ended.extend(ended);
            let starting = launched.map(|(slot, _)| self.blocks.warps_of(slot)).unwrap_or_default();
            self.ended.retain(|warp| !starting.contains(warp));
        }
    }
}

fn sizes(cycles: usize) -> impl Strategy<Value = (RegisterAccessUnit, Blocks, Vec<Intent>)> {
    let sizes = (2..6_usize, 1..4_usize, 2..5_usize, any::<bool>());
    sizes.prop_flat_map(move |(slots, warps, register_bits, warp_locks)| {
        let blocks = Blocks::new(slots, warps);
        let circuit = RegisterAccessUnit { warps: blocks.warps(), blocks: slots, register_bits, warp_locks };
        (Just(circuit), Just(blocks), traffic(slots, warps, (1 << register_bits) - 1, cycles))
    })
}

fn check(
    circuit: &RegisterAccessUnit,
    blocks: &Blocks,
    how: Lockstep,
    cycles: &[Intent],
) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &Registers::new(circuit, blocks.clone()), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn one_warp_of_a_pair_uses_what_they_share((circuit, blocks, cycles) in sizes(80)) {
        check(&circuit, &blocks, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(48))]
    #[test]
    fn so_it_is_at_the_size_of_table_2_3(
        (shift, warp_locks) in (0..24_usize, any::<bool>()),
        cycles in long_traffic(8, 6, 255, 120),
    ) {
        let circuit = RegisterAccessUnit { warps: 48, blocks: 8, register_bits: 8, warp_locks };
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

/// Nothing happens but what is said.
pub fn quiet(blocks: &Blocks) -> Intent {
    let (warps, slots) = (blocks.warps(), blocks.slots.len());
    Intent {
        configure: None,
        launch: None,
        access: vec![0; warps],
        issue: vec![false; warps],
        end_warps: vec![false; warps],
        end_blocks: vec![false; slots],
        release: vec![false; slots],
    }
}

/// Fig. 2.8: blocks 0 (warps 0, 2) and 1 (warps 1, 3) share. Warp 2 of the first and warp 1 of the second hold a lock each and
/// wait at a barrier for warps 0 and 3, which need the locks that these hold: it cannot come to that.
#[test]
fn the_deadlock_of_fig_2_8_does_not_come() {
    let blocks = Blocks::new(2, 2);
    let circuit = RegisterAccessUnit { warps: 4, blocks: 2, register_bits: 3, warp_locks: false };
    let launch = |slot| Intent { launch: Some((slot, true)), ..quiet(&blocks) };
    let needs = |warps: &[usize], issue: &[usize]| {
        let mut intent = quiet(&blocks);
        warps.iter().for_each(|warp| intent.access[*warp] = 5);
        issue.iter().for_each(|warp| intent.issue[*warp] = true);
        intent
    };
    let configure = Intent { configure: Some((true, 2)), ..quiet(&blocks) };
    let cycles =
        [configure, launch(0), launch(1), needs(&[1], &[1]), needs(&[2], &[2]), needs(&[0, 2, 3], &[3])];
    check(&circuit, &blocks, Lockstep::default(), &cycles).unwrap();
    let mut reference = Registers::new(&circuit, blocks.clone());
    for intent in &cycles {
        reference.cycle(intent, &mut Pins::default());
    }
    // Warp 1 was first and made block 1 the owner; only that block's warp 3 has taken another lock.
    assert_eq!(reference.holders, BTreeSet::from([1, 3]));
    assert_eq!(reference.of_cycle(&needs(&[0, 2], &[])).held, BTreeSet::from([0, 2]));
    let mut end = quiet(&blocks);
    end.end_warps = vec![false, true, false, true];
    end.end_blocks = vec![false, true];
    reference.cycle(&end, &mut Pins::default());
    assert_eq!(reference.of_cycle(&needs(&[0, 2], &[])).held, BTreeSet::new());
    assert!(reference.blocks.owns(0));
}

/// §2.5.1.6: a warp goes on when its partner has ended, while the partner's block is still the owner; and that block's other warps
/// do not wait for it.
#[test]
fn a_warp_waits_for_its_partner_alone() {
    let blocks = Blocks::new(2, 2);
    let launch = |slot| Intent { launch: Some((slot, true)), ..quiet(&blocks) };
    let mut all = quiet(&blocks);
    all.access = vec![5; 4];
    all.issue = vec![true; 4];
    let mut first_ends = quiet(&blocks);
    first_ends.end_warps[0] = true;
    let configure = Intent { configure: Some((true, 2)), ..quiet(&blocks) };
    let cycles = [configure, launch(0), launch(1), all.clone(), first_ends, all.clone(), all.clone()];
    for (warp_locks, held, holders) in [(false, vec![1, 3], vec![0, 2]), (true, vec![3], vec![1, 2])] {
        let circuit = RegisterAccessUnit { warps: 4, blocks: 2, register_bits: 3, warp_locks };
        check(&circuit, &blocks, Lockstep::default(), &cycles).unwrap();
        let mut reference = Registers::new(&circuit, blocks.clone());
        cycles.iter().for_each(|intent| reference.cycle(intent, &mut Pins::default()));
        assert_eq!(reference.of_cycle(&all).held, BTreeSet::from_iter(held));
        assert_eq!(reference.holders, BTreeSet::from_iter(holders));
        assert!(reference.blocks.owns(0));
    }
}

/// §2.4: 273 bits for Table 2.3, as the netlist has them.
#[test]
fn the_tables_have_the_bits_of_section_2_4() {
    let circuit = RegisterAccessUnit { warps: 48, blocks: 8, register_bits: 8, warp_locks: true };
    assert_eq!(table_bits(&circuit, &["sh_sm", "sh_tb", "owner", "sh_warp", "lock"]), 273);
}

/// Bits of registers by name.
pub fn table_bits(circuit: &impl warpfile_hdl::rtl::Circuit, names: &[&str]) -> u64 {
    let netlist = elaborate(circuit).unwrap();
    let module = &netlist.modules[netlist.top.index()];
    let width = |name: &&str| {
        let found = module.registers.iter().find(|register| register.name == **name);
        u64::from(found.unwrap_or_else(|| panic!("no register {name}")).width)
    };
    names.iter().map(width).sum()
}

#[test]
fn verilog() {
    let circuit = RegisterAccessUnit { warps: 4, blocks: 2, register_bits: 3, warp_locks: false };
    let files = emit(&elaborate(&circuit).unwrap()).modules;
    let text: Vec<String> = files.into_iter().map(|file| file.text).collect();
    insta::assert_snapshot!(text.join("\n"));
}
