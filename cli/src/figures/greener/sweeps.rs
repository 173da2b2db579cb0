//! Figs. 4.10 to 4.12 and 4.15, Table 4.5: latencies, routing, nodes, thresholds.

use anyhow::Result;

use super::{Column, NODE_NM, baseline, k20x, leakage_pj, model, notes, table};
use crate::figures::report::Content;
use crate::figures::sweep::{Point, Results, Run};

/// Cycles from SLEEP to ON; from OFF it takes twice as many (§4.3.6).
const LATENCIES: [u64; 4] = [1, 2, 3, 4];
/// Thresholds of Table 4.5.
const THRESHOLDS: [u64; 11] = [1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21];
/// Nodes of Fig. 4.15, nm.
const NODES_NM: [u32; 3] = [45, 32, 22];
/// Leakage of routing over that of the cells: what the averages of Figs. 4.8 and 4.12 imply lies between 1.26 and 1.36. GREENER
/// saves 46.96 % without and 20.76 % with it, Sleep-Reg 41 % and 17.4 %.
const ROUTING: [f64; 4] = [0.0, 1.26, 1.31, 1.36];
/// The designs: name, key, heading.
const DESIGNS: [(&str, &str, &str); 2] =
    [("sleep-reg", "sleep_reg", "Sleep-Reg"), ("greener", "greener", "GREENER")];

fn with_latency(design: &str, latency: u64) -> Point {
    k20x(design).with("greener.sleep_latency", latency).with("greener.off_latency", 2 * latency)
}

/// Both designs at every latency.
pub fn points_10() -> Vec<Point> {
    let designs =
        DESIGNS.iter().flat_map(|(design, ..)| LATENCIES.map(|latency| with_latency(design, latency)));
    std::iter::once(baseline()).chain(designs).collect()
}

/// Fig. 4.10.
pub fn figure_10(results: &Results) -> Result<Content> {
    let columns = by_latency(results, |run| Ok(run.report.cycles as f64))?;
    let title = "Cycles by cycles from SLEEP to ON, relative to the baseline";
    Ok(Content { tables: vec![table("cycles", title, results, &columns)], ..Content::default() })
}

/// Fig. 4.11.
pub fn figure_11(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let columns = by_latency(results, |run| leakage_pj(&model, run))?;
    let title = "Leakage energy by cycles from SLEEP to ON, relative to the baseline";
    let tables = vec![table("leakage_energy", title, results, &columns)];
    Ok(Content { tables, notes: notes(), ..Content::default() })
}

fn by_latency(results: &Results, value: impl Fn(&Run) -> Result<f64>) -> Result<Vec<Column>> {
    let columns = DESIGNS.iter().flat_map(|design| LATENCIES.map(|latency| (design, latency)));
    let columns = columns.map(|((design, key, heading), latency)| {
        let (key, heading) = (format!("{key}_{latency}"), format!("{heading}, {latency}"));
        let points = (&with_latency(design, latency), &baseline());
        Column::relative((&key, &heading), results, points, &value, None)
    });
    columns.collect()
}

/// Fig. 4.12: what leaks whatever rows do, by its size.
pub fn figure_12(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let mut columns = Vec::new();
    for (design, key, heading) in DESIGNS {
        for routing in ROUTING {
            let pairs = results.of(&k20x(design)).iter().zip(results.of(&baseline()));
            let with_routing = |(run, base): (&Run, &Run)| {
                let (ours, full) = (leakage_pj(&model, run)?, leakage_pj(&model, base)?);
                let time = run.report.cycles as f64 / base.report.cycles as f64;
                Ok((ours + routing * full * time) / (full * (1.0 + routing)))
            };
            let values = pairs.map(with_routing).collect::<Result<_>>()?;
            let saved = if design == "greener" { 0.2076 } else { 0.174 };
            let thesis = (routing > 0.0).then_some(1.0 - saved);
            let (key, heading) = (format!("{key}_{routing}"), format!("{heading}, {routing} ×"));
            columns.push(Column { key, heading, values, thesis });
        }
    }
    let title = "Leakage energy with routing of so many times the arrays' leakage, relative to the baseline";
    let tables = vec![table("leakage_energy", title, results, &columns)];
    Ok(Content { tables, notes: notes(), ..Content::default() })
}

