//! Warp instruction reuse: `wir-r`, `wir-rl`, `wir-rlp`, `wir-rlpv`, `wir-rlpvc`, `wir-rpv`, `wir-novsb`.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use warpfile_hdl::rfc::Replacement;
use warpfile_kernels::program::{
    BlockIndex, Launch, Launches, Operation, Program, Races, Stream, StreamError, WarpInstruction,
};
use warpfile_kernels::workloads::{self, OpenWorkload};
use warpfile_random::{drawn_config, slice};
use warpfile_sim::config::{Config, preset};
use warpfile_sim::mechanisms::register_file::{RETRIES, Retries};
use warpfile_sim::mechanisms::rfc;
use warpfile_sim::mechanisms::wir::{COUNTERS, Counted, Parameters, ReadsFirst};
use warpfile_sim::sm::{Accesses, EngineName, RunOptions, RunReport, SimError, run};

use crate::tiny::{WithoutValues, drawn, open, run_tiny};

const DESIGNS: [&str; 7] = ["wir-r", "wir-rl", "wir-rlp", "wir-rlpv", "wir-rlpvc", "wir-rpv", "wir-novsb"];
/// Of which loads are reused.
const LOADS: [&str; 4] = ["lud", "kmeans", "hybridsort", "particle_filter"];

fn design(name: &str) -> Config {
    preset("fermi-wir").expect("complete").with_design(name).expect("known")
}

/// The machine with a register file, and a half of each buffer, for each scheduler.
fn of_halves(mut config: Config) -> Config {
    (config.sm.schedulers_per_partition, config.register_file.bank_groups) = (1, 4);
    config
}

fn with(name: &str, edit: impl FnOnce(&mut Parameters)) -> Config {
    let mut config = design(name);
    config.edit(edit);
    config
}

fn counted(report: &RunReport) -> Counted {
    report.counters.get(COUNTERS)
}

/// Short ones: loads and stores, barriers, shared memory, lanes that part, special functions.
const WORKLOADS: [&str; 7] =
    ["vectoradd", "hotspot", "bfs", "pathfinder", "hybridsort", "blackscholes", "lud"];

/// Every operand that is read, every answer and every mapping of a result is compared with the kernel's values.
#[test]
fn no_workload_gets_a_wrong_value() {
    for (workload, name) in drawn(&DESIGNS) {
        // One of them has more registers than the paper's machine gives a thread.
        let config = with(name, |p| p.logical_registers = 128);
        let report = run_tiny(&config, workload, RunOptions::default());
        let Counted { hits, compared, .. } = counted(&report);
        assert_eq!(report.answered_instructions, hits, "{workload} on {name}");
        assert_eq!(report.results_checked, hits, "{workload} on {name}");
        assert_eq!(compared + hits, report.operands.writes, "{workload} on {name}");
    }
}

/// The same of rows with two results: an instruction that is answered has one or two of them.
#[test]
fn no_workload_gets_a_wrong_value_of_a_pair() {
    for (workload, name) in drawn(&["wir-r", "wir-rlpv", "wir-rlpvc"]) {
        let config = with(name, |p| (p.logical_registers, p.row_results) = (128, 2));
        let report = run_tiny(&config, workload, RunOptions::default());
        let Counted { hits, compared, .. } = counted(&report);
        assert_eq!(report.answered_instructions, hits, "{workload} on {name}");
        let answers = hits..=2 * hits;
        assert!(answers.contains(&report.results_checked), "{workload} on {name}");
        let results = compared + report.results_checked;
        assert_eq!(results, report.operands.writes, "{workload} on {name}");
    }
}

/// The same with a register file cache in front of the physical registers.
#[test]
fn no_workload_gets_a_wrong_value_of_a_cache() {
    let mut config = of_halves(with("rfc+wir-rlpv", |p| p.logical_registers = 128));
    config.edit(|p: &mut rfc::Parameters| {
        p.replacement = Replacement::Lru;
        (p.entries, p.allocate_sources, p.bypass_idle, p.evict_idle_first) = (2, true, true, true);
    });
    for (name, ()) in drawn(&[()]) {
        let report = run_tiny(&config, name, RunOptions::default());
        let Counted { hits, compared, verify_reads, moves, .. } = counted(&report);
        assert_eq!(report.results_checked, hits, "{name}");
        assert_eq!(compared + hits, report.operands.writes, "{name}");
        let of_instructions = report.mrf().reads - verify_reads - moves;
        let needed = report.operands_checked;
        assert!(of_instructions < needed, "{name}: {of_instructions} of {needed}");
    }
}

