//! `relssp`: threads that no longer need what their block shares.

use std::collections::VecDeque;

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::sharing::ReleaseUnit;
use warpfile_kernels::program::{LaneMask, Operation, Program};

use super::blocks::{Launch, set_warps};
use super::release_circuit;
use crate::mechanisms::Build;
use crate::sm::SimError;

/// Outputs that are looked at before a cycle is run.
const FORESEEN: [&str; 1] = ["released_o"];

/// An instruction that the unit is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `relssp`.
    Release,
    /// Lanes end.
    Exit,
}

/// What the unit has not been told of yet, in order.
#[derive(Clone, Copy, Debug)]
enum Event {
    Done { kind: Kind, warp: usize, lanes: LaneMask },
    Ended { slot: usize },
}

/// The release unit of a stack.
///
/// # Errors
/// The circuit cannot be built.
pub(super) fn build(at: &Build<'_>) -> Result<Release, SimError> {
    let circuit = release_circuit(at.config);
    let engine = at.circuit(&circuit, &FORESEEN)?;
    Release::new(engine, &circuit).map_err(|error| SimError::circuit(at.config, error))
}

/// The release unit, and what it is to be told.
pub struct Release {
    engine: AnyEngine,
    ports: CircuitPorts<ReleaseUnit>,
    /// By instruction.
    kinds: Vec<Option<Kind>>,
    /// Lanes of a block's last warp that are threads.
    last_lanes: LaneMask,
    /// Lanes of each warp that exist, and those of them that have released.
    existing: Vec<LaneMask>,
    released_lanes: Vec<LaneMask>,
    /// Lanes of each warp that have issued `relssp`.
    issued_lanes: Vec<LaneMask>,
    /// Accesses of each warp to scratchpad that are under way.
    under_way: Vec<u32>,
    /// What each warp does next.
    heads: Vec<Option<Kind>>,
    events: VecDeque<Event>,
    /// Executions of `relssp`.
    pub executed: u64,
}

