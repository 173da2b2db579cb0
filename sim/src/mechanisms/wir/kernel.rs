//! What the reuse buffer has to know of a kernel's instructions.

use warpfile_kernels::program::{Computation, Instruction, MAX_SOURCES, Operation, Program, Space};

/// An operand of a computation: a register's place among the sources, or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Source(usize),
    Immediate(u16),
}

/// What an instruction computes, as the reuse buffer has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    pub form: u16,
    /// Those that it does not have are the constant 0.
    pub operands: [Operand; MAX_SOURCES],
    /// The memory that it loads from, if its result hangs on what that holds.
    pub memory: Option<Memory>,
    /// It has two results.
    pub is_pair: bool,
}

/// A memory that is written while a kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Global,
    Scratchpad,
}

/// What an instruction does to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// It may write the scratchpad.
    pub scratchpad: bool,
    /// It may write global memory.
    pub global: bool,
    /// It is a fence, an atomic, or a volatile access.
    pub orders: bool,
    pub barrier: bool,
}

/// An instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// `None` if it never reuses a result.
    pub function: Option<Function>,
    /// It reads or writes values that stand for others.
    pub invented: bool,
    /// Its form is one too many.
    pub beyond: bool,
    /// It has more operands or results than a row.
    pub wide: bool,
    /// It computes, but with predicates that are no registers, with what a thread has of its own (special registers), or with
    /// other lanes.
    pub private: bool,
    /// The numbers of its sources; 0 beyond them.
    pub sources: [u16; MAX_SOURCES],
    pub effect: Effect,
    /// It must not pass a load of its warp: it accesses memory that others write, or orders such accesses.
    pub follows_loads: bool,
}

/// What there is room for in a row.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Forms that it tells apart.
    pub forms: u32,
    /// Bits of a constant that is an operand.
    pub constant_bits: usize,
    /// Results.
    pub results: usize,
}

/// Instructions of a kernel. `loads`: those from memory that is written may be functions.
pub fn decode(program: &Program, room: Room, loads: bool) -> Vec<Decoded> {
    let instructions = program.instructions.iter().enumerate();
    instructions
        .map(|(index, instruction)| {
            // Of programs that do not say what their instructions compute nothing is a function, and nothing is known of why.
            let computation = program.computations.get(index);
            let effect = effect(&instruction.operation, computation == Some(&Computation::Ordering));
            let reads = memory(&instruction.operation).is_some() || instruction.operand.is_some();
            let follows_loads = effect != Effect::default() || reads;
            let decode = |computation| decode_one(instruction, computation, room, loads);
            let of_computation = computation.map(decode).unwrap_or_default();
            let mut sources = instruction.sources.iter().map(|source| source.register.0);
            let sources = [(); MAX_SOURCES].map(|()| sources.next().unwrap_or(0));
            Decoded { sources, effect, follows_loads, ..of_computation }
        })
        .collect()
}

fn decode_one(instruction: &Instruction, computation: &Computation, room: Room, loads: bool) -> Decoded {
    let (form, immediates, memory) = match computation {
        Computation::Function { form, immediates } => (*form, immediates, None),
        Computation::Load { form, immediates } if loads => {
            (*form, immediates, memory(&instruction.operation))
        }
        Computation::Invented => return Decoded { invented: true, ..Decoded::default() },
        Computation::Wide => return Decoded { wide: true, ..Decoded::default() },
        Computation::Other => {
            return Decoded { private: computes(&instruction.operation), ..Decoded::default() };
        }
        Computation::Load { .. } | Computation::Ordering => return Decoded::default(),
    };
    let results = instruction.results.len();
    if results > room.results {
        return Decoded { wide: true, ..Decoded::default() };
    }
    let sources = (0..instruction.sources.len()).map(Operand::Source);
    let mut all = sources.chain(immediates.iter().copied().map(Operand::Immediate));
    let operands = [(); MAX_SOURCES].map(|()| all.next().unwrap_or(Operand::Immediate(0)));
    let fits =
        form < room.forms && immediates.iter().all(|&short| u32::from(short) >> room.constant_bits == 0);
    let function = fits.then_some(Function { form: form as u16, operands, memory, is_pair: results == 2 });
    Decoded { function, beyond: !fits, ..Decoded::default() }
}

/// Whether an operation has no other effect than its results.
fn computes(operation: &Operation) -> bool {
    match operation {
        Operation::Alu | Operation::Sfu | Operation::Double => true,
        Operation::Texture
        | Operation::Load(_)
        | Operation::Store(_)
        | Operation::Atomic(_)
        | Operation::Barrier
        | Operation::Fence
        | Operation::Release
        | Operation::Branch
        | Operation::Exit => false,
    }
}

/// The memory that an operation loads from, if others write it; of both global memory.
fn memory(operation: &Operation) -> Option<Memory> {
    match operation {
        Operation::Load(access) => match access.space {
            Space::Global | Space::Generic => Some(Memory::Global),
            Space::Shared => Some(Memory::Scratchpad),
            Space::Local | Space::Constant | Space::Parameter => None,
        },
        _other => None,
    }
}

fn effect(operation: &Operation, orders: bool) -> Effect {
    let none = Effect::default();
    match operation {
        _any if orders => Effect { scratchpad: true, global: true, orders: true, barrier: false },
        Operation::Atomic(_) | Operation::Fence => {
            Effect { scratchpad: true, global: true, orders: true, barrier: false }
        }
        Operation::Store(access) => match access.space {
            Space::Global => Effect { global: true, ..none },
            Space::Shared => Effect { scratchpad: true, ..none },
            Space::Generic => Effect { global: true, scratchpad: true, ..none },
            Space::Local | Space::Constant | Space::Parameter => none,
        },
        Operation::Barrier => Effect { barrier: true, ..none },
        Operation::Alu
        | Operation::Sfu
        | Operation::Double
        | Operation::Texture
        | Operation::Load(_)
        | Operation::Release
        | Operation::Branch
        | Operation::Exit => none,
    }
}
