//! The register file with a register scratchpad in front under random traffic, beside its reference: with and without a
//! register cache behind it.

use proptest::prelude::*;
use warpfile_gen::Style;
use warpfile_hdl::hybrid::ScratchpadHierarchy;
use warpfile_hdl::regfile::Geometry;
use warpfile_random::config;
use warpfile_testbenches::witness::verilog_equals_engines;

use super::scratchpad_bench::Bench;
use super::scratchpad_ref::Seen;
use super::scratchpad_traffic::{ID_BITS, Traffic};

/// Cycles within which everything under way must end, rows that wake up among it.
const PATIENCE: usize = 1600;

/// Those that take so many instructions a cycle, most with a cache.
fn with_issues(issues: usize) -> impl Strategy<Value = ScratchpadHierarchy> {
    let sizes = (0..3u32, 1..=4usize, 2..=5usize, 0..=4usize, 1..=6usize, 3..=5usize, 1..=4usize, 1..=4usize);
    (sizes, any::<[bool; 3]>()).prop_map(move |(sizes, [liveness, parallel, gated])| {
        let (bank_bits, half_lanes, collectors, sets, warps, access_cycles, slots, entries) = sizes;
        let (banks, lanes) = (1 << bank_bits, 2 * half_lanes - 1);
        ScratchpadHierarchy {
            geometry: Geometry { banks, rows: rows(warps, banks), lanes, lanes_per_cluster: lanes },
            collectors,
            access_cycles,
            id_bits: ID_BITS,
            units: 2,
            slots,
            entries,
            sets,
            liveness,
            warps,
            issues,
            parallel: parallel && sets > 0,
            gated,
        }
    })
}

/// Rows of a bank for so many warps.
fn rows(warps: usize, banks: usize) -> usize {
    Traffic::registers(warps).div_ceil(banks).max(2)
}

/// A register file as the random ones are.
fn example(sets: usize, issues: usize, parallel: bool) -> ScratchpadHierarchy {
    ScratchpadHierarchy {
        geometry: Geometry { banks: 2, rows: rows(4, 2), lanes: 4, lanes_per_cluster: 2 },
        collectors: 3,
        access_cycles: 3,
        id_bits: ID_BITS,
        units: 2,
        slots: 3,
        entries: 2,
        sets,
        liveness: true,
        warps: 4,
        issues,
        parallel,
        gated: false,
    }
}

/// Random traffic, then until nothing is under way.
fn run(parameters: &ScratchpadHierarchy, seed: u64, cycles: usize) -> (Bench, Traffic) {
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

/// Random traffic; then what the backing store holds is compared.
fn check(parameters: &ScratchpadHierarchy, seed: u64) {
    let (mut bench, traffic) = run(parameters, seed, 600);
    bench.compare_state(|register| traffic.behind(register));
}

proptest! {
    #![proptest_config(config(60))]
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
    #![proptest_config(config(24))]
    /// One slot of one entry, one lane: everything meets.
    #[test]
    fn so_it_is_with_one_entry(
        sets in 0..=1usize,
        issues in 1..=2usize,
        parallel in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let geometry = Geometry { banks: 1, rows: rows(4, 1), lanes: 1, lanes_per_cluster: 1 };
        let smallest = ScratchpadHierarchy { geometry, collectors: 2, slots: 1, entries: 1, ..example(sets, issues, parallel && sets > 0) };
        check(&smallest, seed);
    }
}

#[test]
fn the_traffic_does_everything_that_matters() {
    let kinds = [(0, 1, false), (0, 2, false), (3, 1, false), (3, 2, false), (3, 1, true), (3, 2, true)];
    for (sets, issues, parallel) in kinds {
        let mut counts = [0; 11];
        let mut leave_waits = 0;
        for seed in 0..20 {
            let (bench, _) = run(&example(sets, issues, parallel), seed, 600);
            // Results and fills that wait for a reader or a transfer are rare: a cache takes a transfer when its line has
            // been read, a register file at once.
            let Seen {
                reads,
                copies,
                writes,
                transfers,
                transfers_wait,
                waits,
                results_wait,
                at_once,
                last_reads,
                ..
            } = bench.reference.seen;
            let [.., copies_first] = results_wait;
            let more = [reads, copies, transfers, transfers_wait, at_once, copies_first, last_reads];
            leave_waits += bench.reference.seen.leave_waits;
            let more = more.into_iter().chain(writes).chain(waits);
            counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
        assert!(counts.iter().all(|&count| count >= 10), "{counts:?} with {sets} sets, {issues} issues");
        assert_eq!(leave_waits >= 10, parallel, "{leave_waits} with {issues} issues");
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
