//! The layer, and its register slots in each partition.

use std::collections::VecDeque;

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::warp_level_divergence::RegisterSlots;
use warpfile_kernels::program::BlockIndex;

use super::{CIRCUIT, COUNTERS, Placed};
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::sm::SimError;
use crate::sm::design::{Admission, Dealer, Home, Layer, WarpPlace, WarpRows, name_in_partition};

/// A layer that gives registers to warps one by one.
pub struct WarpLevelDivergence {
    partitions: Vec<Partition>,
    /// `None`: no further block fits in part, or something else limits how many there are.
    plan: Option<Plan>,
    /// A kernel has begun that the circuits have not been told of.
    is_new: bool,
    counted: Placed,
}

/// What follows from a launch.
struct Plan {
    /// Warp slots by block slot and number of the warp.
    places: Vec<Vec<WarpPlace>>,
    rows_per_warp: u32,
    /// Register slots of a partition.
    slots: u32,
}

impl Plan {
    /// One block more than fit, if registers are what keeps it out and there are some left for a warp of it.
    fn new(admission: &Admission, partitions: usize) -> Option<Plan> {
        let Admission { warps, rows_per_warp, blocks, fits, of_partition, .. } = *admission;
        let slots = of_partition.rows.checked_div(rows_per_warp)?.min(of_partition.warps as u32);
        let some_remain = u64::from(slots) * partitions as u64 > blocks * warps as u64;
        if blocks >= fits.but_registers() || !some_remain {
            return None;
        }
        let mut dealer = Dealer::new(partitions);
        let places = (0..=blocks).map(|_| (0..warps).map(|_| dealer.deal(1)).collect()).collect();
        dealer.fits(of_partition.warps).then_some(Plan { places, rows_per_warp, slots })
    }
}

/// The register slots of a partition, and what they are to be told.
pub struct Partition {
    engine: AnyEngine,
    ports: CircuitPorts<RegisterSlots>,
    /// Warps that have come and that the circuit has not been told of, the oldest first.
    come: VecDeque<usize>,
    /// Warps without registers: they must not issue.
    waiting: u64,
    /// Warps that have ended, in this cycle.
    ended: u64,
    /// Warps that the circuit knows to wait, and that it has given registers.
    queued: u64,
    placed_warps: u64,
    /// Those that have ended while they waited there: they give back what they get.
    ended_early: u64,
    /// The warp that has got a slot in the cycle before.
    placed: Option<(usize, u32)>,
}

impl Partition {
    /// On a circuit.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(engine: AnyEngine, circuit: &RegisterSlots) -> Result<Partition, EngineError> {
        let ports = engine.ports(circuit)?;
        let come = VecDeque::with_capacity(circuit.warps);
        Ok(Partition {
            engine,
            ports,
            come,
            waiting: 0,
            ended: 0,
            queued: 0,
            placed_warps: 0,
            ended_early: 0,
            placed: None,
        })
    }

    fn circuit(&self) -> &dyn Engine {
        &self.engine
    }

    fn start_warp(&mut self, warp: usize) {
        self.come.push_back(warp);
        self.waiting |= 1 << warp;
    }

    fn end_warp(&mut self, warp: usize) {
        if self.waiting >> warp & 1 == 0 {
            self.ended |= 1 << warp;
        } else if let Some(at) = self.come.iter().position(|come| *come == warp) {
            let _ = self.come.remove(at);
        } else {
            self.ended_early |= 1 << warp;
        }
        self.waiting &= !(1 << warp);
    }

    /// The warp that has registers from this cycle on, and its slot.
    fn take_placed(&mut self) -> Option<(usize, u32)> {
        let (warp, slot) = self.placed.take()?;
        if self.ended_early >> warp & 1 == 1 {
            self.ended_early &= !(1 << warp);
            self.ended |= 1 << warp;
            return None;
        }
        self.waiting &= !(1 << warp);
        Some((warp, slot))
    }

    /// No warp of the kernel before is known to the circuit.
    fn is_empty(&self) -> bool {
        self.queued | self.placed_warps == 0
    }

    /// Ends the cycle. `slots` if a kernel begins with it; `may_come`: warps of the kernel may be told of.
    fn end_cycle(&mut self, slots: Option<u32>, may_come: bool) {
        // A warp whose place has one before it that is still in the queue waits for that one to leave.
        let may_come = |warp: &usize| may_come && self.ended_early >> warp & 1 == 0;
        let come = self.come.front().copied().filter(may_come);
        if let Some(warp) = come {
            self.come.pop_front();
            self.queued |= 1 << warp;
        }
        self.placed_warps &= !self.ended;
        let (state, ports) = (self.engine.state_mut(), &self.ports);
        state.set(ports.configure_valid_i, u64::from(slots.is_some()));
        state.set(ports.configure_slots_i, u64::from(slots.unwrap_or_default()));
        state.set(ports.arrive_valid_i, u64::from(come.is_some()));
        state.set(ports.arrive_warp_i, come.unwrap_or_default() as u64);
        state.set(ports.ended_i, std::mem::take(&mut self.ended));
        self.engine.step();
        let (state, ports) = (self.engine.state(), &self.ports);
        let placed = state.get(ports.placed_valid_o) == 1;
        self.placed =
            placed.then(|| (state.get(ports.placed_warp_o) as usize, state.get(ports.placed_slot_o) as u32));
        if let Some((warp, _)) = self.placed {
            self.queued &= !(1 << warp);
            self.placed_warps |= 1 << warp;
        }
    }
}