/// Fig. 4.15.
pub fn figure_15(results: &Results) -> Result<Content> {
    let mut columns = Vec::new();
    for (design, key, heading) in DESIGNS {
        for node_nm in NODES_NM {
            let model = model(node_nm)?;
            let (key, heading) = (format!("{key}_{node_nm}"), format!("{heading}, {node_nm} nm"));
            let points = (&k20x(design), &baseline());
            columns.push(Column::relative(
                (&key, &heading),
                results,
                points,
                |run| leakage_pj(&model, run),
                None,
            )?);
        }
    }
    let title = "Leakage energy by node, relative to the baseline of the node";
    let tables = vec![table("leakage_energy", title, results, &columns)];
    Ok(Content { tables, notes: notes(), ..Content::default() })
}

fn with_threshold(threshold: u64) -> Point {
    k20x("greener").with("greener.threshold", threshold)
}

/// GREENER at every threshold.
pub fn points_table_5() -> Vec<Point> {
    THRESHOLDS.map(with_threshold).to_vec()
}

/// Geometric means over Table 4.5's rows of the kernels that are here, by W = 3: BP, BFS1, BFS2, BS, LMD, MR1, MR2, PF, SGEMM,
/// SP, VA.
const THESIS: [[f64; 11]; 11] = [
    [308.5, 308.48, 310.53, 311.78, 311.29, 314.01, 310.56, 313.27, 313.27, 311.78, 311.78],
    [52.59, 52.03, 52.15, 52.15, 52.15, 52.15, 52.15, 52.15, 52.15, 52.15, 52.15],
    [19.92, 19.91, 19.92, 19.92, 19.92, 19.92, 19.92, 19.92, 19.92, 19.92, 19.92],
    [2298.66, 2283.88, 2210.96, 2249.95, 2231.68, 2222.5, 2324.12, 2231.23, 2231.23, 2231.23, 2185.78],
    [2.99, 2.97, 2.97, 2.97, 2.97, 2.97, 2.97, 2.97, 2.97, 2.97, 2.97],
    [2.12, 2.08, 2.09, 2.09, 2.09, 2.09, 2.09, 2.09, 2.09, 2.09, 2.09],
    [2938.98, 3030.98, 2944.6, 2809.69, 2809.69, 2809.69, 2893.19, 2903.46, 2903.46, 2839.47, 2848.97],
    [273.22, 274.27, 275.43, 276.0, 275.59, 275.8, 275.82, 276.73, 276.73, 278.27, 278.27],
    [5672.12, 5660.97, 5692.81, 5680.86, 5684.16, 5670.51, 5677.64, 5672.13, 5724.88, 5730.11, 5730.11],
    [265.82, 270.1, 259.65, 264.32, 250.81, 287.31, 277.71, 277.71, 277.71, 277.71, 277.71],
    [10.85, 11.13, 11.13, 11.13, 11.13, 11.13, 11.13, 11.13, 11.13, 11.13, 11.13],
];

/// Where W = 3 is among the thresholds.
const CHOSEN: usize = 1;

/// Table 4.5.
pub fn table_5(results: &Results) -> Result<Content> {
    let model = model(NODE_NM)?;
    let chosen = with_threshold(THRESHOLDS[CHOSEN]);
    let columns = THRESHOLDS.iter().enumerate().map(|(index, &threshold)| {
        let (key, heading) = (format!("w_{threshold}"), format!("W = {threshold}"));
        let points = (&with_threshold(threshold), &chosen);
        let rows = THESIS.iter().map(|row| row[index] / row[CHOSEN]);
        let thesis = crate::figures::statistics::geometric_mean(rows);
        Column::relative((&key, &heading), results, points, |run| leakage_pj(&model, run), thesis)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let tables =
        vec![table("leakage_energy", "GREENER's leakage energy, relative to W = 3", results, &columns)];
    let mut notes = notes();
    notes.push(
        "The thesis's row is of those of its 21 kernels that are here: 11 kernels of 9 applications.".into(),
    );
    Ok(Content { tables, notes, ..Content::default() })
}