/// What a warp has written it reads from its slot, and every result is written to the main register file.
#[test]
fn a_cache_takes_reads_from_the_physical_registers_and_no_writes() {
    for name in WORKLOADS {
        let of = |design_name: &str| run_tiny(&of_halves(design(design_name)), name, RunOptions::default());
        let (with, without) = (of("rfc+wir-rlpv"), of("two-level+wir-rlpv"));
        assert_eq!(with.warp_instructions, without.warp_instructions, "{name}");
        let cache: Accesses = with.counters.get(rfc::COUNTERS);
        assert!(cache.reads > 0 && cache.writes > 0, "{name}: {cache:?}");
        assert!(with.mrf().reads < without.mrf().reads, "{name}");
        assert!(with.mrf().writes >= cache.writes, "{name}: {cache:?}");
        let copies: rfc::Copies = with.counters.get(rfc::COPIES);
        assert!(copies.searched > 0, "{name}");
    }
}

#[test]
fn what_is_executed_or_answered_is_what_the_baseline_executes() {
    let pairs = WORKLOADS.iter().flat_map(|&name| DESIGNS.map(|design_name| (name, design_name)));
    for (name, design_name) in slice(3, pairs) {
        let baseline = run_tiny(&design("baseline"), name, RunOptions::default());
        let report = run_tiny(&design(design_name), name, RunOptions::default());
        assert_eq!(report.warp_instructions, baseline.warp_instructions, "{name} on {design_name}");
        assert_eq!(report.operands, baseline.operands, "{name} on {design_name}");
        // What is answered goes through no unit, and only full warps are.
        let answered_lanes = 32 * report.answered_instructions;
        let dispatched = report.operations.lanes() + answered_lanes;
        assert_eq!(dispatched, baseline.operations.lanes(), "{name} on {design_name}");
        assert_eq!(baseline.operations.lanes(), baseline.thread_instructions, "{name}");
        assert!(report.operands_checked <= baseline.operands_checked, "{name} on {design_name}");
    }
}

/// §VII-B: without the value signature buffer hardly anything is reused, since equal values are in different registers.
#[test]
fn sharing_registers_is_what_makes_reuse_possible() {
    let hits = |name| {
        let of = |workload: &&str| counted(&run_tiny(&design(name), workload, RunOptions::default())).hits;
        WORKLOADS.iter().map(of).sum::<u64>()
    };
    let (with, without) = (hits("wir-r"), hits("wir-novsb"));
    assert!(with > 2 * without && with > 0, "{with}, {without}");
}

/// §VI-B, §VI-C: who waits for a result gets it, and what has been read to verify one value verifies the next.
#[test]
fn waiting_finds_more_and_the_verify_cache_reads_less() {
    let sum = |config: &Config| {
        let (mut hits, mut retry_hits, mut reads, mut verified) = (0, 0, 0, 0);
        for name in WORKLOADS {
            let of_run = counted(&run_tiny(config, name, RunOptions::default()));
            let Counted { verify_reads, verify_hits, signature_hits, .. } = of_run;
            assert_eq!(verify_reads + verify_hits, signature_hits, "{name}");
            hits += of_run.hits;
            retry_hits += of_run.retry_hits;
            reads += verify_reads;
            verified += signature_hits;
        }
        (hits, retry_hits, reads, verified)
    };
    let (plain, full) = (sum(&design("wir-r")), sum(&design("wir-rpv")));
    assert!(full.0 > plain.0 && full.1 > 0 && plain.1 == 0, "{plain:?} {full:?}");
    assert!(plain.2 == plain.3 && full.2 < full.3, "{plain:?} {full:?}");
    let without_cache = sum(&with("wir-rpv", |p| p.verify_entries = 0));
    assert_eq!(without_cache.2, without_cache.3);
}

/// §VI-A: a load that is reused does not go to the memory; without `l` none is.
#[test]
fn loads_are_reused_where_the_design_says_so() {
    let sum = |name: &str| {
        let (mut loads, mut hits, mut accesses) = (0, 0, 0);
        for workload in LOADS {
            let report = run_tiny(&design(name), workload, RunOptions::default());
            let of_run = counted(&report);
            loads += of_run.loads;
            hits += of_run.load_hits;
            accesses += report.memory.instructions + report.memory.shared_instructions;
            assert!(of_run.load_hits <= of_run.reused.memory, "{workload} on {name}");
        }
        (loads, hits, accesses)
    };
    let without = sum("wir-rpv");
    assert_eq!((without.0, without.1), (0, 0));
    for name in ["wir-rl", "wir-rlp", "wir-rlpv", "wir-rlpvc"] {
        let (loads, hits, accesses) = sum(name);
        assert!(hits > 300 && hits < loads, "{name}: {hits} of {loads}");
        assert_eq!(accesses + hits, without.2, "{name}");
    }
}

