//! The register file with its cache under random traffic, beside its reference.

use proptest::prelude::*;
use warpfile_gen::Style;
use warpfile_hdl::regfile::{ExtraRead, Geometry};
use warpfile_hdl::rfc::{CachedRegisterFile, Replacement};
use warpfile_random::config;
use warpfile_testbenches::witness::verilog_equals_engines;

use super::bench::Bench;
use super::cached_register_file_ref::{Flush, Inputs, Instruction, Outputs, Seen, Write};
use super::register_file_cache_ref::Source;
use super::traffic::{ID_BITS, Traffic};

const WARPS: usize = 5;
/// Cycles within which everything under way must end, rows that wake up among it.
const PATIENCE: usize = 1000;

fn parameters() -> impl Strategy<Value = CachedRegisterFile> {
    (1..=2usize).prop_flat_map(with_issues)
}

/// Those that take so many instructions a cycle.
fn with_issues(issues: usize) -> impl Strategy<Value = CachedRegisterFile> {
    let replacement = prop_oneof![Just(Replacement::Fifo), Just(Replacement::Lru)];
    let sizes = (0..3u32, 1..=4usize, 2..=5usize, 1..=4usize, 1..=4usize, 3..=4usize);
    (sizes, replacement, any::<[bool; 5]>()).prop_map(move |(sizes, replacement, flags)| {
        let (bank_bits, half_lanes, collectors, slots, entries, access_cycles) = sizes;
        let [allocate_sources, liveness, bypass_idle, evict_idle_first, gated] = flags;
        let (banks, lanes) = (1 << bank_bits, 2 * half_lanes - 1);
        CachedRegisterFile {
            geometry: Geometry {
                banks,
                rows: Traffic::registers(WARPS).div_ceil(banks),
                lanes,
                lanes_per_cluster: lanes,
            },
            collectors,
            access_cycles,
            id_bits: ID_BITS,
            units: 2,
            slots,
            entries,
            replacement,
            allocate_sources,
            liveness,
            bypass_idle,
            evict_idle_first,
            issues,
            gated,
            shared: false,
            extra_read: ExtraRead::None,
        }
    })
}

/// Those whose registers warps share.
fn shared() -> impl Strategy<Value = CachedRegisterFile> {
    let extra_read = prop_oneof![
        Just(ExtraRead::None),
        Just(ExtraRead::AfterOperands),
        Just(ExtraRead::InTurn),
        Just(ExtraRead::BeforeOperands),
    ];
    (with_issues(1), extra_read).prop_map(|(parameters, extra_read)| CachedRegisterFile {
        shared: true,
        extra_read,
        ..parameters
    })
}

/// Random traffic, then until nothing is under way.
fn run(parameters: &CachedRegisterFile, seed: u64, cycles: usize) -> (Bench, Traffic) {
    let mut bench = Bench::new(parameters, seed);
    let mut traffic = Traffic::new(seed, WARPS, parameters);
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
    traffic.follow(&inputs, &outputs);
}

fn undefined(bench: &Bench, traffic: &Traffic) -> Vec<u32> {
    (0..bench.reference.registers.len()).map(|register| traffic.undefined(register)).collect()
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
    #![proptest_config(config(80))]
    #[test]
    fn so_it_is_with_registers_that_warps_share(parameters in shared(), seed in any::<u64>()) {
        check(&parameters, seed);
    }
}

proptest! {
    #![proptest_config(config(16))]
    /// One lane, two collectors, one or two entries: registers leave all the time.
    #[test]
    fn so_it_is_in_the_smallest_register_file(
        entries in 1..=2usize, allocate_sources in any::<bool>(), issues in 1..=2usize, seed in any::<u64>(),
    ) {
        let geometry = Geometry { banks: 1, rows: Traffic::registers(WARPS), lanes: 1, lanes_per_cluster: 1 };
        check(&CachedRegisterFile { geometry, collectors: 2, allocate_sources, issues, ..example(entries) }, seed);
    }
}

/// Random traffic, and then every slot is emptied.
fn check(parameters: &CachedRegisterFile, seed: u64) {
    let (mut bench, traffic) = run(parameters, seed, 600);
    let undefined = undefined(&bench, &traffic);
    bench.compare_state(&undefined);
    for slot in 0..parameters.slots {
        bench.step(&Inputs { flush: Some(Flush { slot, discard: false }), ..Inputs::default() });
    }
    let mut patience = 0..PATIENCE;
    while !bench.reference.is_quiet() {
        assert!(patience.next().is_some(), "a flush does not end");
        bench.step(&Inputs::default());
    }
    assert!(bench.reference.cache.slots.iter().flatten().all(|entry| entry.held == 0));
    bench.compare_state(&undefined);
}

/// A register file as the random ones are.
fn example(entries: usize) -> CachedRegisterFile {
    CachedRegisterFile {
        geometry: Geometry { banks: 2, rows: 16, lanes: 4, lanes_per_cluster: 2 },
        collectors: 3,
        access_cycles: 3,
        id_bits: ID_BITS,
        units: 2,
        slots: 3,
        entries,
        replacement: Replacement::Fifo,
        allocate_sources: false,
        liveness: true,
        bypass_idle: false,
        evict_idle_first: false,
        issues: 1,
        gated: false,
        shared: false,
        extra_read: ExtraRead::None,
    }
}

