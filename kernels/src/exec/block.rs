//! One block of a launch: its warps, their control flow, barriers and shared memory.

use super::access::{Memories, lanes_of, physical};
use super::barrier::{BARRIERS, Barrier};
use super::copies::Copies;
use super::decode::{Constant, Operands};
use super::error::{ExecError, Trouble};
use super::execute::{Context, accessed_space, execute};
use super::launch::{Execution, Prepared};
use super::memory::Memory;
use super::outside::{FirstAccess, Outside, OutsideOfBlock};
use super::print::Printed;
use super::registers::{Lanes, Registers};
use super::stack::Stack;
use crate::program::{LANES, LaneMask, Launch};
use crate::ptx::ir::{InstIndex, Op, Special};

/// Instructions that a warp executes before another gets its turn, if no barrier comes first: warps of a
/// block that wait for each other through memory make progress.
const TURN: u64 = 1 << 16;

/// One instruction as one warp executed it.
#[derive(Clone, Copy, Debug)]
pub struct Executed<'e> {
    /// The warp within its block.
    pub warp: usize,
    /// Which instruction.
    pub inst: InstIndex,
    /// Lanes on the path.
    pub path: LaneMask,
    /// Lanes on the path that the guard does not switch off.
    pub active: LaneMask,
    /// Byte address in every active lane as the memory system sees it, for memory accesses: generic addresses
    /// resolved, local memory interleaved by lane in 4-byte words.
    pub addresses: Option<&'e Lanes>,
}

/// Sees every instruction once it has written its results.
pub trait Observer {
    /// An instruction and the registers of its warp after it.
    ///
    /// # Errors
    /// What keeps the observer from going on; the block ends with it.
    fn executed(&mut self, executed: &Executed<'_>, registers: &Registers) -> Result<(), String>;
}

/// Sees nothing.
impl Observer for () {
    fn executed(&mut self, _executed: &Executed<'_>, _registers: &Registers) -> Result<(), String> {
        Ok(())
    }
}

/// What became of a warp's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It executed this instruction.
    Executed {
        /// Which.
        inst: InstIndex,
        /// Lanes on the path that the guard did not switch off.
        active: LaneMask,
    },
    /// It waits at a barrier.
    Waiting,
    /// All its lanes have exited.
    Ended,
}

/// One block being executed.
#[derive(Clone, Debug)]
pub struct BlockExecution<'e, 'a> {
    execution: &'e Execution<'a>,
    position: [u32; 3],
    index: u64,
    warps: Vec<Warp>,
    barriers: [Barrier; BARRIERS],
    shared: Vec<u8>,
    printed: Printed,
    executed: u64,
    outside: OutsideOfBlock,
}

#[derive(Clone, Debug)]
struct Warp {
    stack: Stack,
    registers: Registers,
    local: Vec<u8>,
    copies: Copies,
    executed: u64,
    /// Buffer of the last global access.
    hint: usize,
    barrier: Phase,
}

/// Where a warp is with respect to a barrier instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not at a barrier.
    Away,
    /// Has arrived and waits.
    Waiting,
    /// May execute the barrier instruction and go on.
    Released,
}

impl<'e, 'a> BlockExecution<'e, 'a> {
    /// A block before its first instruction. Blocks are numbered in grid order, x fastest.
    pub fn new(execution: &'e Execution<'a>, index: u64) -> Self {
        let launch = &execution.prepared.launch;
        let position = block_position(launch, index);
        let warps = (0..launch.warps_per_block()).map(|warp| Warp::new(execution, position, warp)).collect();
        BlockExecution {
            execution,
            position,
            index,
            warps,
            barriers: [Barrier::default(); BARRIERS],
            shared: vec![0; launch.shared_bytes as usize],
            printed: Printed::default(),
            executed: 0,
            outside: OutsideOfBlock::new(),
        }
    }

    /// Warp instructions executed so far.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// Accesses outside of every buffer that were tolerated, by instruction.
    pub(super) fn outside(self) -> OutsideOfBlock {
        self.outside
    }

