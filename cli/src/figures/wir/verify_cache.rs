//! Fig. 18a: what the verify cache takes off the register file.

use anyhow::Result;

use super::{AVERAGES, RLPV, baseline, counted, share, values_absent};
use crate::figures::number::Stated;
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, ratio, table};
use crate::figures::sweep::{Point, Results, Run};

/// Entries of the SM's verify caches (Fig. 18).
const ENTRIES: [u64; 4] = [0, 4, 8, 16];
/// Writes that are verify-reads instead without a verify cache, per cent (§VII-D).
const VERIFIED: f64 = 48.0;

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
