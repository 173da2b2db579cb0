//! Registers mapped in whole programs, checked on what their kernels execute and on every path.

use proptest::prelude::*;

use super::check::{CheckError, Warp, check_recorded};
use super::check_static::check_static;
use super::*;
use crate::compile::regless::tests::programs::{self, ptx_run};
use crate::compile::regless::tests::random::{blocks, ends, random_program};
use crate::compile::rfh::AccessEnergy;
use crate::program::{Launches, Operation};
use crate::workloads;

/// Energies of Gebhart et al., ISCA 2011: Table 3 with a millimetre of wires, and 3 entries of Table 2 with a fifth of it.
fn parameters(entries: u8) -> Parameters {
    let energy =
        |read: f64, write: f64, mm: f64| AccessEnergy { read: read + 7.6 * mm, write: write + 7.6 * mm };
    let (backing, scratchpad) = (energy(8.0, 11.0, 1.0), energy(1.2, 4.4, 0.2));
    // The copy goes from one to the other, 0.8 mm.
    let energies = Energies { backing, scratchpad, copy: 1.2 + 11.0 + 7.6 * 0.8 };
    Parameters { entries, energies, transfers: true }
}

/// Checks every launch with the placement that `change` makes of the compiler's.
fn check(
    launches: &mut dyn Launches,
    entries: u8,
    change: impl Fn(&Program, &mut Placement),
) -> Result<u64, CheckError> {
    let mut checked = 0;
    while let Some(mut stream) = launches.next_launch()? {
        let program = stream.program().clone();
        let mut placement = compile(&program, &parameters(entries)).expect("control flow is known");
        change(&program, &mut placement);
        checked += check_recorded(stream.as_mut(), &program, &placement, entries)?;
    }
    Ok(checked)
}

#[test]
fn what_every_workload_executes_finds_its_operands_where_they_are_said_to_be() {
    for entries in [1, 6] {
        for workload in workloads::list() {
            let mut open = workload.open("tiny").unwrap();
            let checked = check(&mut open, entries, |_, _| {});
            let checked = checked.unwrap_or_else(|error| panic!("{}: {error}", workload.name));
            assert!(checked > 100, "{}: {checked} instructions", workload.name);
        }
    }
}

#[test]
fn every_path_of_every_workload_finds_its_operands_where_they_are_said_to_be() {
    for entries in [1, 2, 6, 12] {
        for workload in workloads::list() {
            let mut open = workload.open("tiny").unwrap();
            while let Some(stream) = open.next_launch().unwrap() {
                let placement = compile(stream.program(), &parameters(entries)).unwrap();
                check_static(stream.program(), &placement)
                    .unwrap_or_else(|error| panic!("{}: {error}", workload.name));
            }
        }
    }
}

/// An entry is one register's at a time, whatever is said of it where it is used.
#[test]
fn allocations_of_an_entry_do_not_overlap_and_save_energy() {
    let mut open = workloads::by_name("hotspot").unwrap().open("tiny").unwrap();
    let stream = open.next_launch().unwrap().expect("a launch");
    let placement = compile(stream.program(), &parameters(2)).unwrap();
    let is_later = |one: &Allocation, next: &Allocation| {
        (one.strand, one.entry) != (next.strand, next.entry) || one.range.end <= next.range.start
    };
    assert!(placement.allocations.windows(2).all(|pair| is_later(&pair[0], &pair[1])));
    assert!(placement.allocations.iter().all(|allocation| allocation.score > 0.0));
    assert!(placement.allocations.iter().any(|allocation| allocation.is_read));
    assert!(placement.allocations.iter().any(|allocation| allocation.live_outs > 0));
}

#[test]
fn without_transfers_a_value_is_in_the_scratchpad_for_its_whole_life() {
    let alone = Parameters { transfers: false, ..parameters(2) };
    let (mut mapped, mut with_transfers) = (0, 0);
    for workload in workloads::list() {
        let mut open = workload.open("tiny").unwrap();
        while let Some(stream) = open.next_launch().unwrap() {
            let program = stream.program();
            let placement = compile(program, &alone).unwrap();
            check_static(program, &placement).unwrap_or_else(|error| panic!("{}: {error}", workload.name));
            let places = || placement.places.iter();
            assert!(places().all(|places| places.sources.iter().all(|source| source.copied_to.is_none())));
            assert!(places().all(|places| places.results.iter().all(|result| !result.live_out)));
            mapped += placement.allocations.len();
            with_transfers += compile(program, &parameters(2)).unwrap().allocations.len();
        }
    }
    assert!(mapped > 100 && mapped < with_transfers, "{mapped} of {with_transfers}");
}

