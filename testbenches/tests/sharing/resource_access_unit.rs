//! The resource access unit for both resources beside locks of pairs of warps and of blocks, which only an owner takes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use warpfile_hdl::sharing::{RegisterAccessUnit, ResourceAccessUnit, ScratchpadAccessUnit};
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::pairs_ref::{Blocks, Intent, long_traffic, traffic};
use super::register_access_unit::{Registers, quiet, table_bits};
use super::scratchpad_access_unit::Scratchpad;
use super::{bits, packed};

/// What is wished for in a cycle: the other resource is accessed and configured by an intent of its own.
type Both = (Intent, Intent);

#[derive(Clone)]
struct Resources {
    /// Blocks, with the mode and the private part of registers.
    blocks: Blocks,
    /// Those of scratchpad.
    scratchpad: (bool, usize),
    bits: [usize; 2],
    /// Warps that hold the lock of their pair's registers, blocks that hold that of their pair's scratchpad.
    warp_locks: BTreeSet<usize>,
    block_locks: BTreeSet<usize>,
    released: BTreeSet<usize>,
}

/// What a cycle comes to.
struct Cycle {
    /// Bytes that each warp accesses: nothing shared once its block has released it.
    bytes: Vec<usize>,
    held: BTreeSet<usize>,
    takes_registers: BTreeSet<usize>,
    takes_scratchpad: BTreeSet<usize>,
    released: BTreeSet<usize>,
    ended: BTreeSet<usize>,
}

impl Resources {
    fn new(circuit: &ResourceAccessUnit, blocks: Blocks) -> Resources {
        Resources {
            blocks,
            scratchpad: (false, 0),
            bits: [circuit.register_bits, circuit.byte_bits],
            warp_locks: BTreeSet::new(),
            block_locks: BTreeSet::new(),
            released: BTreeSet::new(),
        }
    }

    /// Only the owner's warps take the locks of registers.
    fn may_use_registers(&self, slot: usize) -> bool {
        self.blocks.owns(slot)
    }

    /// So it is with that of scratchpad, but that the partner takes it once the owner has released all. Nobody takes it from one
    /// that holds it.
    fn may_use_scratchpad(&self, slot: usize) -> bool {
        let partner = self.blocks.partner(slot);
        let is_free = partner.is_none_or(|partner| !self.block_locks.contains(&partner));
        let is_left = partner.is_some_and(|partner| self.released.contains(&partner));
        is_free && !self.released.contains(&slot) && (self.blocks.owns(slot) || is_left)
    }

    fn of_cycle(&self, (registers, scratchpad): &Both) -> Cycle {
        let blocks = &self.blocks;
        let slots = 0..blocks.slots.len();
        let released: BTreeSet<usize> =
            slots.clone().filter(|slot| blocks.is_resident(*slot) && scratchpad.release[*slot]).collect();
        let is_over = |slot: usize| released.contains(&slot) || self.released.contains(&slot);
        let bytes: Vec<usize> = (0..blocks.warps())
            .map(|warp| match blocks.slot_of(warp) {
                Some(slot) if is_over(slot) => scratchpad.access[warp].min(self.scratchpad.1),
                Some(_) | None => scratchpad.access[warp],
            })
            .collect();
        let needs_registers = blocks.needing(registers);
        let needs_bytes = blocks.beyond(&bytes, self.scratchpad);
        let is_held = |warp: &usize| {
            let slot = blocks.slot_of(*warp);
            let waits = |needing: &BTreeSet<usize>, may_use: bool| needing.contains(warp) && !may_use;
            slot.is_some_and(|slot| {
                waits(&needs_registers, self.may_use_registers(slot))
                    || waits(&needs_bytes, self.may_use_scratchpad(slot))
            })
        };
        let held: BTreeSet<usize> = (0..blocks.warps()).filter(is_held).collect();
        let issued: BTreeSet<usize> = (0..blocks.warps())
            .filter(|warp| blocks.slot_of(*warp).is_some() && registers.issue[*warp] && !held.contains(warp))
            .collect();
        let is_done = |slot: &usize| {
            let idle = blocks.warps_of(*slot).is_disjoint(&issued);
            blocks.is_resident(*slot) && registers.end_blocks[*slot] && idle
        };
        let takes_scratchpad =
            needs_bytes.intersection(&issued).filter_map(|warp| blocks.slot_of(*warp)).collect();
        Cycle {
            bytes,
            takes_registers: needs_registers.intersection(&issued).copied().collect(),
            takes_scratchpad,
            held,
            released,
            ended: slots.filter(is_done).collect(),
        }
    }

