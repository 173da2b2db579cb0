//! Register and scratchpad sharing at once: more blocks than either has room for, in pairs with one owner for both.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::sharing::ResourceAccessUnit;
use warpfile_kernels::compile::sharing::{Residents, Resource, Threshold, with_pairs};
use warpfile_kernels::program::{BlockIndex, WarpInstruction};

use super::blocks::{Warps, warps};
use super::pairs::Pairs;
use super::plan::{self, Plan};
use super::release::Release;
use super::shared_registers::SharedRegisters;
use super::shared_scratchpad::SharedScratchpad;
use super::{COUNTERS, RESOURCE_CIRCUIT};
use crate::config::Config;
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::sm::SimError;
use crate::sm::design::{Admission, Classes, Home, Layer, WarpPlace, WarpRows};

/// Outputs that are looked at before a cycle is run.
pub(super) const FORESEEN: [&str; 3] = ["held_o", "owner_o", "scratchpad_o"];

/// A layer that shares registers and scratchpad.
pub struct BothSharing {
    engine: AnyEngine,
    ports: CircuitPorts<ResourceAccessUnit>,
    threshold: Threshold,
    partitions: usize,
    pairs: Pairs,
    registers: SharedRegisters,
    scratchpad: SharedScratchpad,
    /// Warps that have accessed registers that they share.
    register_users: Warps,
    /// Blocks that may access shared scratchpad in this cycle, one bit each.
    may_access: u64,
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
        release: Option<Release>,
    ) -> Result<BothSharing, EngineError> {
        let sizes = (circuit.warps, circuit.blocks, circuit.byte_bits);
        Ok(BothSharing {
            ports: engine.ports(circuit)?,
            engine,
            threshold,
            partitions: config.partitions() as usize,
            pairs: Pairs::new(config),
            registers: SharedRegisters::new(circuit.warps, circuit.register_bits),
            scratchpad: SharedScratchpad::new(sizes, release),
            register_users: 0,
            may_access: 0,
        })
    }

    /// Whether what a warp does next, as of now, needs registers, and bytes, that it shares.
    fn needs(&self, warp: usize) -> (bool, bool) {
        let shares = self.pairs.shared >> warp & 1 == 1;
        (shares && self.registers.needs(warp), shares && self.scratchpad.needs(warp))
    }

    /// Asks the unit who is held in this cycle.
    fn begin_cycle(&mut self) {
        if !self.pairs.take_stale() {
            return;
        }
        let state = self.engine.state_mut();
        state.set_words(self.ports.register_i, &self.registers.highest.words);
        state.set_words(self.ports.byte_i, &self.scratchpad.highest.words);
        self.engine.foresee();
        let (state, ports) = (self.engine.state(), &self.ports);
        let [held, owner] = [ports.held_o, ports.owner_o].map(|port| warps(state, port));
        self.may_access = state.get(ports.scratchpad_o);
        self.pairs.begin_cycle(held, owner);
        self.scratchpad.begin_cycle(self.scratchpad.users.using(), &mut self.pairs);
    }

    /// How blocks share: with as many pairs as both resources have room for, what there is not enough of for all. Where
    /// registers lie, if they are shared, and bytes that a block has for itself, if scratchpad is.
    fn share(&self, admission: &Admission) -> Option<(Residents, Option<Plan>, Option<u64>)> {
        let Admission { fits, scratchpad_bytes: bytes, scratchpad_of_sm, blocks, .. } = *admission;
        let limit = fits.warps.min(fits.slots).min(fits.launch);
        let scratchpad = Resource { available: scratchpad_of_sm, needed: bytes };
        let resources = [plan::registers(admission, self.partitions), scratchpad];
        let with = |residents: Residents| {
            let plan = match residents.blocks() > fits.registers {
                true => Some(Plan::of(residents, admission, self.partitions, self.threshold)?),
                false => None,
            };
            let private = (residents.blocks() > fits.scratchpad).then(|| self.threshold.private(bytes));
            Some((residents, plan, private))
        };
        with_pairs(&resources, limit, self.threshold, blocks).filter_map(with).next()
    }
}

