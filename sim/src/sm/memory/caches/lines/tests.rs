//! Register lines through all levels, beside data.

use super::*;
use crate::config::{Config, MemoryModel, preset};
use crate::sm::memory::MemorySystem;
use crate::sm::report::{MemoryStatistics, RegisterLineStatistics};

/// L1 latency 30, L2 200, DRAM 200; one SM, so that every share is whole.
fn memory(change: impl FnOnce(&mut Config)) -> CacheHierarchy {
    let mut config = preset("gebhart2011").expect("complete");
    config.memory.model = MemoryModel::Caches;
    config.memory.single_l1_port = true;
    change(&mut config);
    CacheHierarchy::new(&config)
}

/// An L1 of one line and an L2 of one: every second line reaches DRAM.
fn tiny(config: &mut Config) {
    (config.l1.bytes, config.l1.ways) = (128, 1);
    (config.l2.bytes, config.l2.ways) = (128, 1);
}

fn line(register: usize) -> Line {
    Line { compressed: false, warp: 3, register }
}

fn values(seed: u32) -> LaneValues {
    std::array::from_fn(|lane| seed << 8 | lane as u32)
}

fn write(memory: &mut CacheHierarchy, now: u64, line: Line, seed: u32) {
    let request = LineRequest::Write { line, values: &values(seed) };
    assert_eq!(memory.request(now, &request), Some(LineAnswer::Done), "a write is taken");
}

fn fetch(memory: &mut CacheHierarchy, now: u64, line: Line) -> FetchedLine {
    let request = LineRequest::Fetch { line, invalidates: false, tag: 0 };
    the_line(memory.request(now, &request))
}

fn the_line(answer: Option<LineAnswer>) -> FetchedLine {
    match answer {
        Some(LineAnswer::Fetched(line)) => line,
        other => panic!("no line, but {other:?}"),
    }
}

fn statistics(memory: &CacheHierarchy) -> MemoryStatistics {
    let mut statistics = MemoryStatistics::default();
    memory.report(&mut statistics);
    statistics
}

#[test]
fn a_line_keeps_its_contents_through_every_level() {
    let mut memory = memory(tiny);
    for register in 0..4 {
        write(&mut memory, 1000 * register, line(register as usize), register as u32);
    }
    // The last is in the L1, the one before in the L2, the others in DRAM.
    assert_eq!(fetch(&mut memory, 5000, line(3)), FetchedLine { at: 5030, values: values(3) });
    assert_eq!(fetch(&mut memory, 6000, line(2)), FetchedLine { at: 6230, values: values(2) });
    assert_eq!(fetch(&mut memory, 7000, line(0)), FetchedLine { at: 7430, values: values(0) });
    for (now, register) in [(10_000, 1), (11_000, 3), (12_000, 2), (13_000, 0)] {
        assert_eq!(fetch(&mut memory, now, line(register)).values, values(register as u32));
    }
}

#[test]
fn a_write_of_a_line_fetches_nothing() {
    let mut memory = memory(|_| ());
    write(&mut memory, 0, line(7), 1);
    assert_eq!(statistics(&memory).dram_bytes, 0);
    assert_eq!(fetch(&mut memory, 1, line(7)).at, 31, "and it is in the L1");
}

#[test]
fn a_dropped_line_is_never_written_back() {
    let mut memory = memory(tiny);
    write(&mut memory, 0, line(0), 1);
    write(&mut memory, 1000, line(1), 2);
    for (now, register) in [(2000, 0), (2001, 1)] {
        assert_eq!(
            memory.request(now, &LineRequest::Invalidate { line: line(register) }),
            Some(LineAnswer::Done)
        );
    }
    write(&mut memory, 3000, line(2), 3);
    write(&mut memory, 4000, line(3), 4);
    assert_eq!(statistics(&memory).dram_bytes, 0, "line 0 had left the L1, line 1 was there, both dirty");
}

#[test]
fn a_fetch_that_invalidates_leaves_no_copy() {
    let mut memory = memory(tiny);
    write(&mut memory, 0, line(0), 1);
    let request = LineRequest::Fetch { line: line(0), invalidates: true, tag: 9 };
    let fetched = the_line(memory.request(100, &request));
    assert_eq!(fetched.values, values(1));
    write(&mut memory, 1000, line(1), 2);
    write(&mut memory, 2000, line(2), 3);
    assert_eq!(statistics(&memory).dram_bytes, 0);
    // Line 2 is in the L1, line 1 in the L2: reading the latter for the last time drives nothing out.
    let request = LineRequest::Fetch { line: line(1), invalidates: true, tag: 9 };
    assert_eq!(the_line(memory.request(3000, &request)).values, values(2));
    assert_eq!(fetch(&mut memory, 4000, line(2)).at, 4030);
}