impl Release {
    /// On a circuit.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(engine: AnyEngine, circuit: &ReleaseUnit) -> Result<Release, EngineError> {
        Ok(Release {
            ports: engine.ports(circuit)?,
            engine,
            kinds: Vec::new(),
            last_lanes: LaneMask::MAX,
            existing: vec![0; circuit.warps],
            released_lanes: vec![0; circuit.warps],
            issued_lanes: vec![0; circuit.warps],
            under_way: vec![0; circuit.warps],
            heads: vec![None; circuit.warps],
            events: VecDeque::new(),
            executed: 0,
        })
    }

    pub fn start_kernel(&mut self, program: &Program) {
        let kind = |operation| match operation {
            Operation::Release => Some(Kind::Release),
            Operation::Exit => Some(Kind::Exit),
            Operation::Alu
            | Operation::Sfu
            | Operation::Double
            | Operation::Texture
            | Operation::Load(_)
            | Operation::Store(_)
            | Operation::Atomic(_)
            | Operation::Barrier
            | Operation::Fence
            | Operation::Branch => None,
        };
        self.kinds = program.instructions.iter().map(|instruction| kind(instruction.operation)).collect();
    }

    pub fn admit(&mut self, threads: u32) {
        self.last_lanes = match threads % LaneMask::BITS {
            0 => LaneMask::MAX,
            lanes => LaneMask::MAX >> (LaneMask::BITS - lanes),
        };
    }

    pub fn decode(&mut self, warp: usize, inst: u32) {
        self.heads[warp] = self.kinds[inst as usize];
    }

    /// A release or an exit waits for the warp's accesses before it.
    pub fn holds(&self, warp: usize) -> bool {
        self.heads[warp].is_some() && self.under_way[warp] > 0
    }

    /// An instruction that accesses scratchpad is issued.
    pub fn access(&mut self, warp: usize) {
        self.under_way[warp] += 1;
    }

    /// An instruction is issued, whether or not blocks share.
    pub fn issue(&mut self, warp: usize, inst: u32, lanes: LaneMask) {
        if self.kinds[inst as usize] == Some(Kind::Release) {
            self.executed += u64::from(lanes.count_ones());
            self.issued_lanes[warp] |= lanes;
        }
    }

    /// Whether a warp has issued `relssp` for some of these lanes.
    pub fn has_released(&self, warp: usize, lanes: LaneMask) -> bool {
        self.issued_lanes[warp] & lanes != 0
    }

    /// Nothing of an instruction is left to do.
    pub fn retire(&mut self, warp: usize, inst: u32, lanes: LaneMask, accesses: bool) {
        self.under_way[warp] -= u32::from(accesses);
        if let Some(kind) = self.kinds[inst as usize] {
            self.done(kind, warp, lanes);
        }
    }

    fn done(&mut self, kind: Kind, warp: usize, lanes: LaneMask) {
        let lanes = lanes & self.existing[warp];
        match kind {
            Kind::Release => {
                self.released_lanes[warp] |= lanes;
            }
            Kind::Exit => self.existing[warp] &= !lanes,
        }
        if lanes != 0 {
            self.events.push_back(Event::Done { kind, warp, lanes });
        }
    }

    /// A warp has ended: its lanes exist no more, whether or not it said so.
    pub fn end_warp(&mut self, warp: usize) {
        self.done(Kind::Exit, warp, LaneMask::MAX);
        self.heads[warp] = None;
    }

    /// A block has ended that the unit knows.
    pub fn end_block(&mut self, slot: usize) {
        self.events.push_back(Event::Ended { slot });
    }

    /// Whether the unit knows all that has happened, so that a block may come.
    pub fn is_told(&self) -> bool {
        self.events.is_empty()
    }

    /// Blocks of which every thread that exists has released, one bit each.
    pub fn released(&mut self) -> u64 {
        self.engine.foresee();
        self.engine.state().get(self.ports.released_o)
    }

    /// A warp of a block is to be told of; only the last may have lanes that are no threads.
    pub fn start_warp(&mut self, warp: usize, is_last: bool) {
        self.existing[warp] = if is_last { self.last_lanes } else { LaneMask::MAX };
        (self.released_lanes[warp], self.issued_lanes[warp], self.under_way[warp]) = (0, 0, 0);
    }

    pub fn end_cycle(&mut self, launch: Option<Launch>) {
        let (state, ports) = (self.engine.state_mut(), &self.ports);
        state.set(ports.launch_valid_i, u64::from(launch.is_some()));
        if let Some(Launch { slot, warps, last, is_whole, .. }) = launch {
            let lanes = if is_whole { LaneMask::MAX } else { self.last_lanes };
            state.set(ports.launch_block_i, slot as u64);
            set_warps(state, ports.launch_warps_i, warps);
            state.set(ports.launch_last_i, last as u64);
            state.set(ports.launch_lanes_i, u64::from(lanes));
        }
        for done in &ports.done {
            state.set(done.valid_i, 0);
        }
        let mut told = 0;
        let mut ended = 0;
        while let Some(event) = self.events.front() {
            match *event {
                Event::Done { kind, warp, lanes } if told < ports.done.len() && ended == 0 => {
                    let done = &ports.done[told];
                    state.set(done.valid_i, 1);
                    state.set(done.exits_i, u64::from(kind == Kind::Exit));
                    state.set(done.warp_i, warp as u64);
                    state.set(done.lanes_i, u64::from(lanes));
                    told += 1;
                }
                // The threads of a block are gone in the cycle before it ends.
                Event::Ended { slot } if told == 0 => ended |= 1 << slot,
                Event::Done { .. } | Event::Ended { .. } => break,
            }
            self.events.pop_front();
        }
        state.set(ports.block_ended_i, ended);
        self.engine.step();
    }

    pub fn circuit(&self) -> &dyn Engine {
        &self.engine
    }
}
