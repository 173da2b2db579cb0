//! Launches made up from a seed, produced warp by warp like any other stream.

use crate::compile::operands::ACCESS;
use crate::program::{
    BlockIndex, InstId, Instruction, LANES, LaneMask, LaneValues, Launch, Launches, MemoryAccess, Operation,
    PhysReg, Predicate, Program, ResultRegister, Source, Space, Stream, StreamError, WarpInstruction,
};
use crate::trace::registers::{WarpRegisters, lanes};
use std::collections::BTreeMap;

/// What is to be made up.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub seed: u64,
    pub launches: u64,
    pub instructions: u64,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Instructions a warp executes.
    pub executed: u64,
}

/// A sequence of made-up launches.
pub struct Synthetic {
    shape: Shape,
    next: u64,
    /// Whether some arithmetic has an operand in scratchpad.
    operands: bool,
}

impl Synthetic {
    pub fn new(shape: Shape) -> Synthetic {
        Synthetic { shape, next: 0, operands: true }
    }

    /// The same, but with no operand in scratchpad.
    pub fn without_operands(self) -> Synthetic {
        Synthetic { operands: false, ..self }
    }
}

impl Launches for Synthetic {
    fn next_launch(&mut self) -> Result<Option<Box<dyn Stream + '_>>, StreamError> {
        if self.next == self.shape.launches {
            return Ok(None);
        }
        self.next += 1;
        let seed = self.shape.seed.wrapping_add(self.next);
        let mut program = program(&mut Random(seed), self.shape.instructions);
        if !self.operands {
            program.instructions.iter_mut().for_each(|instruction| instruction.operand = None);
        }
        Ok(Some(Box::new(SyntheticStream {
            program,
            launch: Launch { grid: self.shape.grid, block: self.shape.block, shared_bytes: 64 },
            seed,
            executed: self.shape.executed,
            warps: BTreeMap::new(),
        })))
    }

    fn has_values(&mut self) -> Result<bool, StreamError> {
        Ok(true)
    }
}

struct SyntheticStream {
    program: Program,
    launch: Launch,
    seed: u64,
    executed: u64,
    warps: BTreeMap<(BlockIndex, usize), WarpGenerator>,
}

struct WarpGenerator {
    random: Random,
    registers: WarpRegisters,
    left: u64,
}

impl Stream for SyntheticStream {
    fn program(&self) -> &Program {
        &self.program
    }

    fn launch(&self) -> &Launch {
        &self.launch
    }

    fn start_block(&mut self, block: BlockIndex) -> Result<(), StreamError> {
        for warp in 0..self.launch.warps_per_block() {
            let seed = self.seed ^ (block * 64 + warp as u64 + 1) << 20;
            let generator = WarpGenerator {
                random: Random(seed),
                registers: WarpRegisters::default(),
                // Some warps are empty.
                left: if seed.is_multiple_of(7) { 0 } else { self.executed },
            };
            self.warps.insert((block, warp), generator);
        }
        Ok(())
    }

    fn next(
        &mut self,
        block: BlockIndex,
        warp: usize,
        into: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        let generator = self.warps.get_mut(&(block, warp)).expect("a running warp");
        if generator.left == 0 {
            return Ok(false);
        }
        generator.left -= 1;
        generator.fill(&self.program, into);
        Ok(true)
    }

    fn finish_block(&mut self, block: BlockIndex) {
        self.warps.retain(|&(held, _), _| held != block);
    }
}

impl WarpGenerator {
    fn fill(&mut self, program: &Program, into: &mut WarpInstruction) {
        let random = &mut self.random;
        *into = WarpInstruction::default();
        into.inst = InstId(random.below(program.instructions.len() as u64) as u32);
        into.active = random.mask();
        let instruction = &program.instructions[into.inst.0 as usize];
        for (slot, source) in instruction.sources.iter().enumerate() {
            let (values, defined) = self.registers.read(source.register);
            into.defined[slot] = defined & into.active;
            into.sources[slot] = *values;
            if random.below(8) == 0 {
                let other = random.values();
                for lane in lanes(!defined) {
                    into.sources[slot][lane] = other[lane];
                }
            }
        }
        for (slot, result) in instruction.results.iter().enumerate() {
            into.results[slot] = random.values();
            self.registers.write(result.register, into.active, &into.results[slot]);
        }
        if instruction.has_addresses() {
            into.addresses = random.addresses();
        }
    }
}

/// A made-up program.
pub fn some_program(seed: u64) -> Program {
    program(&mut Random(seed), 12)
}

fn program(random: &mut Random, instructions: u64) -> Program {
    let instructions: Vec<Instruction> =
        (0..instructions).map(|position| instruction(random, position)).collect();
    let registers_per_thread = (instructions.iter())
        .flat_map(|instruction| {
            let sources = instruction.sources.iter().map(|source| source.register.0);
            sources.chain(instruction.results.iter().map(|result| result.register.0))
        })
        .max()
        .map_or(0, |highest| highest + 1);
    Program {
        name: "made_up".to_string(),
        instructions,
        registers_per_thread,
        shared_bytes: 0,
        control: None,
        spills: crate::program::Spills::default(),
        computations: Vec::new(),
    }
}

