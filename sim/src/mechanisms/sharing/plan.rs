//! Where the warps of blocks that share registers are put, and where their registers lie.
//!
//! Blocks in slots 2 i and 2 i + 1 share; the slots behind the pairs are of blocks that share with none. Warps with one number
//! of two blocks that share are neighbours in one partition, so that their shared registers are rows of one file.

use warpfile_kernels::compile::sharing::{Residents, Resource, Threshold, with_pairs};

use crate::sm::design::{Admission, Dealer, Home, PartitionSize, WarpPlace, WarpRows};

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

impl Plan {
    /// The plan with the most blocks that share and fit; `None` if sharing gains no block.
    ///
    /// Each partition has its own file, so where a block's warps do not spread evenly over them, fewer blocks may fit than
    /// Equation 2.2 says for the SM.
    pub fn new(admission: &Admission, partitions: usize, threshold: Threshold) -> Option<Plan> {
        let (registers, limit) = ([registers(admission, partitions)], admission.fits.but_registers());
        let ways = with_pairs(&registers, limit, threshold, admission.blocks);
        ways.filter_map(|residents| Plan::of(residents, admission, partitions, threshold)).next()
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
    let mut dealer = Dealer::new(partitions);
    // Rows of each partition's file that are taken.
    let mut taken = vec![0; partitions];
    let mut homes = Vec::new();
    for _ in 0..pairs {
        let mut both = [Vec::new(), Vec::new()];
        for _ in 0..warps {
            let WarpPlace { partition, warp } = dealer.deal(2);
            let row = taken[partition];
            taken[partition] += rows_per_warp + private;
            for (side, homes) in both.iter_mut().enumerate() {
                let own = row + side as u32 * private;
                let rows = WarpRows::in_two(own, private, row + 2 * private);
                homes.push(Home { at: WarpPlace { partition, warp: warp + side }, rows });
            }
        }
        homes.extend(both);
    }
    for _ in 0..unshared {
        let of_block = (0..warps).map(|_| {
            let at = dealer.deal(1);
            let row = taken[at.partition];
            taken[at.partition] += rows_per_warp;
            Home { at, rows: WarpRows::from(row) }
        });
        homes.push(of_block.collect());
    }
    (dealer.fits(slots) && taken.iter().all(|taken| *taken <= rows)).then_some(homes)
}

#[cfg(test)]
pub mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::sm::design::Fits;

    pub fn admission(warps: usize, rows_per_warp: u32, partitions: usize) -> Admission {
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

    /// Each of two files has room for two warps and a half, so that five one-warp blocks and a pair beside them would fit an SM in
    /// one piece; four fit, and pairs of these.
    #[test]
    fn pairs_of_fewer_blocks_are_tried_where_files_have_no_room_for_more() {
        let admission = admission(1, 200, 2);
        assert_eq!(admission.blocks, 4);
        let plan = Plan::new(&admission, 2, Threshold::from_percent(10).expect("in range"));
        assert_eq!(plan.map(|plan| plan.residents), Some(Residents { unshared: 0, pairs: 4 }));
        let plan = Plan::new(&admission, 2, Threshold::from_percent(50).expect("in range"));
        assert_eq!(plan.map(|plan| plan.residents), Some(Residents { unshared: 2, pairs: 2 }));
    }

    proptest! {
        /// No two warps have a slot in common, and no row but those that two partners share.
        #[test]
        fn nothing_is_given_twice(
            warps in 1..17_usize, rows in 1..256_u32, partitions in prop::sample::select(vec![1_usize, 2, 4]), percent in 1..100_u64,
        ) {
            let admission = admission(warps, rows, partitions);
            let threshold = Threshold::from_percent(percent).expect("in range");
            if let Some(plan) = Plan::new(&admission, partitions, threshold) {
                let Residents { unshared, pairs } = plan.residents;
                prop_assert!(unshared + 2 * pairs > admission.blocks && unshared + pairs >= admission.blocks);
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