/// The value that lives on is cut off; the chain before it keeps its entry.
#[test]
fn without_transfers_a_chain_is_mapped_up_to_what_lives_on() {
    let body = "mul.lo.u32 %r2, %r1, %r1; xor.b32 %r2, %r2, 21; sub.u32 %r2, %r2, %r1;\n\
                ld.global.u32 %r3, [%rd2]; add.u32 %r3, %r3, %r2; st.global.u32 [%rd2], %r3;";
    let module = programs::module(body);
    let options = crate::compile::CompileOptions::as_written();
    let program = crate::compile::compile(&module, "k", &options).unwrap().program;
    let placement = compile(&program, &Parameters { transfers: false, ..parameters(1) }).unwrap();
    let entry = |text| placement.places[position(&program, text)].results[0].entry;
    assert_eq!([entry("mul.lo"), entry("xor"), entry("sub")], [Some(0), Some(0), None]);
}

#[test]
fn a_scratchpad_that_costs_more_than_the_backing_store_holds_nothing() {
    let mut dear = parameters(6);
    let AccessEnergy { read, write } = dear.energies.backing;
    dear.energies.scratchpad = AccessEnergy { read: read + 1.0, write: write + 1.0 };
    let mut open = workloads::by_name("hotspot").unwrap().open("tiny").unwrap();
    let stream = open.next_launch().unwrap().expect("a launch");
    let mapped = |parameters: &Parameters| compile(stream.program(), parameters).unwrap().allocations.len();
    assert_eq!(mapped(&dear), 0);
    assert!(mapped(&parameters(6)) > 0);
}

/// Checks a kernel of a few lines on what it executes and on every path; gives where its operands are.
fn placed(body: &str, entries: u8) -> (Program, Placement) {
    let checked = check(&mut ptx_run(body), entries, |_, _| {});
    assert!(checked.unwrap_or_else(|error| panic!("{error}")) > 0);
    let module = programs::module(body);
    let options = crate::compile::CompileOptions::as_written();
    let program = crate::compile::compile(&module, "k", &options).unwrap().program;
    let placement = compile(&program, &parameters(entries)).unwrap();
    check_static(&program, &placement).unwrap_or_else(|error| panic!("{error}"));
    (program, placement)
}

/// Position of the first instruction whose text begins so.
fn position(program: &Program, text: &str) -> usize {
    let found = program.instructions.iter().position(|instruction| instruction.text.starts_with(text));
    found.unwrap_or_else(|| panic!("{text} is not there"))
}

#[test]
fn a_register_that_is_written_again_and_again_keeps_its_entry() {
    let body = "mul.lo.u32 %r2, %r1, %r1; xor.b32 %r2, %r2, 21; sub.u32 %r2, %r2, %r1;\n\
                st.global.u32 [%rd2], %r2;";
    let (program, placement) = placed(body, 1);
    let places = |text| placement.places[position(&program, text)].results[0];
    let kept = ResultPlace { entry: Some(0), live_out: false };
    assert_eq!([places("mul.lo"), places("xor"), places("sub")], [kept; 3]);
}

#[test]
fn what_is_read_behind_a_strand_and_in_it_is_live_out() {
    let body = "mul.lo.u32 %r2, %r1, %r1; xor.b32 %r5, %r2, %r2; ld.global.u32 %r3, [%rd2];\n\
                add.u32 %r6, %r2, %r5; add.u32 %r3, %r3, %r6; add.u32 %r3, %r3, %r2; st.global.u32 [%rd2], %r3;";
    let (program, placement) = placed(body, 4);
    let multiplied = placement.places[position(&program, "mul.lo")].results[0];
    assert!(multiplied.entry.is_some() && multiplied.live_out, "{multiplied:?}");
    let loaded = placement.places[position(&program, "ld.global")].results[0];
    assert_eq!(loaded, ResultPlace::default(), "a late result");
}

#[test]
fn both_sides_of_a_branch_and_what_follows_are_one_strand() {
    let body = "mul.lo.u32 %r2, %r1, %r1; setp.ge.u32 %p1, %r1, 7; @%p1 bra E;\n\
                xor.b32 %r3, %r2, 40; bra M; E: or.b32 %r3, %r2, 3; M:\n\
                sub.u32 %r4, %r3, %r2; st.global.u32 [%rd2], %r4;";
    let (program, placement) = placed(body, 4);
    let strand = |text| {
        let position = position(&program, text) as u32;
        placement.strands.iter().position(|strand| strand.contains(&position))
    };
    assert_eq!(strand("mul.lo"), strand("sub"));
    let of = |text| placement.places[position(&program, text)];
    let joined = of("sub").sources[0].entry;
    assert!(joined.is_some() && of("sub").sources[1].entry.is_some(), "{:?}", of("sub"));
    assert_eq!(of("xor").results[0].entry, of("or.b32").results[0].entry);
}

