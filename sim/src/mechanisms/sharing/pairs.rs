//! What the layers have in common: the warps of resident blocks, who of them owns and shares, and who must not issue.

use std::mem;

use warpfile_engine::{PortsOf, State};
use warpfile_hdl::sharing::LaunchIo;
use warpfile_kernels::compile::sharing::Residents;
use warpfile_kernels::program::BlockIndex;

use super::Shared;
use super::blocks::{Blocks, Events, Launch, Warps, blocks_of, of_partition, set_warps};
use crate::config::Config;
use crate::sm::SimError;
use crate::sm::design::{Admission, Classes, WarpPlace};

/// Resident blocks as an access unit knows them. Blocks in slots 2 i and 2 i + 1 are a pair; the slots behind the pairs are of
/// blocks that share with none.
pub struct Pairs {
    warps_per_partition: usize,
    design: String,
    /// Of the kernel; `None`: no block shares.
    residents: Option<Residents>,
    /// A kernel has begun that the unit has not been told of.
    pub is_new: bool,
    pub blocks: Blocks,
    /// The slot of each warp's block.
    pub slots: Vec<usize>,
    /// Warps of the block that the unit was told of in the cycle before.
    launched: Warps,
    pub issued: Warps,
    /// In this cycle, one bit a warp of the SM: warps that the unit holds, of owner blocks, and of blocks that share.
    pub held: Warps,
    pub owner: Warps,
    pub shared: Warps,
    /// The unit has been stepped, and what is above is of the cycle before.
    is_stale: bool,
    pub counted: Shared,
}

impl Pairs {
    /// No block is resident.
    pub fn new(config: &Config) -> Pairs {
        Pairs {
            warps_per_partition: config.warps_per_partition() as usize,
            design: config.design.to_string(),
            residents: None,
            is_new: false,
            blocks: Blocks::new(config.sm.blocks as usize),
            slots: vec![0; config.sm.warps as usize],
            launched: 0,
            issued: 0,
            held: 0,
            owner: 0,
            shared: 0,
            is_stale: true,
            counted: Shared::default(),
        }
    }

    /// The number of a warp in the unit: two that share registers are neighbours.
    pub fn number(&self, at: WarpPlace) -> usize {
        at.partition * self.warps_per_partition + at.warp
    }

    /// How many blocks of a kernel are resident: these, if some share.
    pub fn admit(&mut self, residents: Option<Residents>, admission: &Admission) -> u64 {
        self.residents = residents;
        residents.map_or(admission.blocks, Residents::blocks)
    }

    /// Whether blocks of the kernel share.
    pub fn share(&self) -> bool {
        self.residents.is_some()
    }

    /// Blocks that share, one bit each, whether or not they are resident.
    pub fn sharing(&self) -> u64 {
        self.residents.map_or(0, |residents| (1 << (2 * residents.pairs)) - 1)
    }

    /// A warp of a block starts: in `slot`, or in the lowest that is free. Gives its number in the block.
    pub fn start_warp(&mut self, warp: usize, block: BlockIndex, slot: Option<usize>) -> usize {
        let (free, number) = self.blocks.next_warp(block);
        let slot = slot.unwrap_or(free);
        let shares = self.sharing() >> slot & 1 == 1;
        self.slots[warp] = slot;
        self.counted.sharing_warps += u64::from(shares);
        self.blocks.start_warp(slot, shares.then_some(slot ^ 1), warp);
        number
    }

    /// A warp ends. Gives whether it was its block's last.
    pub fn end_warp(&mut self, warp: usize) -> bool {
        self.shared &= !(1 << warp);
        self.blocks.end_warp(self.slots[warp], warp)
    }

    /// Whether the unit has still to be asked in this cycle.
    pub fn take_stale(&mut self) -> bool {
        mem::replace(&mut self.is_stale, false)
    }

    /// What the unit says of this cycle.
    pub fn begin_cycle(&mut self, held: Warps, owner: Warps) {
        let owners = blocks_of(owner & !self.owner & !self.launched, &self.slots);
        self.counted.handovers += u64::from(owners.count_ones());
        (self.held, self.owner) = (held, owner);
        self.counted.lock_waits += u64::from(held.count_ones());
        self.counted.count_additional(self.additional(), held);
    }

    /// Warps of blocks that share and are not the owner.
    pub fn additional(&self) -> Warps {
        self.shared & !self.owner
    }

    /// What of a set of warps is of a partition.
    pub fn of_partition(&self, warps: Warps, partition: usize) -> u64 {
        of_partition(warps, partition, self.warps_per_partition)
    }

    /// Warps of a partition that must not issue: those that the unit holds or does not know, and `others`.
    pub fn held_in(&self, partition: usize, others: Warps) -> u64 {
        self.of_partition(self.held | self.blocks.unknown | others, partition)
    }

    /// Owners' warps first, those of non-owners that share last.
    pub fn classes(&self, partition: usize) -> Classes {
        let of = |warps| if self.share() { self.of_partition(warps, partition) } else { 0 };
        Classes { first: of(self.owner), last: of(self.additional()) }
    }

    /// What has happened in the cycle, of which the unit is to be told. `may_launch`: it may be told of a block.
    pub fn events(&mut self, may_launch: bool) -> Events {
        let events = self.blocks.end_cycle(!self.is_new && may_launch);
        self.launched = events.launch.map_or(0, |launch| launch.warps);
        let shares = events.launch.is_some_and(|launch| launch.partner.is_some());
        self.shared |= if shares { self.launched } else { 0 };
        events
    }

    /// Tells the unit of a block.
    pub fn launch(&self, state: &mut State, ports: &PortsOf<LaunchIo<'static>>, launch: Option<Launch>) {
        state.set(ports.valid_i, u64::from(launch.is_some()));
        if let Some(Launch { slot, partner, warps, .. }) = launch {
            state.set(ports.block_i, slot as u64);
            state.set(ports.partner_i, partner.unwrap_or(self.blocks.slots()) as u64);
            set_warps(state, ports.warps_i, warps);
        }
    }

    /// Ends the cycle, which the unit has run: of the warps that were `held` none must have issued.
    ///
    /// # Errors
    /// `fault`, or that some have: `wrong` says what.
    pub fn end_cycle(&mut self, held: Warps, fault: Option<String>, wrong: &str) -> Result<(), SimError> {
        let issued = mem::take(&mut self.issued) & held;
        (self.is_new, self.is_stale) = (false, true);
        match fault.or_else(|| (issued != 0).then(|| format!("warps {issued:#x} {wrong}"))) {
            None => Ok(()),
            Some(problem) => Err(SimError::Circuit { design: self.design.clone(), problem }),
        }
    }
}
