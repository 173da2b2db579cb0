//! Every workload through every design: results, and what must hold of the traffic.

use std::sync::LazyLock;

use warpfile_sim::config::Config;
use warpfile_sim::mechanisms::rfc;
use warpfile_sim::sm::{Accesses, RunOptions, RunReport, run};

use super::{gebhart, names, run_tiny, small_cache, tiny};

/// One report a workload, in the order of the list.
pub type Reports = LazyLock<Vec<RunReport>>;

pub static BASELINE: Reports = LazyLock::new(|| run_all(&gebhart("baseline")));
pub static CACHED: Reports = LazyLock::new(|| run_all(&gebhart("rfc")));
pub static SMALL_CACHE: Reports = LazyLock::new(|| run_all(&small_cache()));

fn run_all(config: &Config) -> Vec<RunReport> {
    names().map(|name| run_tiny(config, name)).collect()
}

#[test]
fn the_baseline_reads_and_writes_the_main_register_file_once_an_operand() {
    for (name, report) in names().zip(BASELINE.iter()) {
        assert!(report.operands_checked > 0, "{name}");
        assert_eq!(report.mrf(), report.operands, "{name}");
        assert_eq!(rfc::accesses(report), Accesses::default(), "{name}");
        assert_eq!(report.mrf_reads_avoided_percent(), Some(0.0), "{name}");
        assert_eq!(report.mrf_writes_avoided_percent(), Some(0.0), "{name}");
        assert_eq!(report.scheduler.suspensions, 0, "{name}");
    }
}

#[test]
fn a_cache_changes_where_operands_come_from_and_not_what_they_are() {
    for cached in [&CACHED, &SMALL_CACHE] {
        for ((name, report), baseline) in names().zip(cached.iter()).zip(BASELINE.iter()) {
            assert!(report.operands_checked > 0, "{name}");
            assert_eq!(report.operands_checked, baseline.operands_checked, "{name}");
            assert_eq!(report.lane_operands_checked, baseline.lane_operands_checked, "{name}");
            assert_eq!(report.warp_instructions, baseline.warp_instructions, "{name}");
            assert_eq!(report.thread_instructions, baseline.thread_instructions, "{name}");
            assert_eq!(report.operands, baseline.operands, "{name}");
        }
    }
}

/// Operands read partly from the cache and partly from the main register file.
///
/// A write goes to the cache or to the main register file, and what leaves the cache is one read of it and one write
/// of the main register file; the other reads of the cache are operands, and so are all of the main register file.
fn partial_hits(
    operands: u64,
    [rfc_reads, rfc_writes]: [u64; 2],
    mrf: [u64; 2],
    written: u64,
) -> Option<u64> {
    let [mrf_reads, mrf_writes] = mrf;
    let written_back = (mrf_writes + rfc_writes).checked_sub(written)?;
    let from_cache = rfc_reads.checked_sub(written_back)?;
    (from_cache + mrf_reads).checked_sub(operands)
}

#[test]
fn reads_and_writes_by_level_add_up_to_the_operands() {
    for cached in [&CACHED, &SMALL_CACHE] {
        let mut without_divergence = 0;
        for (name, report) in names().zip(cached.iter()) {
            let (operands, rfc, mrf) = (report.operands, rfc::accesses(report), report.mrf());
            let partial = partial_hits(
                operands.reads,
                [rfc.reads, rfc.writes],
                [mrf.reads, mrf.writes],
                operands.writes,
            );
            assert!(partial.is_some(), "{name}: {rfc:?}");
            assert!(partial <= Some(mrf.reads), "{name}: {rfc:?}");
            let clusters = partial_hits(
                operands.cluster_reads,
                [rfc.cluster_reads, rfc.cluster_writes],
                [mrf.cluster_reads, mrf.cluster_writes],
                operands.cluster_writes,
            );
            if report.thread_instructions == 32 * report.warp_instructions {
                assert_eq!((partial, clusters), (Some(0), Some(0)), "{name}: {rfc:?}");
                without_divergence += 1;
            }
        }
        assert!(without_divergence >= 2, "{without_divergence}");
    }
}

#[test]
fn a_cache_spares_the_main_register_file_reads_and_writes() {
    for cached in [&CACHED, &SMALL_CACHE] {
        for ((name, report), baseline) in names().zip(cached.iter()).zip(BASELINE.iter()) {
            let (with, without) = (report.mrf(), baseline.mrf());
            assert!(with.reads < without.reads, "{name}: {with:?}, {without:?}");
            assert!(with.writes < without.writes, "{name}: {with:?}, {without:?}");
            assert!(rfc::accesses(report).writes > 0, "{name}");
            assert!(report.scheduler.suspensions > 0, "{name}");
            assert!(report.cycles >= report.warp_instructions, "{name}: single issue");
        }
    }
    let reads = |reports: &Reports| reports.iter().map(|report| report.mrf().reads).sum::<u64>();
    assert!(reads(&SMALL_CACHE) > reads(&CACHED), "three entries hold less than six");
}

#[test]
fn a_run_repeated_or_begun_from_another_seed_gives_the_same_report() {
    for (name, report) in names().zip(CACHED.iter()).filter(|(name, _)| ["pathfinder", "nw"].contains(name)) {
        for seed in [0, 0x5eed] {
            let options = RunOptions { seed, ..RunOptions::default() };
            let again = run(&gebhart("rfc"), &mut tiny(name), options).unwrap();
            assert_eq!(*report, again, "{name}, seed {seed}");
        }
    }
}
