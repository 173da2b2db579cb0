//! Scratchpad sharing: more blocks than scratchpad, with pairs of blocks that use a part of it one after the other.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::sharing::ScratchpadAccessUnit;
use warpfile_kernels::compile::sharing::{Residents, Resource, Threshold, residents};
use warpfile_kernels::program::{BlockIndex, WarpInstruction};

use super::accesses::Accesses;
use super::blocks::{Blocks, Launch, Packed, Warps, blocks_of, of_partition, set_warps, warps};
use super::release::Release;
use super::users::Users;
use super::{COUNTERS, RELEASE_CIRCUIT, SCRATCHPAD_CIRCUIT, Shared};
use crate::config::Config;
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::sm::SimError;
use crate::sm::design::{Admission, Classes, Layer, WarpPlace};

/// Outputs that are looked at before a cycle is run.
pub(super) const FORESEEN: [&str; 3] = ["held_o", "owner_o", "locked_o"];

/// Blocks of a kernel.
#[derive(Clone, Copy, Debug)]
struct Kernel {
    residents: Residents,
    /// Bytes of a block's scratchpad, and those of them that it has for itself.
    bytes: u64,
    private: u64,
}

/// A layer that shares scratchpad.
pub struct ScratchpadSharing {
    engine: AnyEngine,
    ports: CircuitPorts<ScratchpadAccessUnit>,
    threshold: Threshold,
    warps_per_partition: usize,
    blocks_of_sm: usize,
    design: String,
    accesses: Accesses,
    /// `None`: no block shares.
    kernel: Option<Kernel>,
    /// Warps of a block.
    warps_of_block: usize,
    /// The slot of each warp's block.
    slots: Vec<usize>,
    /// A kernel has begun that the unit has not been told of.
    is_new: bool,
    blocks: Blocks,
    /// The highest byte that each warp's next instruction accesses, counted from 1, as of now.
    access: Packed,
    issued: Warps,
    /// What the lock is for.
    users: Users,
    /// Threads release what they share before their block ends.
    release: Option<Release>,
    /// Blocks that have the lock of their pair or had it, one bit each.
    have_had: u64,
    /// Warps of the block that the unit was told of in the cycle before.
    launched: Warps,
    /// Warps whose release or exit waits for accesses before it.
    waiting: Warps,
    /// In this cycle, one bit a warp of the SM; locks one bit a block.
    held: Warps,
    owner: Warps,
    shared: Warps,
    locked: u64,
    /// The circuit has been stepped, and what is above is of the cycle before.
    is_stale: bool,
    counted: Shared,
}

impl ScratchpadSharing {
    /// A layer on a circuit.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(
        config: &Config,
        threshold: Threshold,
        (engine, circuit): (AnyEngine, &ScratchpadAccessUnit),
        release: Option<Release>,
    ) -> Result<ScratchpadSharing, EngineError> {
        Ok(ScratchpadSharing {
            ports: engine.ports(circuit)?,
            engine,
            threshold,
            warps_per_partition: config.warps_per_scheduler() as usize,
            blocks_of_sm: circuit.blocks,
            design: config.design.to_string(),
            accesses: Accesses::default(),
            kernel: None,
            warps_of_block: 0,
            slots: vec![0; circuit.warps],
            is_new: false,
            blocks: Blocks::new(circuit.blocks),
            access: Packed::new(circuit.warps, circuit.byte_bits),
            issued: 0,
            users: Users::new(circuit.blocks),
            release,
            have_had: 0,
            launched: 0,
            waiting: 0,
            held: 0,
            owner: 0,
            shared: 0,
            locked: 0,
            is_stale: true,
            counted: Shared::default(),
        })
    }

    fn number(&self, at: WarpPlace) -> usize {
        at.partition * self.warps_per_partition + at.warp
    }

    /// Asks the unit who is held in this cycle.
    fn begin_cycle(&mut self) {
        if !std::mem::replace(&mut self.is_stale, false) {
            return;
        }
        self.engine.state_mut().set_words(self.ports.byte_i, &self.access.words);
        self.engine.foresee();
        let (state, ports) = (self.engine.state(), &self.ports);
        let [held, owner] = [ports.held_o, ports.owner_o].map(|port| warps(state, port));
        let locked = state.get(ports.locked_o);
        let owners = blocks_of(owner & !self.owner & !self.launched, &self.slots);
        self.counted.handovers += u64::from(owners.count_ones());
        self.counted.locks += u64::from((locked & !self.locked).count_ones());
        (self.held, self.owner, self.locked) = (held, owner, locked);
        self.counted.lock_waits += u64::from(held.count_ones());
        self.counted.count_additional(self.shared & !owner, held);
        let Some(kernel) = self.kernel else { return };
        self.have_had |= locked;
        let sharing = self.blocks.known() & ((1 << (2 * kernel.residents.pairs)) - 1);
        self.counted.count_scratchpad(sharing, locked, self.have_had | self.users.released());
    }
}

