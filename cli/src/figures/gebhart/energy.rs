//! Fig. 12 and Table 5: register file energy of the combined architecture.

use anyhow::Result;
use warpfile_sim::counters::Counts;
use warpfile_sim::energy::EnergyModel;
use warpfile_sim::mechanisms::rfc;
use warpfile_sim::sm::RunReport;

use super::{
    ACTIVE, ENTRIES, Measure, WARPS, by_workload, catalogue_order, claim, overall, percent, relative_ipc,
};
use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::statistics::range;
use crate::figures::sweep::{Point, Results, Run};

/// Entries and active warps of Fig. 12: the points of Table 2.
const SIZES: [u64; 3] = [4, 6, 8];
/// Bytes of a lane's register.
const REGISTER_BYTES: u64 = 4;
/// Distances of Table 5 (MRF, RFC to the ALUs, mm) and the paper's energies (compute, shaders).
const TABLE_5: [(f64, f64, f64, f64); 4] =
    [(0.0, 0.0, 0.76, 0.74), (1.0, 1.0, 0.87, 0.86), (1.0, 0.2, 0.65, 0.63), (1.0, 0.0, 0.63, 0.60)];

/// Every size of Table 2, and two single-level schedulers for performance: the inner level's with all warps
/// active (§5.2), and the baseline design's.
pub fn points_12() -> Vec<Point> {
    let sizes = SIZES.into_iter().flat_map(|entries| SIZES.map(|active| Point::rfc(entries, active)));
    sizes.chain([Point::two_level(WARPS), Point::baseline()]).collect()
}

/// The design point.
pub fn points_table_5() -> Vec<Point> {
    vec![Point::rfc(ENTRIES, ACTIVE)]
}

/// Energy relative to the baseline's on the same instructions, with wires of these lengths.
fn normalised(run: &Run, technology: &EnergyModel, mrf_mm: f64, rfc_mm: f64) -> Option<f64> {
    let mut config = run.config.clone();
    config.energy.mrf_to_alu_mm = mrf_mm;
    config.energy.rfc_to_alu_mm = rfc_mm;
    technology.accesses(&config, &run.report).normalised_with_wires
}

/// Energy if every operand were read from and written to the cache alone (§5.4).
fn idealised(run: &Run, technology: &EnergyModel) -> Option<f64> {
    let operands = run.report.operands;
    let mut counters = Counts::default();
    counters.add(rfc::COUNTERS, &operands);
    let report = RunReport { operands, counters, ..RunReport::default() };
    technology.accesses(&run.config, &report).normalised_access
}

fn technology(results: &Results) -> Result<EnergyModel> {
    results.energy_model(&Point::rfc(ENTRIES, ACTIVE))
}

/// Fig. 12.
pub fn figure_12(results: &Results) -> Result<Content> {
    let technology = technology(results)?;
    let energy =
        |point: &Point, workload: usize| normalised(&results.of(point)[workload], &technology, 0.0, 0.0);
    let against = |reference: Point, point: &Point, workload: usize| {
        relative_ipc(&results.of(point)[workload], &results.of(&reference)[workload])
    };
    let ipc = |point: &Point, workload: usize| against(Point::two_level(WARPS), point, workload);
    let ipc_gto = |point: &Point, workload: usize| against(Point::baseline(), point, workload);
    let mean_energy = |entries, active| overall(results, |w| energy(&Point::rfc(entries, active), w));
    let mean_ipc = |entries, active| overall(results, |w| ipc(&Point::rfc(entries, active), w));

    let title = "Register file energy and performance relative to the baseline, mean over workloads";
    let mut sizes = Table::new("energy_by_size", title)
        .column("entries", "entries")
        .column("active_warps", "active warps")
        .column("storage_per_lane_bytes", "bytes a lane")
        .real("normalised_energy", "energy", 3)
        .real("relative_ipc", "IPC against all active", 3)
        .real("baseline_relative_ipc", "IPC against baseline", 3);
    for entries in SIZES {
        for active in SIZES {
            sizes.row(vec![
                entries.into(),
                active.into(),
                (entries * active * REGISTER_BYTES).into(),
                mean_energy(entries, active).into(),
                mean_ipc(entries, active).into(),
                overall(results, |w| ipc_gto(&Point::rfc(entries, active), w)).into(),
            ]);
        }
    }
    let design = Point::rfc(ENTRIES, ACTIVE);
    let runs = results.of(&design);
    let measures = [
        Measure::new("normalised_energy", "energy", 3),
        Measure::new("relative_ipc", "IPC against all active", 3),
        Measure::new("baseline_relative_ipc", "IPC against baseline", 3),
        Measure::new("idealised_saving_percent", "idealised saving, %", 1),
        Measure::new("reads_per_write", "reads a write", 2),
    ];
    let ideal =
        |workload: usize| idealised(&runs[workload], &technology).map(|energy| 100.0 * (1.0 - energy));
    let mix = |workload: usize| {
        let operands = runs[workload].report.operands;
        (operands.cluster_writes > 0).then(|| operands.cluster_reads as f64 / operands.cluster_writes as f64)
    };
    let workloads = by_workload(
        Table::new("design_point_by_workload", "6 entries, 8 active warps, workload by workload"),
        &results.workloads,
        &catalogue_order(&results.workloads),
        &measures,
        |column, workload| match column {
            0 => energy(&design, workload),
            1 => ipc(&design, workload),
            2 => ipc_gto(&design, workload),
            3 => ideal(workload),
            _mix => mix(workload),
        },
    );
    let panel = |title: &str, y_label: &str, value: &dyn Fn(u64, u64) -> Option<f64>| Chart {
        title: title.to_owned(),
        x_label: "entries a thread".to_owned(),
        y_label: y_label.to_owned(),
        plot: Plot::Bars {
            groups: SIZES.map(|entries| entries.to_string()).into(),
            series: SIZES
                .map(|active| {
                    let values = SIZES.map(|entries| value(entries, active));
                    Bars::new(format!("{active} active warps"), values.into())
                })
                .into(),
            stacked: false,
        },
    };
    Ok(Content {
        claims: claims_12(results, &mean_energy, &mean_ipc, &|| overall(results, ideal), &|| overall(results, mix)),
        tables: vec![sizes, workloads],
        notes: vec![
            "Energy is of accesses alone, without wires, by Tables 2 and 3. IPC is relative to the same scheduler \
             over the MRF with all 32 warps active, as in §5.2, and to the baseline design, which goes back to the \
             oldest warp after a stall instead of on to the next."
                .to_owned(),
        ],
        charts: vec![
            panel("Register file energy", "relative to the baseline", &mean_energy),
            panel("Performance", "IPC relative to all warps active", &mean_ipc),
        ],
    })
}

