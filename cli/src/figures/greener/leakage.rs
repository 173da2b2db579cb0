//! Figs. 4.6 to 4.9: leakage power, cycles, leakage energy, and what each optimisation adds.

use anyhow::Result;
use warpfile_sim::mechanisms::greener::{COUNTERS, Power};

use super::{
    COMP_OPT, DESIGNS, Design, GREENER, NODE_NM, SLEEP_REG, baseline, leakage_pj, model, notes, percent,
    relative, saved, saving, values_absent,
};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Claim, Content, Table};
use crate::figures::series::{Average, Series, chart, named, percent_change, ratio, table};
use crate::figures::sweep::{Point, Results, Run};
use crate::figures::{Cause, Study};

/// What the thesis's designs save of the leakage power, per cent (§4.3.1).
const POWER: [f64; 2] = [41.86, 47.24];
/// By how much they take longer, per cent (§4.3.2).
const CYCLES: [f64; 2] = [1.48, 0.53];
/// What Sleep-Reg, Comp-OPT and GREENER save of the leakage energy, per cent (§4.3.3, §4.3.4).
const ENERGY: [f64; 3] = [41.0, 47.14, 46.96];
/// What GREENER saves of it at most, of one kernel, and beside Sleep-Reg, per cent (§4.1.2, §4.3.3).
const MOST: f64 = 57.57;
const BESIDE_SLEEP_REG: f64 = 10.1;

/// Why numbers of Fig. 4.6 differ.
pub const CAUSES_6: &[Cause] = &[off_leaks(&["sleep_reg", "greener"])];
/// Why numbers of Fig. 4.7 differ.
pub const CAUSES_7: &[Cause] = &[Cause {
    of: &["sleep_reg", "greener"],
    why: "A scheduler issues two instructions of a warp in a cycle, as GPGPU-Sim does. The second is decoded when the first \
          issues, and follows in the same cycle only if its rows are ON already and the first does not read them, too: what \
          registers that sleep lose is most of all the second instruction. Where one issues:",
    run: "--set sm.issues_per_scheduler=1",
}];
/// Why numbers of Fig. 4.8 differ.
pub const CAUSES_8: &[Cause] = &[off_leaks(&["sleep_reg", "greener", "beside_sleep_reg", "most"])];
/// Why numbers of Fig. 4.9 differ.
pub const CAUSES_9: &[Cause] = &[off_leaks(&["sleep_reg", "comp_opt", "greener"])];

/// What rows leak that belong to no warp.
pub const fn off_leaks(of: &'static [&'static str]) -> Cause {
    Cause {
        of,
        why: "Rows that no warp has accessed are OFF, and leak nothing here: of vectoradd, whose 64 warps have 6 registers a \
              thread, four fifths of the file. In the thesis no kernel saves more than 57.57 % (§4.1.2), VA among them. If \
              that is what a file saves all of which is OFF, a row that is OFF leaks 42.4 % of one that is ON. With that:",
        run: "--set greener.off_leakage=0.424",
    }
}

/// Columns of studies.
const COLUMNS: &[(&str, &str, &str)] = &[
    ("greener-4.8", "greener", "energy saved by GREENER"),
    ("greener-4.8", "sleep_reg", "by Sleep-Reg"),
    ("greener-4.7", "greener", "cycles of GREENER"),
    ("greener-4.7", "sleep_reg", "of Sleep-Reg"),
];
/// What the page looks into beside the claims.
pub const STUDIES: &[Study] = &[
    Study {
        title: "Entries of the lookup table",
        text: "Two entries a warp, of which the thesis says that they are more than the average, have no room for a third of \
               the instructions here (Fig. 4.9). What is left out loses nothing: its registers follow the compiler alone.",
        columns: COLUMNS,
        runs: &[
            ("1 entry", "--workloads sgemm,mri-q,lavaMD --set greener.lookup_entries=1"),
            ("2 entries", "--workloads sgemm,mri-q,lavaMD"),
            ("8 entries", "--workloads sgemm,mri-q,lavaMD --set greener.lookup_entries=8"),
        ],
    },
    Study {
        title: "Liveness of all lanes beside that of a thread",
        text: "What switching a register off only where no lane can need it costs beside the thesis's liveness, whose \
               would-be losses are not.",
        columns: COLUMNS,
        runs: &[
            ("of all lanes", "--workloads bfs,mri-q,lavaMD"),
            ("of a thread", "--workloads bfs,mri-q,lavaMD --set greener.liveness=thesis"),
        ],
    },
];

/// Baseline, Sleep-Reg and GREENER.
pub fn points() -> Vec<Point> {
    std::iter::once(baseline()).chain(DESIGNS.map(Design::point)).collect()
}