impl Layer for ScratchpadSharing {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.accesses = Accesses::of(kernel.program);
        if let Some(release) = &mut self.release {
            release.start_kernel(kernel.program);
        }
        self.kernel = None;
        self.is_new = true;
        Ok(())
    }

    fn admit(&mut self, admission: &Admission) -> u64 {
        let Admission { fits, scratchpad_bytes: bytes, scratchpad_of_sm, .. } = *admission;
        let limit = fits.warps.min(fits.slots).min(fits.registers).min(fits.launch);
        let scratchpad = Resource { available: scratchpad_of_sm, needed: bytes };
        let residents = residents(&[scratchpad], limit, self.threshold);
        let private = self.threshold.private(bytes);
        let gains = residents.blocks() > admission.blocks;
        self.kernel = gains.then_some(Kernel { residents, bytes, private });
        if let Some(release) = &mut self.release {
            release.admit(admission.threads);
        }
        self.warps_of_block = admission.warps;
        if gains { residents.blocks() } else { admission.blocks }
    }

    fn start_warp(&mut self, at: WarpPlace, _first_row: u32, block: BlockIndex) {
        let Some(kernel) = self.kernel else { return };
        let warp = self.number(at);
        let (slot, number) = self.blocks.next_warp(block);
        if let Some(release) = &mut self.release {
            release.start_warp(warp, number + 1 == self.warps_of_block);
        }
        self.slots[warp] = slot;
        let shares = (slot as u64) < 2 * kernel.residents.pairs;
        self.counted.sharing_warps += u64::from(shares);
        self.blocks.start_warp(slot, shares.then_some(slot ^ 1), warp);
    }

    fn decode(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let Some(kernel) = self.kernel else { return };
        let byte = self.accesses.highest_byte(instruction, kernel.bytes);
        let warp = self.number(at);
        self.access.set(warp, byte);
        let releases = self.release.as_ref();
        if byte > kernel.private
            && releases.is_some_and(|release| release.has_released(warp, instruction.active))
        {
            self.users.access_after_release(self.slots[warp]);
        }
        if let Some(release) = &mut self.release {
            release.decode(warp, instruction.inst.0);
            self.waiting = self.waiting & !(1 << warp) | Warps::from(release.holds(warp)) << warp;
        }
    }

    fn held_warps(&mut self, partition: usize) -> u64 {
        if self.kernel.is_none() {
            return 0;
        }
        self.begin_cycle();
        of_partition(self.held | self.waiting | self.blocks.unknown, partition, self.warps_per_partition)
    }

    fn classes(&mut self, partition: usize) -> Classes {
        if self.kernel.is_none() {
            return Classes::default();
        }
        let of = |warps| of_partition(warps, partition, self.warps_per_partition);
        Classes { first: of(self.owner), last: of(self.shared & !self.owner) }
    }

    /// The unit has seen the warp's instruction before this one only, so one that needs the lock waits for it to be seen.
    fn holds_companion(&mut self, at: WarpPlace) -> bool {
        let Some(kernel) = self.kernel else { return false };
        let warp = self.number(at);
        if self.waiting >> warp & 1 == 1 {
            return true;
        }
        let needs = self.shared >> warp & 1 == 1 && self.access.get(warp) > kernel.private;
        needs && self.locked >> self.slots[warp] & 1 == 0
    }

    fn issue(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let warp = self.number(at);
        self.issued |= 1 << warp;
        let accesses = self.accesses.any(instruction.inst);
        if let Some(release) = &mut self.release {
            release.issue(warp, instruction.inst.0, instruction.active);
            if accesses && self.kernel.is_some() {
                release.access(warp);
            }
        }
        if let Some(kernel) = self.kernel
            && self.shared >> warp & 1 == 1
            && self.accesses.highest_byte(instruction, kernel.bytes) > kernel.private
        {
            self.counted.shared_accesses += 1;
            self.users.access(self.slots[warp]);
        }
    }

    fn retire(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let warp = self.number(at);
        let accesses = self.accesses.any(instruction.inst);
        if let Some(release) = self.release.as_mut().filter(|_| self.kernel.is_some()) {
            release.retire(warp, instruction.inst.0, instruction.active, accesses);
            if !release.holds(warp) {
                self.waiting &= !(1 << warp);
            }
        }
    }

    fn end_warp(&mut self, at: WarpPlace) {
        if self.kernel.is_none() {
            return;
        }
        let warp = self.number(at);
        let slot = self.slots[warp];
        self.access.set(warp, 0);
        self.shared &= !(1 << warp);
        let is_known = self.blocks.known() >> slot & 1 == 1;
        if let Some(release) = self.release.as_mut().filter(|_| is_known) {
            release.end_warp(warp);
        }
        if self.blocks.end_warp(slot, warp) {
            if let Some(release) = self.release.as_mut().filter(|_| is_known) {
                release.end_block(slot);
            }
            self.users.end(slot);
        }
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        if self.kernel.is_some() {
            self.begin_cycle();
        }
        let resident = self.blocks.known();
        let is_told = self.release.as_ref().is_none_or(Release::is_told);
        let newly = match self.release.as_mut().filter(|_| self.kernel.is_some()) {
            Some(release) => release.released() & resident & !self.users.released(),
            None => 0,
        };
        let events = self.blocks.end_cycle(!self.is_new && is_told);
        if let Some(release) = &mut self.release {
            release.end_cycle(events.launch);
            self.counted.relssp = release.executed;
        }
        let newly = newly & !events.blocks_ended;
        self.users.release(newly);
        self.counted.releases += u64::from((newly & self.locked).count_ones());
        let (state, ports) = (self.engine.state_mut(), &self.ports);
        state.set(ports.configure_valid_i, u64::from(self.is_new));
        state.set(ports.configure_share_i, u64::from(self.kernel.is_some()));
        state.set(ports.configure_private_i, self.kernel.map_or(0, |kernel| kernel.private));
        state.set(ports.launch_valid_i, u64::from(events.launch.is_some()));
        self.launched = events.launch.map_or(0, |launch| launch.warps);
        if let Some(Launch { slot, partner, warps, .. }) = events.launch {
            state.set(ports.launch_block_i, slot as u64);
            state.set(ports.launch_partner_i, partner.unwrap_or(self.blocks_of_sm) as u64);
            set_warps(state, ports.launch_warps_i, warps);
            self.shared |= if partner.is_some() { warps } else { 0 };
            self.have_had &= !(1 << slot);
        }
        set_warps(state, ports.issue_i, if self.kernel.is_some() { self.issued } else { 0 });
        state.set(ports.release_i, newly);
        state.set(ports.block_ended_i, events.blocks_ended);
        self.engine.step();
        let wrong = self.issued & self.held;
        (self.issued, self.is_new, self.is_stale) = (0, false, true);
        let fault = self.users.take_fault().map(|fault| fault.to_string());
        let issued = || format!("warps {wrong:#x} issued shared accesses without their locks");
        let Some(problem) = fault.or_else(|| (wrong != 0).then(issued)) else { return Ok(()) };
        Err(SimError::Circuit { design: self.design.clone(), problem })
    }

    fn waits_for(&self, at: WarpPlace) -> Option<String> {
        let warp = self.number(at);
        let slot = self.slots[warp];
        let holds = if self.locked >> (slot ^ 1) & 1 == 1 { "holds the lock" } else { "is the owner" };
        if self.waiting >> warp & 1 == 1 {
            return Some("its own accesses to scratchpad before relssp or the end".to_owned());
        }
        (self.held >> warp & 1 == 1)
            .then(|| format!("scratchpad that block slot {slot} shares with {}, which {holds}", slot ^ 1))
    }

    fn count(&self, into: &mut Counts) {
        into.add(COUNTERS, &self.counted);
    }

    fn circuits(&self) -> Vec<(String, &dyn Engine)> {
        let own: (String, &dyn Engine) = (SCRATCHPAD_CIRCUIT.to_owned(), &self.engine);
        let release = self.release.as_ref().map(|release| (RELEASE_CIRCUIT.to_owned(), release.circuit()));
        [own].into_iter().chain(release).collect()
    }
}
