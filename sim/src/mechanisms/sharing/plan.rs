//! Where the warps of blocks that share registers are put, and where their registers lie.
//!
//! Blocks in slots 2 i and 2 i + 1 share; the slots behind the pairs are of blocks that share with none. Warps with one number
//! of two blocks that share are neighbours in one partition, so that their shared registers are rows of one file.

use warpfile_kernels::compile::sharing::{Residents, Resource, Threshold, residents};

use crate::sm::design::{Admission, Home, PartitionSize, WarpPlace, WarpRows};

/// The places of all warps that can be resident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many blocks share, and how many do not.
    pub residents: Residents,
    /// Registers that a sharing warp has for itself.
    pub private: u32,
    /// By block slot and number of the warp.
    homes: Vec<Vec<Home>>,
}

/// What is taken of a partition.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    warps: usize,
    rows: u32,
}

impl Plan {
    /// The plan with the most blocks that share and fit; `None` if sharing gains no block.
    ///
    /// Each partition has its own file, so where a block's warps do not spread evenly over them, fewer pairs may fit than
    /// Equation 2.2 says for the SM.
    pub fn new(admission: &Admission, partitions: usize, threshold: Threshold) -> Option<Plan> {
        let most = residents(&[registers(admission, partitions)], admission.fits.but_registers(), threshold);
        let gaining = most.and_with_fewer_pairs().filter(|some| some.blocks() > admission.blocks);
        gaining.filter_map(|some| Plan::of(some, admission, partitions, threshold)).next()
    }

    /// The plan for so many blocks; `None` if they do not fit.
    pub fn of(
        residents: Residents,
        admission: &Admission,
        partitions: usize,
        threshold: Threshold,
    ) -> Option<Plan> {
        let private = threshold.private(u64::from(admission.rows_per_warp)) as u32;
        let homes = place(residents, admission, partitions, private)?;
        Some(Plan { residents, private, homes })
    }

    /// Where a warp of the block in a slot is put.
    pub fn home(&self, slot: usize, number: usize) -> Option<Home> {
        self.homes.get(slot)?.get(number).copied()
    }

    /// The slot of the block whose warp is put there.
    pub fn slot_of(&self, at: WarpPlace) -> Option<usize> {
        self.homes.iter().position(|homes| homes.iter().any(|home| home.at == at))
    }
}

/// The registers of an SM and of a block, in rows.
pub fn registers(admission: &Admission, partitions: usize) -> Resource {
    Resource {
        available: u64::from(admission.of_partition.rows) * partitions as u64,
        needed: u64::from(admission.rows_per_warp) * admission.warps as u64,
    }
}

