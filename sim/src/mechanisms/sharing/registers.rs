//! Register sharing: more blocks than registers, with pairs of warps that use some registers one after the other.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::sharing::RegisterAccessUnit;
use warpfile_kernels::compile::sharing::Threshold;
use warpfile_kernels::program::{BlockIndex, WarpInstruction};

use super::blocks::{Warps, set_warps, warps};
use super::dynamic_execution::Dynamic;
use super::pairs::Pairs;
use super::plan::Plan;
use super::shared_registers::SharedRegisters;
use super::{COUNTERS, DYNAMIC_CIRCUIT, REGISTER_CIRCUIT};
use crate::config::Config;
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::sm::SimError;
use crate::sm::design::{Admission, Classes, Home, Layer, WarpPlace, WarpRows};

/// Outputs that are looked at before a cycle is run.
pub(super) const FORESEEN: [&str; 4] = ["held_o", "owner_o", "shared_o", "locked_o"];

/// A layer that shares registers.
pub struct RegisterSharing {
    engine: AnyEngine,
    ports: CircuitPorts<RegisterAccessUnit>,
    threshold: Threshold,
    partitions: usize,
    pairs: Pairs,
    registers: SharedRegisters,
    /// Holds back memory instructions; `None` if the SM knows of no other.
    dynamic: Option<Dynamic>,
    /// In this cycle, one bit a warp of the SM: warps held before memory instructions, and those that hold locks.
    memory_held: Warps,
    locked: Warps,
}

impl RegisterSharing {
    /// A layer on a circuit.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(
        config: &Config,
        threshold: Threshold,
        (engine, circuit): (AnyEngine, &RegisterAccessUnit),
        dynamic: Option<Dynamic>,
    ) -> Result<RegisterSharing, EngineError> {
        Ok(RegisterSharing {
            ports: engine.ports(circuit)?,
            engine,
            threshold,
            partitions: config.partitions() as usize,
            pairs: Pairs::new(config),
            registers: SharedRegisters::new(circuit.warps, circuit.register_bits),
            dynamic,
            memory_held: 0,
            locked: 0,
        })
    }

    /// Whether what a warp does next, as of now, needs registers that it shares.
    fn needs(&self, warp: usize) -> bool {
        self.pairs.shared >> warp & 1 == 1 && self.registers.needs(warp)
    }

    /// Asks the unit who is held in this cycle.
    fn begin_cycle(&mut self) {
        if !self.pairs.take_stale() {
            return;
        }
        self.engine.state_mut().set_words(self.ports.register_i, &self.registers.highest.words);
        self.engine.foresee();
        let (state, ports) = (self.engine.state(), &self.ports);
        let [held, owner, shared, locked] =
            [ports.held_o, ports.owner_o, ports.shared_o, ports.locked_o].map(|port| warps(state, port));
        self.pairs.shared = shared;
        self.pairs.begin_cycle(held, owner);
        let counted = &mut self.pairs.counted;
        counted.locks += u64::from((locked & !self.locked).count_ones());
        self.locked = locked;
        if let Some(dynamic) = &mut self.dynamic {
            self.memory_held = dynamic.held(shared & !owner);
            counted.memory_waits += u64::from((self.memory_held & !held).count_ones());
        }
    }
}