fn claims_12(
    results: &Results,
    energy: &dyn Fn(u64, u64) -> Option<f64>,
    ipc: &dyn Fn(u64, u64) -> Option<f64>,
    idealised: &dyn Fn() -> Option<f64>,
    mix: &dyn Fn() -> Option<f64>,
) -> Vec<Claim> {
    let saving = |energy: Option<f64>| percent(energy.map(|energy| 100.0 * (1.0 - energy)));
    // A write to 8 entries of 8 warps costs 10.9 pJ by Table 2, as much as the 11 pJ of one to the MRF, and nearly every result is written to it.
    let all = SIZES.into_iter().flat_map(|entries| SIZES.map(|active| (entries, active)));
    let no_larger = all.filter(|(entries, active)| entries * active <= ENTRIES * ACTIVE);
    let extent = range(no_larger.filter_map(|(entries, active)| energy(entries, active)));
    let savings = extent.map(|(low, high)| (100.0 * (1.0 - high), 100.0 * (1.0 - low)));
    let extent = extent.map_or_else(
        || "no value".to_owned(),
        |(low, high)| format!("{} to {}", saving(Some(high)), saving(Some(low))),
    );
    let best = SIZES.map(|active| {
        let best = SIZES.into_iter().filter_map(|entries| Some((entries, energy(entries, active)?)));
        let best = best.min_by(|a, b| a.1.total_cmp(&b.1));
        best.map_or_else(|| "no value".to_owned(), |(entries, _)| format!("{active} active: {entries}"))
    });
    vec![
        claim(
            "§5.4",
            "energy falls by 20 % to 40 % for a variety of design points",
            format!(
                "{extent} with up to {} entries; {} with 8 of 8 warps",
                ENTRIES * ACTIVE,
                saving(energy(8, 8))
            ),
        )
        .numbers(
            savings
                .map(|(low, high)| (Some(low), Some(high)))
                .map_or([None, None], |(low, high)| [low, high])
                .into_iter()
                .zip([("least", 20.0), ("most", 40.0)])
                .map(|(here, (name, paper))| {
                    let what =
                        format!("energy saved by the design point of up to 48 entries that saves {name}");
                    Number::change(format!("saving_{name}"), what, Stated::exactly(paper), here)
                }),
        ),
        claim(
            "§5.4",
            "6 entries generally save most",
            format!("entries that save most: {}", best.join(", ")),
        ),
        claim(
            "§5.4",
            "6 entries, 8 active: 25 % less energy without a performance penalty",
            format!(
                "{} less, IPC {} of that with all warps active",
                saving(energy(ENTRIES, ACTIVE)),
                percent(ipc(ENTRIES, ACTIVE).map(|ipc| 100.0 * ipc))
            ),
        )
        .numbers([
            Number::change(
                "saving",
                "energy saved, 6 entries, 8 active",
                Stated::exactly(25.0),
                energy(ENTRIES, ACTIVE).map(|energy| 100.0 * (1.0 - energy)),
            ),
            Number::change(
                "ipc",
                "IPC of 8 active warps beside all",
                Stated::exactly(0.0),
                ipc(ENTRIES, ACTIVE).map(|ipc| 100.0 * (ipc - 1.0)),
            ),
        ]),
        claim(
            "§5.4",
            "at most 58 % could be saved there, if the MRF were never accessed",
            format!(
                "{}, at {:.2} reads a write (means over {} workloads)",
                percent(idealised()),
                mix().unwrap_or(f64::NAN),
                results.workloads.len()
            ),
        )
        .number(Number::change(
            "bound",
            "energy saved if the MRF were never accessed",
            Stated::exactly(58.0),
            idealised(),
        )),
        claim("§5.4", "6 entries, 8 active: 192 bytes a lane, 6,144 an SM", {
            let lane = ENTRIES * ACTIVE * REGISTER_BYTES;
            format!("{lane} bytes a lane, {} an SM", lane * 32)
        })
        .number(Number::of(
            "bytes",
            "storage",
            "storage a lane, 6 entries, 8 active",
            Stated::exactly(192.0),
            Some((ENTRIES * ACTIVE * REGISTER_BYTES) as f64),
        )),
    ]
}

