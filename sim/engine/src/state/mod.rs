//! What a running circuit holds: the arena, inputs for the next cycle, counters. Clock edges are applied
//! here; settling the circuit in between is the engine's part.

#[expect(unsafe_code, reason = "lines of the cache are arrays of words")]
mod arena;
mod inputs;
mod tables;

pub(crate) use tables::apply_update;

use std::sync::Arc;

use num_bigint::BigUint;

use crate::activity::Counters;
use crate::compiled::Call;
use crate::ops::{self, mask};
use crate::plan::{InPort, OutPort, Plan, RegisterEdge, RowPort};
use crate::{ActivityCount, ActivityHandle, ActivityReport, EngineError, Options, Violation};
use arena::Arena;
use inputs::Inputs;

/// A circuit's plan and all its values.
///
/// The edge that ends a cycle is applied when the next one begins, so that in between everything can be
/// read as it was in the cycle.
#[derive(Clone, Debug)]
pub struct State {
    plan: Arc<Plan>,
    seed: u64,
    held: Held,
    /// Whether each cycle has to be looked at by itself, with what only tests ask for.
    is_watched: bool,
    /// Takes what compiled code counts under reset, where nothing counts.
    scratch: Counters,
}

/// All that changes as a circuit runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Held {
    arena: Arena,
    /// Inputs of the next cycle.
    inputs: Inputs,
    /// Reset of the next cycle, and of the one settled.
    next_reset: bool,
    reset: bool,
    cycle: u64,
    /// Whether the edge of the cycle last run is still to be applied.
    edge_due: bool,
    counters: Counters,
    /// Index into [`Plan::invariants`], and the cycle.
    violation: Option<(usize, u64)>,
}

/// All state of a circuit at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    circuit: String,
    held: Held,
}

impl State {
    /// The initial state of a plan.
    pub fn new(plan: Arc<Plan>, options: &Options) -> State {
        let mut arena = Arena::new(plan.arena_words as usize);
        arena[..plan.constants.len()].copy_from_slice(&plan.constants);
        for fill in plan.fills.iter().filter(|_| !options.zeroed) {
            let mut left = fill.width;
            for (index, word) in (0..).zip(&mut arena[fill.offset as usize..]) {
                let value = scramble(scramble(options.seed ^ fill.key) ^ index) & mask(left.min(64));
                *word |= value << fill.shift;
                if left <= 64 {
                    break;
                }
                left -= 64;
            }
        }
        plan.registers.iter().for_each(|edge| reset_register(&mut arena, edge));
        trigger_all(&plan, &mut arena);
        let held = Held {
            arena,
            inputs: Inputs::new(plan.inputs.len()),
            next_reset: false,
            reset: false,
            cycle: 0,
            edge_due: false,
            counters: Counters::new(&plan),
            violation: None,
        };
        let scratch = Counters::new(&plan);
        let is_watched = plan.count_toggles || !plan.invariants.is_empty();
        State { plan, seed: options.seed, held, is_watched, scratch }
    }

    /// The plan it runs.
    #[inline]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan, for what outlives a borrow of the state.
    pub(crate) fn shared_plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Seed of the state without reset.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Begins a cycle: applies the clock edge of the cycle before and takes the inputs.
    pub fn begin_cycle(&mut self) {
        if self.held.edge_due {
            self.apply_edge();
            self.held.edge_due = false;
        }
        let (plan, held) = (&*self.plan, &mut self.held);
        held.reset = held.next_reset;
        held.arena[plan.inputs.start as usize..plan.inputs.end as usize].copy_from_slice(held.inputs.words());
    }

    fn apply_edge(&mut self) {
        let (plan, held) = (&*self.plan, &mut self.held);
        tables::apply_updates(plan, &mut held.arena);
        if held.reset {
            apply_reset(plan, &mut held.arena);
        } else {
            apply_registers(&plan.registers, &mut held.arena);
        }
        apply_registers(&plan.captures, &mut held.arena);
        trigger_all(plan, &mut held.arena);
    }

    /// The plan and the arena, to settle the circuit.
    pub fn settling(&mut self) -> (&Plan, &mut [u64]) {
        (&self.plan, &mut self.held.arena)
    }