impl WarpLevelDivergence {
    pub fn new(partitions: Vec<Partition>) -> WarpLevelDivergence {
        WarpLevelDivergence { partitions, plan: None, is_new: false, counted: Placed::default() }
    }
}

impl Layer for WarpLevelDivergence {
    fn start_kernel(&mut self, _kernel: &Compiled<'_>) -> Result<(), SimError> {
        (self.plan, self.is_new) = (None, true);
        Ok(())
    }

    fn admit(&mut self, admission: &Admission) -> u64 {
        self.plan = Plan::new(admission, self.partitions.len());
        admission.blocks + u64::from(self.plan.is_some())
    }

    fn home(&self, slot: usize, number: usize) -> Option<Home> {
        let at = *self.plan.as_ref()?.places.get(slot)?.get(number)?;
        // Nothing of it is accessed before it has a place.
        Some(Home { at, rows: WarpRows::from(0) })
    }

    fn start_warp(&mut self, at: WarpPlace, _rows: WarpRows, _block: BlockIndex) {
        if self.plan.is_some() {
            self.partitions[at.partition].start_warp(at.warp);
        }
    }

    fn placed(&mut self) -> Option<Home> {
        // Also without a plan: warps that have ended early give back what they get.
        let rows_per_warp = self.plan.as_ref().map_or(0, |plan| plan.rows_per_warp);
        for (partition, part) in self.partitions.iter_mut().enumerate() {
            if let Some((warp, slot)) = part.take_placed() {
                self.counted.warps += 1;
                let rows = WarpRows::from(slot * rows_per_warp);
                return Some(Home { at: WarpPlace { partition, warp }, rows });
            }
        }
        None
    }

    fn held_warps(&mut self, partition: usize) -> u64 {
        self.partitions[partition].waiting
    }

    fn end_warp(&mut self, at: WarpPlace) {
        if self.plan.is_some() {
            self.partitions[at.partition].end_warp(at.warp);
        }
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        let begins = self.is_new && self.partitions.iter().all(Partition::is_empty);
        let slots = begins.then(|| self.plan.as_ref().map_or(0, |plan| plan.slots));
        for partition in &mut self.partitions {
            self.counted.waits += u64::from(partition.waiting.count_ones());
            partition.end_cycle(slots, !self.is_new);
        }
        self.is_new &= !begins;
        Ok(())
    }

    fn waits_for(&self, at: WarpPlace) -> Option<String> {
        let waits = self.partitions[at.partition].waiting >> at.warp & 1 == 1;
        waits.then(|| "registers of a warp that ends".to_owned())
    }

    fn count(&self, into: &mut Counts) {
        into.add(COUNTERS, &self.counted);
    }

    fn circuits(&self) -> Vec<(String, &dyn Engine)> {
        let name = |partition| name_in_partition(partition, self.partitions.len(), CIRCUIT);
        let partitions = self.partitions.iter().enumerate();
        partitions.map(|(partition, part)| (name(partition), part.circuit())).collect()
    }
}
