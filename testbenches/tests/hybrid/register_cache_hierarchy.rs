//! The register file with a register cache in front under random traffic, beside its reference.

use proptest::prelude::*;
use warpfile_gen::Style;
use warpfile_hdl::hybrid::RegisterCacheHierarchy;
use warpfile_hdl::regfile::Geometry;
use warpfile_random::config;
use warpfile_testbenches::witness::verilog_equals_engines;

use super::bench::Bench;
use super::register_cache_hierarchy_ref::Seen;
use super::traffic::{ID_BITS, Traffic};

/// Cycles within which everything under way must end, rows that wake up among it.
const PATIENCE: usize = 1000;

/// Those that take so many instructions a cycle.
fn with_issues(issues: usize) -> impl Strategy<Value = RegisterCacheHierarchy> {
    let sizes = (0..3u32, 1..=4usize, 2..=5usize, 1..=6usize, 1..=5usize, 3..=5usize);
    (sizes, any::<[bool; 4]>()).prop_map(move |(sizes, [liveness, parallel, gated, read_allocates])| {
        let (bank_bits, half_lanes, collectors, sets, warps, access_cycles) = sizes;
        let (banks, lanes) = (1 << bank_bits, 2 * half_lanes - 1);
        RegisterCacheHierarchy {
            geometry: Geometry { banks, rows: rows(warps, banks), lanes, lanes_per_cluster: lanes },
            collectors,
            access_cycles,
            id_bits: ID_BITS,
            units: 2,
            sets,
            liveness,
            warps,
            issues,
            parallel: parallel && !read_allocates,
            gated,
            read_allocates,
        }
    })
}

/// Rows of a bank for so many warps.
fn rows(warps: usize, banks: usize) -> usize {
    Traffic::registers(warps).div_ceil(banks).max(2)
}

/// A register file as the random ones are.
fn example(sets: usize, issues: usize, parallel: bool) -> RegisterCacheHierarchy {
    RegisterCacheHierarchy {
        geometry: Geometry { banks: 2, rows: rows(4, 2), lanes: 4, lanes_per_cluster: 2 },
        collectors: 3,
        access_cycles: 3,
        id_bits: ID_BITS,
        units: 2,
        sets,
        liveness: true,
        warps: 4,
        issues,
        parallel,
        gated: false,
        read_allocates: false,
    }
}

/// Random traffic, then until nothing is under way.
fn run(parameters: &RegisterCacheHierarchy, seed: u64, cycles: usize) -> (Bench, Traffic) {
    let mut bench = Bench::new(parameters, seed);
    let mut traffic = Traffic::new(seed, parameters);
    for _ in 0..cycles {
        cycle(&mut bench, &mut traffic);
    }
    traffic.drain();
    let mut patience = 0..PATIENCE;
    while !(traffic.is_drained() && bench.reference.is_quiet()) {
        assert!(patience.next().is_some(), "something does not end");
        cycle(&mut bench, &mut traffic);
    }
    (bench, traffic)
}

fn cycle(bench: &mut Bench, traffic: &mut Traffic) {
    let inputs = traffic.inputs();
    let outputs = bench.step(&inputs);
    traffic.follow(&outputs);
}

/// Random traffic; then what is kept is compared.
fn check(parameters: &RegisterCacheHierarchy, seed: u64) {
    let (mut bench, traffic) = run(parameters, seed, 600);
    let undefined: Vec<u32> =
        (0..bench.reference.registers.len()).map(|register| traffic.undefined(register)).collect();
    bench.compare_state(&undefined);
}

proptest! {
    #![proptest_config(config(40))]
    #[test]
    fn every_lane_of_every_operand_and_register_is_right(parameters in with_issues(1), seed in any::<u64>()) {
        check(&parameters, seed);
    }
}

proptest! {
    // What two instructions do to each other is rare: more of it.
    #![proptest_config(config(120))]
    #[test]
    fn so_it_is_with_two_instructions_a_cycle(parameters in with_issues(2), seed in any::<u64>()) {
        check(&parameters, seed);
    }
}

proptest! {
    #![proptest_config(config(16))]
    /// One lane, two collectors, one or two sets: registers leave all the time.
    #[test]
    fn so_it_is_in_the_smallest_register_file(
        sets in 1..=2usize,
        issues in 1..=2usize,
        front in 0..3u8,
        seed in any::<u64>(),
    ) {
        let geometry = Geometry { banks: 1, rows: rows(4, 1), lanes: 1, lanes_per_cluster: 1 };
        let (parallel, read_allocates) = (front == 1, front == 2);
        let example = example(sets, issues, parallel);
        check(&RegisterCacheHierarchy { geometry, collectors: 2, read_allocates, ..example }, seed);
    }
}

#[test]
fn operands_and_registers_that_leave_wait_for_rows_that_are_off() {
    for issues in [1, 2] {
        let bench = run(&RegisterCacheHierarchy { gated: true, ..example(3, issues, false) }, 1, 600).0;
        let waits = bench.power.expect("gated").waits;
        assert!(waits >= 100, "{waits} with {issues}");
    }
}

/// Operands that miss get lines: most do; some find none, are written before, or find their port in use.
#[test]
fn operands_that_are_read_in_the_main_register_file_are_copied() {
    for issues in [1, 2] {
        let mut seen = [0; 4];
        for seed in 0..20 {
            let example = RegisterCacheHierarchy { read_allocates: true, ..example(3, issues, false) };
            let (bench, _) = run(&example, seed, 600);
            seen.iter_mut().zip(bench.reference.seen.copies).for_each(|(count, more)| *count += more);
        }
        assert!(seen.iter().all(|&count| count >= 20), "{seen:?} with {issues}");
    }
}

#[test]
fn the_traffic_does_everything_that_matters() {
    for (issues, parallel) in [(1, false), (2, false), (1, true), (2, true)] {
        let mut counts = [0; 10];
        let mut in_one_set = 0;
        let mut in_parallel = [0; 4];
        for seed in 0..40 {
            let (bench, _) = run(&example(3, issues, parallel), seed, 600);
            let Seen {
                hits,
                partial_hits,
                misses,
                evictions,
                waits,
                fills_first,
                at_once,
                ended_elsewhere,
                told,
                transfers,
                ..
            } = bench.reference.seen;
            let [no_line, no_eviction, _] = waits;
            let more = [
                hits,
                partial_hits,
                misses,
                evictions,
                no_line,
                no_eviction,
                fills_first,
                at_once[0],
                at_once[1],
                ended_elsewhere,
            ];
            counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
            in_one_set += bench.reference.seen.in_one_set;
            in_parallel
                .iter_mut()
                .zip(told.into_iter().chain(transfers))
                .for_each(|(count, more)| *count += more);
        }
        assert!(counts.iter().all(|&count| count >= 20), "{counts:?} with {issues}");
        assert_eq!(in_one_set >= 20, issues == 2, "{in_one_set} with {issues}");
        assert!(in_parallel.iter().all(|&count| (count >= 20) == parallel), "{in_parallel:?} with {issues}");
    }
}

proptest! {
    #![proptest_config(config(3))]
    #[test]
    fn the_verilog_does_the_same(parameters in (1..=2usize).prop_flat_map(with_issues), seed in any::<u64>()) {
        let (bench, _) = run(&parameters, seed, 300);
        let compared = verilog_equals_engines(&bench.netlist, Style::Words, seed, &bench.stimuli);
        compared.map_err(|difference| TestCaseError::fail(difference.to_string()))?;
    }
}