/// The places of the warps of every block; `None` if they do not fit.
fn place(
    Residents { unshared, pairs }: Residents,
    admission: &Admission,
    partitions: usize,
    private: u32,
) -> Option<Vec<Vec<Home>>> {
    let &Admission { warps, rows_per_warp, of_partition: PartitionSize { warps: slots, rows }, .. } =
        admission;
    let mut taken = vec![Taken::default(); partitions];
    let mut homes = Vec::new();
    for pair in 0..pairs as usize {
        let mut both = [Vec::new(), Vec::new()];
        for number in 0..warps {
            let partition = (pair * warps + number) % partitions;
            let Taken { warps: first, rows: row } = taken[partition];
            taken[partition] = Taken { warps: first + 2, rows: row + rows_per_warp + private };
            for (side, homes) in both.iter_mut().enumerate() {
                let own = row + side as u32 * private;
                let rows = WarpRows::in_two(own, private, row + 2 * private);
                homes.push(Home { at: WarpPlace { partition, warp: first + side }, rows });
            }
        }
        homes.extend(both);
    }
    for block in 0..unshared as usize {
        let of_block = (0..warps).map(|number| {
            let partition = ((pairs as usize + block) * warps + number) % partitions;
            let Taken { warps: warp, rows: row } = taken[partition];
            taken[partition] = Taken { warps: warp + 1, rows: row + rows_per_warp };
            Home { at: WarpPlace { partition, warp }, rows: WarpRows::from(row) }
        });
        homes.push(of_block.collect());
    }
    taken.iter().all(|taken| taken.warps <= slots && taken.rows <= rows).then_some(homes)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::sm::design::Fits;

    fn admission(warps: usize, rows_per_warp: u32, partitions: usize) -> Admission {
        let of_partition = PartitionSize { warps: 48 / partitions, rows: 1024 / partitions as u32 };
        let in_file = u64::from(of_partition.rows / rows_per_warp) * partitions as u64;
        let fits = Fits {
            warps: 48 / warps as u64,
            slots: 8,
            registers: in_file / warps as u64,
            scratchpad: u64::MAX,
            launch: 1000,
        };
        let blocks = fits.warps.min(fits.slots).min(fits.registers);
        Admission {
            warps,
            threads: 32 * warps as u32,
            rows_per_warp,
            blocks,
            scratchpad_bytes: 0,
            fits,
            of_partition,
            scratchpad_of_sm: 49_152,
        }
    }

    /// Table 2.6 at 90 % and 50 %, with two schedulers as GPGPU-Sim's Fermi has.
    #[test]
    fn blocks_of_table_2_6_find_room_in_two_files() {
        for (name, threads, registers, blocks) in [
            ("backprop", 256, 24, [(10, 6), (50, 5)]),
            ("b+tree", 508, 24, [(10, 3), (50, 3)]),
            ("hotspot", 256, 36, [(10, 6), (50, 4)]),
            ("LIB", 192, 36, [(10, 8), (50, 5)]),
            ("MUM", 256, 28, [(10, 6), (50, 5)]),
            ("mri-q", 256, 24, [(10, 6), (50, 5)]),
            ("sgemm", 128, 48, [(10, 8), (50, 5)]),
            ("stencil", 512, 28, [(10, 3), (50, 2)]),
        ] {
            for (percent, blocks) in blocks {
                let admission = admission(usize::div_ceil(threads, 32), registers, 2);
                let plan = Plan::new(&admission, 2, Threshold::from_percent(percent).expect("in range"));
                let resident = plan.map_or(admission.blocks, |plan| plan.residents.blocks());
                assert_eq!(resident, blocks, "{name} at {percent}");
            }
        }
    }

    proptest! {
        /// No two warps have a slot in common, and no row but those that two partners share.
        #[test]
        fn nothing_is_given_twice(
            warps in 1..17_usize, rows in 1..64_u32, partitions in prop::sample::select(vec![1_usize, 2, 4]), percent in 1..100_u64,
        ) {
            let admission = admission(warps, rows, partitions);
            let threshold = Threshold::from_percent(percent).expect("in range");
            if let Some(plan) = Plan::new(&admission, partitions, threshold) {
                prop_assert!(plan.residents.blocks() > admission.blocks);
                let mut slots = BTreeSet::new();
                let mut owners: BTreeMap<(usize, u32), (usize, usize)> = BTreeMap::new();
                for slot in 0..plan.residents.blocks() as usize {
                    let is_pair = (slot as u64) < 2 * plan.residents.pairs;
                    for number in 0..warps {
                        let home = plan.home(slot, number).expect("there is one");
                        prop_assert!(home.at.warp < admission.of_partition.warps);
                        prop_assert!(slots.insert((home.at.partition, home.at.warp)));
                        prop_assert_eq!(plan.slot_of(home.at), Some(slot));
                        for register in 0..rows {
                            let row = home.rows.row(register);
                            prop_assert!(row < admission.of_partition.rows);
                            if let Some(other) = owners.insert((home.at.partition, row), (slot, number)) {
                                prop_assert!(is_pair && register >= plan.private);
                                prop_assert_eq!(other, (slot ^ 1, number));
                            }
                        }
                    }
                }
            }
        }
    }
}
