//! Register sharing: more blocks than registers, with pairs of warps that use some registers one after the other.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::sharing::RegisterAccessUnit;
use warpfile_kernels::compile::sharing::Threshold;
use warpfile_kernels::program::{BlockIndex, Program, WarpInstruction};

use super::blocks::{Blocks, Launch, Packed, Warps, blocks_of, of_partition, set_warps, warps};
use super::dynamic_execution::{Dynamic, off_chip};
use super::plan::Plan;
use super::{COUNTERS, DYNAMIC_CIRCUIT, REGISTER_CIRCUIT, RegisterOrder, Shared};
use crate::config::Config;
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::sm::SimError;
use crate::sm::design::{Admission, Classes, Home, Layer, WarpPlace};

/// Outputs that are looked at before a cycle is run.
pub(super) const FORESEEN: [&str; 4] = ["held_o", "owner_o", "shared_o", "locked_o"];

/// A layer that shares registers.
pub struct RegisterSharing {
    engine: AnyEngine,
    ports: CircuitPorts<RegisterAccessUnit>,
    threshold: Threshold,
    partitions: usize,
    warps_per_partition: usize,
    blocks_of_sm: usize,
    design: String,
    /// By instruction the highest register, counted from 1 in the order in which registers lie; 0 for none.
    highest: Vec<u16>,
    /// By instruction whether it accesses memory off the chip.
    off_chip: Vec<bool>,
    /// The order of the kernel's registers, if it is not that of their numbers.
    order: Option<Vec<u16>>,
    /// `None`: no block shares.
    plan: Option<Plan>,
    /// The slot of the block that is put into each warp slot of the SM.
    slots: Vec<usize>,
    /// A kernel has begun that the unit has not been told of.
    is_new: bool,
    blocks: Blocks,
    /// What each warp's next instruction accesses, as of now.
    access: Packed,
    issued: Warps,
    /// Holds back memory instructions; `None` if the SM knows of no other.
    dynamic: Option<Dynamic>,
    /// In this cycle, one bit a warp of the SM: warps held for want of a lock, or before memory instructions.
    held: Warps,
    memory_held: Warps,
    owner: Warps,
    shared: Warps,
    locked: Warps,
    /// The circuit has been stepped, and what is above is of the cycle before.
    is_stale: bool,
    counted: Shared,
}

impl RegisterSharing {
    /// A layer on a circuit.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(
        config: &Config,
        threshold: Threshold,
        engine: AnyEngine,
        circuit: &RegisterAccessUnit,
        dynamic: Option<Dynamic>,
    ) -> Result<RegisterSharing, EngineError> {
        Ok(RegisterSharing {
            ports: engine.ports(circuit)?,
            engine,
            threshold,
            partitions: config.sm.schedulers as usize,
            warps_per_partition: config.warps_per_scheduler() as usize,
            blocks_of_sm: circuit.blocks,
            design: config.design.to_string(),
            highest: Vec::new(),
            off_chip: Vec::new(),
            order: None,
            plan: None,
            slots: vec![0; circuit.warps],
            is_new: false,
            blocks: Blocks::new(circuit.blocks),
            access: Packed::new(circuit.warps, circuit.register_bits),
            issued: 0,
            dynamic,
            held: 0,
            memory_held: 0,
            owner: 0,
            shared: 0,
            locked: 0,
            is_stale: true,
            counted: Shared::default(),
        })
    }

    /// The number of a warp in the unit: two that share are neighbours.
    fn number(&self, at: WarpPlace) -> usize {
        at.partition * self.warps_per_partition + at.warp
    }

    /// Whether an instruction accesses memory off the chip, in any lane.
    fn is_off_chip(&self, instruction: &WarpInstruction) -> bool {
        instruction.active != 0 && self.off_chip[instruction.inst.0 as usize]
    }

    /// Asks the unit who is held in this cycle.
    fn begin_cycle(&mut self) {
        if !std::mem::replace(&mut self.is_stale, false) {
            return;
        }
        self.engine.state_mut().set_words(self.ports.register_i, &self.access.words);
        self.engine.foresee();
        let (state, ports) = (self.engine.state(), &self.ports);
        let [held, owner, shared, locked] =
            [ports.held_o, ports.owner_o, ports.shared_o, ports.locked_o].map(|port| warps(state, port));
        let owners = blocks_of(owner & !self.owner & self.shared, &self.slots);
        self.counted.handovers += u64::from(owners.count_ones());
        self.counted.locks += u64::from((locked & !self.locked).count_ones());
        (self.held, self.owner, self.shared, self.locked) = (held, owner, shared, locked);
        self.counted.lock_waits += u64::from(held.count_ones());
        let additional = shared & !owner;
        self.counted.count_additional(additional, held);
        if let Some(dynamic) = &mut self.dynamic {
            self.memory_held = dynamic.held(additional);
            self.counted.memory_waits += u64::from((self.memory_held & !held).count_ones());
        }
    }
}

