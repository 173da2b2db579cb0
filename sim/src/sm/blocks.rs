//! Block slots: residency limits, dispatch in grid order, barriers.

use warpfile_kernels::program::{Launch, Program};

use crate::config::Config;

use super::SimError;
use super::design::Fits;
use super::report::{Residency, ResidencyLimit};

/// A resident block.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// Number in the grid; `None` if the slot is empty.
    pub index: Option<u64>,
    /// Warps whose slot is still taken.
    pub warps: u32,
    /// Warps that have not issued everything.
    pub running: u32,
    /// Warps that have arrived at the barrier.
    pub arrived: u32,
}

/// What a block of a launch takes, and how many fit.
#[derive(Clone, Debug)]
pub(super) struct BlockShape {
    pub warps: usize,
    pub resident_blocks: usize,
    pub rows_per_warp: u32,
    /// For how many blocks each resource is enough.
    pub fits: Fits,
    pub residency: Residency,
}

/// A resource that limits residency.
struct Resource {
    name: &'static str,
    parameter: &'static str,
    needed: u64,
    available: u64,
    /// Blocks for which it is enough.
    fits: u64,
    limit: ResidencyLimit,
    /// What else would make a block fit.
    remedy: String,
}

impl BlockShape {
    /// `blocks`: blocks of the launch that the SM runs. `registers_per_warp`: warp-wide registers the design's main register file keeps for a warp.
    pub fn new(
        config: &Config,
        program: &Program,
        launch: &Launch,
        blocks: u64,
        registers_per_warp: u64,
    ) -> Result<BlockShape, SimError> {
        let warps = launch.warps_per_block() as u64;
        let file = &config.register_file;
        let rows_per_warp = registers_per_warp.next_multiple_of(file.allocation_granule);
        let partitions = config.partitions();
        let rows = file.bank_groups * file.rows;
        // A warp's registers lie in the file of its partition, so each file holds a whole number of warps.
        let warps_with_registers =
            rows.checked_div(rows_per_warp).map_or(u64::MAX, |warps| warps * partitions);
        // With one for each of the block's warps that share a file, that many registers would do.
        let most =
            rows / warps.div_ceil(partitions).max(1) / file.allocation_granule * file.allocation_granule;
        let fewer_registers = format!(", or compile the kernel with --max-registers {most}");
        let resources = [
            Resource {
                name: "warps",
                parameter: "sm.warps",
                needed: warps,
                available: config.sm.warps,
                fits: config.sm.warps.checked_div(warps).unwrap_or(u64::MAX),
                limit: ResidencyLimit::Warps,
                remedy: String::new(),
            },
            Resource {
                name: "block slots",
                parameter: "sm.blocks",
                needed: 1,
                available: config.sm.blocks,
                fits: config.sm.blocks,
                limit: ResidencyLimit::Blocks,
                remedy: String::new(),
            },
            Resource {
                name: "warp-wide registers",
                parameter: "register_file.bank_groups × register_file.rows",
                needed: warps.next_multiple_of(partitions) * rows_per_warp,
                available: partitions * rows,
                fits: warps_with_registers.checked_div(warps).unwrap_or(u64::MAX),
                limit: ResidencyLimit::Registers,
                remedy: fewer_registers,
            },
            Resource {
                name: "bytes of shared memory",
                parameter: "sm.shared_memory_bytes",
                needed: u64::from(launch.shared_bytes),
                available: config.sm.shared_memory_bytes,
                fits: (config.sm.shared_memory_bytes.checked_div(u64::from(launch.shared_bytes)))
                    .unwrap_or(u64::MAX),
                limit: ResidencyLimit::SharedMemory,
                remedy: String::new(),
            },
        ];
        let [of_warps, of_slots, of_registers, of_scratchpad] =
            resources.each_ref().map(|resource| resource.fits);
        let fits = Fits {
            warps: of_warps,
            slots: of_slots,
            registers: of_registers,
            scratchpad: of_scratchpad,
            launch: blocks,
        };
        let mut fitting = blocks;
        let mut limited_by = ResidencyLimit::Launch;
        for resource in resources {
            if resource.fits == 0 {
                return Err(SimError::BlockDoesNotFit {
                    kernel: program.name.clone(),
                    resource: resource.name,
                    needed: resource.needed,
                    available: resource.available,
                    parameter: resource.parameter,
                    remedy: resource.remedy,
                });
            }
            if resource.fits < fitting {
                fitting = resource.fits;
                limited_by = resource.limit;
            }
        }
        Ok(BlockShape {
            warps: warps as usize,
            resident_blocks: fitting as usize,
            rows_per_warp: rows_per_warp as u32,
            fits,
            residency: Residency {
                kernel: program.name.clone(),
                registers_per_thread: u64::from(program.registers_per_thread),
                spills: program.spills,
                warps_per_block: warps,
                blocks,
                resident_blocks: fitting,
                resident_warps: fitting * warps,
                limited_by,
            },
        })
    }
}

