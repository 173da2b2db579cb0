//! Reference of the source allocator: operands in collectors, on their way out of them, and kept for the cache.
//!
//! §3.1 of Gebhart et al. mentions entries for source operands; which of them get one is [decision
//! 8](../../../docs/decisions/0008-source-allocation-in-idle-cycles.md) and the circuit's contract: an operand is kept after
//! its delivery until the cache takes it, and dropped if it becomes stale or if the one before it is still there.

use warpfile_hdl::regfile::SOURCES;
use warpfile_hdl::rfc::SourceAllocator;
use warpfile_testbenches::lockstep::{Pins, Reference};

use crate::regfile::warp_register::pack;

/// An operand to follow.
#[derive(Clone, Copy, Debug)]
pub struct Followed {
    pub register: usize,
    pub lanes: u32,
    pub idle: bool,
}

/// What happens in a cycle, as far as the collectors allow it.
#[derive(Clone, Debug)]
pub struct AllocatorCycle {
    /// Slot and operands of an instruction that gets a collector, if one is free.
    pub collect: Option<(usize, [Option<Followed>; SOURCES])>,
    /// Which of the instructions in collectors is dispatched, modulo their number.
    pub dispatch: Option<usize>,
    /// Values on the operands' ports.
    pub values: [Vec<u32>; SOURCES],
    pub writes: Vec<Option<usize>>,
    pub flush: Option<usize>,
    pub ready: bool,
}

#[derive(Clone, Copy, Debug)]
struct Operand {
    slot: usize,
    followed: Followed,
}

#[derive(Clone)]
pub struct SourceAllocatorReference {
    /// The operands of each collector's instruction, if it has one.
    collected: Vec<Option<[Option<Operand>; SOURCES]>>,
    /// What was dispatched in the cycle before.
    delivered: [Option<Operand>; SOURCES],
    /// Operands and their values.
    kept: [Option<(Operand, Vec<u32>)>; SOURCES],
}

impl SourceAllocatorReference {
    pub fn new(parameters: &SourceAllocator) -> SourceAllocatorReference {
        SourceAllocatorReference {
            collected: vec![None; parameters.collectors],
            delivered: [None; SOURCES],
            kept: [const { None }; SOURCES],
        }
    }

    /// The collector whose instruction is dispatched.
    fn dispatched(&self, cycle: &AllocatorCycle) -> Option<usize> {
        let held: Vec<usize> = (0..self.collected.len()).filter(|&c| self.collected[c].is_some()).collect();
        cycle.dispatch.filter(|_| !held.is_empty()).map(|choice| held[choice % held.len()])
    }

    /// The collector that an instruction gets: one without an instruction, or the one that is just dispatched.
    fn free(&self, cycle: &AllocatorCycle) -> Option<usize> {
        let dispatched = self.dispatched(cycle);
        (0..self.collected.len()).rev().find(|&c| self.collected[c].is_none() || Some(c) == dispatched)
    }
}

impl AllocatorCycle {
    /// A write or a flush of this cycle makes the operand stale.
    fn makes_stale(&self, operand: Operand) -> bool {
        self.writes.contains(&Some(operand.followed.register)) || self.flush == Some(operand.slot)
    }

    fn fresh(&self, operand: Option<Operand>) -> Option<Operand> {
        operand.filter(|&operand| !self.makes_stale(operand))
    }
}

impl Reference for SourceAllocatorReference {
    type Operation = AllocatorCycle;

    fn inputs(&self, cycle: &AllocatorCycle, inputs: &mut Pins) {
        if let (Some((slot, sources)), Some(collector)) = (&cycle.collect, self.free(cycle)) {
            inputs.set("collect_valid_i", 1u8);
            inputs.set("collect_index_i", collector);
            inputs.set("collect_slot_i", *slot);
            for (k, source) in sources.iter().enumerate() {
                let Some(source) = source else { continue };
                inputs.set(&format!("collect_source{k}_valid_i"), 1u8);
                inputs.set(&format!("collect_source{k}_register_i"), source.register);
                inputs.set(&format!("collect_source{k}_lanes_i"), source.lanes);
                inputs.set(&format!("collect_source{k}_idle_i"), u8::from(source.idle));
            }
        }
        if let Some(collector) = self.dispatched(cycle) {
            inputs.set("dispatch_valid_i", 1u8);
            inputs.set("dispatch_index_i", collector);
        }
        for (k, value) in cycle.values.iter().enumerate() {
            inputs.set(&format!("operand{k}_i"), pack(value));
        }
        for (w, register) in cycle.writes.iter().enumerate() {
            let Some(register) = *register else { continue };
            inputs.set(&format!("write{w}_valid_i"), 1u8);
            inputs.set(&format!("write{w}_register_i"), register);
        }
        if let Some(slot) = cycle.flush {
            inputs.set("flush_valid_i", 1u8);
            inputs.set("flush_slot_i", slot);
        }
        inputs.set("offer_ready_i", u8::from(cycle.ready));
    }

    fn cycle(&mut self, cycle: &AllocatorCycle, outputs: &mut Pins) {
        let is_offered = |kept: &Option<(Operand, Vec<u32>)>| {
            kept.as_ref().is_some_and(|(operand, _)| !cycle.makes_stale(*operand))
        };
        let offered = self.kept.iter().position(is_offered);
        outputs.set("offer_valid_o", u8::from(offered.is_some()));
        if let Some((operand, value)) = offered.and_then(|position| self.kept[position].as_ref()) {
            outputs.set("offer_slot_o", operand.slot);
            outputs.set("offer_register_o", operand.followed.register);
            outputs.set("offer_lanes_o", operand.followed.lanes);
            outputs.set("offer_idle_o", u8::from(operand.followed.idle));
            outputs.set("offer_value_o", pack(value));
        }

        let taken = offered.filter(|_| cycle.ready);
        for (k, kept) in self.kept.iter_mut().enumerate() {
            if kept.is_none() || taken == Some(k) {
                let fresh = cycle.fresh(self.delivered[k]);
                *kept = fresh.map(|operand| (operand, cycle.values[k].clone()));
            } else if !is_offered(kept) {
                *kept = None;
            }
        }

        let (free, dispatched) = (self.free(cycle), self.dispatched(cycle));
        let leaving = dispatched.and_then(|collector| self.collected[collector].take());
        self.delivered = leaving.map_or([None; SOURCES], |operands| operands.map(|o| cycle.fresh(o)));
        for operand in self.collected.iter_mut().flatten().flatten() {
            *operand = cycle.fresh(*operand);
        }
        if let (Some((slot, sources)), Some(collector)) = (cycle.collect, free) {
            let follow = |source: Option<Followed>| source.map(|followed| Operand { slot, followed });
            self.collected[collector] = Some(sources.map(follow));
        }
    }
}