impl Layer for BothSharing {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.pairs.is_new = true;
        self.registers.start_kernel(kernel);
        self.scratchpad.start_kernel(kernel.program);
        Ok(())
    }

    fn admit(&mut self, admission: &Admission) -> u64 {
        let (residents, plan, private) = match self.share(admission) {
            Some((residents, plan, private)) => (Some(residents), plan, private),
            None => (None, None, None),
        };
        self.registers.plan = plan;
        self.scratchpad.admit(admission, private);
        self.pairs.admit(residents, admission)
    }

    fn register_order(&self) -> Option<&[u16]> {
        self.registers.order()
    }

    fn home(&self, slot: usize, number: usize) -> Option<Home> {
        self.registers.plan.as_ref()?.home(slot, number)
    }

    fn start_warp(&mut self, at: WarpPlace, _rows: WarpRows, block: BlockIndex) {
        if self.pairs.share() {
            let warp = self.pairs.number(at);
            let slot = self.registers.plan.as_ref().and_then(|plan| plan.slot_of(at));
            let number = self.pairs.start_warp(warp, block, slot);
            self.scratchpad.start_warp(warp, number);
        }
    }

    fn decode(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        if self.pairs.share() {
            let warp = self.pairs.number(at);
            self.registers.decode(warp, instruction);
            self.scratchpad.decode(warp, self.pairs.slots[warp], instruction);
        }
    }

    fn held_warps(&mut self, partition: usize) -> u64 {
        if !self.pairs.share() {
            return 0;
        }
        self.begin_cycle();
        self.pairs.held_in(partition, self.scratchpad.waiting)
    }

    fn classes(&mut self, partition: usize) -> Classes {
        self.pairs.classes(partition)
    }

    /// The unit has seen the warp's instruction before this one only, so one that needs what the warp may not use waits until
    /// the unit has seen it.
    fn holds_companion(&mut self, at: WarpPlace) -> bool {
        let warp = self.pairs.number(at);
        let (registers, bytes) = self.needs(warp);
        self.scratchpad.waiting >> warp & 1 == 1
            || registers && self.pairs.owner >> warp & 1 == 0
            || bytes && self.may_access >> self.pairs.slots[warp] & 1 == 0
    }

    fn issue(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let warp = self.pairs.number(at);
        self.pairs.issued |= 1 << warp;
        self.scratchpad.issue(warp, instruction);
        let (registers, bytes) = self.needs(warp);
        let is_additional = self.pairs.additional() >> warp & 1 == 1;
        let counted = &mut self.pairs.counted;
        counted.additional_memory += u64::from(is_additional && self.registers.is_off_chip(instruction));
        if registers {
            counted.register_accesses += 1;
            counted.locks += u64::from(self.register_users >> warp & 1 == 0);
            self.register_users |= 1 << warp;
        }
        if bytes {
            let is_first = self.scratchpad.users.access(self.pairs.slots[warp]);
            self.pairs.counted.shared_accesses += 1;
            self.pairs.counted.locks += u64::from(is_first);
        }
    }

    fn retire(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        self.scratchpad.retire(self.pairs.number(at), instruction);
    }

    fn end_warp(&mut self, at: WarpPlace) {
        if self.pairs.share() {
            let warp = self.pairs.number(at);
            self.registers.highest.set(warp, 0);
            self.register_users &= !(1 << warp);
            self.scratchpad.end_warp(warp, &mut self.pairs);
        }
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        if self.pairs.share() {
            self.begin_cycle();
        }
        let (events, released) = self.scratchpad.end_cycle(self.scratchpad.users.using(), &mut self.pairs);
        let (state, ports) = (self.engine.state_mut(), &self.ports);
        let (registers, bytes) = (self.registers.private(), self.scratchpad.private());
        state.set(ports.configure_valid_i, u64::from(self.pairs.is_new));
        state.set(ports.configure_share_registers_i, u64::from(registers.is_some()));
        state.set(ports.configure_private_registers_i, registers.unwrap_or(0));
        state.set(ports.configure_share_scratchpad_i, u64::from(bytes.is_some()));
        state.set(ports.configure_private_bytes_i, bytes.unwrap_or(0));
        self.pairs.launch(state, &ports.launch, events.launch);
        state.set(ports.release_i, released);
        state.set(ports.block_ended_i, events.blocks_ended);
        self.engine.step();
        let fault = self.scratchpad.users.take_fault().map(|fault| fault.to_string());
        self.pairs.end_cycle(self.pairs.held, fault, "issued while they were held")
    }

    fn waits_for(&self, at: WarpPlace) -> Option<String> {
        let warp = self.pairs.number(at);
        let (slot, other) = (self.pairs.slots[warp], self.pairs.slots[warp] ^ 1);
        let what = match self.needs(warp) {
            (true, true) => "registers and scratchpad",
            (true, false) => "registers",
            (false, _) => "scratchpad",
        };
        let shared = || format!("{what} that block slot {slot} shares with {other}, which is the owner");
        self.scratchpad.waits_for(warp).or_else(|| (self.pairs.held >> warp & 1 == 1).then(shared))
    }

    fn count(&self, into: &mut Counts) {
        into.add(COUNTERS, &self.pairs.counted);
    }

    fn circuits(&self) -> Vec<(String, &dyn Engine)> {
        let own: (String, &dyn Engine) = (RESOURCE_CIRCUIT.to_owned(), &self.engine);
        [own].into_iter().chain(self.scratchpad.circuit()).collect()
    }
}
