//! Regions that have been tampered with are found out.

use super::*;
use crate::compile::regless::check_static::{Misplaced, check_static};
use crate::program::PhysReg;

/// Two regions: the second needs what the first loads and `r2`, which is read in both.
const BODY: &str = "\
    add.u32 %r2, %r1, 3; ld.global.u32 %r3, [%rd2];\n\
    add.u32 %r4, %r3, %r2; st.global.u32 [%rd2], %r4;";

/// What the checker says of the regions of [`BODY`] after a change.
fn broken(change: impl Fn(&mut Regions)) -> Broken {
    let parameters = Parameters { spread_banks: false, ..Parameters::default() };
    match check(&mut ptx_run(BODY), &parameters, |_, regions| change(regions)) {
        Err(CheckError::Broken(promise)) => promise.broken,
        other => panic!("not found: {other:?}"),
    }
}

/// The first mark of a fate among sources.
fn first_source(regions: &mut Regions, wanted: Fate) -> &mut Fate {
    regions.marks.iter_mut().flat_map(|marks| &mut marks.sources).find(|fate| **fate == wanted).expect("one")
}

#[test]
fn a_missing_preload_is_found() {
    let broken = broken(|regions| {
        regions.regions[1].preloads.pop();
    });
    assert!(matches!(broken, Broken::NotStaged(_)), "{broken}");
}

#[test]
fn a_register_erased_too_early_is_found() {
    let broken = broken(|regions| *first_source(regions, Fate::Evict) = Fate::Erase);
    assert!(matches!(broken, Broken::LanesLost { .. }), "{broken}");
}

#[test]
fn a_line_that_is_never_given_up_is_found() {
    let broken = broken(|regions| *first_source(regions, Fate::Erase) = Fate::Keep);
    assert!(matches!(broken, Broken::StillHeld(_)), "{broken}");
}

#[test]
fn a_line_that_is_given_up_before_it_is_read_again_is_found() {
    let broken = broken(|regions| {
        for marks in &mut regions.marks[..2] {
            marks.results[0] = Fate::Evict;
        }
    });
    assert!(matches!(broken, Broken::NotStaged(_)), "{broken}");
}

#[test]
fn invalidating_what_is_still_needed_is_found() {
    let broken = broken(|regions| {
        let preload = regions.regions[1].preloads.remove(0);
        regions.regions[1].cache_invalidations.push(preload.register);
        regions.regions[1].preloads.insert(0, Preload { register: preload.register, invalidates: false });
    });
    assert!(matches!(broken, Broken::PreloadedTwice(_)), "{broken}");
}

#[test]
fn more_lines_than_declared_are_found() {
    assert!(matches!(broken(|regions| regions.regions[0].live -= 1), Broken::TooManyLines { .. }));
    let fewer = |regions: &mut Regions| {
        let used = regions.regions[0].bank_lines.iter_mut().find(|lines| **lines > 0).expect("one");
        *used -= 1;
    };
    assert!(matches!(broken(fewer), Broken::TooManyBankLines { .. }));
}

#[test]
fn a_region_that_is_entered_in_the_middle_is_found() {
    let broken = broken(|regions| {
        let first = regions.regions[0].instructions.clone();
        regions.regions[0].instructions = first.start + 1..first.end;
    });
    assert_eq!(broken, Broken::NotRunAsOne);
}

#[test]
fn a_load_and_its_first_use_in_one_region_are_found() {
    let broken = broken(|regions| {
        let end = regions.regions[1].instructions.end;
        let loaded = regions.regions[1].preloads.iter().map(|preload| preload.register).collect::<Vec<_>>();
        regions.regions[0].instructions.end = end;
        regions.regions[0].live = 32;
        regions.regions[0].bank_lines = [16; 8];
        regions.region_of.fill(RegionId(0));
        for marks in &mut regions.marks[..usize::try_from(end).unwrap() - 1] {
            marks.results = Default::default();
            marks.sources = Default::default();
        }
        assert!(!loaded.is_empty());
    });
    assert!(matches!(broken, Broken::WaitsForLoad(_)), "{broken}");
}

fn compiled(body: &str) -> (Program, Regions) {
    let module = programs::module(body);
    let options = crate::compile::CompileOptions::as_written();
    let program = crate::compile::compile(&module, "k", &options).unwrap().program;
    compile(&program, &Parameters { spread_banks: false, ..Parameters::default() }).unwrap()
}

fn misplaced(body: &str, change: impl Fn(&mut Regions)) -> Misplaced {
    let (program, mut regions) = compiled(body);
    check_static(&program, &regions).expect("right before the change");
    change(&mut regions);
    check_static(&program, &regions).expect_err("wrong after the change")
}

#[test]
fn a_dead_register_that_is_evicted_is_found() {
    let found = misplaced(BODY, |regions| *first_source(regions, Fate::Erase) = Fate::Evict);
    assert!(matches!(found, Misplaced::DeadEvicted { .. }), "{found}");
}

#[test]
fn a_live_register_that_is_erased_or_invalidated_is_found() {
    let erased = misplaced(BODY, |regions| *first_source(regions, Fate::Evict) = Fate::Erase);
    assert!(matches!(erased, Misplaced::LiveGivenUp { .. }), "{erased}");
    let invalidated = misplaced(BODY, |regions| {
        let PhysReg(register) = regions.regions[1].preloads[0].register;
        regions.regions[1].cache_invalidations.push(PhysReg(register));
    });
    assert!(matches!(invalidated, Misplaced::LiveGivenUp { .. }), "{invalidated}");
}

#[test]
fn a_region_that_goes_on_behind_a_barrier_is_found() {
    let found = misplaced("bar.sync 0; st.global.u32 [%rd2], %r1;", |regions| {
        let (first, second) = (regions.regions[0].instructions.clone(), regions.regions.remove(1));
        regions.regions[0].instructions = first.start..second.instructions.end;
        regions.region_of.fill(RegionId(0));
    });
    assert!(matches!(found, Misplaced::GoesOnBehindBarrier(_)), "{found}");
}
