//! A launch's static side, decoded for the cycle loop.

use warpfile_kernels::program::{
    Arithmetic, Computation, InstId, Instruction, LANES, MAX_RESULTS, MAX_SOURCES, Number, Operation,
    PhysReg, Program, Space, Step,
};

use super::SimError;
use super::design::{Metadata, OperandStorage, Unit};
use super::machine::{SlotClass, arithmetic_unit};
use super::operations::OperationClass;
use super::timing::TimingClass;
use crate::config::Units;

/// Decoded instructions of one program.
pub(super) struct Kernel {
    pub instructions: Vec<Decoded>,
    /// Words of a scoreboard row: registers first, then predicates.
    pub words: usize,
    /// `words` of every instruction: registers and predicates that must not be pending.
    hazards: Vec<u64>,
    /// `words` of every instruction: registers and predicates that become pending.
    writes: Vec<u64>,
    /// Number of registers, the scoreboard bit of predicate 0.
    registers: usize,
    /// The place of each register among the rows of its warp.
    places: Vec<u32>,
}

/// One instruction.
#[derive(Clone, Debug)]
pub(super) struct Decoded {
    pub action: Action,
    pub unit: Unit,
    /// What its lanes count as.
    pub class: OperationClass,
    /// What it takes a slot of.
    pub slot_class: SlotClass,
    /// How long it takes, if it is arithmetic.
    pub timing: TimingClass,
    pub suspends: bool,
    /// Bytes a lane of its operand in scratchpad, if it has one.
    pub operand_bytes: Option<u8>,
    /// Source registers.
    pub sources: [Option<u32>; MAX_SOURCES],
    /// Result registers.
    pub results: Vec<u16>,
    pub predicate_results: Vec<u16>,
    /// Its results are a function of its sources; so are its predicates, which are its results then.
    pub is_function: bool,
    /// Metadata instructions before it.
    pub metadata: Metadata,
}

/// What happens at dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Alu,
    Sfu,
    Double,
    Texture,
    Memory {
        bytes: u8,
        kind: MemoryKind,
    },
    Shared {
        bytes: u8,
    },
    Constant,
    Barrier,
    Fence,
    /// Only a layer makes something of it.
    Release,
    Branch,
}

/// Kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryKind {
    /// Read.
    Load,
    /// Write.
    Store,
    /// Read-modify-write.
    Atomic,
}

impl Kernel {
    /// `storage` has been told of the program: it knows what else must not be pending, and of metadata instructions.
    pub fn new(program: &Program, storage: &dyn OperandStorage, units: &Units) -> Result<Kernel, SimError> {
        let registers = usize::from(program.registers_per_thread);
        let predicates = program
            .instructions
            .iter()
            .flat_map(|i| i.predicate_sources.iter().chain(&i.predicate_results))
            .map(|predicate| usize::from(predicate.0) + 1)
            .max()
            .unwrap_or(0);
        let words = (registers + predicates).div_ceil(64).max(1);
        let count = program.instructions.len();
        let mut kernel = Kernel {
            instructions: Vec::with_capacity(count),
            words,
            hazards: vec![0; count * words],
            writes: vec![0; count * words],
            registers,
            places: (0..registers as u32).collect(),
        };
        for (index, instruction) in program.instructions.iter().enumerate() {
            check(program, instruction)?;
            kernel.mark(index, instruction);
            let inst = InstId(index as u32);
            kernel.mark_pending(index, storage.waits_for(inst));
            let is_function = matches!(program.computations.get(index), Some(Computation::Function { .. }));
            kernel.instructions.push(Decoded::new(instruction, is_function, storage.metadata(inst), units));
        }
        Ok(kernel)
    }

    /// Registers and predicates that must not be pending when the instruction issues.
    pub fn hazards(&self, index: usize) -> &[u64] {
        &self.hazards[index * self.words..][..self.words]
    }

    /// Registers and predicates that become pending when the instruction issues.
    pub fn writes(&self, index: usize) -> &[u64] {
        &self.writes[index * self.words..][..self.words]
    }

    /// Registers lie in another order: register `r` is the `order[r]`-th.
    pub fn reorder(&mut self, order: &[u16]) {
        self.places.iter_mut().zip(order).for_each(|(place, number)| *place = u32::from(*number));
    }

    /// The place of a register among the rows of its warp.
    #[inline]
    pub fn place(&self, register: u32) -> u32 {
        self.places[register as usize]
    }

    /// Scoreboard bit of a predicate.
    pub fn predicate_bit(&self, predicate: u16) -> usize {
        self.registers + usize::from(predicate)
    }

