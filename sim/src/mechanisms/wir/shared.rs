//! What the schedulers of a partition share: the buffers, the free registers and their counts, what is known of the kernel and
//! of the instructions in flight.

use warpfile_engine::Engine;
use warpfile_hdl::wir::ROW_RESULTS;
use warpfile_kernels::program::{LANES, LaneMask, LaneValues, MAX_SOURCES};

use super::circuits::{Changes, SharedCircuits};
use super::invariants::Invariants;
use super::kernel::{Decoded, Function};
use super::loads::{Numbers, Orderings, Place};
use super::rows::Rows;
use super::{BLOCK_BITS, Counted, Parameters, Policy, STAGES};
use crate::config::Config;
use crate::sm::SimError;
use crate::sm::design::{
    ID_BITS, Issue, KernelLoads, MAX_ISSUES, RowAccessKind, StorageOutputs, WarpRows, WarpSlot,
};

/// A mapped register holds another value than the kernel has computed.
#[derive(Debug, thiserror::Error)]
#[error(
    "warp slot {warp}, {text}: physical register {register} holds {found:#010x} in lane {lane}, the kernel has {expected:#010x}"
)]
struct WrongRegister {
    warp: WarpSlot,
    text: String,
    register: u32,
    lane: usize,
    expected: u32,
    found: u32,
}

/// A renamed instruction.
#[derive(Clone, Copy, Debug)]
pub struct Renamed {
    /// With physical sources.
    pub issue: Issue,
    /// What is looked up.
    pub function: Option<Function>,
    /// Where it is in the order of accesses, if it is a load that others' stores may change.
    pub place: Option<Place>,
    /// Its destinations as the SM has them, relative to the warp's registers.
    pub destinations: [u32; ROW_RESULTS],
    /// Its place among those of its warp that leave the retry queue in the order in which they came.
    pub turn: Option<u32>,
}

/// Instructions of a warp in the retry queue that leave it in the order in which they came.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turns {
    pub given: u32,
    pub next: u32,
}

impl Turns {
    pub fn is_waited_for(self) -> bool {
        self.given != self.next
    }

    pub fn give(&mut self) -> u32 {
        let turn = self.given;
        self.given = turn.wrapping_add(1);
        turn
    }
}

/// An instruction in flight.
#[derive(Clone, Copy, Debug, Default)]
pub struct Flying {
    /// The registers that it holds until it has read them.
    pub sources: [Option<u32>; MAX_SOURCES],
    /// The row of the reuse buffer that it has reserved.
    pub row: Option<usize>,
    /// What waits in the retry queue under its number.
    pub waiting: Option<Renamed>,
}

/// Registers that hold the results of an instruction.
pub type Found = [Option<u32>; ROW_RESULTS];

/// What the schedulers of a partition share.
pub struct Shared {
    pub config: Config,
    pub policy: Policy,
    pub circuits: SharedCircuits,
    pub changes: Changes,
    pub logical_registers: usize,
    /// Cycles that it takes to sweep the larger buffer.
    pub sweep_cycles: u64,

    pub instructions: Vec<Decoded>,
    pub texts: Vec<String>,
    pub destinations: Vec<[u32; ROW_RESULTS]>,
    pub warp_rows: Vec<WarpRows>,
    /// Registers of a warp of the kernel, and the warps that have started and not ended.
    pub kernel_registers: u64,
    pub resident: u64,
    /// Nothing issues until the buffers of the launch before are empty.
    pub drains: bool,

