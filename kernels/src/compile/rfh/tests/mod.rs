//! Values placed in whole programs, checked on what their kernels execute and on every path.

mod broken;

use proptest::prelude::*;

use super::check::{CheckError, Warp, check_recorded};
use super::check_static::check_static;
use super::*;
use crate::compile::regless::tests::programs::{self, ptx_run};
use crate::compile::regless::tests::random::{blocks, ends, random_program};
use crate::program::Launches;
use crate::workloads;

/// Energies of Gebhart et al., ISCA 2011: Table 3 and a millimetre of wires, and the sizes of Table 2 that are nearest.
fn parameters(orf_entries: u8) -> Parameters {
    let energy =
        |read: f64, write: f64, mm: f64| AccessEnergy { read: read + 7.6 * mm, write: write + 7.6 * mm };
    let energies = LevelEnergies {
        main: energy(8.0, 11.0, 1.0),
        orf: energy(1.2, 4.4, 0.2),
        lrf: energy(1.2, 3.8, 0.05),
    };
    Parameters { orf_entries, energies }
}

/// Checks every launch with the placement that `change` makes of the compiler's.
fn check(
    launches: &mut dyn Launches,
    orf_entries: u8,
    change: impl Fn(&Program, &mut Placement),
) -> Result<u64, CheckError> {
    let mut checked = 0;
    while let Some(mut stream) = launches.next_launch()? {
        let program = stream.program().clone();
        let mut placement = compile(&program, &parameters(orf_entries)).expect("control flow is known");
        change(&program, &mut placement);
        checked += check_recorded(stream.as_mut(), &program, &placement, orf_entries)?;
    }
    Ok(checked)
}

#[test]
fn what_every_workload_executes_finds_its_operands_where_they_are_said_to_be() {
    for orf_entries in [1, 3] {
        for workload in workloads::list() {
            let mut open = workload.open("tiny").unwrap();
            let checked = check(&mut open, orf_entries, |_, _| {});
            let checked = checked.unwrap_or_else(|error| panic!("{}: {error}", workload.name));
            assert!(checked > 100, "{}: {checked} instructions", workload.name);
        }
    }
}

#[test]
fn every_path_of_every_workload_finds_its_operands_where_they_are_said_to_be() {
    for orf_entries in [1, 3, 8] {
        for workload in workloads::list() {
            let mut open = workload.open("tiny").unwrap();
            while let Some(stream) = open.next_launch().unwrap() {
                let placement = compile(stream.program(), &parameters(orf_entries)).unwrap();
                check_static(stream.program(), &placement)
                    .unwrap_or_else(|error| panic!("{}: {error}", workload.name));
            }
        }
    }
}

/// Entries are given to what saves energy by the energies that are given: where the levels above cost more, to nothing.
#[test]
fn levels_that_cost_more_than_the_main_register_file_hold_nothing() {
    let cheap = parameters(3);
    let LevelEnergies { main, orf, lrf } = cheap.energies;
    let above = AccessEnergy { read: main.read + 1.0, write: main.write + 1.0 };
    let dear = Parameters { energies: LevelEnergies { main, orf: above, lrf: above }, ..cheap };
    let no_orf = Parameters { energies: LevelEnergies { main, orf: above, lrf }, ..cheap };
    let mut open = workloads::by_name("hotspot").unwrap().open("tiny").unwrap();
    let stream = open.next_launch().unwrap().expect("a launch");
    let uppers = |parameters: &Parameters| -> Vec<Upper> {
        let placement = compile(stream.program(), parameters).unwrap();
        let of_results = |places: &Places| places.results.map(|place| place.upper);
        let of_sources = |places: &Places| places.sources.map(|place| place.upper);
        let all = placement.places.iter();
        all.flat_map(|places| of_results(places).into_iter().chain(of_sources(places))).flatten().collect()
    };
    assert!(uppers(&cheap).iter().any(|upper| matches!(upper, Upper::Orf(_))));
    assert!(uppers(&cheap).contains(&Upper::Lrf));
    assert!(uppers(&no_orf).iter().all(|upper| *upper == Upper::Lrf) && !uppers(&no_orf).is_empty());
    assert_eq!(uppers(&dear), Vec::new());
    assert!(orf.read < main.read);
}

/// Checks a kernel of a few lines on what it executes and on every path; gives where its operands are.
fn placed(body: &str) -> Placement {
    let checked = check(&mut ptx_run(body), 3, |_, _| {});
    assert!(checked.unwrap_or_else(|error| panic!("{error}")) > 0);
    let (program, placement) = compiled(body);
    check_static(&program, &placement).unwrap_or_else(|error| panic!("{error}"));
    placement
}

fn compiled(body: &str) -> (Program, Placement) {
    let module = programs::module(body);
    let options = crate::compile::CompileOptions::as_written();
    let program = crate::compile::compile(&module, "k", &options).unwrap().program;
    let placement = compile(&program, &parameters(3)).unwrap();
    (program, placement)
}

