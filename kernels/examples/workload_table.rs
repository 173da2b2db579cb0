//! Prints the table of `docs/workloads.md`: registers a thread and warp instructions of every workload.
//!
//! `cargo run --release -p warpfile-kernels --example workload_table [size]…`, by default tiny and default.

use warpfile_kernels::program::{Launches, WarpInstruction};
use warpfile_kernels::workloads;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes: Vec<String> = std::env::args().skip(1).collect();
    if sizes.is_empty() {
        sizes = vec!["tiny".to_string(), "default".to_string()];
    }
    println!("| name | size | kernels (registers a thread) | launches | warps | warp instructions |");
    println!("|---|---|---|--:|--:|--:|");
    for workload in workloads::all() {
        for size in &sizes {
            let mut open = workload.open(size)?;
            let counts = count(&mut open)?;
            open.check_results()?;
            let kernels: Vec<String> = open
                .kernels()
                .map(|kernel| format!("{} ({})", kernel.program.name, kernel.program.registers_per_thread))
                .collect();
            println!(
                "| `{}` | {size} | {} | {} | {} | {} |",
                workload.name,
                kernels.join(", "),
                counts.launches,
                counts.warps,
                counts.instructions
            );
        }
    }
    Ok(())
}

#[derive(Default)]
struct Counts {
    launches: u64,
    warps: u64,
    instructions: u64,
}

fn count(launches: &mut dyn Launches) -> Result<Counts, Box<dyn std::error::Error>> {
    let mut counts = Counts::default();
    let mut instruction = WarpInstruction::default();
    while let Some(mut stream) = launches.next_launch()? {
        counts.launches += 1;
        let warps = stream.launch().warps_per_block();
        for block in 0..stream.launch().blocks() {
            stream.start_block(block)?;
            counts.warps += warps as u64;
            for warp in 0..warps {
                while stream.next(block, warp, &mut instruction)? {
                    counts.instructions += 1;
                }
            }
            stream.finish_block(block);
        }
    }
    Ok(counts)
}
