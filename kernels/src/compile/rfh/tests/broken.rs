//! Placements that have been tampered with are found out.

use super::*;
use crate::compile::rfh::check::Broken;
use crate::compile::rfh::check_static::Misplaced;

/// A product that lives on behind the load, which suspends; a sum that does not, in between.
const BODY: &str = "mul.lo.u32 %r2, %r1, %r1; ld.global.u32 %r3, [%rd2];\n\
                    xor.b32 %r4, %r3, %r2; sub.u32 %r5, %r4, %r1; st.global.u32 [%rd2], %r5;";

/// The places of the first instruction whose text begins so.
fn places<'p>(program: &Program, placement: &'p mut Placement, text: &str) -> &'p mut Places {
    let position = program.instructions.iter().position(|instruction| instruction.text.starts_with(text));
    &mut placement.places[position.expect("it is there")]
}

/// What the checker says of the placement of [`BODY`] after a change.
fn broken(change: impl Fn(&Program, &mut Placement)) -> Broken {
    match check(&mut ptx_run(BODY), 3, change) {
        Err(CheckError::Broken(promise)) => promise.broken,
        other => panic!("not found: {other:?}"),
    }
}

fn misplaced(change: impl Fn(&Program, &mut Placement)) -> Misplaced {
    let (program, mut placement) = compiled(BODY);
    change(&program, &mut placement);
    check_static(&program, &placement).expect_err("wrong after the change")
}

#[test]
fn a_value_that_is_read_in_another_entry_is_found() {
    let change = |program: &Program, placement: &mut Placement| {
        places(program, placement, "xor").results[0].upper = Some(Upper::Orf(2))
    };
    assert!(matches!(broken(change), Broken::Elsewhere { .. }));
    assert!(matches!(misplaced(change), Misplaced::NotInEntry { .. }));
}

#[test]
fn a_value_that_lives_on_and_is_not_in_the_main_register_file_is_found() {
    let change = |program: &Program, placement: &mut Placement| {
        let place = ResultPlace { upper: Some(Upper::Lrf), main: false };
        places(program, placement, "mul.lo").results[0] = place;
    };
    assert!(matches!(misplaced(change), Misplaced::NotInMain { .. }));
}

#[test]
fn a_result_that_nothing_waits_for_in_its_strand_is_found() {
    let found =
        broken(|program, placement| places(program, placement, "mul.lo").results[0].upper = Some(Upper::Lrf));
    assert!(matches!(found, Broken::UnderWay(_)), "{found}");
}

#[test]
fn a_result_without_a_place_and_a_late_one_in_an_entry_are_found() {
    let nowhere = ResultPlace { upper: None, main: false };
    let found = broken(|program, placement| places(program, placement, "xor").results[0] = nowhere);
    assert!(matches!(found, Broken::BadResult(_)), "{found}");
    let late = broken(|program, placement| {
        places(program, placement, "ld.global").results[0].upper = Some(Upper::Orf(0))
    });
    assert!(matches!(late, Broken::BadResult(_)), "{late}");
}

#[test]
fn a_last_result_that_is_stored_is_found() {
    let found = broken(|program, placement| {
        let last = Some(Upper::Lrf);
        places(program, placement, "sub").results[0].upper = last;
        places(program, placement, "st.global").sources.iter_mut().for_each(|source| source.upper = last);
    });
    assert!(matches!(found, Broken::NotByAlu(_)), "{found}");
}

#[test]
fn an_entry_that_there_is_not_is_found() {
    let found =
        broken(|program, placement| places(program, placement, "xor").results[0].upper = Some(Upper::Orf(7)));
    assert_eq!(found, Broken::NoSuchEntry);
}

#[test]
fn two_copies_by_one_instruction_are_found() {
    let found = broken(|program, placement| {
        let sources = &mut places(program, placement, "xor").sources;
        sources[0] = SourcePlace { upper: None, copied_to: Some(0) };
        sources[1] = SourcePlace { upper: None, copied_to: Some(1) };
    });
    assert_eq!(found, Broken::BadCopy);
}

#[test]
fn a_strand_that_goes_on_over_a_suspension_is_found() {
    let change = |program: &Program, placement: &mut Placement| {
        let count = program.instructions.len() as u32;
        placement.strands = std::iter::once(0..count).collect();
    };
    assert_eq!(broken(change), Broken::NotRunAsOne);
    assert!(matches!(misplaced(change), Misplaced::Suspended(_)));
}

#[test]
fn strands_that_leave_out_an_instruction_are_found() {
    let change = |_: &Program, placement: &mut Placement| placement.strands[0].end -= 1;
    assert!(matches!(misplaced(change), Misplaced::Coverage(_)));
}
