//! Prints, for each kernel of the workloads, what its regions are like: `cargo run --example region_table`.

use warpfile_kernels::compile::regless::statistics::{RegionStatistics, Spread};
use warpfile_kernels::compile::regless::{Parameters, Regions, compile};
use warpfile_kernels::program::Launches;
use warpfile_kernels::workloads;

/// Sum over all regions of the lines of their fullest bank.
fn fullest_banks(regions: &Regions) -> u32 {
    regions.regions.iter().map(|region| u32::from(region.bank_lines.into_iter().max().unwrap_or(0))).sum()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "| kernel | regions | instructions | preloads | live | invalidations | metadata | fullest bank, spread |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut seen = std::collections::BTreeSet::new();
    for workload in workloads::list() {
        let mut open = workload.open("tiny")?;
        while let Some(stream) = open.next_launch()? {
            let program = stream.program();
            if !seen.insert(program.name.clone()) {
                continue;
            }
            let parameters = Parameters::default();
            let (_, regions) = compile(program, &parameters)?;
            let (_, unspread) = compile(program, &Parameters { spread_banks: false, ..parameters })?;
            let statistics = RegionStatistics::of_code(&regions);
            let pair = |spread: Spread| format!("{:.1} ± {:.1}", spread.mean, spread.deviation);
            println!(
                "| {}: {} | {} | {} | {} | {} | {:.2} | {:.2} | {} → {} |",
                workload.name,
                program.name,
                statistics.regions,
                pair(statistics.instructions),
                pair(statistics.preloads),
                pair(statistics.live),
                statistics.invalidations.mean,
                statistics.metadata.mean,
                fullest_banks(&unspread),
                fullest_banks(&regions),
            );
        }
    }
    Ok(())
}
