//! Register and scratchpad sharing at once: more blocks than either has room for, in pairs with one owner for both.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::sharing::ResourceAccessUnit;
use warpfile_kernels::compile::sharing::{Residents, Resource, Threshold, residents};
use warpfile_kernels::program::{BlockIndex, WarpInstruction};

use super::super::accesses::Accesses;
use super::super::blocks::{Blocks, Launch, Packed, Warps, blocks_of, of_partition, set_warps, warps};
use super::super::dynamic_execution::off_chip;
use super::super::plan::{self, Plan};
use super::super::registers::{highest, highest_of};
use super::super::release::Release;
use super::super::users::Users;
use super::super::{COUNTERS, RELEASE_CIRCUIT, RegisterOrder, Shared};
use super::CIRCUIT;
use crate::config::Config;
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::sm::SimError;
use crate::sm::design::{Admission, Classes, Home, Layer, WarpPlace};

/// Outputs that are looked at before a cycle is run.
pub(super) const FORESEEN: [&str; 3] = ["held_o", "owner_o", "scratchpad_o"];

/// Scratchpad of a kernel's blocks that share it.
#[derive(Clone, Copy, Debug)]
struct Scratchpad {
    /// Bytes of a block, and those of them that it has for itself.
    bytes: u64,
    private: u64,
}

/// Blocks of a kernel, of which some share.
#[derive(Debug)]
struct Kernel {
    residents: Residents,
    /// If registers are shared: where they lie.
    plan: Option<Plan>,
    /// If scratchpad is shared.
    scratchpad: Option<Scratchpad>,
    /// Warps of a block.
    warps: usize,
}

/// A layer that shares registers and scratchpad.
pub struct BothSharing {
    engine: AnyEngine,
    ports: CircuitPorts<ResourceAccessUnit>,
    threshold: Threshold,
    partitions: usize,
    warps_per_partition: usize,
    blocks_of_sm: usize,
    design: String,
    /// By instruction the highest register, counted from 1 in the order in which registers lie; 0 for none.
    highest: Vec<u16>,
    /// The order of the kernel's registers, if it is not that of their numbers.
    order: Option<Vec<u16>>,
    accesses: Accesses,
    /// By instruction whether it accesses memory off the chip.
    off_chip: Vec<bool>,
    /// `None`: no block shares.
    kernel: Option<Kernel>,
    /// The slot of each warp's block.
    slots: Vec<usize>,
    /// A kernel has begun that the unit has not been told of.
    is_new: bool,
    blocks: Blocks,
    /// The highest register and byte that each warp's next instruction accesses, counted from 1, as of now.
    registers: Packed,
    bytes: Packed,
    issued: Warps,
    /// Warps that have accessed registers that they share.
    register_users: Warps,
    users: Users,
    release: Release,
    /// Blocks that have accessed scratchpad that they share, one bit each.
    have_had: u64,
    /// Warps of the block that the unit was told of in the cycle before.
    launched: Warps,
    /// Warps whose release or exit waits for accesses before it.
    waiting: Warps,
    /// In this cycle, one bit a warp of the SM; who may access shared scratchpad, one bit a block.
    held: Warps,
    owner: Warps,
    shared: Warps,
    may_access: u64,
    /// The circuit has been stepped, and what is above is of the cycle before.
    is_stale: bool,
    counted: Shared,
}