/// Table 5.
pub fn table_5(results: &Results) -> Result<Content> {
    let technology = technology(results)?;
    let runs = results.of(&Point::rfc(ENTRIES, ACTIVE));
    let energy = |row: usize, workload: usize| {
        let (mrf_mm, rfc_mm, ..) = TABLE_5[row];
        normalised(&runs[workload], &technology, mrf_mm, rfc_mm)
    };
    let title = "Energy relative to the baseline with wires of the same length from its MRF";
    let mut distances = Table::new("energy_by_distance", title)
        .real("mrf_to_alu_mm", "MRF to ALU, mm", 1)
        .real("rfc_to_alu_mm", "RFC to ALU, mm", 1)
        .real("paper_compute", "paper, compute", 2)
        .real("paper_shaders", "paper, shaders", 2)
        .real("normalised_energy", "here, mean", 2)
        .real("lowest", "lowest", 2)
        .real("highest", "highest", 2);
    for (row, (mrf_mm, rfc_mm, compute, shaders)) in TABLE_5.into_iter().enumerate() {
        let extent = range((0..runs.len()).filter_map(|workload| energy(row, workload)));
        let mut cells: Vec<Cell> = [mrf_mm, rfc_mm, compute, shaders].map(Cell::from).into();
        cells.push(overall(results, |workload| energy(row, workload)).into());
        cells.push(extent.map(|extent| extent.0).into());
        cells.push(extent.map(|extent| extent.1).into());
        distances.row(cells);
    }
    let measures = TABLE_5.map(|(mrf_mm, rfc_mm, ..)| {
        let key = format!("mrf_{mrf_mm}_rfc_{rfc_mm}_mm").replace('.', "_");
        Measure::new(key, format!("{mrf_mm}/{rfc_mm} mm"), 3)
    });
    let workloads = by_workload(
        Table::new("energy_by_workload", "The same workload by workload (MRF/RFC to ALU)"),
        &results.workloads,
        &catalogue_order(&results.workloads),
        &measures,
        energy,
    );
    let groups = TABLE_5.map(|(mrf_mm, rfc_mm, ..)| format!("MRF {mrf_mm} mm, RFC {rfc_mm} mm"));
    let here = (0..TABLE_5.len()).map(|row| overall(results, |workload| energy(row, workload)));
    let saved = |row| overall(results, |workload| energy(row, workload)).map(|e| 100.0 * (1.0 - e));
    let saving = |row| percent(saved(row));
    let numbers = TABLE_5.into_iter().enumerate().map(|(row, (mrf_mm, rfc_mm, compute, _))| {
        let key = format!("mrf_{mrf_mm}_rfc_{rfc_mm}").replace('.', "_");
        let what = format!("energy saved, MRF at {mrf_mm} mm, RFC at {rfc_mm} mm, compute");
        // 1 - 0.87 is not 0.13 in binary.
        let paper = (100.0 - 100.0 * compute).round();
        Number::change(key, what, Stated::exactly(paper), saved(row))
    });
    Ok(Content {
        claims: vec![
            claim(
                "§5.4",
                "MRF at 1 mm, RFC at 0.2 mm: 35 % saved on compute, 37 % on shaders (36 % in the abstract)",
                saving(2),
            )
            .number(Number::change(
                "saving",
                "energy saved with wires (the abstract's 36 %)",
                Stated::exactly(36.0),
                saved(2),
            )),
            claim("§5.4", "without wires: 25 % saved", saving(0)),
            claim("Table 5", "savings by the distances of MRF and RFC from the ALUs", "the table below")
                .numbers(numbers),
        ],
        tables: vec![distances, workloads],
        notes: Vec::new(),
        charts: vec![Chart {
            title: "Register file energy by wire length".to_owned(),
            x_label: String::new(),
            y_label: "relative to the baseline".to_owned(),
            plot: Plot::Bars {
                groups: groups.into(),
                series: vec![
                    Bars::new("paper, compute", TABLE_5.map(|row| Some(row.2)).into()),
                    Bars::new("paper, shaders", TABLE_5.map(|row| Some(row.3)).into()),
                    Bars::new("here, mean", here.collect()),
                ],
                stacked: false,
            },
        }],
    })
}
