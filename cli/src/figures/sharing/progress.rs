//! How far blocks that share get: Figs. 2.19 and 3.12.

use anyhow::Result;
use warpfile_sim::mechanisms::sharing::{COUNTERS, Shared};

use super::release::{DESIGNS, of};
use super::{bars_absent, order_of_the_ptx, register_sharing, scratchpad};
use crate::figures::Cause;
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, chart, named, ratio, table};
use crate::figures::sweep::{Point, Results};

/// Why numbers of Fig. 2.19(a) differ.
pub const CAUSES_19: &[Cause] = &[order_of_the_ptx(&["most"])];

/// A part of a run's cycles in per cent, by workload.
fn percent(results: &Results, point: &Point, part: fn(&Shared) -> (u64, u64)) -> Vec<Option<f64>> {
    let of_run = |counters: Shared| {
        let (some, all) = part(&counters);
        ratio(100.0 * some as f64, all as f64)
    };
    results.of(point).iter().map(|run| of_run(run.report.counters.get(COUNTERS))).collect()
}

/// Fig. 2.19(a).
pub fn figure_19a(results: &Results) -> Result<Content> {
    Ok(active(results, &register_sharing(), 56.0, "Fig. 2.19(a)"))
}

/// Fig. 2.19(b).
pub fn figure_19b(results: &Results) -> Result<Content> {
    Ok(active(results, &scratchpad::shared(), 100.0, "Fig. 2.19(b)"))
}

/// Cycles in which additional warps could go on; the most that the thesis has.
fn active(results: &Results, point: &Point, thesis: f64, figure: &'static str) -> Content {
    let values = percent(results, point, |counted| {
        (counted.additional - counted.additional_waits, counted.additional)
    });
    let series = Series::new("active", "active, %", 1, values);
    let most = series.values.iter().flatten().copied().reduce(f64::max);
    let what = "cycles in which additional warps could go on, at most";
    let text = most.map_or_else(|| "no value".to_owned(), |most| format!("{most:.1} %"));
    let claim = Claim::new("§2.5.1.6", format!("{what}: {thesis} %"), text).number(Number::share(
        "most",
        what,
        Stated::exactly(thesis),
        most,
    ));
    let notes = vec![
        "An additional warp is one whose block is not the owner of its pair. It could go on in cycles in which it did not wait for \
         what the pair shares. All kernels of the programs count; a dash: none shares."
            .to_owned(),
    ];
    let series = [series];
    Content {
        claims: vec![claim, bars_absent(figure)],
        tables: vec![table(
            "cycles",
            "Cycles of additional warps until they are the owner's, per cent",
            results,
            &series,
            Average::Arithmetic,
        )],
        notes,
        charts: vec![chart("active cycles", "%", results, &series, Average::Arithmetic, false)],
    }
}

/// Fig. 3.12: sharing under OWF, with variables laid out, with `relssp` as early as every path allows, and at the postdominator.
pub fn figure_12(results: &Results) -> Result<Content> {
    type Part = (&'static str, &'static str, fn(&Shared) -> u64);
    let parts: [Part; 3] = [
        ("before", "before", |counted| counted.before_lock),
        ("with", "with the lock", |counted| counted.with_lock),
        ("after", "after", |counted| counted.after_lock),
    ];
    let [_lrr, under_owf @ ..] = DESIGNS;
    let by_design = under_owf.map(|design| {
        parts.map(|(key, heading, part)| {
            let runs = results.of(&of(design)).iter();
            let values = runs.map(|run| {
                let counted: Shared = run.report.counters.get(COUNTERS);
                let all = counted.before_lock + counted.with_lock + counted.after_lock;
                ratio(100.0 * part(&counted) as f64, all as f64)
            });
            let (_, design_key, _) = design;
            let (key, heading) = (format!("{design_key}_{key}"), format!("{design_key}, {heading}"));
            Series::new(key, heading, 1, values.collect())
        })
    });
    let [owf, layout, relssp, _] = &by_design;
    let never = named(results, &owf[1], |value| value == 0.0, |_| String::new());
    let with_lock = owf[1].values.iter().zip(&layout[1].values);
    let moved = with_lock.map(|(without, with)| Some((with.as_ref()? - without.as_ref()?).abs())).collect();
    let moved =
        named(results, &Series::new("moved", "", 1, moved), |points| points >= 1.0, |_| String::new());
    let claims = vec![
        Claim::new(
            "§3.4.1.6",
            "the layout changes nothing",
            format!("cycles with the lock by a point or more in: {moved}"),
        ),
        Claim::new(
            "§3.4.1.6",
            "none of the blocks that share accesses shared scratchpad in heartwall; in all others they do",
            format!("none in: {never}"),
        ),
        bars_absent("Fig. 3.12"),
    ];
    let notes = vec![
        "Block cycles of blocks that share, both of a pair: before a block has had the lock of what its pair shares, with it, and \
         after all of its threads have released it: under OWF, with variables laid out, with relssp, and with it at the \
         postdominator. All kernels of the programs count; a dash: none shares."
            .to_owned(),
    ];
    Ok(Content {
        claims,
        tables: vec![table(
            "progress",
            "Cycles of blocks that share, per cent",
            results,
            by_design.as_flattened(),
            Average::Arithmetic,
        )],
        notes,
        charts: vec![chart(
            "cycles of blocks that share, with relssp",
            "%",
            results,
            relssp,
            Average::Arithmetic,
            true,
        )],
    })
}
