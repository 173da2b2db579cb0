//! What a kernel's instructions access and say, for the cycle loop.

use warpfile_hdl::greener::{PowerState, STATE_BITS};
use warpfile_kernels::compile::greener::{self, Codes, PowerStates};
use warpfile_kernels::program::{Instruction, Program};

use super::{MAX_REGISTERS, RegisterRows};
use crate::sm::design::{RowUse, RowUses};

/// Words of a set of a thread's registers.
const WORDS: usize = MAX_REGISTERS / u64::BITS as usize;

/// A set of a warp's registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers([u64; WORDS]);

impl Registers {
    pub fn insert(&mut self, register: u16) {
        self.0[usize::from(register) / 64] |= 1 << (register % 64);
    }

    pub fn contains(&self, register: u16) -> bool {
        self.0[usize::from(register) / 64] >> (register % 64) & 1 == 1
    }

    pub fn remove(&mut self, register: u16) {
        self.0[usize::from(register) / 64] &= !(1 << (register % 64));
    }

    pub fn meets(&self, other: &Registers) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one & other != 0)
    }
}

/// A register that an instruction accesses.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub register: u16,
    /// Its code among those of the instruction.
    pub code: Option<u8>,
    /// Its access says what becomes of the register: not a read of one that is written as well.
    pub changes: bool,
    /// Whether its row of the main register file is accessed.
    pub row_use: RowUse,
}

impl Operand {
    /// Whether the register is OFF behind this access, by the instruction's codes.
    pub fn is_off_behind(&self, codes: u64) -> bool {
        let says_off = |code: u8| codes >> (STATE_BITS * usize::from(code)) & 3 == PowerState::Off as u64;
        self.changes && self.code.is_some_and(says_off)
    }
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Decoded {
    pub sources: Vec<Operand>,
    pub results: Vec<Operand>,
    /// All of them, each once.
    pub registers: Vec<u16>,
    /// The same as a set.
    pub set: Registers,
    /// Those whose rows are known to be accessed.
    pub rows: Vec<u16>,
    /// The codes, as the circuit takes them.
    pub codes: u64,
    pub pc: u32,
    pub text: String,
}

/// A kernel.
#[derive(Default)]
pub struct Kernel {
    pub name: String,
    pub registers_per_thread: u16,
    pub instructions: Vec<Decoded>,
}

impl Kernel {
    /// Without states, no register has a code: all go to SLEEP. `rows`: who allocates them says when one is free, which is then
    /// OFF; until then it may still be accessed, so no code switches it off.
    pub fn new(program: &Program, states: Option<&PowerStates>, rows: RegisterRows) -> Kernel {
        let allocates = rows != RegisterRows::Fixed;
        let none = Codes::default();
        let codes = |index: usize| {
            let mut codes = states.map_or(none, |states| states.instructions[index]);
            for code in codes.codes.iter_mut().filter(|_| allocates) {
                *code = (*code).max(greener::PowerState::Sleep);
            }
            codes
        };
        let instructions = program.instructions.iter().enumerate();
        Kernel {
            name: program.name.clone(),
            registers_per_thread: program.registers_per_thread,
            instructions: instructions
                .map(|(index, instruction)| Decoded::new(instruction, &codes(index), rows))
                .collect(),
        }
    }

    /// What the operand storage knows of the operands of each instruction.
    pub fn set_row_uses(&mut self, uses: &[RowUses]) {
        for (instruction, uses) in self.instructions.iter_mut().zip(uses) {
            instruction.set_row_uses(uses);
        }
    }
}

impl Decoded {
    fn new(instruction: &Instruction, codes: &Codes, rows: RegisterRows) -> Decoded {
        let results: Vec<Operand> = (instruction.results.iter().zip(codes.results))
            .map(|(result, code)| Operand {
                register: result.register.0,
                code,
                changes: true,
                row_use: RowUse::Row,
            })
            .collect();
        // Where registers share rows, what is written goes to another.
        let is_written = |register| {
            rows != RegisterRows::Shared && results.iter().any(|result| result.register == register)
        };
        let sources: Vec<Operand> = (instruction.sources.iter().zip(codes.sources))
            .map(|(source, code)| Operand {
                register: source.register.0,
                code,
                changes: !is_written(source.register.0),
                row_use: RowUse::Row,
            })
            .collect();
        let mut registers: Vec<u16> =
            sources.iter().chain(&results).map(|operand| operand.register).collect();
        registers.sort_unstable();
        registers.dedup();
        let mut set = Registers::default();
        registers.iter().for_each(|&register| set.insert(register));
        let (pc, text) = (instruction.pc, instruction.text.clone());
        let rows = registers.clone();
        Decoded { sources, results, registers, set, rows, codes: codes.bits(), pc, text }
    }

    fn set_row_uses(&mut self, uses: &RowUses) {
        let sources = self.sources.iter_mut().zip(uses.sources);
        for (operand, row_use) in sources.chain(self.results.iter_mut().zip(uses.results)) {
            operand.row_use = row_use;
        }
        let operands = || self.sources.iter().chain(&self.results);
        let is_row = |register: &u16| {
            operands().any(|operand| operand.register == *register && operand.row_use == RowUse::Row)
        };
        self.rows = self.registers.iter().copied().filter(is_row).collect();
    }
}