/// §V-E: with the capped-register policy the buffers give their registers up as soon as as many are held as the resident warps
/// have logical ones; results in flight and warps that end have some beside.
#[test]
fn capped_registers_are_no_more_than_logical_ones() {
    for workload in ["gaussian", "bfs", "kmeans"] {
        let of = |name| counted(&run_tiny(&design(name), workload, RunOptions::default()));
        let (all, capped) = (of("wir-rlpv"), of("wir-rlpvc"));
        assert!(capped.register_cycles < all.register_cycles, "{workload}: {capped:?} {all:?}");
        assert!(10 * capped.register_cycles < 11 * capped.logical_cycles, "{workload}: {capped:?}");
        assert!(capped.hits > 0 || all.hits == 0, "{workload}: {capped:?}");
    }
}

#[test]
fn a_longer_delay_takes_more_cycles_and_changes_no_value() {
    for workload in ["bfs", "lud"] {
        let cycles =
            |delay| run_tiny(&with("wir-rlpv", |p| p.delay = delay), workload, RunOptions::default()).cycles;
        assert!(cycles(7) > cycles(4) && cycles(4) > cycles(3), "{workload}");
    }
}

/// Short queues and a long one, whose fronts wait for long before they come first, or for a turn.
#[test]
fn no_instruction_waits_for_ever() {
    let sizes = [(2, 255), (64, 1), (2, 1)];
    let [patient, long, impatient] = sizes.map(|(retry_entries, retry_patience)| {
        let config = with("wir-rlpv", |p| {
            (p.retry_entries, p.retry_patience, p.reuse_rows) = (retry_entries, retry_patience, 8);
        });
        let of = |name: &str| counted(&run_tiny(&config, name, RunOptions::default()));
        let runs = ["hotspot", "blackscholes", "bfs", "lud"].map(of);
        [runs.iter().map(|run| run.urgent).sum::<u64>(), runs.iter().map(|run| run.unqueued).sum()]
    });
    let [urgent, unqueued] = [0, 1].map(|count| [patient, long, impatient].map(|counts| counts[count]));
    assert!(urgent[1] > 10 * urgent[0] && urgent[2] > 10 * urgent[0], "{urgent:?} came first for their age");
    assert!(unqueued[0] > 0 && unqueued[1] == 0 && unqueued[2] > 0, "{unqueued:?} found the queue full");
}

#[test]
fn neither_seed_nor_engine_changes_a_figure() {
    for name in ["vectoradd", "pathfinder"] {
        let run = |seed, engine| {
            let options = RunOptions { seed, engine, ..RunOptions::default() };
            run_tiny(&design("wir-rlpv"), name, options)
        };
        let first = run(0, EngineName::Compiled);
        assert_eq!(run(7, EngineName::Compiled), first);
        assert_eq!(run(0, EngineName::Interpreter), first);
    }
}

/// With a hash of four bits most values that hit are others.
#[test]
fn values_that_share_a_hash_are_told_apart() {
    for name in ["wir-r", "wir-rpv"] {
        let config = with(name, |p| (p.hash_bits, p.signature_rows) = (4, 16));
        let mut false_positives = 0;
        for name in WORKLOADS {
            false_positives += counted(&run_tiny(&config, name, RunOptions::default())).false_positives;
        }
        assert!(false_positives > 1000, "{name}: {false_positives}");
    }
}

#[test]
fn a_register_that_is_named_too_often_gets_no_further_sharer() {
    let config = of_halves(with("wir-rpv", |p| p.count_bits = 3));
    let (mut full, mut hits) = (0, 0);
    for name in WORKLOADS {
        let of_run = counted(&run_tiny(&config, name, RunOptions::default()));
        full += of_run.full;
        hits += of_run.hits;
    }
    assert!(full > 100 && hits > 0, "{full}, {hits}");
}

/// A machine with as few registers as a block of a workload needs.
fn smallest(machine: &Config, workload: &str) -> Config {
    let mut config = machine.clone();
    config.register_file.rows = 2;
    for _ in 0..4 {
        match run(&config, &mut open(workload), RunOptions::default()) {
            Ok(_) => return config,
            Err(SimError::BlockDoesNotFit { needed, available, .. }) => {
                let rows = config.register_file.rows;
                config.register_file.rows = (needed * rows).div_ceil(available).max(rows + 1);
            }
            Err(error) => panic!("{workload} on {}: {error}", config.design),
        }
    }
    panic!("{workload} on {} fits nowhere", config.design);
}

