//! Hand-written kernels: every warp executes one list of instructions, with values of its own.

use std::collections::BTreeMap;

use warpfile_kernels::program::{
    BlockIndex, InstId, Instruction, LANES, LaneMask, LaneValues, Launch, Launches, MemoryAccess, Operation,
    PhysReg, Predicate, Program, ResultRegister, Source, Space, Stream, StreamError, WarpInstruction,
};

/// A straight-line kernel and its launch.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub program: Program,
    pub launch: Launch,
    /// Lanes that execute each instruction.
    pub active: Vec<LaneMask>,
    /// Bytes between the addresses of neighbouring lanes, of each instruction.
    pub strides: Vec<u64>,
    /// Launches of it, one after the other.
    pub launches: usize,
    /// Warps of a block that have no instructions, one bit each.
    pub empty: u32,
    /// Flips bit 0 of an expected operand: (block, warp, instruction, source, lane).
    pub corrupt: Option<(u64, usize, usize, usize, usize)>,
}

impl Kernel {
    /// One block of one warp, 16 registers.
    pub fn new() -> Kernel {
        let program = Program {
            name: "by_hand".to_owned(),
            instructions: Vec::new(),
            registers_per_thread: 16,
            shared_bytes: 0,
            control: None,
            spills: warpfile_kernels::program::Spills::default(),
            computations: Vec::new(),
        };
        Kernel {
            program,
            launch: Launch { grid: [1, 1, 1], block: [32, 1, 1], shared_bytes: 0 },
            active: Vec::new(),
            strides: Vec::new(),
            launches: 1,
            empty: 0,
            corrupt: None,
        }
    }

    pub fn warps(mut self, blocks: u32, warps_per_block: u32) -> Kernel {
        self.launch.grid = [blocks, 1, 1];
        self.launch.block = [32 * warps_per_block, 1, 1];
        self
    }

    pub fn op(mut self, operation: Operation, results: &[u16], sources: &[u16]) -> Kernel {
        let index = self.program.instructions.len();
        self.program.instructions.push(Instruction {
            pc: 8 * index as u32,
            line: 0,
            text: format!("{operation:?} {results:?} {sources:?}"),
            operation,
            sources: sources
                .iter()
                .map(|&r| Source { register: PhysReg(r), last_read: false, idle_until_suspension: false })
                .collect(),
            results: results
                .iter()
                .map(|&r| ResultRegister { register: PhysReg(r), soft: false, idle_until_suspension: false })
                .collect(),
            predicate_sources: Vec::new(),
            predicate_results: Vec::new(),
            suspends: false,
            operand: None,
        });
        self.active.push(!0);
        self.strides.push(4);
        self
    }

    pub fn alu(self, result: u16, sources: &[u16]) -> Kernel {
        self.op(Operation::Alu, &[result], sources)
    }

    pub fn alus(self, count: usize, result: u16, sources: &[u16]) -> Kernel {
        (0..count).fold(self, |kernel, _| kernel.alu(result, sources))
    }

    pub fn exit(self) -> Kernel {
        self.op(Operation::Exit, &[], &[])
    }

    pub fn load(self, result: u16, address: u16) -> Kernel {
        self.op(Operation::Load(global(4)), &[result], &[address])
    }

    pub fn store(self, value: u16, address: u16) -> Kernel {
        self.op(Operation::Store(global(4)), &[], &[value, address])
    }

    /// The last instruction reads a word of scratchpad as an operand.
    pub fn with_operand(mut self) -> Kernel {
        self.last().operand = Some(shared(4));
        self
    }

    /// Marks the last instruction: it suspends its warp.
    pub fn marked(mut self) -> Kernel {
        self.last().suspends = true;
        self
    }

    pub fn predicates(mut self, written: &[u16], read: &[u16]) -> Kernel {
        self.last().predicate_results = written.iter().map(|&p| Predicate(p)).collect();
        self.last().predicate_sources = read.iter().map(|&p| Predicate(p)).collect();
        self
    }

    pub fn lanes(mut self, active: LaneMask) -> Kernel {
        *self.active.last_mut().expect("an instruction") = active;
        self
    }

    pub fn stride(mut self, bytes: u64) -> Kernel {
        *self.strides.last_mut().expect("an instruction") = bytes;
        self
    }

    /// The last instruction has a guard: lanes that do not execute it keep what they have.
    pub fn guarded(mut self) -> Kernel {
        let last = self.last();
        last.predicate_sources.push(Predicate(0));
        last.results.iter_mut().for_each(|result| result.soft = true);
        self
    }