    /// Keeps what its warps print, as far as it fits. To be said before the first instruction.
    pub(super) fn print_into(&mut self, printed: Printed) {
        self.printed = printed;
    }

    /// What its warps have printed so far, in the order of execution.
    pub fn printed(&self) -> &Printed {
        &self.printed
    }

    /// Registers of a warp.
    pub fn registers(&self, warp: usize) -> &Registers {
        &self.warps[warp].registers
    }

    /// Runs all warps to their end, in turns from barrier to barrier.
    ///
    /// # Errors
    /// If an access is out of bounds, warps wait for each other for ever, or the instruction limit is reached.
    pub fn run(&mut self, memory: &mut Memory, observer: &mut impl Observer) -> Result<(), ExecError> {
        loop {
            let before = self.executed;
            let mut ended = 0;
            for warp in 0..self.warps.len() {
                let end_of_turn = self.executed + TURN;
                while self.executed < end_of_turn {
                    match self.step(warp, memory, observer)? {
                        Step::Executed { .. } => {}
                        Step::Waiting => break,
                        Step::Ended => {
                            ended += 1;
                            break;
                        }
                    }
                }
            }
            if ended == self.warps.len() {
                return Ok(());
            }
            if self.executed == before {
                return Err(self.deadlock());
            }
        }
    }

    /// Gives a warp its turn for one instruction.
    ///
    /// # Errors
    /// As [`run`](Self::run), except that waiting is not an error.
    pub fn step(
        &mut self,
        warp: usize,
        memory: &mut Memory,
        observer: &mut impl Observer,
    ) -> Result<Step, ExecError> {
        let Some((next, path)) = self.warps[warp].stack.top() else {
            return Ok(Step::Ended);
        };
        let execution = self.execution;
        let instruction = &execution.kernel.instructions[next as usize];
        let operands = &execution.prepared.decoded.operands[next as usize];
        let state = &mut self.warps[warp];
        let guard = operands.guard.map_or(LaneMask::MAX, |guard| {
            let value = state.registers.masks[guard.mask as usize];
            if guard.negated { !value } else { value }
        });
        let active = path & guard;
        let waits = matches!(instruction.op, Op::Barrier | Op::BarrierReduce { .. });
        if waits && active != 0 && !self.passes_barrier(warp, next, active)? {
            return Ok(Step::Waiting);
        }
        if self.executed >= execution.prepared.options.max_warp_instructions {
            return Err(ExecError::Endless {
                kernel: execution.kernel.name.clone(),
                block: self.position,
                limit: execution.prepared.options.max_warp_instructions,
                line: instruction.line,
            });
        }
        let inst = InstIndex(next);
        let mut executed = Executed { warp, inst, path, active, addresses: None };
        self.set_clock(warp, operands);
        let addresses = self.execute(warp, next, active, memory)?;
        self.control(warp, next, path, active);
        executed.addresses = addresses.as_ref();
        observer.executed(&executed, &self.warps[warp].registers).map_err(ExecError::Observer)?;
        self.executed += 1;
        self.warps[warp].executed += 1;
        if self.warps[warp].stack.top().is_none() {
            self.warps[warp].copies.wait(LaneMask::MAX, None, &mut self.shared);
            self.release_barriers();
        }
        Ok(Step::Executed { inst, active })
    }

    fn set_clock(&mut self, warp: usize, operands: &Operands) {
        if !operands.reads_clock {
            return;
        }
        let state = &mut self.warps[warp];
        let clock = state.executed;
        let halves = [
            (Special::Clock, clock & 0xffff_ffff),
            (Special::ClockHi, clock >> 32),
            (Special::Clock64, clock),
        ];
        for (special, value) in halves {
            if let Some(row) = self.execution.prepared.decoded.special_row(special) {
                state.registers.rows[row] = [value; LANES];
            }
        }
    }