/// The same and GREENER without its lookup table.
pub fn points_9() -> Vec<Point> {
    points().into_iter().chain([COMP_OPT.point()]).collect()
}

/// A quantity of designs relative to the baseline's, with the thesis's averages.
fn series(
    results: &Results,
    designs: &[Design],
    paper: &[f64],
    value: impl Fn(&Run) -> Result<f64>,
) -> Result<Vec<Series>> {
    let of_design = |(design, paper): (&Design, &f64)| {
        let values = relative(results, (&design.point(), &baseline()), &value)?;
        Ok(Series::new(design.key, design.heading, 3, values).with_paper(Some(*paper)))
    };
    designs.iter().zip(paper).map(of_design).collect()
}

/// What remains of something of which so much is saved, per cent.
fn remaining<const N: usize>(saved: [f64; N]) -> [f64; N] {
    saved.map(|saved| 1.0 - saved / 100.0)
}

/// Fig. 4.6.
pub fn figure_6(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let power = |run: &Run| Ok(leakage_pj(&model, run)? / run.report.sm_cycles().max(1) as f64);
    let series = series(results, &DESIGNS, &remaining(POWER), power)?;
    let claims = DESIGNS.iter().zip(POWER).zip(&series);
    let claims = claims.map(|((design, paper), series)| {
        saving("§4.3.1", "leakage power", *design, paper, (results, series))
    });
    Ok(Content {
        claims: claims.chain([values_absent("Fig. 4.6")]).collect(),
        tables: vec![
            table(
                "leakage_power",
                "Leakage power, relative to the baseline",
                results,
                &series,
                Average::Geometric,
            ),
            states(results),
        ],
        notes: notes(),
        charts: vec![chart(
            "leakage power",
            "relative to the baseline",
            results,
            &series,
            Average::Geometric,
            false,
        )],
    })
}

/// Counters of a run's power states.
pub(super) fn power(run: &Run) -> Power {
    run.report.counters.get(COUNTERS)
}

/// What rows were in.
fn states(results: &Results) -> Table {
    let share = |part: fn(&Power) -> u64| {
        move |run: &Run| {
            let power = power(run);
            ratio(100.0 * part(&power) as f64, (power.on + power.sleep + power.off) as f64)
        }
    };
    let of_design = |design: &Design| {
        let runs = results.of(&design.point());
        let column = |key: &str, heading: &str, part| {
            let (key, heading) =
                (format!("{}_{key}_percent", design.key), format!("{}: {heading}, %", design.heading));
            Series::of_runs(key, heading, 1, runs, share(part))
        };
        [
            column("on", "ON", |power: &Power| power.on),
            column("sleep", "SLEEP", |power: &Power| power.sleep),
            column("off", "OFF", |power: &Power| power.off),
        ]
    };
    let series: Vec<Series> = DESIGNS.iter().flat_map(of_design).collect();
    let title =
        "Rows by state, of all cycles; those OFF in Sleep-Reg belong to no warp that has accessed them";
    table("rows_by_state", title, results, &series, Average::Arithmetic)
}

/// Fig. 4.7.
pub fn figure_7(results: &Results) -> Result<Content> {
    let cycles = |run: &Run| Ok(run.report.cycles as f64);
    let paper = CYCLES.map(|percent| 1.0 + percent / 100.0);
    let series = series(results, &DESIGNS, &paper, cycles)?;
    let claim = |((design, paper), series): ((&Design, f64), &Series)| {
        let here = percent_change(series.average(results, Average::Geometric));
        let what = format!("cycles of {}", design.heading);
        Claim::new("§4.3.2", format!("{what}: +{paper} %"), percent(here)).number(Number::change(
            design.key,
            what,
            Stated::exactly(paper),
            here,
        ))
    };
    let mut claims: Vec<Claim> = DESIGNS.iter().zip(CYCLES).zip(&series).map(claim).collect();
    let greener = series.last().map_or_else(String::new, |greener| {
        named(results, greener, |time| time < 1.0, |time| format!(" {:.1} %", 100.0 * (time - 1.0)))
    });
    claims.push(Claim::new(
        "§4.3.2",
        "GREENER is faster than the baseline in LPS, MC2, MR1, NN2, SP and VA",
        format!("faster: {greener}"),
    ));
    claims.push(values_absent("Fig. 4.7"));
    Ok(Content {
        claims,
        tables: vec![
            table("cycles", "Cycles, relative to the baseline", results, &series, Average::Geometric),
            waits(results),
        ],
        notes: vec![
            "Waits are warps whose next instruction waits for nothing else, for each cycle that the run takes.".to_owned(),
        ],
        charts: vec![chart("cycles", "relative to the baseline", results, &series, Average::Geometric, false)],
    })
}