/// The buffers give their registers back, and where that is not enough mappings are given up.
#[test]
fn registers_run_out_without_a_deadlock() {
    let (mut given_up, mut overwritten) = (0, 0);
    for (design_name, name) in [
        ("wir-r", "vectoradd"),
        ("wir-novsb", "vectoradd"),
        ("wir-rpv", "bfs"),
        ("wir-rpv", "pathfinder"),
        ("wir-rlpv", "lud"),
        ("wir-rlpvc", "hybridsort"),
    ] {
        for machine in [design(design_name), of_halves(design(design_name))] {
            let report = run_tiny(&smallest(&machine, name), name, RunOptions::default());
            let of_run = counted(&report);
            given_up += of_run.given_up;
            overwritten += of_run.overwritten;
            assert!(of_run.empty_cycles > 0, "{name} on {design_name}: {of_run:?}");
        }
    }
    assert!(given_up > 0 && overwritten > 0, "{given_up} given up, {overwritten} overwritten");
}

#[test]
fn sizes_change_times_and_not_values() {
    let mut cells = Vec::new();
    for name in ["bfs", "lud", "hotspot"] {
        for (reuse_rows, signature_rows, retiring) in [(4, 4, 1), (1024, 1024, 16), (32, 512, 2)] {
            cells.extend(DESIGNS.map(|design_name| {
                let sizes = |p: &mut Parameters| {
                    *p = Parameters { reuse_rows, signature_rows, retiring, ..p.clone() };
                };
                (name, with(design_name, sizes))
            }));
        }
    }
    for (name, config) in slice(4, cells) {
        run_tiny(&config, name, RunOptions::default());
    }
}

/// Schedulers, rows of a bank, and every parameter over its accepted range; a rename table has what every workload needs.
fn any_machine() -> impl Strategy<Value = Config> {
    let schedulers = select(vec![(1, 1), (2, 1), (4, 1), (2, 2), (4, 2)]);
    let buffers = (schedulers, 1..=8_u32, 1..=8_u32, 1..=32_u64, 128..=256_u64, 3..=16_u64);
    let queues = (1..=16_u64, 1..=255_u64, 0..=16_u64, 3..=7_u64, 1..=16_u64, 0..=64_u64, 1..=2_u64);
    let first = select(vec![ReadsFirst::Operands, ReadsFirst::Registers, ReadsFirst::Turns]);
    let designs = [&DESIGNS[..], &["rfc+wir-rlpv", "rfc+wir-r"]].concat();
    (select(designs), buffers, queues, first, 96..=256_u64).prop_map(
        |(name, buffers, queues, reads_first, registers)| {
            let ((schedulers, of_one), reuse, signatures, hash_bits, logical_registers, count_bits) = buffers;
            let of_one = if name.starts_with("rfc") { 1 } else { of_one };
            let (retries, retry_patience, verifies, delay, retiring, low_registers, row_results) = queues;
            let mut config = design(name);
            (config.sm.schedulers, config.sm.schedulers_per_partition) = (schedulers, of_one);
            config.register_file.bank_groups = 4;
            config.register_file.rows = registers / config.partitions();
            config.edit(|p: &mut Parameters| {
                *p = Parameters {
                    reuse_rows: schedulers.max(2) << reuse,
                    signature_rows: schedulers.max(2) << signatures,
                    // A row's number is a part of the hash.
                    hash_bits: hash_bits.max(u64::from(signatures) + 1),
                    logical_registers,
                    // The references of a cycle do not fill a count.
                    count_bits: count_bits.max(2 + of_one),
                    retry_entries: schedulers * retries,
                    retry_patience,
                    verify_entries: schedulers * verifies,
                    delay,
                    retiring,
                    low_registers,
                    reads_first,
                    row_results,
                };
            });
            config
        },
    )
}