    /// Everything but control flow. Returns the addresses of a memory access.
    fn execute(
        &mut self,
        warp: usize,
        next: u32,
        active: LaneMask,
        memory: &mut Memory,
    ) -> Result<Option<Lanes>, ExecError> {
        let execution = self.execution;
        let kernel = execution.kernel;
        let instruction = &kernel.instructions[next as usize];
        let operands = &execution.prepared.decoded.operands[next as usize];
        let state = &mut self.warps[warp];
        let mut context = Context { kernel, registers: &mut state.registers, operands, active };
        if let Op::BarrierReduce { op } = instruction.op {
            let barrier = barrier_id(&context, operands);
            let value = self.barriers[barrier % BARRIERS].reduced(op);
            context.set_uniform(0, u64::from(value));
            context.set_predicate(0, if value == 0 { 0 } else { LaneMask::MAX });
            return Ok(None);
        }
        let mut memories = Memories {
            global: memory,
            shared: &mut self.shared,
            local: &mut state.local,
            local_bytes: kernel.local_bytes as usize,
            parameters: &execution.prepared.parameters,
            loaded: execution.loaded,
            hint: &mut state.hint,
            outside: execution.prepared.options.tolerate_out_of_bounds.then(Outside::default),
            copies: &mut state.copies,
            printed: &mut self.printed,
        };
        let outcome = execute(&mut context, &mut memories, instruction);
        if let Some(Outside { accesses, first: Some(first) }) = memories.outside {
            self.note_outside(warp, next, accesses, first);
        }
        let addresses = outcome.map_err(|trouble| self.fault(warp, next, trouble))?;
        let Some(mut addresses) = addresses else {
            if instruction.op == Op::BarrierArrive && active != 0 {
                self.arrive(warp, next, active, false)?;
                self.release_barriers();
            }
            return Ok(None);
        };
        if let Some(space) = accessed_space(&instruction.op) {
            let warps = execution.prepared.launch.warps_per_block() as u64;
            let global_warp = self.index * warps + warp as u64;
            for lane in lanes_of(active) {
                let local = u64::from(kernel.local_bytes);
                addresses[lane] = physical(space, addresses[lane], lane, global_warp, local);
            }
        }
        Ok(Some(addresses))
    }

    /// Moves the warp on to what it executes next.
    fn control(&mut self, warp: usize, next: u32, path: LaneMask, active: LaneMask) {
        let execution = self.execution;
        let instruction = &execution.kernel.instructions[next as usize];
        let reconvergence = execution.reconvergence[next as usize].map(|inst| inst.0);
        let state = &mut self.warps[warp];
        if let Op::Bra { target, .. } = instruction.op {
            if active == path {
                state.stack.go_to(target.0);
            } else if active == 0 || target.0 == next + 1 {
                state.stack.go_to(next + 1);
            } else {
                let mut targets = [(next + 1, path & !active), (target.0, active)];
                targets.sort_unstable();
                state.stack.diverge(&targets, reconvergence);
            }
        } else if let Op::Brx { targets, .. } = &instruction.op {
            let row = execution.prepared.decoded.operands[next as usize].sources[0] as usize;
            let index = state.registers.rows[row];
            let mut parted: Vec<(u32, LaneMask)> = Vec::with_capacity(targets.len() + 1);
            parted.push((next + 1, path & !active));
            for (position, target) in targets.iter().enumerate() {
                // An index beyond the table is undefined; it takes the last target.
                let last = position + 1 == targets.len();
                let takes =
                    |lane: usize| index[lane] == position as u64 || last && index[lane] > position as u64;
                let lanes =
                    lanes_of(active).filter(|&lane| takes(lane)).fold(0, |mask, lane| mask | 1 << lane);
                parted.push((target.0, lanes));
            }
            part(&mut state.stack, parted, reconvergence);
        } else if instruction.op == Op::Exit {
            state.stack.exit(active);
            state.stack.go_to(next + 1);
        } else {
            state.stack.go_to(next + 1);
        }
        state.barrier = Phase::Away;
    }

    /// Whether a warp at a barrier may go on. Arrives there the first time.
    fn passes_barrier(&mut self, warp: usize, next: u32, active: LaneMask) -> Result<bool, ExecError> {
        if self.warps[warp].barrier == Phase::Away {
            self.warps[warp].barrier = Phase::Waiting;
            self.arrive(warp, next, active, true)?;
            self.release_barriers();
        }
        Ok(self.warps[warp].barrier == Phase::Released)
    }

