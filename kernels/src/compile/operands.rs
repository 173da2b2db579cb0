//! What arithmetic takes its operands from, beside registers, parameters and immediates.
//!
//! Machine code of NVIDIA's GPUs reads words of constant memory at fixed addresses as operands (`c[bank][offset]`); that of the
//! first generation, which GPGPU-Sim runs as PTXPlus, reads a word of scratchpad as well (`s[offset + register]`). A load of
//! PTX whose result goes into one instruction is then no instruction.

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::Compiled;
use super::cfg::Cfg;
use super::lower::MachineCode;
use super::lower::computation::Computed;
use super::lower::emit::MachineOp;
use super::lowering::Value;
use super::optimise::resolve::VReg;
use crate::program::{MemoryAccess, Operation, Space};
use crate::ptx::ir::{InstIndex, Kernel, Reg};

/// What an operand in scratchpad is: a word.
pub const ACCESS: MemoryAccess = MemoryAccess { space: Space::Shared, bytes: 4 };

/// What arithmetic takes its operands from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operands {
    /// Registers, parameters and immediates.
    Registers,
    /// Also words of constant memory at fixed addresses, as GPUs do.
    #[default]
    Constants,
    /// Also a word of scratchpad that nobody else reads.
    Scratchpad,
}

impl Operands {
    /// All of them.
    pub const ALL: [Operands; 3] = [Operands::Registers, Operands::Constants, Operands::Scratchpad];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Operands::Registers => "registers",
            Operands::Constants => "constants",
            Operands::Scratchpad => "scratchpad",
        }
    }

    /// Whether constant memory is among them.
    pub fn include_constants(self) -> bool {
        self >= Operands::Constants
    }

    /// The same but for scratchpad.
    pub fn without_scratchpad(self) -> Operands {
        self.min(Operands::Constants)
    }
}

/// PTX instructions that read a word of scratchpad as an operand.
pub fn readers(compiled: &Compiled) -> impl Iterator<Item = InstIndex> + '_ {
    let lowered = compiled.lowering.instructions.iter();
    lowered.filter(|lowered| lowered.operand.is_some()).map(|lowered| lowered.ptx)
}

/// Folds each load of a word of scratchpad into the one arithmetic instruction of its block that reads it, if that can read
/// the word where it stands: nothing between the two may write scratchpad or the register of the address, wait for
/// others, or release what they share.
pub fn fold_loads(kernel: &Kernel, cfg: &Cfg, code: &mut MachineCode) {
    let (writes, readers) = accesses(code);
    let mut folded = vec![false; code.ops.len()];
    for block in cfg.block_ids() {
        let instructions = cfg.block(block).instructions.clone();
        for load in instructions.clone() {
            let Some(LoadedWord { register, address }) = loaded_word(kernel, &code.ops[load]) else {
                continue;
            };
            let (1, &[reader]) = (writes[register.index()], &readers[register.index()][..]) else { continue };
            if !(load + 1..instructions.end).contains(&reader)
                || !code.ops[load + 1..reader].iter().all(leaves_scratchpad)
                || address.is_some_and(|address| is_overwritten(kernel, code, (load, reader), address))
            {
                continue;
            }
            folded[load] = take_operand(&mut code.ops, (load, reader), register);
        }
    }
    let mut folded = folded.into_iter();
    code.ops.retain(|_| folded.next() == Some(false));
}

/// Of each virtual register how often it is written, and the instructions that read it.
fn accesses(code: &MachineCode) -> (Vec<usize>, Vec<Vec<usize>>) {
    let mut writes = vec![0; code.registers as usize];
    let mut readers = vec![Vec::new(); code.registers as usize];
    for (position, op) in code.ops.iter().enumerate() {
        op.results.iter().for_each(|(register, _)| writes[register.index()] += 1);
        op.sources.iter().for_each(|(register, _)| readers[register.index()].push(position));
    }
    (writes, readers)
}

/// A word that is loaded from scratchpad.
struct LoadedWord {
    /// Where to.
    register: VReg,
    /// The register of its address, if it has one.
    address: Option<AddressRegister>,
}

/// The register of an address.
#[derive(Clone, Copy)]
struct AddressRegister {
    /// That of PTX, which the place is computed from.
    name: Reg,
    /// The machine's, unless it holds a constant.
    register: Option<VReg>,
}

/// What a load of a word of scratchpad writes in all lanes of its path.
fn loaded_word(kernel: &Kernel, op: &MachineOp) -> Option<LoadedWord> {
    let (Operation::Load(ACCESS), false) = (op.operation, op.guarded || op.computed == Computed::Ordering)
    else {
        return None;
    };
    let &[(register, Value::After(..))] = &op.results[..] else { return None };
    let name = kernel.instructions[op.ptx.index()].address.and_then(|address| address.register());
    let address =
        name.map(|name| AddressRegister { name, register: op.sources.first().map(|&(source, _)| source) });
    Some(LoadedWord { register, address })
}

/// Whether what scratchpad holds is the same behind an instruction, whoever wrote it, and is still the thread's to read.
fn leaves_scratchpad(op: &MachineOp) -> bool {
    if op.computed == Computed::Ordering {
        return false;
    }
    match op.operation {
        // Lanes may wait for each other with one that has an effect.
        Operation::Alu | Operation::Sfu | Operation::Double => !op.has_effect,
        Operation::Texture | Operation::Branch | Operation::Exit => true,
        // One without a result copies to scratchpad.
        Operation::Load(_) => !op.results.is_empty(),
        Operation::Store(access) => match access.space {
            Space::Global | Space::Local | Space::Constant | Space::Parameter => true,
            Space::Shared | Space::Generic => false,
        },
        Operation::Atomic(_) | Operation::Barrier | Operation::Fence | Operation::Release => false,
    }
}

/// Whether the register of an address, of PTX or the machine's, is written from a load on before another instruction.
fn is_overwritten(
    kernel: &Kernel,
    code: &MachineCode,
    (load, reader): (usize, usize),
    address: AddressRegister,
) -> bool {
    let [first, last] = [load, reader].map(|position| code.ops[position].ptx.index());
    let by_ptx = kernel.instructions[first..last].iter().flat_map(|instruction| instruction.definitions());
    let by_machine = code.ops[load..reader].iter().flat_map(|op| &op.results);
    by_ptx.into_iter().any(|written| written == address.name)
        || by_machine.into_iter().any(|&(written, _)| Some(written) == address.register)
}

/// Makes what a load puts into a register an operand of its reader, if that is arithmetic. It reads the register of the address
/// instead, if there is one: no more than before.
fn take_operand(ops: &mut [MachineOp], (load, reader): (usize, usize), register: VReg) -> bool {
    let address = ops[load].sources.first().copied();
    let from: InstIndex = ops[load].ptx;
    let op = &mut ops[reader];
    let is_arithmetic = matches!(op.operation, Operation::Alu | Operation::Sfu | Operation::Double);
    let mut sources = op.sources.clone();
    sources.retain(|&(source, _)| source != register);
    sources.extend(address.filter(|(base, _)| !sources.iter().any(|(source, _)| source == base)));
    if !is_arithmetic || op.has_effect || op.copy || op.operand.is_some() {
        return false;
    }
    op.sources = sources;
    op.operand = Some(from);
    // It depends on what memory holds.
    if op.computed != Computed::Invented {
        op.computed = Computed::Other;
    }
    true
}
