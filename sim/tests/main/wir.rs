//! Warp instruction reuse: `wir-r`, `wir-rl`, `wir-rlp`, `wir-rlpv`, `wir-rlpvc`, `wir-rpv`, `wir-novsb`.

use std::path::Path;

use warpfile_kernels::workloads::{self, OpenWorkload};
use warpfile_sim::config::{Config, preset};
use warpfile_sim::mechanisms::wir::{COUNTERS, Counted, Parameters, ReadsFirst};
use warpfile_sim::sm::{EngineName, RunOptions, RunReport, SimError, run};

use crate::tiny::{open, run_tiny};

const DESIGNS: [&str; 7] = ["wir-r", "wir-rl", "wir-rlp", "wir-rlpv", "wir-rlpvc", "wir-rpv", "wir-novsb"];
/// Of which loads are reused.
const LOADS: [&str; 4] = ["lud", "kmeans", "hybridsort", "particle_filter"];

fn design(name: &str) -> Config {
    preset("fermi-wir").expect("complete").with_design(name).expect("known")
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
    for workload in workloads::list() {
        for name in DESIGNS {
            // One of them has more registers than the paper's machine gives a thread.
            let config = with(name, |p| p.logical_registers = 128);
            let report = run_tiny(&config, workload.name, RunOptions::default());
            let Counted { hits, compared, .. } = counted(&report);
            assert_eq!(report.answered_instructions, hits, "{} on {name}", workload.name);
            assert_eq!(report.results_checked, hits, "{} on {name}", workload.name);
            assert_eq!(compared + hits, report.operands.writes, "{} on {name}", workload.name);
        }
    }
}

#[test]
fn what_is_executed_or_answered_is_what_the_baseline_executes() {
    for name in WORKLOADS {
        let baseline = run_tiny(&design("baseline"), name, RunOptions::default());
        for design_name in DESIGNS {
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
    for workload in ["hotspot", "bfs"] {
        let cycles =
            |delay| run_tiny(&with("wir-rlpv", |p| p.delay = delay), workload, RunOptions::default()).cycles;
        assert!(cycles(7) > cycles(4), "{workload}");
    }
}

/// A queue of one entry that is never urgent, and one whose front always is.
#[test]
fn no_instruction_waits_for_ever() {
    for (retry_entries, retry_patience) in [(2, 255), (64, 1), (2, 1)] {
        let config = with("wir-rlpv", |p| {
            (p.retry_entries, p.retry_patience, p.reuse_rows) = (retry_entries, retry_patience, 8);
        });
        for name in ["hotspot", "blackscholes", "bfs", "lud"] {
            run_tiny(&config, name, RunOptions::default());
        }
    }
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
        let config = with(name, |p| (p.hash_bits, p.signature_rows) = (4, 32));
        let mut false_positives = 0;
        for name in WORKLOADS {
            false_positives += counted(&run_tiny(&config, name, RunOptions::default())).false_positives;
        }
        assert!(false_positives > 1000, "{name}: {false_positives}");
    }
}

#[test]
fn a_register_that_is_named_too_often_gets_no_further_sharer() {
    let config = with("wir-rpv", |p| p.count_bits = 3);
    let (mut full, mut hits) = (0, 0);
    for name in WORKLOADS {
        let of_run = counted(&run_tiny(&config, name, RunOptions::default()));
        full += of_run.full;
        hits += of_run.hits;
    }
    assert!(full > 100 && hits > 0, "{full}, {hits}");
}

/// The machine with as few registers as a block of a workload needs.
fn smallest(design_name: &str, workload: &str) -> Config {
    let mut config = design(design_name);
    config.register_file.rows = 2;
    for _ in 0..4 {
        match run(&config, &mut open(workload), RunOptions::default()) {
            Ok(_) => return config,
            Err(SimError::BlockDoesNotFit { needed, available, .. }) => {
                let rows = config.register_file.rows;
                config.register_file.rows = (needed * rows).div_ceil(available).max(rows + 1);
            }
            Err(error) => panic!("{workload} on {design_name}: {error}"),
        }
    }
    panic!("{workload} on {design_name} fits nowhere");
}

/// The buffers give their registers back, and where that is not enough mappings are given up.
#[test]
fn registers_run_out_without_a_deadlock() {
    let mut given_up = 0;
    for (design_name, name) in [
        ("wir-r", "vectoradd"),
        ("wir-novsb", "vectoradd"),
        ("wir-rpv", "bfs"),
        ("wir-rpv", "pathfinder"),
        ("wir-rlpv", "lud"),
        ("wir-rlpvc", "hybridsort"),
    ] {
        let report = run_tiny(&smallest(design_name, name), name, RunOptions::default());
        let of_run = counted(&report);
        given_up += of_run.given_up;
        assert!(of_run.empty_cycles > 0, "{name} on {design_name}: {of_run:?}");
    }
    assert!(given_up > 0);
}

#[test]
fn sizes_change_times_and_not_values() {
    for name in ["bfs", "lud", "hotspot"] {
        for (reuse_rows, signature_rows, retiring) in [(4, 4, 1), (1024, 1024, 16), (32, 512, 2)] {
            for design_name in DESIGNS {
                let config = with(design_name, |p| {
                    *p = Parameters { reuse_rows, signature_rows, retiring, ..p.clone() };
                });
                run_tiny(&config, name, RunOptions::default());
            }
        }
    }
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
        let mut config = with("wir-rlpv", |p| p.low_registers = low_registers);
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

/// A store whose value is in a pinned register waits in the retry queue while its warp writes that register again.
#[test]
fn a_queued_store_reads_what_its_register_held() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/queued.ptx");
    for name in ["wir-rlp", "wir-rlpv", "wir-rlpvc"] {
        let mut open = OpenWorkload::from_ptx(&path, "tiny").unwrap_or_else(|error| panic!("{error}"));
        let report = run(&design(name), &mut open, RunOptions::default()).expect("every operand is right");
        let Counted { retry_hits, moves, .. } = counted(&report);
        // 16 warps: one loads, and another copy than the first shows that the register was not overwritten.
        assert!(retry_hits > 0 && moves > 16, "{name}: {retry_hits}, {moves}");
    }
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
    for (schedulers, stack) in [(1, "wir-rlpv"), (4, "wir-rlpvc"), (2, "two-level+wir-rlpv")] {
        let mut config = design(stack);
        config.sm.schedulers = schedulers;
        config.register_file.rows = 256 / schedulers;
        for name in ["hotspot", "bfs"] {
            run_tiny(&config, name, RunOptions::default());
        }
    }
}

#[test]
fn what_cannot_carry_it_says_so() {
    for (stack, reason) in [
        ("rfc+wir-r", "wir-r does not go with rfc"),
        ("rfv+wir-novsb", "wir-novsb does not go with rfv"),
        ("reg-share+wir-r", "wir-r does not go with reg-share"),
        ("wir-r+wir-novsb", "wir-r does not go with wir-novsb"),
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
        refused(&|config| config.edit(|p: &mut Parameters| p.verify_entries = 3))
            .contains("wir.verify_entries")
    );
}

#[test]
fn a_kernel_with_more_registers_than_a_rename_table_is_refused() {
    let config = with("wir-r", |p| p.logical_registers = 4);
    let error = run(&config, &mut open("hotspot"), RunOptions::default()).expect_err("too many").to_string();
    assert!(error.contains("a rename table has 4; raise wir.logical_registers"), "{error}");
}