/// What warps waited for.
fn waits(results: &Results) -> Table {
    let a_cycle = |part: fn(&Power) -> u64| {
        move |run: &Run| ratio(part(&power(run)) as f64, run.report.sm_cycles() as f64)
    };
    let of_design = |design: &Design| {
        let runs = results.of(&design.point());
        let column = |key: &str, heading: &str, part| {
            let (key, heading) = (format!("{}_{key}", design.key), format!("{}: {heading}", design.heading));
            Series::of_runs(key, heading, 3, runs, a_cycle(part))
        };
        [
            column("wake", "for rows to wake up", |power: &Power| power.wake_waits),
            column("read", "for a read", |power: &Power| power.read_waits),
        ]
    };
    let series: Vec<Series> = DESIGNS.iter().flat_map(of_design).collect();
    table("waits", "Warps that wait, a cycle", results, &series, Average::Arithmetic)
}

/// Fig. 4.8.
pub fn figure_8(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let paper = [ENERGY[0], ENERGY[2]];
    let series = series(results, &DESIGNS, &remaining(paper), |run| leakage_pj(&model, run))?;
    let claims = DESIGNS.iter().zip(paper).zip(&series);
    let mut claims: Vec<Claim> = claims
        .map(|((design, paper), series)| {
            saving("§4.3.3", "leakage energy", *design, paper, (results, series))
        })
        .collect();
    let beside = relative(results, (&GREENER.point(), &SLEEP_REG.point()), |run| leakage_pj(&model, run))?;
    let beside = Series::new("beside_sleep_reg", "GREENER, beside Sleep-Reg", 3, beside);
    let less = saved(beside.average(results, Average::Geometric));
    let what = "leakage energy saved by GREENER beside Sleep-Reg";
    claims.push(
        Claim::new("§4.3.3", format!("{what}: {BESIDE_SLEEP_REG} %"), percent(less)).number(Number::change(
            "beside_sleep_reg",
            what,
            Stated::exactly(BESIDE_SLEEP_REG),
            less,
        )),
    );
    let least = series.last().and_then(|greener| greener.values.iter().copied().flatten().reduce(f64::min));
    let what = "leakage energy saved by GREENER at most";
    claims.push(
        Claim::new("§4.1.2", format!("{what}: {MOST} %"), percent(saved(least))).number(Number::change(
            "most",
            what,
            Stated::exactly(MOST),
            saved(least),
        )),
    );
    claims.push(values_absent("Fig. 4.8"));
    let drawn =
        chart("leakage energy", "relative to the baseline", results, &series, Average::Geometric, false);
    let columns: Vec<Series> = series.into_iter().chain([beside]).collect();
    Ok(Content {
        claims,
        tables: vec![table(
            "leakage_energy",
            "Leakage energy, relative to the baseline",
            results,
            &columns,
            Average::Geometric,
        )],
        notes: notes(),
        charts: vec![drawn],
    })
}

/// Fig. 4.9.
pub fn figure_9(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let designs = [SLEEP_REG, COMP_OPT, GREENER];
    let series = series(results, &designs, &remaining(ENERGY), |run| leakage_pj(&model, run))?;
    let claims = designs.iter().zip(ENERGY).zip(&series);
    let claims = claims.map(|((design, paper), series)| {
        saving("§4.3.4", "leakage energy", *design, paper, (results, series))
    });
    let drawn =
        chart("leakage energy", "relative to the baseline", results, &series, Average::Geometric, false);
    Ok(Content {
        claims: claims.chain([values_absent("Fig. 4.9")]).collect(),
        tables: vec![
            table(
                "leakage_energy",
                "Leakage energy, relative to the baseline",
                results,
                &series,
                Average::Geometric,
            ),
            corrections(results),
        ],
        notes: notes(),
        charts: vec![drawn],
    })
}

/// What the lookup table does.
fn corrections(results: &Results) -> Table {
    let runs = results.of(&GREENER.point());
    let an_instruction = |part: fn(&Power) -> u64| {
        move |run: &Run| ratio(100.0 * part(&power(run)) as f64, run.report.warp_instructions as f64)
    };
    let series = [
        Series::of_runs("kept_on", "rows kept ON", 2, runs, an_instruction(|power| power.kept_on)),
        Series::of_runs("not_entered", "not entered", 2, runs, an_instruction(|power| power.not_entered)),
    ];
    table(
        "lookup_table",
        "GREENER's lookup table, for 100 warp instructions",
        results,
        &series,
        Average::Arithmetic,
    )
}