    /// Of two warps or blocks that share, one holds the lock.
    fn check_locks(&self) {
        let apart = |locks: &BTreeSet<usize>| locks.iter().all(|holder| !locks.contains(&(holder ^ 1)));
        assert!(apart(&self.warp_locks), "{:?}", self.warp_locks);
        assert!(apart(&self.block_locks), "{:?}", self.block_locks);
    }
}

impl Reference for Resources {
    type Operation = Both;

    fn inputs(&self, both: &Both, inputs: &mut Pins) {
        let (registers, scratchpad) = both;
        let cycle = self.of_cycle(both);
        self.blocks.block_inputs(registers, &cycle.ended, inputs);
        if let Some((share, private)) = self.blocks.configured(registers) {
            inputs.set("configure_valid_i", 1_u8);
            inputs.set("configure_share_registers_i", u8::from(share));
            inputs.set("configure_private_registers_i", private);
            let (share, private) = scratchpad.configure.unwrap_or_default();
            inputs.set("configure_share_scratchpad_i", u8::from(share));
            inputs.set("configure_private_bytes_i", private);
        }
        inputs.set("register_i", packed(&registers.access, self.bits[0]));
        inputs.set("byte_i", packed(&cycle.bytes, self.bits[1]));
        inputs.set("release_i", bits(cycle.released));
    }

    fn cycle(&mut self, both: &Both, outputs: &mut Pins) {
        let Cycle { held, takes_registers, takes_scratchpad, released, ended, .. } = self.of_cycle(both);
        let slots = 0..self.blocks.slots.len();
        let sharing = || slots.clone().filter(|slot| self.blocks.shares(*slot));
        outputs.set("held_o", bits(held));
        outputs.set("owner_o", bits(self.blocks.owner_warps()));
        outputs.set("shared_o", bits(sharing()));
        outputs.set("scratchpad_o", bits(sharing().filter(|slot| self.may_use_scratchpad(*slot))));
        let (registers, scratchpad) = both;
        self.warp_locks.extend(takes_registers);
        self.block_locks.extend(takes_scratchpad);
        self.check_locks();
        let blocks = &self.blocks;
        self.warp_locks.retain(|warp| blocks.slot_of(*warp).is_some_and(|slot| !ended.contains(&slot)));
        self.block_locks.retain(|slot| !released.contains(slot) && !ended.contains(slot));
        self.released.extend(released);
        let launched = self.blocks.launched(registers).map(|(slot, _)| slot);
        self.released.retain(|slot| !ended.contains(slot) && launched != Some(*slot));
        if self.blocks.configured(registers).is_some() {
            self.scratchpad = scratchpad.configure.unwrap_or_default();
        }
        // Nobody becomes owner by taking a lock.
        self.blocks.step(registers, &BTreeSet::new(), &ended);
    }
}

/// Traffic of both; in some runs one of them is never shared.
fn both(
    registers: impl Strategy<Value = Vec<Intent>>,
    scratchpad: impl Strategy<Value = Vec<Intent>>,
) -> impl Strategy<Value = Vec<Both>> {
    let shared = prop_oneof![4 => Just([true, true]), 1 => Just([true, false]), 1 => Just([false, true])];
    (registers, scratchpad, shared).prop_map(|(registers, scratchpad, shared)| {
        let of = |mut intent: Intent, shared: bool| {
            intent.configure = intent.configure.map(|(share, private)| (share && shared, private));
            intent
        };
        let intents = registers.into_iter().zip(scratchpad);
        intents.map(|(one, other)| (of(one, shared[0]), of(other, shared[1]))).collect()
    })
}

fn sizes(cycles: usize) -> impl Strategy<Value = (ResourceAccessUnit, Blocks, Vec<Both>)> {
    (2..6_usize, 1..4_usize, 2..5_usize, 2..5_usize).prop_flat_map(
        move |(slots, warps, register_bits, byte_bits)| {
            let blocks = Blocks::new(slots, warps);
            let circuit =
                ResourceAccessUnit { warps: blocks.warps(), blocks: slots, register_bits, byte_bits };
            let of = |bits: usize| traffic(slots, warps, (1 << bits) - 1, cycles);
            (Just(circuit), Just(blocks), both(of(register_bits), of(byte_bits)))
        },
    )
}

