//! The container.

use super::synthetic::{Shape, Synthetic, record, some_program};
use crate::program::{ControlFlow, Flow, LanesSeen, Program, Stream, WarpInstruction};
use crate::trace::container::{ContainerTrace, check_program};
use crate::trace::{TraceError, open, write_warpfile};
use proptest::prelude::*;
use std::path::Path;

fn shapes() -> impl Strategy<Value = Shape> {
    (any::<u64>(), 0..3u64, 1..12u64, 1..4u32, 1..70u32, 0..60u64).prop_map(
        |(seed, launches, instructions, blocks, threads, executed)| Shape {
            seed,
            launches,
            instructions,
            grid: [blocks, 2, 1],
            block: [threads, 1, 2],
            executed,
        },
    )
}

fn small() -> Shape {
    Shape { seed: 5, launches: 2, instructions: 12, grid: [2, 1, 1], block: [40, 1, 1], executed: 50 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_container_gives_back_the_stream_it_was_written_from(shape in shapes()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made_up.wft");
        let summary = write_warpfile(&mut Synthetic::new(shape), &path).unwrap();
        let expected = record(&mut Synthetic::new(shape)).unwrap();
        let mut trace = open(&path).unwrap();
        prop_assert_eq!(&record(&mut trace).unwrap(), &expected);
        prop_assert_eq!(summary.bytes, std::fs::metadata(&path).unwrap().len());
        prop_assert_eq!(trace.report().instructions_with_values, summary.instructions);
    }

    #[test]
    fn a_damaged_container_is_an_error_or_unchanged(place in any::<prop::sample::Index>(), bit in 0..8u32) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made_up.wft");
        write_warpfile(&mut Synthetic::new(small()), &path).unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let at = place.index(bytes.len());
        bytes[at] ^= 1 << bit;
        std::fs::write(&path, bytes).unwrap();
        let outcome = open(&path).map_err(Into::into).and_then(|mut trace| record(&mut trace));
        let problem = outcome.expect_err("every byte is under a checksum or a magic").to_string();
        prop_assert!(problem.contains("made_up.wft"), "{}", problem);
    }

    #[test]
    fn a_truncated_container_is_an_error(place in any::<prop::sample::Index>()) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made_up.wft");
        write_warpfile(&mut Synthetic::new(small()), &path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..place.index(bytes.len())]).unwrap();
        prop_assert!(ContainerTrace::open(&path).is_err());
    }
}

fn problem(path: &Path) -> String {
    match ContainerTrace::open(path) {
        Ok(_) => panic!("{} was accepted", path.display()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn another_version_is_an_error_that_names_the_accepted_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("later.wft");
    write_warpfile(&mut Synthetic::new(small()), &path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 9;
    std::fs::write(&path, bytes).unwrap();
    assert!(problem(&path).ends_with("later.wft: at byte 8: version 9; versions 1 to 2 are accepted"));
}

/// Earlier containers have what compiler passes found among the fields of a program, mostly null.
#[test]
fn notes_of_passes_in_an_earlier_container_are_passed_over() {
    let program = some_program(5);
    let regions = serde_json::json!({ "regions": [], "region_of": [], "marks": [] });
    for notes in [serde_json::Value::Null, regions] {
        let mut stored = serde_json::to_value(&program).unwrap();
        for key in ["regions", "releases", "placement"] {
            assert!(stored.as_object_mut().unwrap().insert(key.to_owned(), notes.clone()).is_none(), "{key}");
        }
        assert_eq!(serde_json::from_value::<Program>(stored).unwrap(), program);
    }
}

#[test]
fn control_flow_of_another_length_than_the_program_is_an_error() {
    let mut program = some_program(5);
    let count = program.instructions.len();
    let seen = LanesSeen { flow: vec![Flow::Next; count], breaks: vec![false; count - 1] };
    program.control = Some(ControlFlow {
        flow: vec![Flow::Next; count],
        may_diverge: vec![false; count],
        switches: Vec::new(),
        seen: Some(seen),
    });
    let error = check_program(&program).unwrap_err();
    assert!(
        error.ends_with(&format!("control flow of {} instructions; the program has {count}", count - 1)),
        "{error}"
    );
}

#[test]
fn a_container_appears_only_once_it_is_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made_up.wft");
    let mut shape = small();
    shape.block = [4096, 1, 1];
    let error = write_warpfile(&mut Synthetic::new(shape), &path).unwrap_err();
    assert!(matches!(error, TraceError::File { .. }));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// Most bytes the reader holds while it runs a container, block after block.
fn peak(shape: Shape) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made_up.wft");
    write_warpfile(&mut Synthetic::new(shape), &path).unwrap();
    let mut trace = ContainerTrace::open(&path).unwrap();
    let mut peak = 0;
    while let Some(mut stream) = trace.next_stream().unwrap() {
        let warps = stream.launch().warps_per_block();
        let mut buffer = WarpInstruction::default();
        for block in 0..stream.launch().blocks() {
            stream.start_block(block).unwrap();
            for warp in 0..warps {
                while stream.next(block, warp, &mut buffer).unwrap() {}
                peak = peak.max(stream.held_bytes());
            }
            stream.finish_block(block);
        }
    }
    peak
}

#[test]
fn a_container_ten_times_longer_takes_no_more_memory() {
    let shape = Shape { executed: 2000, grid: [8, 1, 1], launches: 1, ..small() };
    let short = peak(shape);
    let longer = peak(Shape { executed: 20_000, ..shape });
    let wider = peak(Shape { grid: [80, 1, 1], ..shape });
    assert!(longer <= short + short / 10, "{longer} bytes for more instructions, {short} before");
    assert!(wider <= short + short / 10, "{wider} bytes for more blocks, {short} before");
}