#[test]
fn a_read_behind_a_write_on_one_side_alone_is_in_the_backing_store() {
    let body = "mul.lo.u32 %r3, %r1, %r1; ld.global.u32 %r5, [%rd2]; add.u32 %r5, %r5, 1;\n\
                setp.ge.u32 %p1, %r1, 7; @%p1 bra M;\n\
                xor.b32 %r3, %r5, 40; add.u32 %r6, %r3, %r3; add.u32 %r5, %r6, %r3; M:\n\
                sub.u32 %r4, %r3, %r5; st.global.u32 [%rd2], %r4;";
    let (program, placement) = placed(body, 4);
    let read = placement.places[position(&program, "sub")];
    let register = program.instructions[position(&program, "xor")].results[0].register;
    let sources = &program.instructions[position(&program, "sub")].sources;
    let of_register = sources.iter().position(|source| source.register == register).expect("it is read");
    assert_eq!(read.sources[of_register].entry, None);
    let written = placement.places[position(&program, "xor")].results[0];
    assert!(written.entry.is_none() || written.live_out, "{written:?}");
}

#[test]
fn a_loop_that_lanes_leave_one_by_one_keeps_what_is_read_behind_it() {
    placed(
        "mov.u32 %r3, 0; mov.u32 %r2, 0;\n\
         L: add.u32 %r3, %r3, 1; xor.b32 %r2, %r3, 21; setp.lt.u32 %p1, %r3, %r1; @%p1 bra L;\n\
         st.global.u32 [%rd2], %r2;",
        4,
    );
}

/// Each change to a right placement is found on what `hotspot` executes, or on a path.
#[test]
fn a_broken_placement_is_found() {
    type Change = fn(&Program, &mut Placement);
    let changes: [(&str, Change); 5] = [
        ("a live-out is forgotten", |_, placement| {
            placement
                .places
                .iter_mut()
                .flat_map(|places| &mut places.results)
                .for_each(|result| result.live_out = false);
        }),
        ("a copy is not made", |_, placement| {
            placement
                .places
                .iter_mut()
                .flat_map(|places| &mut places.sources)
                .for_each(|source| source.copied_to = None);
        }),
        ("all entries are one", |_, placement| {
            let places = placement.places.iter_mut();
            places.for_each(|places| {
                places.sources.iter_mut().for_each(|source| source.entry = source.entry.map(|_| 0));
                places.results.iter_mut().for_each(|result| result.entry = result.entry.map(|_| 0));
            });
        }),
        ("strands go on over a barrier or a late result", |_, placement| {
            let [first, second, ..] = &placement.strands[..] else { return };
            let joined = first.start..second.end;
            placement.strands.splice(0..2, [joined]);
        }),
        ("a write is in the backing store, its reads are not", |_, placement| {
            placement.places.iter_mut().for_each(|places| places.results = Default::default());
        }),
    ];
    for (what, change) in changes {
        let mut open = workloads::by_name("hotspot").unwrap().open("tiny").unwrap();
        assert!(check(&mut open, 6, change).is_err(), "{what}");
        let mut open = workloads::by_name("hotspot").unwrap().open("tiny").unwrap();
        let stream = open.next_launch().unwrap().expect("a launch");
        let mut placement = compile(stream.program(), &parameters(6)).unwrap();
        change(stream.program(), &mut placement);
        assert!(check_static(stream.program(), &placement).is_err(), "{what}, on every path");
    }
}

/// What is late never comes to an entry: its reads begin a strand.
#[test]
fn late_results_are_in_the_backing_store() {
    let mut open = workloads::by_name("bfs").unwrap().open("tiny").unwrap();
    let stream = open.next_launch().unwrap().expect("a launch");
    let placement = compile(stream.program(), &parameters(6)).unwrap();
    let late = |operation: Operation| operation.has_long_latency();
    let instructions = stream.program().instructions.iter().zip(&placement.places);
    let results = instructions.filter(|(instruction, _)| late(instruction.operation));
    assert!(results.clone().count() > 0);
    assert!(results.flat_map(|(_, places)| places.results).all(|result| result.entry.is_none()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn operands_are_where_they_are_said_to_be_however_lanes_part(
        blocks in blocks(), choices in prop::collection::vec(any::<u8>(), 1..40), entries in 1..4_u8,
    ) {
        let mut random = random_program(&blocks);
        random.in_program_order = true;
        let flow = &random.program.control.as_ref().expect("known").flow;
        prop_assume!(ends(flow));
        let program = &random.program;
        let placement = compile(program, &parameters(entries)).expect("control flow is known");
        let listing = || {
            let cfg = crate::compile::cfg::Cfg::new(flow).expect("valid");
            listing::listing(program, &placement, &cfg)
        };
        let failed = |error: String| TestCaseError::fail(format!("{error}\n{}", listing()));
        check_static(program, &placement).map_err(|error| failed(error.to_string()))?;
        let mut warp = Warp::new(program, entries);
        let walked = random.walk(program, &choices, |position, active, known| {
            warp.step(program, &placement, position, active, known).map_err(|broken| broken.to_string())
        });
        walked.map_err(failed)?;
    }
}