/// The highest register of an instruction that some lane executes, counted from 1; 0 for none.
pub(super) fn highest_of(highest: &[u16], instruction: &WarpInstruction) -> u64 {
    if instruction.active == 0 { 0 } else { u64::from(highest[instruction.inst.0 as usize]) }
}

/// The highest register of each instruction, counted from 1 in an order.
pub(super) fn highest(program: &Program, order: Option<&[u16]>) -> Vec<u16> {
    let place = |register: u16| order.map_or(register, |order| order[usize::from(register)]) + 1;
    let of_instruction = program.instructions.iter().map(|instruction| {
        let sources = instruction.sources.iter().map(|source| source.register.0);
        let results = instruction.results.iter().map(|result| result.register.0);
        sources.chain(results).map(place).max().unwrap_or(0)
    });
    of_instruction.collect()
}

impl Layer for RegisterSharing {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.order = kernel.notes.get::<RegisterOrder>().map(|order| order.0.clone());
        self.highest = highest(kernel.program, self.order.as_deref());
        self.off_chip = off_chip(kernel.program);
        self.plan = None;
        self.is_new = true;
        if let Some(dynamic) = &mut self.dynamic {
            dynamic.start_kernel();
        }
        Ok(())
    }

    fn admit(&mut self, admission: &Admission) -> u64 {
        self.plan = Plan::new(admission, self.partitions, self.threshold);
        let Some(plan) = &self.plan else { return admission.blocks };
        for slot in 0..self.slots.len() {
            let (partition, warp) = (slot / self.warps_per_partition, slot % self.warps_per_partition);
            self.slots[slot] = plan.slot_of(WarpPlace { partition, warp }).unwrap_or(0);
        }
        plan.residents.blocks()
    }

    fn register_order(&self) -> Option<&[u16]> {
        self.order.as_deref().filter(|_| self.plan.is_some())
    }

    fn home(&self, slot: usize, number: usize) -> Option<Home> {
        self.plan.as_ref()?.home(slot, number)
    }

    fn start_warp(&mut self, at: WarpPlace, _first_row: u32, _block: BlockIndex) {
        let Some(plan) = &self.plan else { return };
        let warp = self.number(at);
        let slot = self.slots[warp];
        let shares = (slot as u64) < 2 * plan.residents.pairs;
        self.counted.sharing_warps += u64::from(shares);
        self.blocks.start_warp(slot, shares.then_some(slot ^ 1), warp);
    }

    fn decode(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let warp = self.number(at);
        self.access.set(warp, highest_of(&self.highest, instruction));
        let is_off_chip = self.is_off_chip(instruction);
        if let Some(dynamic) = &mut self.dynamic {
            dynamic.decode(warp, is_off_chip);
        }
    }

    fn held_warps(&mut self, partition: usize) -> u64 {
        if self.plan.is_none() {
            return 0;
        }
        self.begin_cycle();
        of_partition(self.held | self.memory_held | self.blocks.unknown, partition, self.warps_per_partition)
    }

    fn brief_waits(&mut self, partition: usize) -> u64 {
        let are_brief = self.dynamic.as_ref().is_some_and(Dynamic::waits_are_brief);
        let brief = if are_brief { self.memory_held & !self.held } else { 0 };
        of_partition(brief, partition, self.warps_per_partition)
    }

    fn classes(&mut self, partition: usize) -> Classes {
        if self.plan.is_none() {
            return Classes::default();
        }
        let of = |warps| of_partition(warps, partition, self.warps_per_partition);
        Classes { first: of(self.owner), last: of(self.shared & !self.owner) }
    }

    /// The units have seen the warp's instruction before this one only, so one that needs a lock, or of an additional warp
    /// one that accesses memory, waits for it to be seen.
    fn holds_companion(&mut self, at: WarpPlace) -> bool {
        let Some(plan) = &self.plan else { return false };
        let warp = self.number(at);
        let needs = self.shared >> warp & 1 == 1 && self.access.get(warp) > u64::from(plan.private);
        let is_additional = (self.shared & !self.owner) >> warp & 1 == 1;
        let waits = is_additional && self.dynamic.as_ref().is_some_and(|dynamic| dynamic.may_hold(warp));
        waits || needs && self.locked >> warp & 1 == 0
    }

    fn issue(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let warp = self.number(at);
        self.issued |= 1 << warp;
        let is_additional = self.plan.is_some() && (self.shared & !self.owner) >> warp & 1 == 1;
        self.counted.additional_memory += u64::from(is_additional && self.is_off_chip(instruction));
        let private = self.plan.as_ref().map_or(u64::MAX, |plan| u64::from(plan.private));
        let needs = self.shared >> warp & 1 == 1 && self.access.get(warp) > private;
        self.counted.register_accesses += u64::from(needs);
    }

    fn end_warp(&mut self, at: WarpPlace) {
        if self.plan.is_some() {
            let warp = self.number(at);
            self.access.set(warp, 0);
            if let Some(dynamic) = &mut self.dynamic {
                dynamic.decode(warp, false);
            }
            self.blocks.end_warp(self.slots[warp], warp);
        }
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        if self.plan.is_some() {
            self.begin_cycle();
        }
        let events = self.blocks.end_cycle(!self.is_new);
        let wrong = self.issued & (self.held | self.memory_held);
        if let Some(dynamic) = &mut self.dynamic {
            dynamic.end_cycle((self.is_new, self.plan.is_some()), self.issued == 0, &mut self.counted);
        }
        let (state, ports) = (self.engine.state_mut(), &self.ports);
        state.set(ports.configure_valid_i, u64::from(self.is_new));
        state.set(ports.configure_share_i, u64::from(self.plan.is_some()));
        let private = self.plan.as_ref().map_or(0, |plan| plan.private);
        state.set(ports.configure_private_i, u64::from(private));
        state.set(ports.launch_valid_i, u64::from(events.launch.is_some()));
        if let Some(Launch { slot, partner, warps, .. }) = events.launch {
            state.set(ports.launch_block_i, slot as u64);
            state.set(ports.launch_partner_i, partner.unwrap_or(self.blocks_of_sm) as u64);
            set_warps(state, ports.launch_warps_i, warps);
        }
        let issued = if self.plan.is_some() { self.issued & !events.warps_ended } else { 0 };
        set_warps(state, ports.issue_i, issued);
        set_warps(state, ports.ended_i, events.warps_ended);
        state.set(ports.block_ended_i, events.blocks_ended);
        self.engine.step();
        (self.issued, self.is_new, self.is_stale) = (0, false, true);
        match wrong {
            0 => Ok(()),
            warps => Err(SimError::Circuit {
                design: self.design.clone(),
                problem: format!("warps {warps:#x} issued while they were held"),
            }),
        }
    }

    fn waits_for(&self, at: WarpPlace) -> Option<String> {
        let warp = self.number(at);
        let slot = self.slots[warp];
        let holds = |other: usize| self.slots[other] == slot ^ 1 && self.locked >> other & 1 == 1;
        let holders: Vec<usize> = (0..self.slots.len()).filter(|other| holds(*other)).collect();
        if (self.memory_held & !self.held) >> warp & 1 == 1 {
            return Some(format!(
                "leave to access memory, or to own what it shares with block slot {}",
                slot ^ 1
            ));
        }
        (self.held >> warp & 1 == 1).then(|| {
            format!(
                "registers that block slot {slot} shares with {}, whose warps {holders:?} hold locks",
                slot ^ 1
            )
        })
    }

    fn count(&self, into: &mut Counts) {
        into.add(COUNTERS, &self.counted);
    }

    fn circuits(&self) -> Vec<(String, &dyn Engine)> {
        let dynamic = self.dynamic.as_ref().map(|dynamic| (DYNAMIC_CIRCUIT.to_owned(), dynamic.circuit()));
        let own: (String, &dyn Engine) = (REGISTER_CIRCUIT.to_owned(), &self.engine);
        [own].into_iter().chain(dynamic).collect()
    }
}