#[test]
fn no_parameters_give_a_wrong_value_or_stop() {
    let names: Vec<&str> = workloads::list().iter().map(|workload| workload.name).collect();
    let ends_right = |config: &Config, name: &str| {
        let mut workload = open(name);
        match run(config, &mut workload, RunOptions::default()) {
            Ok(_) => workload.check_results().map(|_| ()).map_err(|error| error.to_string()),
            Err(SimError::BlockDoesNotFit { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
        .map_err(|error| TestCaseError::fail(format!("{name} on {}: {error}", config.design)))
    };
    TestRunner::new(drawn_config(24))
        .run(&(any_machine(), select(names)), |(config, name)| ends_right(&config, name))
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Fig. 18b: registers that are verified or copied are in the way of operands.
#[test]
fn what_waits_for_a_bank_is_counted() {
    let of = |config: &Config, name: &str| -> Retries {
        run_tiny(config, name, RunOptions::default()).counters.get(RETRIES)
    };
    for name in ["sgemm", "pathfinder", "hotspot"] {
        let machine = |design_name: &str| of_halves(design(design_name));
        let baseline = of(&machine("baseline"), name);
        assert!(baseline.reads > 0 && baseline.writes > 0, "{name}: {baseline:?}");
        assert_eq!(baseline.extra_reads, 0, "{name}: {baseline:?}");
        let without_cache = of(&machine("wir-rlp"), name);
        assert!(without_cache.extra_reads > 0, "{name}: {without_cache:?}");
        assert!(without_cache.reads > baseline.reads, "{name}: {without_cache:?}, {baseline:?}");
    }
    // Of one register file with twice the banks: whatever comes first, the others wait.
    for name in ["pathfinder", "hotspot"] {
        let first = |reads_first| of(&with("wir-rlp", |p| p.reads_first = reads_first), name);
        let (operands, registers) = (first(ReadsFirst::Operands), first(ReadsFirst::Registers));
        assert!(registers.reads > operands.reads, "{name}: {registers:?}, {operands:?}");
        assert!(registers.extra_reads < operands.extra_reads, "{name}: {registers:?}, {operands:?}");
    }
    // Twice the banks, so that fewer operands are in each other's way.
    let mut wide = design("baseline");
    (wide.register_file.bank_groups, wide.register_file.rows) = (16, 64);
    assert!(of(&wide, "sgemm").reads < of(&design("baseline"), "sgemm").reads);
    let mut dual = preset("gtx980-gpgpusim").expect("complete").with_design("baseline").expect("known");
    dual.sm.issues_per_scheduler = 2;
    assert!(of(&dual, "sgemm").reads > 0);
}

/// Who reads a bank first.
#[test]
fn priorities_change_times_and_not_values() {
    let all = [ReadsFirst::Operands, ReadsFirst::Registers, ReadsFirst::Turns];
    let cycles = all.map(|reads_first| {
        let config = with("wir-rlp", |p| p.reads_first = reads_first);
        let of = |name: &&str| run_tiny(&config, name, RunOptions::default()).cycles;
        WORKLOADS.iter().map(of).collect::<Vec<_>>()
    });
    assert!(cycles[0] != cycles[1] && cycles[1] != cycles[2] && cycles[0] != cycles[2], "{cycles:?}");
}

/// The fewer registers are to be free, the fewer values and results the buffers keep.
#[test]
fn buffers_give_registers_up_before_the_last_is_gone() {
    let of = |low_registers| {
        let mut config = of_halves(with("wir-rlpv", |p| p.low_registers = low_registers));
        config.register_file.rows = 32;
        counted(&run_tiny(&config, "hotspot", RunOptions::default()))
    };
    let (late, early) = (of(0), of(64));
    assert!(
        early.most_in_use <= late.most_in_use && early.registered < late.registered,
        "{early:?} {late:?}"
    );
    assert!(early.signatures - early.signature_hits > early.registered, "{early:?}");
}

/// A kernel of the tests' own.
fn open_ptx(name: &str) -> OpenWorkload {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    OpenWorkload::from_ptx(&path, "tiny").unwrap_or_else(|error| panic!("{error}"))
}

/// A store whose value is in a pinned register waits in the retry queue while its warp writes that register again.
#[test]
fn a_queued_store_reads_what_its_register_held() {
    for name in ["wir-rlp", "wir-rlpv", "wir-rlpvc"] {
        let mut open = open_ptx("queued.ptx");
        let report = run(&design(name), &mut open, RunOptions::default()).expect("every operand is right");
        let Counted { retry_hits, moves, .. } = counted(&report);
        // 16 warps: one loads, and another copy than the first shows that the register was not overwritten.
        assert!(retry_hits > 0 && moves > 16, "{name}: {retry_hits}, {moves}");
    }
}

/// A kernel whose loads from global memory give another value in one of the warps, or of which nobody knows what races.
struct Edited {
    workload: OpenWorkload,
    changed_warp: Option<usize>,
    knows_races: bool,
}

struct EditedStream<'a> {
    stream: Box<dyn Stream + 'a>,
    changed_warp: Option<usize>,
    knows_races: bool,
}

impl Launches for Edited {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        let Edited { changed_warp, knows_races, .. } = *self;
        let stream = self.workload.next_launch()?;
        Ok(stream.map(|stream| -> Box<dyn Stream + '_> {
            Box::new(EditedStream { stream, changed_warp, knows_races })
        }))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        self.workload.has_values()
    }
}

impl Stream for EditedStream<'_> {
    fn program(&self) -> &Program {
        self.stream.program()
    }

    fn launch(&self) -> &Launch {
        self.stream.launch()
    }

    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        self.stream.start_block(block)
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        let more = self.stream.next(block, warp, into)?;
        let operation = self.stream.program().instructions[into.inst.0 as usize].operation;
        let is_load = matches!(operation, Operation::Load(_)) && operation.has_long_latency();
        if more && is_load && self.changed_warp == Some(warp) {
            into.results[0][5] ^= 1;
        }
        Ok(more)
    }

    fn finish_block(&mut self, block: BlockIndex) {
        self.stream.finish_block(block);
    }

    fn races(&mut self) -> Result<Option<Arc<Races>>, StreamError> {
        if self.knows_races { self.stream.races() } else { Ok(None) }
    }
}

