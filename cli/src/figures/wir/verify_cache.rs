//! Fig. 18: what the verify cache takes off the register file, and off its banks' conflicts.

use anyhow::Result;
use warpfile_sim::mechanisms::register_file::{RETRIES, Retries};

use super::{AVERAGES, RLPV, baseline, counted, share, values_absent};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, ratio, table};
use crate::figures::sweep::{Point, Results, Run};

/// Entries of the SM's verify caches (Fig. 18).
const ENTRIES: [u64; 4] = [0, 4, 8, 16];
/// Writes that are verify-reads instead without a verify cache, per cent (§VII-D).
const VERIFIED: f64 = 48.0;
/// Bank conflicts that verify-reads add and 8 entries remove, per cent (§VII-D: nearly 50).
const REMOVED: f64 = 50.0;

fn with_entries(entries: u64) -> Point {
    RLPV.point().with("wir.verify_entries", entries)
}

/// The baseline and every size.
pub fn points() -> Vec<Point> {
    std::iter::once(baseline()).chain(ENTRIES.map(with_entries)).collect()
}

/// Reads for instructions, verify-reads, writes.
fn accesses(run: &Run) -> [u64; 3] {
    let (mrf, counted) = (run.report.mrf(), counted(run));
    [mrf.reads - counted.verify_reads, counted.verify_reads, mrf.writes]
}

/// Fig. 18a.
pub fn figure_18a(results: &Results) -> Result<Content> {
    const KINDS: [(&str, &str); 3] =
        [("reads", "reads"), ("verify_reads", "verify-reads"), ("writes", "writes")];
    let mut columns = Vec::new();
    for entries in ENTRIES {
        for (place, (key, heading)) in KINDS.into_iter().enumerate() {
            let pairs = results.of(&with_entries(entries)).iter().zip(results.of(&baseline()));
            let values = pairs.map(|(run, base)| {
                ratio(accesses(run)[place] as f64, accesses(base).iter().sum::<u64>() as f64)
            });
            let key = format!("entries_{entries}_{key}");
            columns.push(Series::new(key, format!("{heading}, {entries}"), 3, values.collect()));
        }
    }
    let without = results.of(&with_entries(0));
    let verified = Series::of_runs("verified", "verified", 1, without, |run| {
        let [_, verify_reads, writes] = accesses(run);
        ratio(100.0 * verify_reads as f64, (verify_reads + writes) as f64)
    });
    let removed = |entries: u64| {
        let reads = |entries: u64| -> u64 {
            results.of(&with_entries(entries)).iter().map(|run| counted(run).verify_reads).sum()
        };
        let left = ratio(100.0 * reads(entries) as f64, reads(0) as f64);
        left.map_or_else(|| "no value".to_owned(), |left| format!("{entries}: {left:.1} %"))
    };
    let left: Vec<String> = ENTRIES[1..].iter().map(|&entries| removed(entries)).collect();
    Ok(Content {
        claims: vec![
            share(
                "§VII-D",
                "verified",
                "writes that are verify-reads instead, without verify cache",
                Stated::exactly(VERIFIED),
                (results, &verified),
            ),
            Claim::new(
                "§VII-D",
                "8 entries remove most of what verify-reads cost; 16 add little",
                format!("verify-reads left by entries, of all workloads together: {}", left.join(", ")),
            ),
            values_absent("Fig. 18a"),
        ],
        tables: vec![table(
            "accesses",
            "Accesses to the register file by kind and entries of the verify caches, relative to all of the baseline",
            results,
            &columns,
            Average::Arithmetic,
        )],
        notes: vec![
            "Without entries it is the design without a verify cache. Reads are those of instructions and of dummy MOVs."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![chart(
            "accesses to the register file",
            "relative to the baseline",
            results,
            &columns,
            Average::Arithmetic,
            false,
        )],
    })
}

/// Times that an access to a bank was put off, by all accesses.
fn retries(run: &Run) -> Option<f64> {
    let (mrf, Retries { reads, extra_reads, writes }) = (run.report.mrf(), run.report.counters.get(RETRIES));
    ratio((reads + extra_reads + writes) as f64, (mrf.reads + mrf.writes) as f64)
}

/// Fig. 18b.
pub fn figure_18b(results: &Results) -> Result<Content> {
    let base = Series::of_runs("baseline", "baseline", 3, results.of(&baseline()), retries);
    let of = |entries: u64| {
        let (key, heading) = (format!("entries_{entries}"), format!("{entries} entries"));
        Series::of_runs(key, heading, 3, results.of(&with_entries(entries)), retries)
    };
    let sizes = ENTRIES.map(of);
    let mean = |series: &Series| series.average(results, Average::Arithmetic);
    let [base_mean, without, with_8] = [&base, &sizes[0], &sizes[2]].map(mean);
    let removed = base_mean.zip(without).zip(with_8).and_then(|((base, without), with_8)| {
        let added = without - base;
        (added > 0.0).then(|| 100.0 * (without - with_8) / added)
    });
    let number = Number::share(
        "removed",
        "bank conflicts that verify-reads add which 8 entries remove",
        Stated::exactly(REMOVED),
        removed,
    );
    let all = [base_mean, without, mean(&sizes[1]), with_8, mean(&sizes[3])];
    let all: Vec<String> = all
        .iter()
        .map(|mean| mean.map_or_else(|| "no value".to_owned(), |mean| format!("{mean:.3}")))
        .collect();
    let series: Vec<Series> = std::iter::once(base).chain(sizes).collect();
    Ok(Content {
        claims: vec![
            Claim::new("§VII-D", "8 entries remove nearly 50 % of the added bank conflicts", number.here_text())
                .number(number),
            Claim::new(
                "§VII-D",
                "bank conflicts are more frequent without verify cache than in the baseline; 16 entries add little to 8",
                format!("retries an access of the baseline, with 0, 4, 8, 16 entries: {}", all.join(", ")),
            ),
            values_absent("Fig. 18b"),
        ],
        tables: vec![table(
            "retries",
            "Cycles by which accesses to banks are put off, by all accesses and entries of the verify caches",
            results,
            &series,
            Average::Arithmetic,
        )],
        notes: vec![
            "An access is put off for a cycle if its bank is read (or written) for another, if an older instruction reads \
             its operand of the same place, or, a write, if its register has still to be read."
                .to_owned(),
            AVERAGES.to_owned(),
        ],
        charts: vec![chart("bank conflicts", "retries an access", results, &series, Average::Arithmetic, false)],
    })
}