    fn arrive(&mut self, warp: usize, next: u32, active: LaneMask, waits: bool) -> Result<(), ExecError> {
        let execution = self.execution;
        let operands = &execution.prepared.decoded.operands[next as usize];
        let state = &mut self.warps[warp];
        let context = Context { kernel: execution.kernel, registers: &mut state.registers, operands, active };
        let id = barrier_id(&context, operands);
        let lane = active.trailing_zeros() as usize;
        let reduces = matches!(execution.kernel.instructions[next as usize].op, Op::BarrierReduce { .. });
        let values = usize::from(operands.source_count) - usize::from(reduces);
        let needed = (values > 1).then(|| context.registers.rows[operands.sources[1] as usize][lane] as u32);
        let holds = if reduces { context.predicate(values) & active } else { 0 };
        let (holds, threads) = (holds.count_ones(), active.count_ones());
        let Some(barrier) = self.barriers.get_mut(id) else {
            let message = format!("barrier {id}; accepted: 0 to {}", BARRIERS - 1);
            return Err(self.fault(warp, next, Trouble { lane, message }));
        };
        if let Some(needed) = needed.filter(|needed| needed % LANES as u32 != 0 || *needed == 0) {
            let message = format!("a barrier of {needed} threads; accepted: multiples of {LANES}");
            return Err(self.fault(warp, next, Trouble { lane, message }));
        }
        barrier.arrive(warp, waits, needed, holds, threads);
        Ok(())
    }

    fn release_barriers(&mut self) {
        let mut live = 0;
        for (warp, state) in self.warps.iter().enumerate() {
            live |= u64::from(state.stack.live() != 0) << warp;
        }
        for barrier in &mut self.barriers {
            let released = barrier.release(live);
            for (warp, state) in self.warps.iter_mut().enumerate() {
                if released >> warp & 1 == 1 {
                    state.barrier = Phase::Released;
                }
            }
        }
    }

    fn fault(&self, warp: usize, next: u32, trouble: Trouble) -> ExecError {
        let instruction = &self.execution.kernel.instructions[next as usize];
        ExecError::Fault {
            kernel: self.execution.kernel.name.clone(),
            line: instruction.line,
            instruction: instruction.text.clone(),
            block: self.position,
            thread: self.describe_thread(warp, trouble.lane),
            message: trouble.message,
        }
    }

    fn describe_thread(&self, warp: usize, lane: usize) -> String {
        let thread = (warp * LANES + lane) as u32;
        let [x, y, z] = thread_position(thread, self.execution.prepared.launch.block);
        format!("[{x}, {y}, {z}] (warp {warp}, lane {lane})")
    }

    /// Counts accesses of an instruction outside of every buffer.
    fn note_outside(&mut self, warp: usize, next: u32, accesses: u64, first: Trouble) {
        if let Some((count, _)) = self.outside.get_mut(&next) {
            *count += accesses;
            return;
        }
        let thread = self.describe_thread(warp, first.lane);
        let first = FirstAccess { block: self.position, thread, access: first.message };
        self.outside.insert(next, (accesses, first));
    }

    fn deadlock(&mut self) -> ExecError {
        let mut waiting = Vec::new();
        for (warp, state) in self.warps.iter_mut().enumerate() {
            if let Some((next, _)) = state.stack.top() {
                let instruction = &self.execution.kernel.instructions[next as usize];
                waiting.push(format!(
                    "warp {warp} waits on line {} at `{}`",
                    instruction.line, instruction.text
                ));
            }
        }
        ExecError::Deadlock {
            kernel: self.execution.kernel.name.clone(),
            block: self.position,
            waiting: waiting.join(", "),
        }
    }
}

/// The number of the barrier in the first active lane.
fn barrier_id(context: &Context<'_>, operands: &Operands) -> usize {
    let lane = (context.active.trailing_zeros() as usize).min(LANES - 1);
    context.registers.rows[operands.sources[0] as usize][lane] as usize
}