/// What a load finds is what it loads unless warps race for the place: then it may be what was there before a store that the
/// stream has before the load. Such a load is executed, and every other access is as the stream has it.
#[test]
fn a_load_that_differs_at_a_race_is_executed_and_counted_apart() {
    for name in ["wir-rlp", "wir-rlpv", "wir-rlpvc"] {
        // Warp 0 stores, and the others find what it has loaded: those that share its buffer, 16 or eight.
        for (config, finds) in [(design(name), 15), (of_halves(design(name)), 7)] {
            let mut open = open_ptx("raced.ptx");
            let report = run(&config, &mut open, RunOptions::default()).expect("the order of the stream");
            let of_run = counted(&report);
            let Counted { raced, hits, compared, .. } = of_run;
            assert_eq!(raced, finds, "{name}: {of_run:?}");
            assert_eq!((report.answered_instructions, report.results_checked), (hits, hits), "{name}");
            assert_eq!(compared + hits, report.operands.writes, "{name}");
            // Those of another buffer find what the first of them has loaded, which is the same.
            assert_eq!(of_run.load_hits > 0, finds == 7, "{name}: {of_run:?}");
            assert!(of_run.load_hits + raced < of_run.loads, "{name}: {of_run:?}");
        }
    }
}

#[test]
fn a_load_that_differs_elsewhere_ends_the_run() {
    let error = |ptx, changed_warp, knows_races| {
        let mut edited = Edited { workload: open_ptx(ptx), changed_warp, knows_races };
        let ended = run(&design("wir-rlpv"), &mut edited, RunOptions::default());
        ended.expect_err("a load that differs").to_string()
    };
    // Nobody writes what is loaded here.
    let refused = error("queued.ptx", Some(2), true);
    assert!(refused.starts_with("wrong result") && refused.contains("warp 2,"), "{refused}");
    assert!(refused.contains("ld.global.u32") && refused.contains("lane 5:"), "{refused}");
    let unknown = error("raced.ptx", None, false);
    assert!(unknown.starts_with("wrong result"), "{unknown}");
}

#[test]
fn no_load_of_a_workload_differs() {
    for name in LOADS {
        let report = run_tiny(&design("wir-rlpv"), name, RunOptions::default());
        assert_eq!(counted(&report).raced, 0, "{name}");
    }
}

