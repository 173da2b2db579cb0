use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::regless::{Fate, Note, ShardGeometry, StagingBank};
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::staging_bank_ref::{Access, Cycle, StagingBankReference};
use crate::library::clean;

const LANES: usize = 4;

/// One bank of few lines, so that lines are scarce.
pub fn geometry(lines: usize, warps: usize) -> ShardGeometry {
    ShardGeometry { warps, banks: 1, lines, lanes: LANES, lanes_per_slice: 2, register_bits: 4 }
}

pub fn fates() -> impl Strategy<Value = Fate> {
    prop_oneof![Just(Fate::Keep), Just(Fate::Evict), Just(Fate::Evict), Just(Fate::Erase)]
}

fn notes() -> impl Strategy<Value = Note> {
    prop_oneof![Just(Note::Preload), Just(Note::InvalidatingPreload), Just(Note::Invalidation)]
}

fn accesses() -> impl Strategy<Value = Access> {
    let lanes = prop_oneof![Just(0b1111_u32), Just(0), 1..16_u32];
    // A read, a reservation, or both.
    let kinds = prop_oneof![2 => Just((true, false)), 2 => Just((false, true)), 1 => Just((true, true))];
    (kinds, 0..64_usize, fates(), lanes, prop::bool::weighted(0.9)).prop_map(
        |((reads, reserves), pick, fate, lanes, written)| Access {
            reads,
            reserves,
            pick,
            fate,
            lanes,
            written,
        },
    )
}

pub fn cycles() -> impl Strategy<Value = Cycle> {
    let write = option::weighted(0.5, (0..64_usize, prop_oneof![Just(0b1111_u32), 1..16_u32], any::<u32>()));
    (
        option::weighted(0.7, accesses()),
        option::weighted(0.6, (notes(), 0..64_usize)),
        write,
        option::weighted(0.3, (0..64_usize, any::<u32>())),
        option::weighted(0.05, 0..4_usize),
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.5),
        any::<[u32; 2]>(),
    )
        .prop_map(|(access, preload, write, fill, drop, may_hold, ready, power)| Cycle {
            access,
            preload,
            write,
            fill,
            drop,
            may_hold,
            ready,
            power,
        })
}

fn traffic(cycles_at_most: usize) -> impl Strategy<Value = (StagingBank, Vec<Cycle>)> {
    let sizes = (2..7_usize, prop_oneof![Just(1_usize), Just(2), Just(4)], any::<bool>());
    let bank = |(lines, warps, gated)| StagingBank { geometry: geometry(lines, warps), gated };
    (sizes.prop_map(bank), vec(cycles(), 1..cycles_at_most))
}

fn check(bank: &StagingBank, how: &Lockstep, cycles: &[Cycle]) -> Result<(), TestCaseError> {
    how.run(&elaborate(bank).unwrap(), &StagingBankReference::new(bank.geometry, bank.gated), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

/// A bank of two lines and one warp; the reference says which line is taken and what is written back.
///
/// Register 0 is written and written back, and then found in a line that nothing was written to, although memory has
/// a copy: its instruction writes no lane. A preload that gives the copy up makes that line dirty.
#[test]
fn a_line_that_nothing_was_written_to_is_written_back_as_0() {
    let idle = Cycle {
        access: None,
        preload: None,
        write: None,
        fill: None,
        drop: None,
        may_hold: true,
        ready: true,
        power: [0; 2],
    };
    let access = |reserves: bool, pick, fate, written| Cycle {
        access: Some(Access { reads: !reserves, reserves, pick, fate, lanes: 0, written }),
        ..idle
    };
    let written = |register| {
        let write = Cycle { write: Some((0, 0b1111, 0x1234_5678)), ..idle };
        [access(true, register, Fate::Evict, true), idle, idle, idle, write]
    };
    let is_preloaded = Cycle { preload: Some((Note::InvalidatingPreload, 0)), ..idle };
    // Of what may be read there is one register at a time: what a region holds.
    let read_last = access(false, 0, Fate::Evict, true);
    let is_left_unwritten = [access(true, 0, Fate::Keep, false), idle, idle, idle, read_last];
    let is_dirty = [is_preloaded, read_last];
    let others = |from: usize| (from..from + 2).flat_map(&written).collect::<Vec<_>>();
    let cycles = [&written(0)[..], &others(1), &is_left_unwritten, &is_dirty, &others(3)];
    let bank = StagingBank { geometry: geometry(2, 1), gated: false };
    check(&bank, &Lockstep::default(), &cycles.concat()).unwrap();
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn a_bank_does_what_the_lists_of_lines_say((bank, cycles) in traffic(200)) {
        check(&bank, &Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(3))]
    #[test]
    fn the_verilog_of_a_bank_does_the_same((bank, cycles) in traffic(100)) {
        check(&bank, &Lockstep::with_verilog(), &cycles)?;
    }
}

#[test]
fn banks_of_all_sizes_are_clean_for_the_three_tools() {
    let odd = [geometry(2, 1), geometry(5, 2), ShardGeometry { lines: 12, ..ShardGeometry::GTX980 }];
    for geometry in odd.into_iter().chain([ShardGeometry::GTX980]) {
        for gated in [false, true] {
            clean(&elaborate(&StagingBank { geometry, gated }).unwrap());
        }
    }
}

#[test]
fn verilog() {
    let bank = StagingBank { geometry: geometry(3, 2), gated: false };
    insta::assert_snapshot!(emit(&elaborate(&bank).unwrap()).modules[0].text);
}