    /// Renamed instructions are looked up in the same cycle.
    pub looks_up_at_once: bool,
    /// Cycles between rename and reuse beside those of Table III, and cycles so far.
    pub more_cycles: u64,
    pub now: u64,
    /// Those that the register file has taken and has still to deliver.
    pub reading: Vec<Issue>,
    pub rows: Rows,
    pub flying: Vec<Flying>,
    /// Numbers of blocks in rows of loads.
    pub numbers: Numbers,
    pub orderings: Orderings,
    /// Of each warp, its memory accesses and barriers in the retry queue.
    pub turns: Vec<Turns>,
    /// Registers on offer, by scheduler; each takes its own.
    pub offers: [Option<u32>; MAX_ISSUES],
    /// Registers that are to be free, and whether fewer are: the buffers give up what they hold.
    pub low_registers: u64,
    pub is_low: bool,
    /// A scheduler has waited long for a register: nothing is looked up.
    pub is_starved: bool,
    /// Results of a row of the reuse buffer.
    pub row_results: usize,
    /// Registers that results have still to be written to.
    pub unwritten: Vec<u32>,
    /// What has been written to each physical register: what the register file holds.
    pub values: Vec<LaneValues>,
    pub counted: Counted,
    /// Where assertions are compiled in.
    pub invariants: Option<Invariants>,
}

/// All numbers are free.
pub fn numbers(config: &Config, orderings: &Orderings) -> Numbers {
    let rows = config.of::<Parameters>().reuse_rows / config.partitions();
    Numbers::new(config.warps_per_partition() as usize, BLOCK_BITS, rows, Orderings::clone(orderings))
}

impl Shared {
    pub fn new(
        config: &Config,
        policy: Policy,
        (circuits, changes): (SharedCircuits, Changes),
        invariants: Option<Invariants>,
        orderings: &Orderings,
    ) -> Shared {
        let parameters: Parameters = config.of();
        let warps = config.warps_per_partition() as usize;
        Shared {
            policy,
            changes,
            logical_registers: parameters.logical_registers as usize,
            sweep_cycles: parameters.reuse_rows.max(parameters.signature_rows) / config.partitions(),
            instructions: Vec::new(),
            texts: Vec::new(),
            destinations: Vec::new(),
            warp_rows: vec![WarpRows::default(); warps],
            kernel_registers: 0,
            resident: 0,
            drains: false,
            looks_up_at_once: parameters.delay < STAGES,
            more_cycles: parameters.delay.saturating_sub(STAGES),
            now: 0,
            reading: Vec::with_capacity(1 << ID_BITS),
            rows: Rows::new(config),
            flying: vec![Flying::default(); 1 << ID_BITS],
            numbers: numbers(config, orderings),
            orderings: Orderings::clone(orderings),
            turns: vec![Turns::default(); warps],
            offers: [None; MAX_ISSUES],
            low_registers: parameters.low_registers,
            is_low: false,
            is_starved: false,
            row_results: parameters.row_results as usize,
            unwritten: Vec::with_capacity(MAX_ISSUES * parameters.retiring as usize),
            values: vec![[0; LANES]; circuits.registers],
            counted: Counted::default(),
            invariants,
            circuits,
            config: config.clone(),
        }
    }

    /// State of the pool in this cycle.
    pub fn begin(&mut self) {
        let pool = &mut self.circuits.pool;
        pool.engine.foresee();
        let count = pool.engine.get(pool.ports.count_o);
        let in_use = self.circuits.registers as u64 - count;
        let logical = self.kernel_registers * u64::from(self.resident.count_ones());
        // Who gets the only register that is left takes turns.
        let ways = pool.ports.offer.len();
        for (way, offer) in pool.ports.offer.iter().enumerate() {
            let is_there = pool.engine.get(offer.valid_o) == 1;
            let scheduler = (way + self.now as usize) % ways;
            self.offers[scheduler] = is_there.then(|| pool.engine.get(offer.register_o) as u32);
        }
        self.is_low = count < self.low_registers.max(1) || self.policy.capped && in_use >= logical;
        self.drains &= in_use > 0;
        self.counted.logical_cycles += logical;
        self.counted.register_cycles += in_use;
        self.counted.most_in_use = self.counted.most_in_use.max(in_use);
        self.counted.empty_cycles += u64::from(count == 0);
    }

    /// The register on offer to a scheduler, unless it has taken it in this cycle.
    pub fn offered(&self, scheduler: usize) -> Option<u32> {
        self.offers[scheduler].filter(|_| self.changes.allocated[scheduler].is_none())
    }

    /// A scheduler takes the register on offer.
    pub fn allocate(&mut self, scheduler: usize) -> Option<u32> {
        let register = self.offered(scheduler)?;
        self.changes.allocated[scheduler] = Some(register);
        self.counted.allocations += 1;
        self.counted.references += 1;
        Some(register)
    }

