//! Scratchpad sharing: more blocks than scratchpad, with pairs of blocks that use a part of it one after the other.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::sharing::ScratchpadAccessUnit;
use warpfile_kernels::compile::sharing::{Resource, Threshold, with_pairs};
use warpfile_kernels::program::{BlockIndex, WarpInstruction};

use super::blocks::{set_warps, warps};
use super::pairs::Pairs;
use super::release::Release;
use super::shared_scratchpad::SharedScratchpad;
use super::{COUNTERS, SCRATCHPAD_CIRCUIT};
use crate::config::Config;
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::sm::SimError;
use crate::sm::design::{Admission, Classes, Layer, WarpPlace, WarpRows};

/// Outputs that are looked at before a cycle is run.
pub(super) const FORESEEN: [&str; 3] = ["held_o", "owner_o", "locked_o"];

/// A layer that shares scratchpad.
pub struct ScratchpadSharing {
    engine: AnyEngine,
    ports: CircuitPorts<ScratchpadAccessUnit>,
    threshold: Threshold,
    pairs: Pairs,
    scratchpad: SharedScratchpad,
    /// Blocks that hold the lock of their pair in this cycle, one bit each.
    locked: u64,
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
        let sizes = (circuit.warps, circuit.blocks, circuit.byte_bits);
        Ok(ScratchpadSharing {
            ports: engine.ports(circuit)?,
            engine,
            threshold,
            pairs: Pairs::new(config),
            scratchpad: SharedScratchpad::new(sizes, release),
            locked: 0,
        })
    }

    /// Asks the unit who is held in this cycle.
    fn begin_cycle(&mut self) {
        if !self.pairs.take_stale() {
            return;
        }
        self.engine.state_mut().set_words(self.ports.byte_i, &self.scratchpad.highest.words);
        self.engine.foresee();
        let (state, ports) = (self.engine.state(), &self.ports);
        let [held, owner] = [ports.held_o, ports.owner_o].map(|port| warps(state, port));
        let locked = state.get(ports.locked_o);
        self.pairs.begin_cycle(held, owner);
        self.pairs.counted.locks += u64::from((locked & !self.locked).count_ones());
        self.locked = locked;
        self.scratchpad.begin_cycle(locked, &mut self.pairs);
    }
}

impl Layer for ScratchpadSharing {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.pairs.is_new = true;
        self.scratchpad.start_kernel(kernel.program);
        Ok(())
    }

    fn admit(&mut self, admission: &Admission) -> u64 {
        let Admission { fits, scratchpad_bytes: bytes, scratchpad_of_sm, blocks, .. } = *admission;
        let limit = fits.warps.min(fits.slots).min(fits.registers).min(fits.launch);
        let scratchpad = Resource { available: scratchpad_of_sm, needed: bytes };
        let residents = with_pairs(&[scratchpad], limit, self.threshold, blocks).next();
        self.scratchpad.admit(admission, residents.map(|_| self.threshold.private(bytes)));
        self.pairs.admit(residents, admission)
    }

    fn start_warp(&mut self, at: WarpPlace, _rows: WarpRows, block: BlockIndex) {
        if self.pairs.share() {
            let warp = self.pairs.number(at);
            let number = self.pairs.start_warp(warp, block, None);
            self.scratchpad.start_warp(warp, number);
        }
    }

    fn decode(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let warp = self.pairs.number(at);
        self.scratchpad.decode(warp, self.pairs.slots[warp], instruction);
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

    /// The unit has seen the warp's instruction before this one only, so one that needs the lock waits for it to be seen.
    fn holds_companion(&mut self, at: WarpPlace) -> bool {
        let warp = self.pairs.number(at);
        let needs = self.pairs.shared >> warp & 1 == 1 && self.scratchpad.needs(warp);
        self.scratchpad.waiting >> warp & 1 == 1 || needs && self.locked >> self.pairs.slots[warp] & 1 == 0
    }

    fn issue(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let warp = self.pairs.number(at);
        self.pairs.issued |= 1 << warp;
        self.scratchpad.issue(warp, instruction);
        if self.pairs.shared >> warp & 1 == 1 && self.scratchpad.needs(warp) {
            self.pairs.counted.shared_accesses += 1;
            self.scratchpad.users.access(self.pairs.slots[warp]);
        }
    }

    fn retire(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        self.scratchpad.retire(self.pairs.number(at), instruction);
    }

    fn end_warp(&mut self, at: WarpPlace) {
        if self.pairs.share() {
            self.scratchpad.end_warp(self.pairs.number(at), &mut self.pairs);
        }
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        if self.pairs.share() {
            self.begin_cycle();
        }
        let (events, released) = self.scratchpad.end_cycle(self.locked, &mut self.pairs);
        let (state, ports) = (self.engine.state_mut(), &self.ports);
        state.set(ports.configure_valid_i, u64::from(self.pairs.is_new));
        state.set(ports.configure_share_i, u64::from(self.pairs.share()));
        state.set(ports.configure_private_i, self.scratchpad.private().unwrap_or(0));
        self.pairs.launch(state, &ports.launch, events.launch);
        set_warps(state, ports.issue_i, if self.pairs.share() { self.pairs.issued } else { 0 });
        state.set(ports.release_i, released);
        state.set(ports.block_ended_i, events.blocks_ended);
        self.engine.step();
        let fault = self.scratchpad.users.take_fault().map(|fault| fault.to_string());
        self.pairs.end_cycle(self.pairs.held, fault, "issued shared accesses without their locks")
    }

    fn waits_for(&self, at: WarpPlace) -> Option<String> {
        let warp = self.pairs.number(at);
        let (slot, other) = (self.pairs.slots[warp], self.pairs.slots[warp] ^ 1);
        let holds = if self.locked >> other & 1 == 1 { "holds the lock" } else { "is the owner" };
        let shared = || format!("scratchpad that block slot {slot} shares with {other}, which {holds}");
        self.scratchpad.waits_for(warp).or_else(|| (self.pairs.held >> warp & 1 == 1).then(shared))
    }

    fn count(&self, into: &mut Counts) {
        into.add(COUNTERS, &self.pairs.counted);
    }

    fn circuits(&self) -> Vec<(String, &dyn Engine)> {
        let own: (String, &dyn Engine) = (SCRATCHPAD_CIRCUIT.to_owned(), &self.engine);
        [own].into_iter().chain(self.scratchpad.circuit()).collect()
    }
}
