//! What the reuse buffer has to know of a kernel's instructions.

use warpfile_kernels::program::{Computation, Instruction, MAX_SOURCES, Program};

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
}

/// Instructions of a kernel. `forms`: how many the buffer tells apart; `bits`: of a constant that is an operand.
pub fn decode(program: &Program, forms: u32, bits: usize) -> Vec<Decoded> {
    let instructions = program.instructions.iter().enumerate();
    let none = Computation::Other;
    instructions
        .map(|(index, instruction)| {
            let computation = program.computations.get(index).unwrap_or(&none);
            decode_one(instruction, computation, forms, bits)
        })
        .collect()
}

fn decode_one(instruction: &Instruction, computation: &Computation, forms: u32, bits: usize) -> Decoded {
    match computation {
        Computation::Function { form, immediates } => {
            let sources = (0..instruction.sources.len()).map(Operand::Source);
            let mut all = sources.chain(immediates.iter().copied().map(Operand::Immediate));
            let operands = [(); MAX_SOURCES].map(|()| all.next().unwrap_or(Operand::Immediate(0)));
            let fits = *form < forms && immediates.iter().all(|&short| u32::from(short) >> bits == 0);
            let function = fits.then_some(Function { form: *form as u16, operands });
            Decoded { function, invented: false, beyond: !fits }
        }
        Computation::Invented => Decoded { invented: true, ..Decoded::default() },
        Computation::Other => Decoded::default(),
    }
}
