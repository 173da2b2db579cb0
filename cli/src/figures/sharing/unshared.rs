//! Workloads that are not limited by registers: Fig. 2.22(a).

use anyhow::Result;

use super::{content, speedup};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content};
use crate::figures::series::{Average, Series, change, percent_change};
use crate::figures::sweep::{Point, Results};

fn on_machine(design: &str, policy: &str) -> Point {
    Point::new("jatala-ch2", design).with("scheduler.single_level", policy)
}

fn owf() -> Point {
    Point::new("jatala-ch2", "reg-share")
}

/// LRR and GTO with and without sharing, and OWF.
pub fn points() -> Vec<Point> {
    let of_policy = |policy| ["baseline", "single-level+reg-share"].map(|design| on_machine(design, policy));
    ["lrr", "gto"].into_iter().flat_map(of_policy).chain([owf()]).collect()
}

/// Fig. 2.22(a).
pub fn figure_22(results: &Results) -> Result<Content> {
    let lrr = on_machine("baseline", "lrr");
    let of =
        |key: &str, heading: &str, point: &Point| Series::new(key, heading, 4, speedup(results, point, &lrr));
    let series = [
        of("shared_lrr", "shared, LRR", &on_machine("single-level+reg-share", "lrr")),
        of("gto", "unshared, GTO", &on_machine("baseline", "gto")),
        of("shared_gto", "shared, GTO", &on_machine("single-level+reg-share", "gto")),
        of("owf", "shared, OWF", &owf()),
    ];
    let same = |key: &'static str, policy: &str| {
        let cycles = |design| {
            let point = on_machine(design, policy);
            results.of(&point).iter().map(|run| run.report.cycles).collect::<Vec<_>>()
        };
        let (without, with) = (cycles("baseline"), cycles("single-level+reg-share"));
        let equal = without.iter().zip(&with).filter(|(one, other)| one == other).count();
        let what = format!("workloads whose cycles are the same with sharing under {policy}, per cent");
        let here = (!with.is_empty()).then(|| 100.0 * equal as f64 / with.len() as f64);
        let said = format!("under {policy} sharing changes no cycle");
        Claim::new("§2.5.2", said, format!("the same cycles in {equal} of {}", with.len()))
            .number(Number::share(key, what, Stated::exactly(100.0), here))
    };
    let beside_gto = Series::new("beside", "", 3, speedup(results, &owf(), &on_machine("baseline", "gto")));
    let mean = beside_gto.average(results, Average::Geometric);
    let claims = vec![
        same("lrr", "lrr"),
        same("gto", "gto"),
        Claim::new("§2.5.2", "OWF is comparable to GTO without sharing", change(mean)).number(
            Number::change("owf", "IPC under OWF beside GTO", Stated::exactly(0.0), percent_change(mean)),
        ),
    ];
    let notes =
        vec!["Registers are those that the code needs here; all kernels of the programs count.".to_owned()];
    Ok(content(results, "Instructions a cycle, relative to LRR without sharing", claims, &series, notes))
}