#[test]
fn operands_and_writes_wait_for_rows_that_are_off() {
    for issues in [1, 2] {
        let run = |gated| run(&CachedRegisterFile { issues, gated, ..example(3) }, 1, 600).0;
        let waits = run(true).power.expect("gated").waits;
        assert!(waits >= 100, "{waits} with {issues}");
        assert!(run(false).power.is_none());
    }
}

#[test]
fn operands_are_allocated_if_asked_for() {
    let allocated = |allocate_sources, issues| {
        let parameters = CachedRegisterFile { allocate_sources, issues, ..example(3) };
        let mut total = [0; 3];
        for seed in 0..4 {
            let seen = run(&parameters, seed, 600).0.reference.seen.allocated;
            total = [0, 1, 2].map(|position| total[position] + seen[position]);
        }
        total
    };
    for issues in [1, 2] {
        assert_eq!(allocated(false, issues), [0; 3]);
        let allocated = allocated(true, issues);
        assert!(allocated.iter().all(|&count| count >= 25), "{allocated:?} with {issues}");
    }
}

#[test]
fn the_traffic_does_everything_that_matters() {
    for issues in [1, 2] {
        let seen = seen(&CachedRegisterFile { issues, ..example(3) });
        let Seen {
            hits,
            partial_hits,
            evictions,
            flushed,
            discards,
            allocated: _,
            waits,
            pairs,
            in_one_slot,
            ended: _,
            past: _,
            extra_reads: _,
        } = seen;
        let counts = [hits, partial_hits, evictions, flushed, discards, waits[0], waits[1], waits[2]];
        assert!(counts.iter().all(|&count| count >= 20), "{seen:?}");
        let together = [pairs[0], pairs[1], in_one_slot];
        assert!(together.iter().all(|&count| if issues == 1 { count == 0 } else { count >= 20 }), "{seen:?}");
    }
}

#[test]
fn shared_registers_are_copied_and_their_copies_ended() {
    let parameters = CachedRegisterFile { shared: true, extra_read: ExtraRead::InTurn, ..example(3) };
    let seen = seen(&parameters);
    let counts = [seen.hits, seen.partial_hits, seen.discards, seen.ended, seen.past, seen.extra_reads];
    assert!(counts.iter().all(|&count| count >= 20), "{seen:?}");
    assert_eq!([seen.evictions, seen.flushed], [0; 2], "{seen:?}");
}

fn seen(parameters: &CachedRegisterFile) -> Seen {
    let mut seen = Seen::default();
    for seed in 0..8 {
        let (bench, _) = run(parameters, seed, 600);
        let more = bench.reference.seen;
        seen.hits += more.hits;
        seen.partial_hits += more.partial_hits;
        seen.evictions += more.evictions;
        seen.flushed += more.flushed;
        seen.discards += more.discards;
        for (count, more) in seen.waits.iter_mut().zip(more.waits) {
            *count += more;
        }
        for (count, more) in seen.pairs.iter_mut().zip(more.pairs) {
            *count += more;
        }
        seen.in_one_slot += more.in_one_slot;
        seen.ended += more.ended;
        seen.past += more.past;
        seen.extra_reads += more.extra_reads;
    }
    seen
}

/// A register file that takes two instructions a cycle, whose collectors are full of instructions that have read their
/// operands; in each tag stage one waits that has not.
struct Full {
    bench: Bench,
    /// Registers that the instructions in the tag stages read, each its own.
    waiting: Vec<usize>,
    /// One that an instruction in a collector has read.
    read: usize,
}

/// Cycles in which what can be taken is taken.
const SOON: usize = 20;

impl Full {
    /// All instructions read one operand, at this position.
    fn new(position: usize) -> Full {
        let parameters = CachedRegisterFile { issues: 2, ..example(3) };
        let mut bench = Bench::new(&parameters, 1);
        for register in 0..1 << ID_BITS {
            let fill = Some(write(register, &parameters));
            while !bench.step(&Inputs { fill: fill.clone(), ..Inputs::default() }).fill_taken {}
        }
        let mut next = 0;
        let mut newest = [0; 2];
        for _ in 0..SOON {
            let reads = |register: usize| {
                let mut sources = [None; 3];
                sources[position] = Some(Source { register, last_read: false, idle: false });
                Some(Instruction { id: register as u64, unit: 0, slot: 0, active: 0b1111, sources })
            };
            let (issue, second_issue) = (reads(next), reads(next + 1));
            let outputs = bench.step(&Inputs { issue, second_issue, ..Inputs::default() });
            for (way, _) in
                [&outputs.first, &outputs.second].iter().enumerate().filter(|(_, way)| way.issue_taken)
            {
                newest[way ^ usize::from(outputs.crossed)] = next;
                next += 1;
            }
        }
        assert_eq!(next, 2 * (parameters.collectors + 1), "collectors and tag stages are full");
        Full { bench, waiting: newest.to_vec(), read: 0 }
    }