#[test]
fn a_warp_that_ends_loses_its_lines_and_no_others_are_lost() {
    let mut memory = memory(|_| ());
    let other = Line { warp: 4, ..line(0) };
    let compressed = Line { compressed: true, ..line(0) };
    for (now, line) in [(0, line(0)), (1, compressed), (2, other)] {
        write(&mut memory, now, line, now as u32);
    }
    assert_eq!(memory.request(3, &LineRequest::Drop { warp: 3 }), Some(LineAnswer::Done));
    assert_eq!(fetch(&mut memory, 1000, other), FetchedLine { at: 1030, values: values(2) });
    assert_eq!(
        fetch(&mut memory, 2000, line(0)).at,
        2430,
        "it is nowhere but in DRAM, where nobody wrote it"
    );
    assert_eq!(fetch(&mut memory, 3000, compressed).at, 3030, "it may hold registers of other warps");
}

#[test]
fn the_spaces_and_warps_of_a_register_do_not_meet() {
    let mut memory = memory(tiny);
    let lines: Vec<Line> = [false, true]
        .into_iter()
        .flat_map(|compressed| [0, 31].map(|warp| (compressed, warp)))
        .flat_map(|(compressed, warp)| [0, 1, 255].map(|register| Line { compressed, warp, register }))
        .collect();
    for (index, &line) in lines.iter().enumerate() {
        write(&mut memory, 1000 * index as u64, line, index as u32);
    }
    for (index, &line) in lines.iter().enumerate() {
        assert_eq!(fetch(&mut memory, 100_000 + 1000 * index as u64, line).values, values(index as u32));
    }
}

#[test]
fn warps_of_one_register_lie_side_by_side() {
    let memory = memory(|_| ());
    let address = |compressed, warp, register| memory.address(Line { compressed, warp, register });
    assert_eq!(address(false, 1, 0) - address(false, 0, 0), 128);
    assert_eq!(address(false, 0, 1) - address(false, 31, 0), 128);
    assert_eq!(address(true, 0, 0) - address(false, 31, 255), 128, "compressed lines follow");
}

#[test]
fn lines_and_data_share_one_request_a_cycle() {
    let mut memory = memory(|config| config.memory.data_in_l1 = false);
    let data = Access { address: 0, bytes: 32, kind: MemoryKind::Load };
    assert!(memory.back(0, data).is_some());
    assert_eq!(memory.request(0, &LineRequest::Invalidate { line: line(0) }), None, "the port is taken");
    write(&mut memory, 1, line(0), 1);
    assert_eq!(memory.back(1, data), None);
    assert!(memory.back(2, data).is_some());
    assert_eq!(memory.back(2, data), None, "two small ones are two requests");
}

#[test]
fn data_that_the_l1_does_not_keep_goes_to_the_l2_every_time() {
    let mut memory = memory(|config| config.memory.data_in_l1 = false);
    let data = Access { address: 0, bytes: 128, kind: MemoryKind::Load };
    assert_eq!(memory.back(0, data), Some(400));
    assert_eq!(memory.back(1000, data), Some(1200));
    assert_eq!(statistics(&memory).l1.hits + statistics(&memory).l1.misses, 0);
}

#[test]
fn data_that_drives_a_dirty_line_out_does_not_destroy_it() {
    let mut memory = memory(tiny);
    write(&mut memory, 0, line(5), 1);
    for (now, address) in [(1000, 0), (2000, 128)] {
        memory.back(now, Access { address, bytes: 128, kind: MemoryKind::Load }).expect("taken");
    }
    assert_eq!(fetch(&mut memory, 3000, line(5)).values, values(1));
    let RegisterLineStatistics { fetched_from_dram, writes, .. } = statistics(&memory).register_lines;
    assert_eq!((fetched_from_dram, writes), (1, 1));
}

#[test]
fn a_fetch_waits_for_a_miss_status_register_and_a_write_does_not() {
    let mut memory = memory(|config| config.l1.mshrs = 1);
    fetch(&mut memory, 0, line(0));
    let request = LineRequest::Fetch { line: line(1), invalidates: false, tag: 0 };
    assert_eq!(memory.request(1, &request), None);
    write(&mut memory, 1, line(2), 1);
    assert!(memory.request(430, &request).is_some());
}