fn instruction(random: &mut Random, position: u64) -> Instruction {
    let space =
        [Space::Global, Space::Shared, Space::Local, Space::Constant, Space::Generic, Space::Parameter]
            [random.below(6) as usize];
    let access = MemoryAccess { space, bytes: 1 << random.below(5) };
    let operation = [
        Operation::Alu,
        Operation::Sfu,
        Operation::Double,
        Operation::Texture,
        Operation::Load(access),
        Operation::Store(access),
        Operation::Atomic(access),
        Operation::Barrier,
        Operation::Fence,
        Operation::Release,
        Operation::Branch,
        Operation::Exit,
    ][random.below(12) as usize];
    let results = match operation {
        Operation::Load(_) => random.below(5),
        Operation::Alu | Operation::Sfu | Operation::Double => random.below(2),
        Operation::Texture | Operation::Atomic(_) => random.below(3),
        Operation::Store(_)
        | Operation::Barrier
        | Operation::Fence
        | Operation::Release
        | Operation::Branch
        | Operation::Exit => 0,
    };
    let computes = matches!(operation, Operation::Alu | Operation::Sfu | Operation::Double);
    let operand = (computes && random.below(2) == 0).then_some(ACCESS);
    let sources = random.below(4);
    let first = random.below(20) as u16;
    Instruction {
        pc: 8 * position as u32,
        line: random.below(100) as u32,
        text: format!("made up {position}"),
        operation,
        sources: (0..sources as u16)
            .map(|slot| Source {
                register: PhysReg(first + 3 * slot),
                last_read: random.below(2) == 0,
                idle_until_suspension: random.below(2) == 0,
            })
            .collect(),
        results: (0..results as u16)
            .map(|slot| ResultRegister {
                register: PhysReg(2 * first + slot),
                soft: random.below(2) == 0,
                idle_until_suspension: random.below(2) == 0,
            })
            .collect(),
        predicate_sources: (0..random.below(2)).map(|_| Predicate(1)).collect(),
        predicate_results: (0..random.below(2)).map(|_| Predicate(2)).collect(),
        suspends: random.below(2) == 0,
        operand,
    }
}

/// A splitmix64 generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn mask(&mut self) -> LaneMask {
        match self.below(6) {
            0 => 0,
            1 => 1 << self.below(32),
            2 => LaneMask::MAX << self.below(32),
            3 => self.next() as LaneMask,
            _full => LaneMask::MAX,
        }
    }

    fn values(&mut self) -> LaneValues {
        let (base, stride) = (self.next() as u32, self.next() as u32);
        match self.below(4) {
            0 => [base; LANES],
            1 => std::array::from_fn(|lane| base.wrapping_add(stride.wrapping_mul(lane as u32))),
            2 => std::array::from_fn(|lane| (base >> 20) + 4 * lane as u32),
            _irregular => std::array::from_fn(|_| self.next() as u32),
        }
    }

    fn addresses(&mut self) -> [u64; LANES] {
        let base = self.next();
        match self.below(4) {
            0 => [base; LANES],
            1 => std::array::from_fn(|lane| (base >> 24).wrapping_add(4 * lane as u64)),
            2 => std::array::from_fn(|_| (base >> 24).wrapping_add(self.below(1 << 12))),
            _irregular => std::array::from_fn(|_| self.next()),
        }
    }
}

/// A whole trace in memory, only what executes: inactive lanes are 0.
#[derive(Debug, PartialEq)]
pub struct Recording {
    pub launches: Vec<RecordedLaunch>,
}

/// One launch of a [`Recording`].
#[derive(Debug, PartialEq)]
pub struct RecordedLaunch {
    pub program: Program,
    pub launch: Launch,
    pub warps: Vec<Vec<WarpInstruction>>,
}

/// Runs every launch; the warps of up to two blocks take turns.
pub fn record(launches: &mut dyn Launches) -> Result<Recording, StreamError> {
    let mut recording = Recording { launches: Vec::new() };
    while let Some(mut stream) = launches.next_launch()? {
        let (blocks, warps) = (stream.launch().blocks(), stream.launch().warps_per_block());
        let mut recorded = vec![Vec::new(); blocks as usize * warps];
        for first in (0..blocks).step_by(2) {
            let resident = first..blocks.min(first + 2);
            for block in resident.clone() {
                stream.start_block(block)?;
            }
            let mut running: Vec<(u64, usize)> =
                resident.clone().flat_map(|block| (0..warps).map(move |warp| (block, warp))).collect();
            while !running.is_empty() {
                let mut still = Vec::new();
                for (block, warp) in running {
                    let mut buffer = WarpInstruction::default();
                    if stream.next(block, warp, &mut buffer)? {
                        let buffer = normalised(stream.program(), buffer);
                        recorded[block as usize * warps + warp].push(buffer);
                        still.push((block, warp));
                    }
                }
                running = still;
            }
            for block in resident {
                stream.finish_block(block);
            }
        }
        recording.launches.push(RecordedLaunch {
            program: stream.program().clone(),
            launch: stream.launch().clone(),
            warps: recorded,
        });
    }
    Ok(recording)
}

/// Zeroes what a stream may leave undefined: inactive lanes and operands that the instruction does not have.
fn normalised(program: &Program, found: WarpInstruction) -> WarpInstruction {
    let instruction = &program.instructions[found.inst.0 as usize];
    let mut kept = WarpInstruction { inst: found.inst, active: found.active, ..WarpInstruction::default() };
    let active = |lane: usize| found.active >> lane & 1 == 1;
    for slot in 0..instruction.sources.len() {
        kept.defined[slot] = found.defined[slot] & found.active;
        kept.sources[slot] =
            std::array::from_fn(|lane| if active(lane) { found.sources[slot][lane] } else { 0 });
    }
    for slot in 0..instruction.results.len() {
        kept.results[slot] =
            std::array::from_fn(|lane| if active(lane) { found.results[slot][lane] } else { 0 });
    }
    if instruction.has_addresses() {
        kept.addresses = std::array::from_fn(|lane| if active(lane) { found.addresses[lane] } else { 0 });
    }
    kept
}
