//! Dynamic warp execution: memory instructions of additional warps, as rarely as they make the SM stall (§2.3.3).

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::sharing::DynamicExecution;
use warpfile_kernels::program::{MemoryAccess, Operation, Program, Space};

use super::blocks::{Warps, set_warps, warps};
use super::{Shared, dynamic_circuit};
use crate::mechanisms::Build;
use crate::sm::{Channel, SimError};

/// Outputs that are looked at before a cycle is run.
const FORESEEN: [&str; 4] = ["held_o", "window_valid_o", "window_stalls_o", "probability_o"];

/// Dynamic warp execution of a stack.
///
/// # Errors
/// The circuit cannot be built.
pub(super) fn build(at: &Build<'_>, channel: Channel) -> Result<Dynamic, SimError> {
    let circuit = dynamic_circuit(at.config);
    let engine = at.circuit(&circuit, &FORESEEN)?;
    let dynamic = Dynamic::new((engine, &circuit), channel, at.sm());
    dynamic.map_err(|error| SimError::circuit(at.config, error))
}

/// The unit of an SM, and what it hears of the first SM.
pub struct Dynamic {
    engine: AnyEngine,
    ports: CircuitPorts<DynamicExecution>,
    channel: Channel,
    seed: u64,
    /// Steps from never to always, and those of the probability in this cycle.
    steps: u64,
    probability: u64,
    /// Warps whose next instruction accesses memory off the chip.
    heads: Warps,
    /// Launches that have begun, and windows of the last that have ended.
    launches: usize,
    windows: usize,
}

impl Dynamic {
    /// On a circuit of the SM with a number.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(
        (engine, circuit): (AnyEngine, &DynamicExecution),
        channel: Channel,
        sm: u64,
    ) -> Result<Dynamic, EngineError> {
        Ok(Dynamic {
            ports: engine.ports(circuit)?,
            engine,
            channel,
            seed: seed(sm),
            steps: circuit.steps as u64,
            probability: circuit.steps as u64,
            heads: 0,
            launches: 0,
            windows: 0,
        })
    }

    pub fn start_kernel(&mut self) {
        (self.launches, self.windows) = (self.launches + 1, 0);
        if self.channel.is_first() {
            self.channel.tell_launch();
        }
    }

    /// Whether a warp's next instruction accesses memory off the chip.
    pub fn decode(&mut self, warp: usize, is_off_chip: bool) {
        self.heads = self.heads & !(1 << warp) | Warps::from(is_off_chip) << warp;
    }

    /// Whether an additional warp's next instruction may have to wait.
    pub fn may_hold(&self, warp: usize) -> bool {
        let is_off_chip = self.heads >> warp & 1 == 1;
        is_off_chip && (self.channel.is_first() || self.probability < self.steps)
    }

    /// Whether a warp that waits goes on within a few cycles: it asks in every cycle, and is refused for good on the first SM alone.
    pub fn waits_are_brief(&self) -> bool {
        !self.channel.is_first() && self.probability > 0
    }

    /// Those of the additional warps that wait in this cycle.
    pub fn held(&mut self, additional: Warps) -> Warps {
        let (state, ports) = (self.engine.state_mut(), &self.ports);
        set_warps(state, ports.memory_i, self.heads);
        set_warps(state, ports.additional_i, additional);
        self.engine.foresee();
        let state = self.engine.state();
        self.probability = state.get(self.ports.probability_o);
        warps(state, self.ports.held_o)
    }

    /// Ends a cycle in which the SM has issued or not. `is_new`: a kernel begins with it; `shares`: blocks share.
    pub fn end_cycle(&mut self, (is_new, shares): (bool, bool), stalls: bool, counted: &mut Shared) {
        let reference = if is_new || !shares { None } else { self.end_window(counted) };
        let is_first = self.channel.is_first();
        let (state, ports) = (self.engine.state_mut(), &self.ports);
        state.set(ports.configure_valid_i, u64::from(is_new));
        state.set(ports.configure_first_i, u64::from(is_first));
        state.set(ports.configure_seed_i, self.seed);
        state.set(ports.stall_i, u64::from(stalls));
        state.set(ports.reference_valid_i, u64::from(reference.is_some()));
        state.set(ports.reference_stalls_i, reference.unwrap_or_default());
        self.engine.step();
    }

    /// If a window has ended, tells its stalls, or asks for those of the first SM.
    fn end_window(&mut self, counted: &mut Shared) -> Option<u64> {
        let (state, ports) = (self.engine.state(), &self.ports);
        if state.get(ports.window_valid_o) == 0 {
            return None;
        }
        if self.channel.is_first() {
            self.channel.tell(state.get(ports.window_stalls_o));
            return None;
        }
        let window = self.windows;
        self.windows += 1;
        let reference = self.channel.ask(self.launches - 1, window)?;
        counted.windows += 1;
        counted.probability += self.probability;
        Some(reference)
    }

    pub fn circuit(&self) -> &dyn Engine {
        &self.engine
    }
}

/// What an SM's random numbers start from: another one for each, and not 0.
fn seed(sm: u64) -> u64 {
    1 + sm * 40503 % 65535
}

/// By instruction whether it accesses memory off the chip.
pub fn off_chip(program: &Program) -> Vec<bool> {
    program.instructions.iter().map(|instruction| is_off_chip(instruction.operation)).collect()
}

/// Global, local and generic memory, and textures.
fn is_off_chip(operation: Operation) -> bool {
    match operation {
        Operation::Load(MemoryAccess { space, .. })
        | Operation::Store(MemoryAccess { space, .. })
        | Operation::Atomic(MemoryAccess { space, .. }) => match space {
            Space::Global | Space::Local | Space::Generic => true,
            Space::Shared | Space::Constant | Space::Parameter => false,
        },
        Operation::Texture => true,
        Operation::Alu
        | Operation::Sfu
        | Operation::Double
        | Operation::Barrier
        | Operation::Fence
        | Operation::Release
        | Operation::Branch
        | Operation::Exit => false,
    }
}