    /// Ends a cycle that has settled: counts activity and checks invariants.
    pub fn end_cycle(&mut self) {
        let (plan, held) = (&*self.plan, &mut self.held);
        if !held.reset {
            if plan.count_activity {
                held.counters.count(plan, &held.arena);
            }
            if held.violation.is_none() {
                let failed =
                    |invariant: &crate::plan::CheckedInvariant| held.arena[invariant.condition as usize] == 0;
                held.violation = plan.invariants.iter().position(failed).map(|index| (index, held.cycle));
            }
        }
        held.edge_due = true;
        held.cycle += 1;
    }

    /// Whether the next cycle has to be looked at by itself: under reset or right after, or with what only tests ask
    /// for.
    #[inline]
    pub(crate) fn needs_care(&self) -> bool {
        self.held.next_reset || self.held.reset || self.is_watched
    }

    /// Applies the edge of a cycle under reset, which compiled code does not know.
    pub(crate) fn apply_reset_edge(&mut self) {
        if self.held.reset && self.held.edge_due {
            self.apply_edge();
            self.held.edge_due = false;
        }
    }

    /// What compiled code needs to run `cycles` cycles.
    #[inline]
    pub(crate) fn call(&mut self, cycles: u64) -> Call {
        let held = &mut self.held;
        let edge = u64::from(held.edge_due);
        held.reset = held.next_reset;
        let counters = if held.reset { &mut self.scratch } else { &mut held.counters };
        let [ports, registers] = counters.addresses();
        Call { arena: held.arena.as_mut_ptr(), inputs: held.inputs.address(), ports, registers, cycles, edge }
    }

    /// Notes that compiled code has run.
    #[inline]
    pub(crate) fn called(&mut self, cycles: u64) {
        if self.is_watched {
            return self.end_cycle();
        }
        let (plan, held) = (&*self.plan, &mut self.held);
        if !held.reset && plan.count_activity {
            held.counters.count_cycles(cycles);
        }
        held.edge_due = true;
        held.cycle += cycles;
    }

    /// Notes that compiled code has applied an edge and run no cycle.
    #[inline]
    pub(crate) fn foreseen(&mut self) {
        self.held.edge_due = false;
    }

    /// Takes the inputs and the reset of the cycle that another state of the same plan has run last.
    pub(crate) fn take_inputs(&mut self, other: &State) {
        let (plan, held) = (&*self.plan, &mut self.held);
        let inputs = plan.inputs.start as usize..plan.inputs.end as usize;
        held.inputs.copy_from(&other.held.arena[inputs]);
        held.next_reset = other.held.reset;
    }

    pub(crate) fn set_reset(&mut self, reset: bool) {
        self.held.next_reset = reset;
    }

    /// Whether the cycle last settled was under reset.
    pub fn is_reset(&self) -> bool {
        self.held.reset
    }

    /// As [`Engine::set`](crate::Engine::set).
    #[inline]
    pub fn set(&mut self, port: InPort, value: u64) {
        if port.width > 64 {
            return self.set_words(port, &[value]);
        }
        self.held.inputs.set(port, value);
    }

    /// As [`Engine::set_words`](crate::Engine::set_words).
    pub fn set_words(&mut self, port: InPort, words: &[u64]) {
        self.held.inputs.set_words(port, words);
    }

    pub(crate) fn set_lanes(&mut self, port: InPort, lanes: &[u32]) {
        self.held.inputs.set_lanes(port, lanes);
    }

    /// The lowest word of a value.
    #[inline]
    pub fn get(&self, port: OutPort) -> u64 {
        self.held.arena[port.offset as usize]
    }

    #[inline]
    /// As [`Engine::get_words`](crate::Engine::get_words).
    pub fn get_words(&self, port: OutPort) -> &[u64] {
        &self.held.arena[port.offset as usize..][..port.width.div_ceil(64) as usize]
    }

    pub(crate) fn big(&self, port: OutPort) -> BigUint {
        big(self.get_words(port))
    }

