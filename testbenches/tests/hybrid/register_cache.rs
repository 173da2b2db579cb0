//! Directed tests of the register cache, through the register file around it.

use warpfile_hdl::hybrid::RegisterCacheHierarchy;
use warpfile_hdl::regfile::Geometry;

use super::bench::Bench;
use super::register_cache_hierarchy_ref::{Inputs, Instruction, Write};
use super::register_cache_ref::{CacheReference, Source};

const LANES: usize = 4;
const ALL: u32 = 0b1111;
const REGISTERS: usize = 32;

fn bench(sets: usize) -> Bench {
    let parameters = RegisterCacheHierarchy {
        geometry: Geometry { banks: 2, rows: REGISTERS / 2, lanes: LANES, lanes_per_cluster: LANES },
        collectors: 2,
        access_cycles: 3,
        id_bits: 4,
        units: 1,
        sets,
        liveness: true,
        warps: 3,
        issues: 2,
        parallel: false,
        gated: false,
        read_allocates: false,
    };
    Bench::new(&parameters, 1)
}

fn write(warp: usize, register: usize) -> Write {
    Write { warp, register, lanes: ALL, value: vec![register as u32 * 7; LANES] }
}

/// Offers a result until it is taken.
fn put(bench: &mut Bench, warp: usize, register: usize) {
    let inputs = Inputs { result: [Some(write(warp, register)), None], ..Inputs::default() };
    assert!(bench.step(&inputs).way[0].result_taken, "register {register}");
}

/// Reads registers with one instruction: its access cycles, from the offer to the dispatch, and the lanes that the cache finds.
fn read(bench: &mut Bench, sources: &[Source]) -> (usize, [u32; 3]) {
    let sources = [0, 1, 2].map(|k| sources.get(k).copied());
    let instruction = Instruction { warp: 0, id: 5, unit: 0, active: ALL, sources };
    let inputs = Inputs { issue: [Some(instruction), None], units_ready: 1, ..Inputs::default() };
    let outputs = bench.step(&inputs);
    assert!(outputs.way[0].issue_taken);
    let idle = Inputs { units_ready: 1, ..Inputs::default() };
    let left = |bench: &mut Bench| bench.step(&idle).way.iter().any(|way| way.dispatch.is_some());
    let cycles = 2 + (0..10).take_while(|_| !left(bench)).count();
    bench.step(&idle);
    (cycles, outputs.way[0].found)
}

fn source(register: usize) -> Source {
    Source { register, ..Source::default() }
}

/// With a power of two the lowest bits are the set; else no set has two registers more than another, and
/// with an even number neighbours lie apart.
#[test]
fn registers_are_dealt_to_sets_by_their_lowest_bits() {
    for sets in [1, 2, 4, 8] {
        let reference = CacheReference::new(sets, 5, true);
        let mut of_residue: Vec<Vec<usize>> = vec![Vec::new(); sets];
        (0..REGISTERS).for_each(|register| of_residue[register % sets].push(reference.set_of(register)));
        assert!(of_residue.iter().all(|found| found.iter().all(|&set| set == found[0])), "{of_residue:?}");
    }
    for sets in [3, 5, 6, 7, 12] {
        let reference = CacheReference::new(sets, 5, true);
        let mut registers = vec![0; sets];
        (0..REGISTERS).for_each(|register| registers[reference.set_of(register)] += 1);
        assert!(registers.iter().max().unwrap() - registers.iter().min().unwrap() <= 1, "{registers:?}");
        let apart = |register: usize| reference.set_of(register) != reference.set_of(register - 1);
        assert!(sets % 2 == 1 || (1..REGISTERS).all(apart));
    }
}

#[test]
fn an_operand_of_the_main_register_file_takes_a_cycle_more() {
    let mut bench = bench(4);
    for register in [1, 2, 6, 10] {
        put(&mut bench, 0, register);
    }
    assert_eq!(read(&mut bench, &[source(1)]), (3, [ALL, 0, 0]));
    assert_eq!(read(&mut bench, &[source(2)]), (4, [0, 0, 0]));
    assert_eq!(read(&mut bench, &[source(1), source(2)]), (4, [ALL, 0, 0]));
    assert_eq!(read(&mut bench, &[]), (3, [0, 0, 0]));
}

/// Three registers of one set: the one that was read stays.
#[test]
fn the_line_that_was_not_used_for_longest_makes_room() {
    let mut bench = bench(4);
    put(&mut bench, 0, 1);
    put(&mut bench, 0, 5);
    read(&mut bench, &[source(1)]);
    put(&mut bench, 0, 9);
    assert_eq!(read(&mut bench, &[source(1), source(5), source(9)]).1, [ALL, 0, ALL]);
}

#[test]
fn a_value_that_was_read_for_the_last_time_makes_room_first_and_is_not_written_back() {
    let mut bench = bench(4);
    put(&mut bench, 0, 1);
    put(&mut bench, 0, 5);
    read(&mut bench, &[Source { register: 5, last_read: true, elsewhere: false }]);
    let inputs = Inputs { result: [Some(write(0, 9)), None], ..Inputs::default() };
    let outputs = bench.step(&inputs);
    assert!(outputs.way[0].result_taken && outputs.spill.is_none());
    assert_eq!(read(&mut bench, &[source(1), source(9)]).1, [ALL, ALL, 0]);
}

/// A line that is dropped in the cycle in which another register takes it keeps the other register.
#[test]
fn a_line_of_a_warp_that_has_ended_can_be_taken_at_once() {
    let mut bench = bench(1);
    put(&mut bench, 0, 1);
    put(&mut bench, 0, 2);
    let result = [Some(write(1, 11)), Some(write(1, 12))];
    // One register leaves a cycle: the second result waits, and is not dropped either.
    let inputs = Inputs { result, ended: 0b001, ..Inputs::default() };
    let taken = bench.step(&inputs).way.map(|way| way.result_taken);
    assert_eq!(taken, [true, false]);
    put(&mut bench, 1, 12);
    assert_eq!(read(&mut bench, &[source(11), source(12)]).1, [ALL, ALL, 0]);
    bench.step(&Inputs { ended: 0b101, ..Inputs::default() });
    assert_eq!(read(&mut bench, &[source(11), source(12)]).1, [ALL, ALL, 0]);
    bench.step(&Inputs { ended: 0b010, ..Inputs::default() });
    bench.compare_state(&[ALL; REGISTERS]);
}