fn check(
    circuit: &ResourceAccessUnit,
    blocks: &Blocks,
    how: Lockstep,
    cycles: &[Both],
) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &Resources::new(circuit, blocks.clone()), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn an_owner_uses_what_a_pair_shares((circuit, blocks, cycles) in sizes(80)) {
        check(&circuit, &blocks, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(24))]
    #[test]
    fn so_it_is_at_the_size_of_table_2_3(
        shift in 0..24_usize,
        cycles in both(long_traffic(8, 6, 255, 120), long_traffic(8, 6, 65535, 120)),
    ) {
        let circuit = ResourceAccessUnit { warps: 48, blocks: 8, register_bits: 8, byte_bits: 16 };
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

/// A block has the registers, its partner the scratchpad, and then each needs what the other has: with two units side by side
/// both wait for ever. Here the partner does not get that far, and the owner goes on.
#[test]
fn two_units_side_by_side_would_wait_for_each_other() {
    let blocks = Blocks::new(2, 1);
    let quiet = quiet(&blocks);
    let configure = Intent { configure: Some((true, 2)), ..quiet.clone() };
    let launch = |slot| Intent { launch: Some((slot, true)), ..quiet.clone() };
    let needs =
        |access: [usize; 2]| Intent { access: access.to_vec(), issue: vec![true; 2], ..quiet.clone() };
    let start = || [configure.clone(), launch(0), launch(1)];

    let mut registers = Registers::new(
        &RegisterAccessUnit { warps: 2, blocks: 2, register_bits: 3, warp_locks: false },
        blocks.clone(),
    );
    let mut scratchpad =
        Scratchpad::new(&ScratchpadAccessUnit { warps: 2, blocks: 2, byte_bits: 3 }, blocks.clone());
    for intent in start().iter().chain([&needs([5, 0])]) {
        registers.cycle(intent, &mut Pins::default());
    }
    for intent in start().iter().chain([&needs([0, 5])]) {
        scratchpad.cycle(intent, &mut Pins::default());
    }
    assert_eq!(registers.of_cycle(&needs([0, 5])).held, BTreeSet::from([1]));
    assert_eq!(scratchpad.of_cycle(&needs([5, 0])).held, BTreeSet::from([0]));

    let circuit = ResourceAccessUnit { warps: 2, blocks: 2, register_bits: 3, byte_bits: 3 };
    let then = [(needs([5, 0]), needs([0, 5])), (needs([0, 5]), needs([5, 0]))];
    let cycles: Vec<Both> =
        start().into_iter().map(|intent| (intent.clone(), intent)).chain(then.clone()).collect();
    check(&circuit, &blocks, Lockstep::default(), &cycles).unwrap();
    let mut both = Resources::new(&circuit, blocks);
    for intents in &cycles[..3] {
        both.cycle(intents, &mut Pins::default());
    }
    for intents in &then {
        assert_eq!(both.of_cycle(intents).held, BTreeSet::from([1]));
        both.cycle(intents, &mut Pins::default());
    }
}

/// The partner gets the owner's scratchpad when it is released, its registers when it ends, and a later block neither before.
#[test]
fn released_scratchpad_is_the_partner_s_and_registers_stay_the_owner_s() {
    let blocks = Blocks::new(2, 1);
    let circuit = ResourceAccessUnit { warps: 2, blocks: 2, register_bits: 3, byte_bits: 3 };
    let quiet = quiet(&blocks);
    let of = |intent: Intent| (intent, quiet.clone());
    let launch = |slot| of(Intent { launch: Some((slot, true)), ..quiet.clone() });
    let configure = Intent { configure: Some((true, 2)), ..quiet.clone() };
    let needs = |register, byte| {
        let both = |access| Intent { access: vec![access; 2], ..quiet.clone() };
        (Intent { issue: vec![true; 2], ..both(register) }, both(byte))
    };
    let release = (quiet.clone(), Intent { release: vec![true, false], ..quiet.clone() });
    let end = of(Intent { end_blocks: vec![true, false], ..quiet.clone() });
    let cycles = [
        (configure.clone(), configure),
        launch(0),
        launch(1),
        needs(5, 0),
        needs(0, 5),
        release,
        needs(5, 0),
        needs(0, 5),
        end,
        launch(0),
        needs(5, 0),
        needs(0, 5),
    ];
    check(&circuit, &blocks, Lockstep::default(), &cycles).unwrap();
    let mut reference = Resources::new(&circuit, blocks);
    let held: Vec<Vec<usize>> = cycles
        .iter()
        .map(|both| {
            let held = reference.of_cycle(both).held.into_iter().collect();
            reference.cycle(both, &mut Pins::default());
            held
        })
        .collect();
    let none: Vec<usize> = Vec::new();
    let asked = [3, 4, 6, 7, 10, 11].map(|cycle| held[cycle].clone());
    assert_eq!(asked, [vec![1], vec![1], vec![1], none, vec![0], vec![0]]);
}

/// 82 bits for Table 2.3 and one a block for what is released, where the two units have 366 by §2.4.
#[test]
fn the_tables_have_no_locks() {
    let circuit = ResourceAccessUnit { warps: 48, blocks: 8, register_bits: 8, byte_bits: 16 };
    assert_eq!(table_bits(&circuit, &["sh_sm", "sh_tb", "owner"]), 2 + 8 * 4 + 48);
    assert_eq!(table_bits(&circuit, &["released"]), 8);
}