    pub fn hold(&mut self, register: u32) {
        self.changes.holds.push(register);
        self.counted.references += 1;
    }

    pub fn refer(&mut self, register: u32) {
        self.changes.increments.push(register);
        self.counted.references += 1;
    }

    /// A mapping ends.
    pub fn unmap(&mut self, register: Option<u32>) {
        let Some(register) = register else { return };
        self.changes.decrements.push_back(register);
        self.say_left(register, 0);
    }

    pub fn drop_sources(&mut self, id: u16) {
        let sources = std::mem::take(&mut self.flying[usize::from(id)].sources);
        self.changes.drops.extend(sources.iter().flatten());
    }

    /// Whether no result has still to be written to a register.
    pub fn is_written(&self, register: u32) -> bool {
        !self.unwritten.contains(&register)
    }

    /// Whether a renamed instruction would pass a memory access of its warp that waits in the retry queue.
    pub fn must_queue(&self, renamed: &Renamed) -> bool {
        let Issue { warp, inst, .. } = renamed.issue;
        self.turns[warp].is_waited_for() && self.instructions[inst.0 as usize].follows_loads
    }

    /// Compares a register with a result in the lanes that execute.
    pub fn compare(
        &mut self,
        warp: WarpSlot,
        inst: usize,
        register: u32,
        (lanes, values): (LaneMask, &LaneValues),
    ) -> Result<(), SimError> {
        let held = &self.values[register as usize];
        self.counted.compared += 1;
        let differs = |lane: &usize| lanes >> lane & 1 == 1 && held[*lane] != values[*lane];
        match (0..LANES).find(differs) {
            None => Ok(()),
            Some(lane) => Err(SimError::circuit(
                &self.config,
                WrongRegister {
                    warp,
                    text: self.texts[inst].clone(),
                    register,
                    lane,
                    expected: values[lane],
                    found: held[lane],
                },
            )),
        }
    }

    /// Whether the registers that have been found for an instruction hold what another order of accesses than the stream's loads:
    /// the program races. What executes follows the stream's order, so the instruction has to.
    pub fn is_raced(
        &self,
        renamed: &Renamed,
        found: Found,
        kernel_loads: &dyn KernelLoads,
    ) -> Result<bool, SimError> {
        let results = found.iter().flatten().count();
        let values =
            found.map(|register| register.map_or([0; LANES], |register| self.values[register as usize]));
        Ok(renamed.place.is_some() && kernel_loads.differ_at_races(renamed.issue.id, &values[..results])?)
    }

    // Rows that sleep.

    /// An instruction has read its sources in these lanes; in none if it has been answered.
    pub fn say_read(&mut self, issue: &Issue, lanes: LaneMask) {
        let logical = self.instructions[issue.inst.0 as usize].sources;
        for (source, logical) in issue.sources.iter().zip(logical) {
            if let Some(row) = *source {
                self.rows.say(row, Some((issue.warp, logical)), lanes, RowAccessKind::Read);
            }
        }
    }

    /// A register that is not mapped where it was any more, or that was read to be compared or copied: what it was ON for is over.
    pub fn say_left(&mut self, register: u32, lanes: LaneMask) {
        self.rows.say(register, None, lanes, RowAccessKind::Read);
    }

    /// Rows that are about to be accessed or accessed, and what is free behind this cycle.
    pub fn say_rows(&mut self, asked_for: impl Iterator<Item = u32>, outputs: &mut StorageOutputs) {
        for row in asked_for {
            self.rows.say(row, None, 0, RowAccessKind::AskedFor);
        }
        let (engine, ports) = (&self.circuits.counts.engine, &self.circuits.counts.ports);
        for (word, &freed) in engine.get_words(ports.freed_o).iter().enumerate() {
            let mut left = freed;
            while left != 0 {
                let row = word as u32 * u64::BITS + left.trailing_zeros();
                self.rows.say(row, None, 0, RowAccessKind::Freed);
                left &= left - 1;
            }
        }
        outputs.rows.append(&mut self.rows.said);
    }
}