impl BothSharing {
    /// A layer on a circuit.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(
        config: &Config,
        threshold: Threshold,
        (engine, circuit): (AnyEngine, &ResourceAccessUnit),
        release: Release,
    ) -> Result<BothSharing, EngineError> {
        Ok(BothSharing {
            ports: engine.ports(circuit)?,
            engine,
            threshold,
            partitions: config.sm.schedulers as usize,
            warps_per_partition: config.warps_per_scheduler() as usize,
            blocks_of_sm: circuit.blocks,
            design: config.design.to_string(),
            highest: Vec::new(),
            order: None,
            accesses: Accesses::default(),
            off_chip: Vec::new(),
            kernel: None,
            slots: vec![0; circuit.warps],
            is_new: false,
            blocks: Blocks::new(circuit.blocks),
            registers: Packed::new(circuit.warps, circuit.register_bits),
            bytes: Packed::new(circuit.warps, circuit.byte_bits),
            issued: 0,
            register_users: 0,
            users: Users::new(circuit.blocks),
            release,
            have_had: 0,
            launched: 0,
            waiting: 0,
            held: 0,
            owner: 0,
            shared: 0,
            may_access: 0,
            is_stale: true,
            counted: Shared::default(),
        })
    }

    /// The number of a warp in the unit.
    fn number(&self, at: WarpPlace) -> usize {
        at.partition * self.warps_per_partition + at.warp
    }

    /// Scratchpad of the kernel's blocks, if they share it.
    fn scratchpad(&self) -> Option<Scratchpad> {
        self.kernel.as_ref().and_then(|kernel| kernel.scratchpad)
    }

    /// Whether what a warp does next, as of now, needs registers, and bytes, that it shares.
    fn needs(&self, warp: usize) -> (bool, bool) {
        let Some(kernel) = self.kernel.as_ref().filter(|_| self.shared >> warp & 1 == 1) else {
            return (false, false);
        };
        let registers = kernel.plan.as_ref().map(|plan| u64::from(plan.private));
        let bytes = kernel.scratchpad.map(|scratchpad| scratchpad.private);
        let is_beyond = |private: Option<u64>, access: u64| private.is_some_and(|private| access > private);
        (is_beyond(registers, self.registers.get(warp)), is_beyond(bytes, self.bytes.get(warp)))
    }

    /// Asks the unit who is held in this cycle.
    fn begin_cycle(&mut self) {
        if !std::mem::replace(&mut self.is_stale, false) {
            return;
        }
        let state = self.engine.state_mut();
        state.set_words(self.ports.register_i, &self.registers.words);
        state.set_words(self.ports.byte_i, &self.bytes.words);
        self.engine.foresee();
        let (state, ports) = (self.engine.state(), &self.ports);
        let [held, owner] = [ports.held_o, ports.owner_o].map(|port| warps(state, port));
        let owners = blocks_of(owner & !self.owner & !self.launched, &self.slots);
        self.counted.handovers += u64::from(owners.count_ones());
        (self.held, self.owner, self.may_access) = (held, owner, state.get(ports.scratchpad_o));
        self.counted.lock_waits += u64::from(held.count_ones());
        self.counted.count_additional(self.shared & !owner, held);
        let Some(kernel) = self.kernel.as_ref().filter(|kernel| kernel.scratchpad.is_some()) else { return };
        let using = self.users.using();
        self.have_had |= using;
        let sharing = self.blocks.known() & ((1 << (2 * kernel.residents.pairs)) - 1);
        self.counted.count_scratchpad(sharing, using, self.have_had | self.users.released());
    }

    /// How blocks share: with as many pairs as both resources have room for, what there is not enough of for all.
    fn share(&self, admission: &Admission) -> Option<Kernel> {
        let Admission { fits, scratchpad_bytes: bytes, scratchpad_of_sm, warps, .. } = *admission;
        let limit = fits.warps.min(fits.slots).min(fits.launch);
        let resources = [
            plan::registers(admission, self.partitions),
            Resource { available: scratchpad_of_sm, needed: bytes },
        ];
        let most = residents(&resources, limit, self.threshold);
        let gaining = most.and_with_fewer_pairs().filter(|some| some.blocks() > admission.blocks);
        let with = |residents: Residents| {
            let plan = if residents.blocks() > fits.registers {
                Some(Plan::of(residents, admission, self.partitions, self.threshold)?)
            } else {
                None
            };
            let scratchpad = (residents.blocks() > fits.scratchpad)
                .then(|| Scratchpad { bytes, private: self.threshold.private(bytes) });
            Some(Kernel { residents, plan, scratchpad, warps })
        };
        gaining.filter_map(with).next()
    }
}