impl Layer for RegisterSharing {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.pairs.is_new = true;
        self.registers.start_kernel(kernel);
        if let Some(dynamic) = &mut self.dynamic {
            dynamic.start_kernel();
        }
        Ok(())
    }

    fn admit(&mut self, admission: &Admission) -> u64 {
        let plan = Plan::new(admission, self.partitions, self.threshold);
        let residents = plan.as_ref().map(|plan| plan.residents);
        self.registers.plan = plan;
        self.pairs.admit(residents, admission)
    }

    fn register_order(&self) -> Option<&[u16]> {
        self.registers.order()
    }

    fn home(&self, slot: usize, number: usize) -> Option<Home> {
        self.registers.plan.as_ref()?.home(slot, number)
    }

    fn start_warp(&mut self, at: WarpPlace, _rows: WarpRows, block: BlockIndex) {
        if let Some(plan) = &self.registers.plan {
            self.pairs.start_warp(self.pairs.number(at), block, plan.slot_of(at));
        }
    }

    fn decode(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let warp = self.pairs.number(at);
        self.registers.decode(warp, instruction);
        if let Some(dynamic) = &mut self.dynamic {
            dynamic.decode(warp, self.registers.is_off_chip(instruction));
        }
    }

    fn held_warps(&mut self, partition: usize) -> u64 {
        if !self.pairs.share() {
            return 0;
        }
        self.begin_cycle();
        self.pairs.held_in(partition, self.memory_held)
    }

    fn brief_waits(&mut self, partition: usize) -> u64 {
        let are_brief = self.dynamic.as_ref().is_some_and(Dynamic::waits_are_brief);
        let brief = if are_brief { self.memory_held & !self.pairs.held } else { 0 };
        self.pairs.of_partition(brief, partition)
    }

    fn classes(&mut self, partition: usize) -> Classes {
        self.pairs.classes(partition)
    }

    /// The units have seen the warp's instruction before this one only, so one that needs a lock, or of an additional warp
    /// one that accesses memory, waits for it to be seen.
    fn holds_companion(&mut self, at: WarpPlace) -> bool {
        let warp = self.pairs.number(at);
        let may_hold = self.dynamic.as_ref().is_some_and(|dynamic| dynamic.may_hold(warp));
        self.pairs.additional() >> warp & 1 == 1 && may_hold
            || self.needs(warp) && self.locked >> warp & 1 == 0
    }

    fn issue(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let warp = self.pairs.number(at);
        self.pairs.issued |= 1 << warp;
        let (needs, is_additional) = (self.needs(warp), self.pairs.additional() >> warp & 1 == 1);
        let counted = &mut self.pairs.counted;
        counted.additional_memory += u64::from(is_additional && self.registers.is_off_chip(instruction));
        counted.register_accesses += u64::from(needs);
    }

    fn end_warp(&mut self, at: WarpPlace) {
        if self.pairs.share() {
            let warp = self.pairs.number(at);
            self.registers.highest.set(warp, 0);
            if let Some(dynamic) = &mut self.dynamic {
                dynamic.decode(warp, false);
            }
            self.pairs.end_warp(warp);
        }
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        let shares = self.pairs.share();
        if shares {
            self.begin_cycle();
        }
        let (is_new, issued) = (self.pairs.is_new, self.pairs.issued);
        let events = self.pairs.events(true);
        if let Some(dynamic) = &mut self.dynamic {
            dynamic.end_cycle((is_new, shares), issued == 0, &mut self.pairs.counted);
        }
        let (state, ports) = (self.engine.state_mut(), &self.ports);
        state.set(ports.configure_valid_i, u64::from(is_new));
        state.set(ports.configure_share_i, u64::from(shares));
        state.set(ports.configure_private_i, self.registers.private().unwrap_or(0));
        self.pairs.launch(state, &ports.launch, events.launch);
        set_warps(state, ports.issue_i, if shares { issued & !events.warps_ended } else { 0 });
        set_warps(state, ports.ended_i, events.warps_ended);
        state.set(ports.block_ended_i, events.blocks_ended);
        self.engine.step();
        let held = self.pairs.held | self.memory_held;
        self.pairs.end_cycle(held, None, "issued while they were held")
    }

    fn waits_for(&self, at: WarpPlace) -> Option<String> {
        let warp = self.pairs.number(at);
        let (slot, other) = (self.pairs.slots[warp], self.pairs.slots[warp] ^ 1);
        if (self.memory_held & !self.pairs.held) >> warp & 1 == 1 {
            return Some(format!("leave to access memory, or to own what it shares with block slot {other}"));
        }
        let slots = self.pairs.slots.iter().enumerate();
        let holds = |&(warp, slot): &(usize, &usize)| *slot == other && self.locked >> warp & 1 == 1;
        let holders: Vec<usize> = slots.filter(holds).map(|(warp, _)| warp).collect();
        (self.pairs.held >> warp & 1 == 1).then(|| {
            format!(
                "registers that block slot {slot} shares with {other}, whose warps {holders:?} hold locks"
            )
        })
    }

    fn count(&self, into: &mut Counts) {
        into.add(COUNTERS, &self.pairs.counted);
    }

    fn circuits(&self) -> Vec<(String, &dyn Engine)> {
        let dynamic = self.dynamic.as_ref().map(|dynamic| (DYNAMIC_CIRCUIT.to_owned(), dynamic.circuit()));
        let own: (String, &dyn Engine) = (REGISTER_CIRCUIT.to_owned(), &self.engine);
        [own].into_iter().chain(dynamic).collect()
    }
}
