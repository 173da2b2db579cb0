//! Checks marks by what the hardware does with them, whatever other warps read meanwhile.
//!
//! Runs down each basic block with the operands that are kept, each with the instruction that wrote its value. Nothing of the
//! pass is used.

use std::collections::BTreeMap;

use super::Marks;
use crate::compile::graph::{GraphError, Graphs};
use crate::program::{PhysReg, Program};

/// What is wrong with the marks of a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismarked {
    /// There is not a row of marks for each instruction.
    #[error("{found} rows of marks for {expected} instructions")]
    Length {
        /// Rows.
        found: usize,
        /// Instructions.
        expected: usize,
    },
    /// A mark without an operand.
    #[error("instruction {instruction} has no operand {position} to keep")]
    NoOperand {
        /// The instruction.
        instruction: usize,
        /// The operand's position, from 0.
        position: usize,
    },
    /// An operand is found that has been written since.
    #[error("instruction {instruction} finds an R{} that has been written since", register.0)]
    Stale {
        /// The instruction.
        instruction: usize,
        /// The register.
        register: PhysReg,
    },
    /// The instruction that should end what is kept may not read it.
    #[error("a guard may keep instruction {instruction} from reading the R{} that is kept", register.0)]
    MayNotRead {
        /// The instruction.
        instruction: usize,
        /// The register.
        register: PhysReg,
    },
    /// The next read of the position and bank is of another register, or there is none in the block.
    #[error("the R{} that instruction {instruction} keeps is read by nobody", register.0)]
    ForNobody {
        /// The instruction.
        instruction: usize,
        /// The register.
        register: PhysReg,
    },
    /// No graph of the program.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// An operand that is kept.
#[derive(Clone, Copy)]
struct KeptOperand {
    register: PhysReg,
    /// The instruction that keeps it.
    by: usize,
    /// The instruction of the block that has written its value.
    written_by: Option<usize>,
}

/// Checks marks for a register file of `banks` banks. With `writes_end` the hardware notices writes, and a mark may be in vain
/// where a guard keeps a reader from reading.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(program: &Program, marks: &Marks, banks: u16, writes_end: bool) -> Result<(), Mismarked> {
    let (found, expected) = (marks.instructions.len(), program.instructions.len());
    if found != expected {
        return Err(Mismarked::Length { found, expected });
    }
    if program.instructions.is_empty() {
        return Ok(());
    }
    for block in Graphs::of(program)?.warps.cfg.blocks() {
        let mut kept: BTreeMap<(usize, u16), KeptOperand> = BTreeMap::new();
        let mut writers: BTreeMap<PhysReg, usize> = BTreeMap::new();
        for position in block.instructions.clone() {
            read(program, marks, banks, writes_end, position, &writers, &mut kept)?;
            let results = &program.instructions[position].results;
            writers.extend(results.iter().map(|result| (result.register, position)));
        }
        if let Some(operand) = kept.values().next() {
            return Err(Mismarked::ForNobody { instruction: operand.by, register: operand.register });
        }
    }
    Ok(())
}

/// What an instruction finds, and what is kept behind it.
fn read(
    program: &Program,
    marks: &Marks,
    banks: u16,
    writes_end: bool,
    instruction: usize,
    writers: &BTreeMap<PhysReg, usize>,
    kept: &mut BTreeMap<(usize, u16), KeptOperand>,
) -> Result<(), Mismarked> {
    let inst = &program.instructions[instruction];
    for (position, &marked) in marks.instructions[instruction].iter().enumerate() {
        let Some(source) = inst.sources.get(position) else {
            match marked {
                true => return Err(Mismarked::NoOperand { instruction, position }),
                false => continue,
            }
        };
        let (register, written_by) = (source.register, writers.get(&source.register).copied());
        let place = (position, register.0 % banks);
        if let Some(before) = kept.remove(&place) {
            if before.register != register {
                return Err(Mismarked::ForNobody { instruction: before.by, register: before.register });
            }
            if before.written_by != written_by {
                return Err(Mismarked::Stale { instruction, register });
            }
            if !writes_end && !inst.predicate_sources.is_empty() {
                return Err(Mismarked::MayNotRead { instruction, register });
            }
        }
        if marked {
            kept.insert(place, KeptOperand { register, by: instruction, written_by });
        }
    }
    Ok(())
}