impl Layer for BothSharing {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.order = kernel.notes.get::<RegisterOrder>().map(|order| order.0.clone());
        self.highest = highest(kernel.program, self.order.as_deref());
        self.accesses = Accesses::of(kernel.program);
        self.off_chip = off_chip(kernel.program);
        self.release.start_kernel(kernel.program);
        self.kernel = None;
        self.is_new = true;
        Ok(())
    }

    fn admit(&mut self, admission: &Admission) -> u64 {
        self.kernel = self.share(admission);
        self.release.admit(admission.threads);
        self.kernel.as_ref().map_or(admission.blocks, |kernel| kernel.residents.blocks())
    }

    fn register_order(&self) -> Option<&[u16]> {
        self.order.as_deref().filter(|_| self.kernel.as_ref().is_some_and(|kernel| kernel.plan.is_some()))
    }

    fn home(&self, slot: usize, number: usize) -> Option<Home> {
        self.kernel.as_ref()?.plan.as_ref()?.home(slot, number)
    }

    fn start_warp(&mut self, at: WarpPlace, _first_row: u32, block: BlockIndex) {
        let warp = self.number(at);
        let Some(kernel) = &self.kernel else { return };
        let (next, number) = self.blocks.next_warp(block);
        let slot = kernel.plan.as_ref().and_then(|plan| plan.slot_of(at)).unwrap_or(next);
        if kernel.scratchpad.is_some() {
            self.release.start_warp(warp, number + 1 == kernel.warps);
        }
        self.slots[warp] = slot;
        let shares = (slot as u64) < 2 * kernel.residents.pairs;
        self.counted.sharing_warps += u64::from(shares);
        self.blocks.start_warp(slot, shares.then_some(slot ^ 1), warp);
    }

    fn decode(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        if self.kernel.is_none() {
            return;
        }
        let warp = self.number(at);
        self.registers.set(warp, highest_of(&self.highest, instruction));
        let Some(Scratchpad { bytes, private }) = self.scratchpad() else { return };
        let byte = self.accesses.highest_byte(instruction, bytes);
        self.bytes.set(warp, byte);
        if byte > private && self.release.has_released(warp, instruction.active) {
            self.users.access_after_release(self.slots[warp]);
        }
        self.release.decode(warp, instruction.inst.0);
        self.waiting = self.waiting & !(1 << warp) | Warps::from(self.release.holds(warp)) << warp;
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

    /// The unit has seen the warp's instruction before this one only, so one that needs what the warp may not use waits until
    /// the unit has seen it.
    fn holds_companion(&mut self, at: WarpPlace) -> bool {
        let warp = self.number(at);
        let (registers, bytes) = self.needs(warp);
        self.waiting >> warp & 1 == 1
            || registers && self.owner >> warp & 1 == 0
            || bytes && self.may_access >> self.slots[warp] & 1 == 0
    }

    fn issue(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let warp = self.number(at);
        self.issued |= 1 << warp;
        self.release.issue(warp, instruction.inst.0, instruction.active);
        if self.scratchpad().is_some() && self.accesses.any(instruction.inst) {
            self.release.access(warp);
        }
        let is_additional = (self.shared & !self.owner) >> warp & 1 == 1;
        let is_off_chip = instruction.active != 0 && self.off_chip[instruction.inst.0 as usize];
        self.counted.additional_memory += u64::from(is_additional && is_off_chip);
        let (registers, bytes) = self.needs(warp);
        if registers {
            self.counted.register_accesses += 1;
            self.counted.locks += u64::from(self.register_users >> warp & 1 == 0);
            self.register_users |= 1 << warp;
        }
        if bytes {
            self.counted.shared_accesses += 1;
            self.counted.locks += u64::from(self.users.access(self.slots[warp]));
        }
    }

    fn retire(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        if self.scratchpad().is_none() {
            return;
        }
        let warp = self.number(at);
        let accesses = self.accesses.any(instruction.inst);
        self.release.retire(warp, instruction.inst.0, instruction.active, accesses);
        if !self.release.holds(warp) {
            self.waiting &= !(1 << warp);
        }
    }

    fn end_warp(&mut self, at: WarpPlace) {
        if self.kernel.is_none() {
            return;
        }
        let warp = self.number(at);
        let slot = self.slots[warp];
        self.registers.set(warp, 0);
        self.bytes.set(warp, 0);
        self.shared &= !(1 << warp);
        self.register_users &= !(1 << warp);
        let releases = self.blocks.known() >> slot & 1 == 1 && self.scratchpad().is_some();
        if releases {
            self.release.end_warp(warp);
        }
        if self.blocks.end_warp(slot, warp) {
            if releases {
                self.release.end_block(slot);
            }
            self.users.end(slot);
        }
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        if self.kernel.is_some() {
            self.begin_cycle();
        }
        let shares_scratchpad = self.scratchpad().is_some();
        let is_told = self.release.is_told();
        let newly = match shares_scratchpad {
            true => self.release.released() & self.blocks.known() & !self.users.released(),
            false => 0,
        };
        let events = self.blocks.end_cycle(!self.is_new && is_told);
        self.release.end_cycle(events.launch.filter(|_| shares_scratchpad));
        self.counted.relssp = self.release.executed;
        let newly = newly & !events.blocks_ended;
        self.counted.releases += u64::from((newly & self.users.using()).count_ones());
        self.users.release(newly);
        let (state, ports) = (self.engine.state_mut(), &self.ports);
        let plan = self.kernel.as_ref().and_then(|kernel| kernel.plan.as_ref());
        let scratchpad = self.kernel.as_ref().and_then(|kernel| kernel.scratchpad);
        state.set(ports.configure_valid_i, u64::from(self.is_new));
        state.set(ports.configure_share_registers_i, u64::from(plan.is_some()));
        state.set(ports.configure_private_registers_i, plan.map_or(0, |plan| u64::from(plan.private)));
        state.set(ports.configure_share_scratchpad_i, u64::from(shares_scratchpad));
        state.set(ports.configure_private_bytes_i, scratchpad.map_or(0, |scratchpad| scratchpad.private));
        state.set(ports.launch_valid_i, u64::from(events.launch.is_some()));
        self.launched = events.launch.map_or(0, |launch| launch.warps);
        if let Some(Launch { slot, partner, warps, .. }) = events.launch {
            state.set(ports.launch_block_i, slot as u64);
            state.set(ports.launch_partner_i, partner.unwrap_or(self.blocks_of_sm) as u64);
            set_warps(state, ports.launch_warps_i, warps);
            self.shared |= if partner.is_some() { warps } else { 0 };
            self.have_had &= !(1 << slot);
        }
        state.set(ports.release_i, newly);
        state.set(ports.block_ended_i, events.blocks_ended);
        self.engine.step();
        let wrong = self.issued & self.held;
        (self.issued, self.is_new, self.is_stale) = (0, false, true);
        let fault = self.users.take_fault().map(|fault| fault.to_string());
        let issued = || format!("warps {wrong:#x} issued while they were held");
        match fault.or_else(|| (wrong != 0).then(issued)) {
            None => Ok(()),
            Some(problem) => Err(SimError::Circuit { design: self.design.clone(), problem }),
        }
    }

    fn waits_for(&self, at: WarpPlace) -> Option<String> {
        let warp = self.number(at);
        let slot = self.slots[warp];
        if self.waiting >> warp & 1 == 1 {
            return Some("its own accesses to scratchpad before relssp or the end".to_owned());
        }
        let what = match self.needs(warp) {
            (true, true) => "registers and scratchpad",
            (true, false) => "registers",
            (false, _) => "scratchpad",
        };
        let other = slot ^ 1;
        (self.held >> warp & 1 == 1)
            .then(|| format!("{what} that block slot {slot} shares with {other}, which is the owner"))
    }

    fn count(&self, into: &mut Counts) {
        into.add(COUNTERS, &self.counted);
    }

    fn circuits(&self) -> Vec<(String, &dyn Engine)> {
        vec![(CIRCUIT.to_owned(), &self.engine), (RELEASE_CIRCUIT.to_owned(), self.release.circuit())]
    }
}