/// A program of 16 warps that load the same two pairs from global memory.
fn run_pairs(config: &Config) -> RunReport {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pairs.ptx");
    let mut open = OpenWorkload::from_ptx(&path, "tiny").unwrap_or_else(|error| panic!("{error}"));
    run(config, &mut open, RunOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Fig. 9 has rows of one result: an instruction that writes two registers is looked up in rows of two only, and finds both.
#[test]
fn pairs_are_reused_in_rows_of_two_results() {
    for name in ["wir-rl", "wir-rlp", "wir-rlpv", "wir-rlpvc"] {
        let [one, two] = [1, 2].map(|row_results| run_pairs(&with(name, |p| p.row_results = row_results)));
        let of = |report: &RunReport| (counted(report), report.results_checked, report.memory.instructions);
        let ((one, one_checked, one_accesses), (two, two_checked, two_accesses)) = (of(&one), of(&two));
        assert_eq!((one.wide, one.loads, one.load_hits), (2 * 16, 0, 0), "{name}");
        assert_eq!(one_checked, one.hits, "{name}");
        assert_eq!((two.wide, two.loads), (0, 2 * 16), "{name}");
        // The number of a thread, once a warp.
        assert_eq!((one.private, two.private), (16, 16), "{name}");
        assert!(two.load_hits > 0 && two.hits > one.hits, "{name}: {two:?}");
        // Nothing but these loads has two results.
        assert_eq!(two_checked, two.hits + two.load_hits, "{name}: {two:?}");
        assert_eq!(two_accesses + two.load_hits, one_accesses, "{name}");
        assert_eq!(one.renamed.sp, two.renamed.sp, "{name}");
    }
}

/// Who finds its pair being computed waits until both results are there.
#[test]
fn a_pair_is_waited_for_until_both_results_are_there() {
    let load_hits = |name| counted(&run_pairs(&with(name, |p| p.row_results = 2))).load_hits;
    let (without_queue, with_queue) = (load_hits("wir-rl"), load_hits("wir-rlp"));
    assert!(with_queue > without_queue, "{with_queue}, {without_queue}");
}

/// Where registers run out, or are named too often, and in buffers of a few rows.
#[test]
fn pairs_come_and_go_without_a_deadlock() {
    for (design_name, name) in [("wir-r", "vectoradd"), ("wir-rlpv", "lud"), ("wir-rlpvc", "hybridsort")] {
        let mut config = smallest(&design(design_name), name);
        config.edit(|p: &mut Parameters| p.row_results = 2);
        let of_run = counted(&run_tiny(&config, name, RunOptions::default()));
        assert!(of_run.empty_cycles > 0, "{name} on {design_name}: {of_run:?}");
    }
    let mut full = 0;
    for name in WORKLOADS {
        let config = of_halves(with("wir-rlpv", |p| (p.row_results, p.count_bits) = (2, 3)));
        full += counted(&run_tiny(&config, name, RunOptions::default())).full;
        let config = with("wir-rlpv", |p| {
            (p.row_results, p.retry_entries, p.retry_patience, p.reuse_rows, p.retiring) = (2, 2, 1, 8, 1);
        });
        run_tiny(&config, name, RunOptions::default());
    }
    assert!(full > 100, "{full}");
}

/// §VI-B: who waits in the retry queue keeps no other warp from issuing. On the paper's machine hardly a workload is more than a
/// fifth slower than without reuse (§VII-D: most vary by a tenth).
#[test]
fn reuse_does_not_slow_a_full_machine_down() {
    for name in ["sgemm", "kmeans", "backprop"] {
        let cycles = |of: &str| run_tiny(&design(of), name, RunOptions::default()).cycles as f64;
        let speed = cycles("baseline") / cycles("wir-rlpv");
        assert!(speed > 0.8, "{name}: {speed}");
    }
}

#[test]
fn one_scheduler_or_four_carry_it_and_any_picks() {
    for (schedulers, of_one, stack) in [
        (1, 1, "wir-rlpv"),
        (4, 1, "wir-rlpvc"),
        (4, 2, "wir-rlpvc"),
        (2, 1, "two-level+wir-rlpv"),
        (2, 2, "two-level+wir-rlpv"),
    ] {
        let mut config = design(stack);
        (config.sm.schedulers, config.sm.schedulers_per_partition) = (schedulers, of_one);
        config.register_file.rows = 128 / config.partitions();
        for name in ["hotspot", "bfs"] {
            run_tiny(&config, name, RunOptions::default());
        }
    }
}

#[test]
fn what_cannot_carry_it_says_so() {
    for (stack, reason) in [
        ("rfh+wir-r", "wir-r does not go with rfh: warps share rows, which it does not carry"),
        ("rfv+wir-novsb", "wir-novsb does not go with rfv: warps share rows"),
        ("reg-share+wir-r", "wir-r does not go with reg-share: both say which row a register has"),
        ("wir-r+wir-novsb", "wir-r does not go with wir-novsb: both say"),
    ] {
        let refused = preset("fermi-wir")
            .and_then(|config| config.with_design(stack))
            .and_then(|config| config.validate())
            .expect_err(stack)
            .to_string();
        assert!(refused.contains(reason), "{stack}: {refused}");
    }
    let refused = |edit: &dyn Fn(&mut Config)| {
        let mut config = design("wir-r");
        edit(&mut config);
        config.validate().expect_err("too much").to_string()
    };
    assert!(refused(&|config| config.sm.issues_per_scheduler = 2).contains("sm.issues_per_scheduler"));
    assert!(
        refused(&|config| config.edit(|p: &mut Parameters| p.reuse_rows = 24)).contains("wir.reuse_rows")
    );
    assert!(refused(&|config| config.edit(|p: &mut Parameters| p.hash_bits = 3)).contains("wir.hash_bits"));
    assert!(
        refused(&|config| config.edit(|p: &mut Parameters| p.count_bits = 3))
            .contains("wir.count_bits = 3 cannot be combined")
    );
    assert!(
        refused(&|config| config.edit(|p: &mut Parameters| p.verify_entries = 33))
            .contains("wir.verify_entries")
    );
}

#[test]
fn a_kernel_with_more_registers_than_a_rename_table_is_refused() {
    let config = with("wir-r", |p| p.logical_registers = 4);
    let error = run(&config, &mut open("hotspot"), RunOptions::default()).expect_err("too many").to_string();
    assert!(error.contains("a rename table has 4; raise wir.logical_registers"), "{error}");
}

/// One of the launches of a workload.
struct OneOf {
    workload: OpenWorkload,
    before: usize,
    is_given: bool,
}

impl Launches for OneOf {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        if std::mem::replace(&mut self.is_given, true) {
            return Ok(None);
        }
        for _ in 0..self.before {
            self.workload.next_launch()?;
        }
        self.workload.next_launch()
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        self.workload.has_values()
    }
}

/// §VI-A, and what accesses do that order others: 16 warps load one word; behind a volatile access, a fence, a generic store or an
/// atomic access of its own none finds what others have loaded, behind a store and a barrier all do. A word of scratchpad is
/// found by warps of the block alone, and not behind a store of the own to scratchpad; nothing is found by a block that has passed
/// as many barriers as can be counted, in local memory, or at a generic address.
#[test]
fn what_orders_accesses_keeps_loads_from_being_reused() {
    // Of the warps that share a buffer, 16 or eight, one loads the word and the others may find it.
    let expected = |buffers: u64| {
        [
            ("plain", 16 - buffers),
            ("volatile_first", 0),
            ("fence_first", 0),
            ("generic_store_first", 0),
            ("atomic_first", 0),
            ("store_and_barrier_first", 16 - buffers),
            ("scratchpad", 16 - buffers),
            ("scratchpad_store_first", 0),
            // Half of the warps are each block's.
            ("scratchpad_of_a_block", 16 - 2 * buffers),
            ("barriers_first", 16 - buffers),
            // The count of barriers is full.
            ("barriers_first", 0),
            ("local", 0),
            ("generic", 0),
        ]
    };
    for name in ["wir-rlp", "wir-rlpv"] {
        for (config, buffers) in [(design(name), 1), (of_halves(design(name)), 2)] {
            for (before, (kernel, hits)) in expected(buffers).into_iter().enumerate() {
                let mut one = OneOf { workload: open_ptx("fences.ptx"), before, is_given: false };
                let report = run(&config, &mut one, RunOptions::default()).expect("every operand is right");
                assert_eq!(report.launch_kernels, [kernel]);
                assert_eq!(counted(&report).load_hits, hits, "{kernel} on {name}: {:?}", counted(&report));
            }
        }
    }
}

/// Constants that a field of a row has no room for are part of the form: of 300 of them 44 at least have no number.
#[test]
fn forms_beyond_256_are_never_looked_up() {
    let step = |n: u32| format!("    xor.b32 %r5, %r2, {};\n    add.s32 %r6, %r6, %r5;\n", 1_000_000 + 7 * n);
    let text = |steps: u32| {
        let body: String = (0..steps).map(step).collect();
        format!(
            ".version 6.0\n.target sm_50\n.address_size 32\n.visible .entry forms(.param .u32 out)\n{{\n    .reg .b32 %r<8>;\n    \
             ld.param.u32 %r0, [out];\n    mov.u32 %r2, %tid.x;\n    mov.u32 %r6, 0;\n{body}    shl.b32 %r3, %r2, 2;\n    \
             add.s32 %r4, %r0, %r3;\n    st.global.u32 [%r4], %r6;\n    ret;\n}}\n"
        )
    };
    let launch = "description = \"Many constants\"\nptx = \"forms.ptx\"\n[sizes]\ntiny = { threads = 64 }\n[buffers]\nout = { type = \
                  \"u32\", length = \"threads\", fill = \"zeros\" }\n[[steps]]\nentry = \"forms\"\ngrid = 1\nblock = \
                  \"threads\"\narguments = [\"out\"]\n";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("forms.toml"), launch).expect("a file");
    let beyond = |steps| {
        std::fs::write(folder.join("forms.ptx"), text(steps)).expect("a file");
        let mut open = OpenWorkload::from_ptx(&folder.join("forms.ptx"), "tiny").expect("a kernel");
        let report =
            run(&design("wir-rlpv"), &mut open, RunOptions::default()).expect("every operand is right");
        counted(&report).beyond
    };
    assert_eq!(beyond(200), 0);
    // Two warps.
    assert!(beyond(300) >= 2 * 44, "{}", beyond(300));
}

#[test]
fn streams_without_values_are_refused() {
    for name in DESIGNS {
        let mut without = WithoutValues(open_ptx("queued.ptx"));
        let error = run(&design(name), &mut without, RunOptions::default()).expect_err("nothing to compare");
        assert!(error.to_string().contains("the trace has no values, which are what is reused"), "{error}");
    }
}

/// §VII-E: both schedulers use one reuse buffer and one value signature buffer, so that a warp finds what any other has computed.
#[test]
fn schedulers_that_share_their_buffers_reuse_more() {
    let hits = |config: &Config| {
        let of = |workload: &&str| counted(&run_tiny(config, workload, RunOptions::default())).hits;
        WORKLOADS.iter().map(of).sum::<u64>()
    };
    let (shared, halves) = (hits(&design("wir-rlpv")), hits(&of_halves(design("wir-rlpv"))));
    assert!(shared * 10 > halves * 11, "{shared}, {halves}");
}