    #[inline]
    pub(crate) fn is_meaningful(&self, port: OutPort) -> bool {
        self.held.arena[port.valid as usize] != 0
    }

    pub(crate) fn peek_row(&self, table: &str, row: u32, field: &str) -> Result<BigUint, EngineError> {
        Ok(self.row(self.plan.row(table, row, field)?))
    }

    pub(crate) fn row(&self, port: RowPort) -> BigUint {
        let words = &self.held.arena[port.offset as usize..];
        let mut value = vec![0; port.width.div_ceil(64) as usize];
        ops::extract(&mut value, words, port.shift, port.width);
        big(&value)
    }

    pub(crate) fn change_row(&mut self, port: RowPort, change: impl FnOnce(&mut [u64])) {
        let words = &mut self.held.arena[port.offset as usize..];
        let n = port.width.div_ceil(64) as usize;
        if port.shift == 0 && port.width.is_multiple_of(64) {
            change(&mut words[..n]);
        } else {
            let mut value = vec![0; n];
            ops::extract(&mut value, words, port.shift, port.width);
            change(&mut value);
            ops::replace(words, &value, port.shift, port.width);
        }
        trigger_all(&self.plan, &mut self.held.arena);
    }

    pub(crate) fn cycle(&self) -> u64 {
        self.held.cycle
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot { circuit: self.plan.circuit.clone(), held: self.held.clone() }
    }

    pub(crate) fn restore(&mut self, snapshot: &Snapshot) -> Result<(), EngineError> {
        let fits = snapshot.circuit == self.plan.circuit
            && snapshot.held.arena.len() == self.held.arena.len()
            && snapshot.held.inputs.words().len() == self.held.inputs.words().len()
            && snapshot.held.arena.starts_with(&self.plan.constants);
        if !fits {
            return Err(EngineError::ForeignSnapshot { circuit: self.plan.circuit.clone() });
        }
        self.held.clone_from(&snapshot.held);
        trigger_all(&self.plan, &mut self.held.arena);
        Ok(())
    }

    pub(crate) fn activity(&self) -> ActivityReport {
        self.held.counters.report(&self.plan)
    }

    pub(crate) fn activity_count(&self, handle: ActivityHandle) -> ActivityCount {
        self.held.counters.port(handle)
    }

    pub(crate) fn reset_activity(&mut self) {
        self.held.counters = Counters::new(&self.plan);
    }

    pub(crate) fn violation(&self) -> Option<Violation> {
        let (index, cycle) = self.held.violation?;
        Some(Violation { path: self.plan.invariants[index].path.clone(), cycle })
    }
}

/// Has everything worked out again.
fn trigger_all(plan: &Plan, arena: &mut [u64]) {
    arena[plan.triggers.start as usize..plan.triggers.end as usize].fill(1);
}

fn big(words: &[u64]) -> BigUint {
    BigUint::new(words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]).collect())
}

fn apply_registers(edges: &[RegisterEdge], arena: &mut [u64]) {
    for edge in edges {
        if arena[edge.enable as usize] != 0 {
            move_words(arena, edge.next, edge.q, edge.n);
        }
    }
}

/// Registers with a reset value take it; the others change as always. All valid bits become 0.
fn apply_reset(plan: &Plan, arena: &mut [u64]) {
    for edge in &plan.registers {
        match edge.reset {
            Some(_) => reset_register(arena, edge),
            None => apply_registers(std::slice::from_ref(edge), arena),
        }
    }
    for table in &plan.tables {
        if let Some(valid) = table.valid {
            arena[valid as usize..(valid + table.depth.div_ceil(64)) as usize].fill(0);
        }
    }
}

fn reset_register(arena: &mut [u64], edge: &RegisterEdge) {
    if let Some(reset) = edge.reset {
        move_words(arena, reset, edge.q, edge.n);
    }
}

#[inline]
fn move_words(arena: &mut [u64], from: u32, to: u32, n: u32) {
    match n {
        1 => arena[to as usize] = arena[from as usize],
        n => arena.copy_within(from as usize..(from + n) as usize, to as usize),
    }
}

/// Spreads a number over 64 bits (the finaliser of splitmix64).
pub(crate) fn scramble(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