/// The places of the first instruction whose text begins so.
fn places_of(body: &str, text: &str) -> Places {
    let (program, placement) = compiled(body);
    let position = program.instructions.iter().position(|instruction| instruction.text.starts_with(text));
    placement.places[position.expect("it is there")]
}

#[test]
fn a_value_of_the_arithmetic_units_alone_is_a_last_result_and_one_that_is_stored_is_not() {
    let body = "mul.lo.u32 %r2, %r1, %r1; xor.b32 %r3, %r2, 21; st.global.u32 [%rd2], %r3;";
    placed(body);
    let [multiplied, ..] = places_of(body, "mul.lo").results;
    assert_eq!(multiplied, ResultPlace { upper: Some(Upper::Lrf), main: false });
    let [stored, ..] = places_of(body, "xor").results;
    assert!(matches!(stored, ResultPlace { upper: Some(Upper::Orf(_)), main: false }), "{stored:?}");
}

#[test]
fn a_value_that_is_read_behind_a_suspension_is_in_the_main_register_file() {
    let body = "mul.lo.u32 %r2, %r1, %r1; ld.global.u32 %r3, [%rd2];\n\
                xor.b32 %r4, %r3, %r2; st.global.u32 [%rd2], %r4;";
    placed(body);
    let [multiplied, ..] = places_of(body, "mul.lo").results;
    assert_eq!(multiplied, ResultPlace { upper: None, main: true });
    let [loaded, ..] = places_of(body, "ld.global").results;
    assert_eq!(loaded, ResultPlace::default(), "a late result");
}

#[test]
fn what_is_loaded_and_read_often_is_copied_at_its_first_read() {
    let body = "ld.global.u32 %r3, [%rd2]; add.u32 %r4, %r3, 1; xor.b32 %r5, %r4, %r3;\n\
                sub.u32 %r6, %r5, %r3; st.global.u32 [%rd2], %r6;";
    placed(body);
    let copies = places_of(body, "add.u32").sources.iter().filter(|place| place.copied_to.is_some()).count();
    assert_eq!(copies, 1);
    assert!(places_of(body, "sub").sources[..2].iter().all(|place| place.upper.is_some()));
}

#[test]
fn a_guarded_write_joins_the_value_in_its_entry() {
    let body = "mul.lo.u32 %r2, %r1, %r1; setp.lt.u32 %p1, %r1, 7;\n\
                @%p1 xor.b32 %r2, %r2, 40; sub.u32 %r3, %r2, %r1; st.global.u32 [%rd2], %r3;";
    placed(body);
    let (begun, joined) = (places_of(body, "mul.lo").results[0], places_of(body, "@").results[0]);
    assert!(begun.upper.is_some() && begun == joined, "{begun:?} {joined:?}");
}

#[test]
fn a_value_that_is_read_only_where_control_may_not_come_is_not_in_an_entry() {
    // Nothing waits for the product on the way past the branch.
    let body = "mul.lo.u32 %r2, %r1, %r1; setp.ge.u32 %p1, %r1, 7; @%p1 bra M;\n\
                xor.b32 %r3, %r2, 40; st.global.u32 [%rd2], %r3; M:";
    placed(body);
    assert_eq!(places_of(body, "mul.lo").results[0], ResultPlace { upper: None, main: true });
}

#[test]
fn a_loop_that_lanes_leave_one_by_one_keeps_what_is_read_behind_it() {
    placed(
        "mov.u32 %r3, 0; mov.u32 %r2, 0;\n\
         L: add.u32 %r3, %r3, 1; xor.b32 %r2, %r3, 21; setp.lt.u32 %p1, %r3, %r1; @%p1 bra L;\n\
         st.global.u32 [%rd2], %r2;",
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn operands_are_where_they_are_said_to_be_however_lanes_part(
        blocks in blocks(), choices in prop::collection::vec(any::<u8>(), 1..40), orf_entries in 1..4_u8,
    ) {
        let random = random_program(&blocks);
        let flow = &random.program.control.as_ref().expect("known").flow;
        prop_assume!(ends(flow));
        let program = &random.program;
        let placement = compile(program, &parameters(orf_entries)).expect("control flow is known");
        let listing = || {
            let cfg = crate::compile::cfg::Cfg::new(flow).expect("valid");
            listing::listing(program, &placement, &cfg)
        };
        let failed = |error: String| TestCaseError::fail(format!("{error}\n{}", listing()));
        check_static(program, &placement).map_err(|error| failed(error.to_string()))?;
        let mut warp = Warp::new(program, orf_entries);
        let walked = random.walk(program, &choices, |position, active, known| {
            warp.step(program, &placement, position, active, known).map_err(|broken| broken.to_string())
        });
        walked.map_err(failed)?;
    }
}