/// Sends lanes to several targets, merging those with the same one.
fn part(stack: &mut Stack, mut targets: Vec<(u32, LaneMask)>, reconvergence: Option<u32>) {
    targets.retain(|&(_, lanes)| lanes != 0);
    targets.sort_unstable();
    targets.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 |= later.1;
        }
        same
    });
    match targets.as_slice() {
        [] => {}
        [(only, _)] => stack.go_to(*only),
        several => stack.diverge(several, reconvergence),
    }
}

/// Where a block is in its grid. Blocks are numbered in grid order, x fastest.
pub(super) fn block_position(launch: &Launch, index: u64) -> [u32; 3] {
    let [x, y] = [u64::from(launch.grid[0]), u64::from(launch.grid[1])];
    [(index % x) as u32, (index / x % y) as u32, (index / (x * y)) as u32]
}

fn thread_position(thread: u32, block: [u32; 3]) -> [u32; 3] {
    [thread % block[0], thread / block[0] % block[1], thread / (block[0] * block[1])]
}

impl Warp {
    fn new(execution: &Execution<'_>, block: [u32; 3], warp: usize) -> Warp {
        let threads = execution.prepared.launch.threads_per_block();
        let first = (warp * LANES) as u32;
        let count = (threads - first).min(LANES as u32);
        let lanes = if count == LANES as u32 { LaneMask::MAX } else { (1 << count) - 1 };
        Warp {
            stack: Stack::new(lanes),
            registers: registers_at_start(&execution.prepared, block, warp),
            local: vec![0; execution.kernel.local_bytes as usize * LANES],
            copies: Copies::default(),
            executed: 0,
            hint: 0,
            barrier: Phase::Away,
        }
    }
}

/// Registers of a warp before its first instruction.
pub(super) fn registers_at_start(prepared: &Prepared, block: [u32; 3], warp: usize) -> Registers {
    let decoded = &prepared.decoded;
    let row = |&constant: &Constant| match constant {
        Constant::Value(value) => [value; LANES],
        Constant::Special(special) => special_values(prepared, block, warp, special),
    };
    let rows: Vec<Lanes> = decoded.constants.iter().map(row).collect();
    Registers::new(decoded.layout.clone(), &rows, &[0, LaneMask::MAX])
}

/// The value of a special register in every lane of a warp.
fn special_values(prepared: &Prepared, block: [u32; 3], warp: usize, special: Special) -> Lanes {
    let launch = &prepared.launch;
    let each = |value: &dyn Fn(u32) -> u64| {
        let mut lanes = [0; LANES];
        for (lane, out) in lanes.iter_mut().enumerate() {
            *out = value(lane as u32);
        }
        lanes
    };
    let same = |value: u32| [u64::from(value); LANES];
    let first = (warp * LANES) as u32;
    match special {
        Special::Tid(axis) => {
            each(&|lane| u64::from(thread_position(first + lane, launch.block)[axis.index()]))
        }
        Special::Ntid(axis) => same(launch.block[axis.index()]),
        Special::Ctaid(axis) => same(block[axis.index()]),
        Special::Nctaid(axis) => same(launch.grid[axis.index()]),
        Special::LaneId => each(&u64::from),
        Special::WarpId => same(warp as u32),
        Special::NWarpId => same(launch.warps_per_block() as u32),
        Special::NSmId => same(1),
        Special::SmId | Special::GridId | Special::Clock | Special::ClockHi | Special::Clock64 => same(0),
        Special::LaneMaskEq => each(&|lane| 1 << lane),
        Special::LaneMaskLe => each(&|lane| (2 << lane) - 1),
        Special::LaneMaskLt => each(&|lane| (1 << lane) - 1),
        Special::LaneMaskGe => each(&|lane| 0xffff_ffff << lane & 0xffff_ffff),
        Special::LaneMaskGt => each(&|lane| 0xffff_fffe << lane & 0xffff_ffff),
        Special::DynamicSharedBytes => same(prepared.dynamic_shared),
        Special::TotalSharedBytes => same(launch.shared_bytes),
    }
}