    fn mark(&mut self, index: usize, instruction: &Instruction) {
        let first_predicate = self.registers;
        let reads = (instruction.sources.iter().map(|s| usize::from(s.register.0)))
            .chain(instruction.predicate_sources.iter().map(|p| first_predicate + usize::from(p.0)));
        let writes = (instruction.results.iter().map(|r| usize::from(r.register.0)))
            .chain(instruction.predicate_results.iter().map(|p| first_predicate + usize::from(p.0)));
        let row = index * self.words;
        for bit in writes {
            self.hazards[row + bit / 64] |= 1 << (bit % 64);
            self.writes[row + bit / 64] |= 1 << (bit % 64);
        }
        for bit in reads {
            self.hazards[row + bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Registers beside its operands that must not be pending when the instruction issues.
    fn mark_pending(&mut self, index: usize, registers: &[PhysReg]) {
        let row = index * self.words;
        for bit in registers.iter().map(|register| usize::from(register.0)) {
            self.hazards[row + bit / 64] |= 1 << (bit % 64);
        }
    }
}

impl Decoded {
    fn new(instruction: &Instruction, is_function: bool, metadata: Metadata, units: &Units) -> Decoded {
        let action = action(instruction.operation);
        let arithmetic = Arithmetic::of(instruction);
        let unit = action.unit(arithmetic, units);
        let mut sources = [None; MAX_SOURCES];
        for (slot, source) in sources.iter_mut().zip(&instruction.sources) {
            *slot = Some(u32::from(source.register.0));
        }
        Decoded {
            action,
            unit,
            class: OperationClass::of(instruction),
            slot_class: SlotClass::of(action, unit, units),
            timing: if action == Action::Sfu { TimingClass::SFU } else { TimingClass::of(arithmetic) },
            suspends: instruction.suspends,
            operand_bytes: instruction.operand.map(|access| access.bytes),
            sources,
            results: instruction.results.iter().map(|result| result.register.0).collect(),
            predicate_results: instruction.predicate_results.iter().map(|p| p.0).collect(),
            is_function,
            metadata,
        }
    }

    /// Whether its results take the fill port.
    pub fn is_long(&self) -> bool {
        match self.action {
            Action::Texture | Action::Memory { .. } => true,
            Action::Alu
            | Action::Sfu
            | Action::Double
            | Action::Shared { .. }
            | Action::Constant
            | Action::Barrier
            | Action::Fence
            | Action::Release
            | Action::Branch => false,
        }
    }
}

impl Action {
    /// Whether it goes to the memory unit.
    pub fn accesses_memory(self) -> bool {
        match self {
            Action::Memory { .. } => true,
            Action::Alu
            | Action::Sfu
            | Action::Double
            | Action::Texture
            | Action::Shared { .. }
            | Action::Constant
            | Action::Barrier
            | Action::Fence
            | Action::Release
            | Action::Branch => false,
        }
    }

    fn unit(self, arithmetic: Arithmetic, units: &Units) -> Unit {
        let multiplies = matches!(arithmetic.step, Step::Multiply | Step::MultiplyAdd);
        match self {
            Action::Alu if arithmetic.number == Number::Integer && multiplies => {
                arithmetic_unit(units.int_multiply_on)
            }
            Action::Alu => Unit::Alu,
            Action::Double if units.double > 0 => Unit::Alu,
            Action::Double => arithmetic_unit(units.double_on),
            Action::Sfu => Unit::Sfu,
            Action::Texture => Unit::Texture,
            Action::Memory { .. } => Unit::Memory,
            Action::Shared { .. } | Action::Constant => Unit::Scratchpad,
            Action::Barrier | Action::Fence | Action::Release | Action::Branch => Unit::Control,
        }
    }
}

fn action(operation: Operation) -> Action {
    let access = |access: warpfile_kernels::program::MemoryAccess, kind| match access.space {
        Space::Global | Space::Local | Space::Generic => Action::Memory { bytes: access.bytes, kind },
        Space::Shared => Action::Shared { bytes: access.bytes },
        Space::Constant | Space::Parameter => Action::Constant,
    };
    match operation {
        Operation::Alu => Action::Alu,
        Operation::Sfu => Action::Sfu,
        Operation::Double => Action::Double,
        Operation::Texture => Action::Texture,
        Operation::Load(a) => access(a, MemoryKind::Load),
        Operation::Store(a) => access(a, MemoryKind::Store),
        Operation::Atomic(a) => access(a, MemoryKind::Atomic),
        Operation::Barrier => Action::Barrier,
        Operation::Fence => Action::Fence,
        Operation::Release => Action::Release,
        Operation::Branch | Operation::Exit => Action::Branch,
    }
}

/// What the harness relies on.
fn check(program: &Program, instruction: &Instruction) -> Result<(), SimError> {
    let bad = |problem: String| {
        Err(SimError::BadInstruction {
            kernel: program.name.clone(),
            pc: instruction.pc,
            text: instruction.text.clone(),
            problem,
        })
    };
    if instruction.sources.len() > MAX_SOURCES {
        return bad(format!("{} register sources, at most {MAX_SOURCES}", instruction.sources.len()));
    }
    if instruction.results.len() > MAX_RESULTS {
        return bad(format!("{} results, at most {MAX_RESULTS}", instruction.results.len()));
    }
    let registers = (instruction.sources.iter().map(|s| s.register))
        .chain(instruction.results.iter().map(|r| r.register));
    for register in registers {
        if register.0 >= program.registers_per_thread {
            return bad(format!(
                "register R{}, but the kernel declares {} a thread",
                register.0, program.registers_per_thread
            ));
        }
    }
    if !instruction.operation.may_write_registers() && !instruction.results.is_empty() {
        return bad("a store, barrier, fence, branch or exit writes no register".to_owned());
    }
    if let Operation::Load(a) | Operation::Store(a) | Operation::Atomic(a) = instruction.operation
        && !(1..=16).contains(&a.bytes)
    {
        return bad(format!("an access of {} bytes a lane, accepted: 1 to 16", a.bytes));
    }
    instruction.check_operand().or_else(bad)
}

/// Four-lane clusters with at least one lane in `mask`; a full warp has 8 (Gebhart et al., §2.1).
pub(super) fn clusters(mask: u32) -> u64 {
    const LANES_PER_CLUSTER: usize = 4;
    (0..LANES / LANES_PER_CLUSTER).filter(|cluster| mask >> (cluster * LANES_PER_CLUSTER) & 0xf != 0).count()
        as u64
}
