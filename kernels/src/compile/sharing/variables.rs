//! Which scratchpad variables an instruction of a kernel may access.
//!
//! A register may hold an address within a variable if that variable's address went into it, whatever was computed with it.
//! What a store puts into memory may come back with any load. An access to scratchpad whose variable is not known may be one
//! to any of them; so may one to a generic address that has been made of no variable but of an address of the scratchpad.
//! Source: the thesis (§3.2.1) has variables whose memory is allocated at compile time only.

use super::{MAX_VARIABLES, VariableSet};
use crate::program::Space;
use crate::ptx::ir::{Base, Instruction, Kernel, Op, Operand, SymbolId};

/// The scratchpad variables of a kernel and who accesses them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variables {
    /// The variables, in the order of the kernel's symbols.
    pub variables: Vec<SymbolId>,
    /// For each instruction of the kernel those that it may access.
    pub accessed: Vec<VariableSet>,
}

/// A kernel with more scratchpad variables than a set holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("kernel `{kernel}`: {variables} scratchpad variables; accepted: at most {MAX_VARIABLES}")]
pub struct TooManyVariables {
    kernel: String,
    variables: usize,
}

impl Variables {
    /// Of a kernel.
    ///
    /// # Errors
    /// It has more than [`MAX_VARIABLES`].
    pub fn of(kernel: &Kernel) -> Result<Variables, TooManyVariables> {
        let ids = (0..kernel.symbols.len() as u32).map(SymbolId);
        let variables: Vec<SymbolId> =
            ids.filter(|id| kernel.symbols[id.index()].space == Space::Shared).collect();
        if variables.len() > MAX_VARIABLES {
            let kernel = kernel.name.clone();
            return Err(TooManyVariables { kernel, variables: variables.len() });
        }
        let mut origins = Origins::new(kernel, &variables);
        while origins.propagate() {}
        let accessed = kernel.instructions.iter().map(|instruction| origins.accessed(instruction)).collect();
        Ok(Variables { variables, accessed })
    }
}

/// Of which variables a register may hold an address.
struct Origins<'k> {
    kernel: &'k Kernel,
    variables: &'k [SymbolId],
    /// By register.
    registers: Vec<VariableSet>,
    /// Of addresses that have been stored.
    stored: VariableSet,
}

impl<'k> Origins<'k> {
    fn new(kernel: &'k Kernel, variables: &'k [SymbolId]) -> Origins<'k> {
        Origins { kernel, variables, registers: vec![0; kernel.registers.len()], stored: 0 }
    }

    /// All variables; one bit even if there is none, so that an access that cannot be told apart is one.
    fn any(&self) -> VariableSet {
        match self.variables.len() {
            0 => 1,
            count => VariableSet::MAX >> (MAX_VARIABLES - count),
        }
    }

    fn of_symbol(&self, symbol: SymbolId) -> VariableSet {
        let position = self.variables.iter().position(|variable| *variable == symbol);
        position.map_or(0, |position| 1 << position)
    }

    fn of_operand(&self, operand: &Operand) -> VariableSet {
        match operand {
            Operand::Reg(register) | Operand::Not(register) => self.registers[register.index()],
            Operand::Symbol(symbol, _) | Operand::GenericSymbol(symbol, _) => self.of_symbol(*symbol),
            Operand::Imm(_) | Operand::Special(_) => 0,
        }
    }

    fn of_sources(&self, instruction: &Instruction) -> VariableSet {
        instruction.srcs.iter().fold(0, |all, operand| all | self.of_operand(operand))
    }

    /// Follows every instruction once. Gives whether something is new.
    fn propagate(&mut self) -> bool {
        let mut is_new = false;
        for instruction in &self.kernel.instructions {
            let from = self.of_sources(instruction);
            if writes_memory(&instruction.op) {
                is_new |= from & !self.stored != 0;
                self.stored |= from;
            }
            let loaded = if instruction.address.is_some() { self.stored } else { 0 };
            let made = match instruction.op {
                // An address of the scratchpad that is of no variable becomes a generic one.
                Op::Cvta { space: Space::Shared, to_space: false, .. } if from == 0 => self.any(),
                _ => from | loaded,
            };
            for register in instruction.definitions() {
                let known = &mut self.registers[register.index()];
                is_new |= made & !*known != 0;
                *known |= made;
            }
        }
        is_new
    }

    /// Variables that an instruction may access.
    fn accessed(&self, instruction: &Instruction) -> VariableSet {
        let of_address = instruction.address.map_or(0, |address| match address.base {
            Base::Reg(register) => self.registers[register.index()],
            Base::Symbol(symbol) => self.of_symbol(symbol),
            Base::Zero => 0,
        });
        let known_or_any = |variables: VariableSet| if variables == 0 { self.any() } else { variables };
        match space(&instruction.op) {
            Some(Space::Shared) => known_or_any(of_address),
            Some(Space::Generic) => of_address,
            // Its first source is the address in the scratchpad.
            None if matches!(instruction.op, Op::CopyAsync { .. }) => {
                known_or_any(instruction.srcs.first().map_or(0, |operand| self.of_operand(operand)))
            }
            // What has been copied lands when it is waited for.
            None if matches!(instruction.op, Op::WaitGroup { .. }) => self.any(),
            Some(Space::Global | Space::Local | Space::Constant | Space::Parameter) | None => 0,
        }
    }
}

/// The state space that an instruction accesses at its address.
fn space(op: &Op) -> Option<Space> {
    match op {
        Op::Ld { space, .. }
        | Op::St { space, .. }
        | Op::Atom { space, .. }
        | Op::LoadMatrix { space, .. } => Some(*space),
        _ => None,
    }
}

fn writes_memory(op: &Op) -> bool {
    matches!(op, Op::St { .. } | Op::Atom { .. })
}