    fn last(&mut self) -> &mut Instruction {
        self.program.instructions.last_mut().expect("an instruction")
    }
}

pub fn global(bytes: u8) -> MemoryAccess {
    MemoryAccess { space: Space::Global, bytes }
}

pub fn shared(bytes: u8) -> MemoryAccess {
    MemoryAccess { space: Space::Shared, bytes }
}

/// Launches of kernels.
pub struct Sequence {
    kernels: Vec<Kernel>,
    next: usize,
}

impl From<Kernel> for Sequence {
    fn from(kernel: Kernel) -> Sequence {
        Sequence::from(vec![kernel])
    }
}

/// One behind the other, each as often as it is launched.
impl From<Vec<Kernel>> for Sequence {
    fn from(kernels: Vec<Kernel>) -> Sequence {
        let launches = kernels.into_iter().flat_map(|kernel| vec![kernel.clone(); kernel.launches]);
        Sequence { kernels: launches.collect(), next: 0 }
    }
}

impl Launches for Sequence {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        let Some(kernel) = self.kernels.get(self.next) else { return Ok(None) };
        self.next += 1;
        Ok(Some(Box::new(Script { kernel, warps: BTreeMap::new(), next_block: 0 })))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        Ok(true)
    }
}

/// Executes a kernel: a result is a value that no other warp, step or lane produces.
struct Script<'k> {
    kernel: &'k Kernel,
    warps: BTreeMap<(BlockIndex, usize), WarpState>,
    next_block: BlockIndex,
}

struct WarpState {
    step: usize,
    registers: Vec<LaneValues>,
    defined: Vec<LaneMask>,
}

impl Stream for Script<'_> {
    fn program(&self) -> &Program {
        &self.kernel.program
    }

    fn launch(&self) -> &Launch {
        &self.kernel.launch
    }

    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        assert_eq!(block, self.next_block, "blocks start in grid order");
        self.next_block += 1;
        for warp in 0..self.kernel.launch.warps_per_block() {
            let registers = usize::from(self.kernel.program.registers_per_thread);
            let state =
                WarpState { step: 0, registers: vec![[0; LANES]; registers], defined: vec![0; registers] };
            self.warps.insert((block, warp), state);
        }
        Ok(())
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        let state = self.warps.get_mut(&(block, warp)).expect("a started block's warp");
        let is_empty = self.kernel.empty >> warp & 1 == 1;
        let next = self.kernel.program.instructions.get(state.step).filter(|_| !is_empty);
        let Some(instruction) = next else { return Ok(false) };
        let step = state.step;
        state.step += 1;
        let active = self.kernel.active[step];
        *into = WarpInstruction { inst: InstId(step as u32), active, ..Default::default() };
        for (index, source) in instruction.sources.iter().enumerate() {
            into.sources[index] = state.registers[usize::from(source.register.0)];
            into.defined[index] = state.defined[usize::from(source.register.0)];
        }
        if let Some((_, _, _, source, lane)) =
            self.kernel.corrupt.filter(|&(b, w, s, ..)| (b, w, s) == (block, warp, step))
        {
            into.sources[source][lane] ^= 1;
        }
        // Scratchpad is a block's own; in memory each warp has a place for itself.
        let is_shared = instruction.operand.is_some()
            || matches!(
                instruction.operation,
                Operation::Load(MemoryAccess { space: Space::Shared, .. })
                    | Operation::Store(MemoryAccess { space: Space::Shared, .. })
            );
        let first = if is_shared { 0 } else { (block << 32) + ((warp as u64) << 24) };
        for lane in (0..LANES).filter(|lane| active >> lane & 1 == 1) {
            into.addresses[lane] = first + self.kernel.strides[step] * lane as u64;
            for (index, result) in instruction.results.iter().enumerate() {
                let value = (block as u32) << 24 ^ (warp as u32) << 20 ^ (step as u32) << 8 ^ lane as u32;
                into.results[index][lane] = value ^ (index as u32) << 6;
                state.registers[usize::from(result.register.0)][lane] = into.results[index][lane];
                state.defined[usize::from(result.register.0)] |= 1 << lane;
            }
        }
        Ok(true)
    }

    fn finish_block(&mut self, block: BlockIndex) {
        let warps = self.kernel.launch.warps_per_block();
        for warp in 0..warps {
            self.warps.remove(&(block, warp)).expect("a block ends once");
        }
    }
}
