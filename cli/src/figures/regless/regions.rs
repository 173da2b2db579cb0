//! The regions that RegLess's compiler makes of a workload's kernels, and how often each of them is run.

use anyhow::Result;
use warpfile_kernels::compile::regless::statistics::{RegionStatistics, live_registers};
use warpfile_kernels::compile::regless::{Parameters, Regions, compile};
use warpfile_kernels::program::{InstId, Launches, Program, Stream, WarpInstruction};

/// The regions of a workload.
#[derive(Default)]
pub struct WorkloadRegions {
    /// Its kernels, in the order of their first launches.
    pub kernels: Vec<KernelRegions>,
    /// Warp instructions of all launches.
    pub warp_instructions: u64,
}

/// The regions of a kernel.
pub struct KernelRegions {
    /// The kernel, its registers numbered as they were.
    pub program: Program,
    /// For each instruction how many registers are live before it.
    pub live: Vec<usize>,
    /// What the compiler makes of it with its default parameters.
    pub regions: Regions,
    /// For each region how often a warp has run it.
    pub runs: Vec<u64>,
}

/// Divides the kernels of all launches into regions and counts how often each is run.
///
/// # Errors
/// A launch fails, or a kernel cannot be divided.
pub fn workload_regions(launches: &mut dyn Launches) -> Result<WorkloadRegions> {
    let mut found = WorkloadRegions::default();
    while let Some(mut stream) = launches.next_launch()? {
        let kernel = found.position(stream.program())?;
        found.warp_instructions += found.kernels[kernel].run(stream.as_mut())?;
    }
    Ok(found)
}

impl WorkloadRegions {
    /// Position of a kernel, which is divided if it is new.
    fn position(&mut self, program: &Program) -> Result<usize> {
        if let Some(position) = self.kernels.iter().position(|kernel| kernel.program.name == program.name) {
            return Ok(position);
        }
        self.kernels.push(KernelRegions::new(program)?);
        Ok(self.kernels.len() - 1)
    }

    /// Of the regions as they stand in the kernels, each counted once.
    pub fn of_code(&self) -> RegionStatistics {
        let once: Vec<Vec<u64>> = self.kernels.iter().map(|kernel| vec![1; kernel.runs.len()]).collect();
        let kernels = self.kernels.iter().zip(&once).map(|(kernel, once)| (&kernel.regions, once.as_slice()));
        RegionStatistics::weighted(&kernels.collect::<Vec<_>>())
    }

    /// Of the regions as warps ran them, each run counted.
    pub fn of_runs(&self) -> RegionStatistics {
        let kernels = self.kernels.iter().map(|kernel| (&kernel.regions, kernel.runs.as_slice()));
        RegionStatistics::weighted(&kernels.collect::<Vec<_>>())
    }

    /// Most registers that a region of any kernel holds at once.
    pub fn most_live(&self) -> u64 {
        let regions = self.kernels.iter().flat_map(|kernel| &kernel.regions.regions);
        regions.map(|region| u64::from(region.live)).max().unwrap_or(0)
    }
}

impl KernelRegions {
    fn new(program: &Program) -> Result<KernelRegions> {
        let (_, regions) = compile(program, &Parameters::default())?;
        Ok(KernelRegions {
            live: live_registers(program)?,
            runs: vec![0; regions.regions.len()],
            program: program.clone(),
            regions,
        })
    }

    /// Counts the regions that a launch runs; gives its warp instructions.
    fn run(&mut self, stream: &mut dyn Stream) -> Result<u64> {
        let warps = stream.launch().warps_per_block();
        let mut executed = WarpInstruction::default();
        let mut instructions = 0;
        for block in 0..stream.launch().blocks() {
            stream.start_block(block)?;
            for warp in 0..warps {
                while stream.next(block, warp, &mut executed)? {
                    instructions += 1;
                    self.count(executed.inst);
                }
            }
            stream.finish_block(block);
        }
        Ok(instructions)
    }

    /// A warp has come to an instruction: a region is run if it begins there.
    fn count(&mut self, instruction: InstId) {
        let region = self.regions.region_of[instruction.0 as usize].index();
        self.runs[region] += u64::from(self.regions.regions[region].instructions.start == instruction.0);
    }
}

#[cfg(test)]
mod tests {
    use warpfile_kernels::workloads;

    use super::workload_regions;

    #[test]
    fn regions_are_run_from_their_first_instruction_to_their_last() {
        for name in ["vectoradd", "hotspot", "bfs"] {
            let workload = workloads::by_name(name).expect("known");
            let found = workload_regions(&mut workload.open("tiny").expect("opens")).expect("runs");
            let of_kernels =
                found.kernels.iter().flat_map(|kernel| kernel.regions.regions.iter().zip(&kernel.runs));
            let instructions: u64 =
                of_kernels.map(|(region, runs)| region.instructions.len() as u64 * runs).sum();
            assert_eq!(instructions, found.warp_instructions, "{name}");
        }
    }
}