impl BlockShape {
    /// A layer has `blocks` resident at a time: fewer than there is room for, or more, as far as there are blocks and slots.
    pub fn admit(&mut self, blocks: u64) {
        let Fits { warps, slots, launch, .. } = self.fits;
        let limits = [
            (launch, ResidencyLimit::Launch),
            (warps, ResidencyLimit::Warps),
            (slots, ResidencyLimit::Blocks),
        ];
        let resident = limits.iter().fold(blocks, |blocks, (limit, _)| blocks.min(*limit));
        let before = self.resident_blocks as u64;
        if resident < before {
            self.residency.limited_by = ResidencyLimit::Layer;
        } else if let Some((_, limit)) =
            limits.iter().find(|(limit, _)| resident > before && *limit == resident)
        {
            self.residency.limited_by = *limit;
        }
        self.resident_blocks = resident as usize;
        self.residency.resident_blocks = resident;
        self.residency.resident_warps = resident * self.warps as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preset;

    fn shape(threads: u32, registers: u16, shared_bytes: u32) -> Result<BlockShape, SimError> {
        let program = Program {
            name: "k".to_owned(),
            instructions: vec![],
            registers_per_thread: registers,
            shared_bytes,
            control: None,
            spills: warpfile_kernels::program::Spills::default(),
            computations: Vec::new(),
        };
        let launch = Launch { grid: [1000, 1, 1], block: [threads, 1, 1], shared_bytes };
        let config = preset("gebhart2011").expect("complete");
        BlockShape::new(&config, &program, &launch, launch.blocks(), u64::from(registers))
    }

    fn resident(threads: u32, registers: u16, shared_bytes: u32) -> (u64, ResidencyLimit) {
        let residency = shape(threads, registers, shared_bytes).expect("fits").residency;
        (residency.resident_warps, residency.limited_by)
    }

    #[test]
    fn the_scarcest_resource_limits_residency() {
        assert_eq!(resident(256, 20, 0), (32, ResidencyLimit::Warps));
        assert_eq!(resident(32, 20, 0), (8, ResidencyLimit::Blocks));
        assert_eq!(resident(256, 40, 0), (24, ResidencyLimit::Registers));
        assert_eq!(resident(256, 20, 12 * 1024), (16, ResidencyLimit::SharedMemory));
    }

    #[test]
    fn a_block_that_cannot_fit_is_rejected_with_what_it_needs() {
        let error = shape(1024, 40, 0).expect_err("1280 warp-wide registers").to_string();
        assert!(error.contains("needs 1280 warp-wide registers, the SM has 1024"), "{error}");
        assert!(error.ends_with("or compile the kernel with --max-registers 32"), "{error}");
        let error = shape(2048, 1, 0).expect_err("64 warps").to_string();
        assert!(error.contains("needs 64 warps, the SM has 32 (sm.warps)"), "{error}");
    }
}