    /// Offers this for a while.
    fn run(&mut self, inputs: &Inputs) -> Vec<Outputs> {
        (0..SOON).map(|_| self.bench.step(inputs)).collect()
    }

    /// Lets the instructions go, whose operands the reference compares.
    fn end(mut self) {
        let ready = Inputs { units_ready: 1, ..Inputs::default() };
        let mut patience = 0..PATIENCE;
        while !self.bench.reference.is_quiet() {
            assert!(patience.next().is_some(), "something does not end");
            self.bench.step(&ready);
        }
    }
}

/// A value for a register, past the cache.
fn write(register: usize, parameters: &CachedRegisterFile) -> Write {
    let lanes = parameters.geometry.lanes;
    Write {
        slot: 0,
        in_slot: false,
        register,
        lanes: u32::MAX >> (32 - lanes),
        value: (0..lanes).map(|lane| (register * lanes + lane) as u32 ^ 0x5a5a_0000).collect(),
        idle: false,
    }
}

#[test]
fn a_result_waits_for_an_instruction_that_no_collector_has_taken() {
    waits_until_read(
        |write| Inputs { result: Some(write), ..Inputs::default() },
        |out| out.first.result_taken,
    );
    waits_until_read(
        |write| Inputs { second_result: Some(write), ..Inputs::default() },
        |out| out.second.result_taken,
    );
}

#[test]
fn so_does_a_fill() {
    waits_until_read(|write| Inputs { fill: Some(write), ..Inputs::default() }, |out| out.fill_taken);
}

/// What is read already is written at once; what an instruction in a tag stage reads waits for it.
fn waits_until_read(offered: impl Fn(Write) -> Inputs, taken: impl Fn(&Outputs) -> bool) {
    for (position, stage) in positions_and_stages() {
        let mut full = Full::new(position);
        let offered = |register| offered(write(register, &full.bench.parameters));
        let (read, waiting) = (offered(full.read), offered(full.waiting[stage]));
        assert!(full.run(&read).iter().any(&taken), "register {} has been read", full.read);
        let is_early = full.run(&waiting).iter().any(&taken);
        assert!(!is_early, "stage {stage} has still to read operand {position}");
        let waiting = Inputs { units_ready: 1, ..waiting };
        assert!(full.run(&waiting).iter().any(&taken), "stage {stage} reads operand {position}");
        full.end();
    }
}

#[test]
fn so_does_a_register_that_leaves_the_cache() {
    let spilled = |outputs: Vec<Outputs>| -> Vec<usize> {
        outputs.into_iter().filter_map(|outputs| outputs.spill).map(|(lanes, _)| lanes.register).collect()
    };
    for (position, stage) in positions_and_stages() {
        let mut full = Full::new(position);
        let (read, waiting) = (full.read, full.waiting[stage]);
        for register in [waiting, read] {
            // To the cache at once: the instruction has seen that the register is not there.
            let result = Write { in_slot: true, ..write(register, &full.bench.parameters) };
            let inputs = Inputs { result: Some(result), ..Inputs::default() };
            assert!(full.bench.step(&inputs).first.result_taken);
        }
        let flush = Some(Flush { slot: 0, discard: false });
        full.bench.step(&Inputs { flush, ..Inputs::default() });
        let before = spilled(full.run(&Inputs::default()));
        assert!(!before.contains(&waiting), "stage {stage} has still to read operand {position}");
        let after = spilled(full.run(&Inputs { units_ready: 1, ..Inputs::default() }));
        assert!(after.contains(&waiting) && [before, after].concat().contains(&read));
        full.end();
    }
}

#[test]
fn what_leaves_the_cache_waits_for_no_instruction_that_does_not_read_it() {
    for position in 0..3 {
        let mut full = Full::new(position);
        let result = Write { in_slot: true, ..write(full.read, &full.bench.parameters) };
        let inputs = Inputs { result: Some(result), ..Inputs::default() };
        assert!(full.bench.step(&inputs).first.result_taken);
        let flush = Some(Flush { slot: 0, discard: false });
        let mut outputs = vec![full.bench.step(&Inputs { flush, ..Inputs::default() })];
        outputs.extend(full.run(&Inputs::default()));
        let mut spilled = outputs.iter().filter_map(|outputs| outputs.spill.as_ref());
        assert!(
            spilled.any(|(lanes, _)| lanes.register == full.read),
            "register {} has been read; others are at operand {position}",
            full.read
        );
        full.end();
    }
}

fn positions_and_stages() -> impl Iterator<Item = (usize, usize)> {
    (0..3).flat_map(|position| (0..2).map(move |stage| (position, stage)))
}

proptest! {
    #![proptest_config(config(3))]
    #[test]
    fn the_verilog_does_the_same(parameters in prop_oneof![2 => parameters(), 1 => shared()], seed in any::<u64>()) {
        let (bench, _) = run(&parameters, seed, 300);
        let compared = verilog_equals_engines(&bench.netlist, Style::Words, seed, &bench.stimuli);
        compared.map_err(|difference| TestCaseError::fail(difference.to_string()))?;
    }
}
