//! Puts `relssp` into a kernel, and its scratchpad variables into their places.

use super::check::{ReleaseError, check};
use super::layout;
use super::ranges::Ranges;
use super::release::{Insertion, at_postdominator, optimal};
use super::variables::{TooManyVariables, Variables};
use super::{Placement, ScratchpadOptions, VariableSet};
use crate::compile::cfg::{Cfg, CfgError};
use crate::compile::divergence::ptx_cfg;
use crate::ptx::ir::{InstIndex, Instruction, Kernel, Op, Place};

/// Why a kernel cannot share scratchpad.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InsertError {
    /// It has too many variables.
    #[error(transparent)]
    Variables(#[from] TooManyVariables),
    /// Its control flow leaves it.
    #[error("kernel `{kernel}`: {source}")]
    ControlFlow {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        source: CfgError,
    },
    /// The places of `relssp` do not hold: an error of this compiler.
    #[error("kernel `{kernel}`: the places of relssp are wrong: {source}")]
    Release {
        /// The kernel.
        kernel: String,
        /// Where.
        source: ReleaseError,
    },
}

pub(super) fn graph(kernel: &Kernel) -> Result<Cfg, InsertError> {
    ptx_cfg(kernel).map_err(|source| InsertError::ControlFlow { kernel: kernel.name.clone(), source })
}

/// Whether blocks of a kernel may share, whatever the launch. How much dynamic memory they have is not known here.
pub fn may_share(kernel: &Kernel, options: ScratchpadOptions) -> bool {
    kernel.shared_bytes > options.unlimited_bytes
        || kernel.symbols.iter().any(|symbol| symbol.place == Place::DynamicShared)
}

/// The kernel with the scratchpad variables first that no other block shares (§3.2.1). As it is if that would take more
/// bytes, because of alignments.
///
/// # Errors
/// It has too many variables, or no graph.
pub fn lay_out(kernel: &Kernel, options: ScratchpadOptions) -> Result<Kernel, InsertError> {
    let variables = Variables::of(kernel)?;
    let cfg = graph(kernel)?;
    let ranges = Ranges::new(&cfg, &variables.accessed);
    let bytes: Vec<u64> = variables.variables.iter().map(|id| kernel.symbols[id.index()].bytes).collect();
    let total = u64::from(kernel.shared_bytes);
    let shared = layout::choose(&bytes, total - options.threshold.private(total), &ranges);
    let sizes: Vec<(u64, u64)> = (variables.variables.iter())
        .map(|id| &kernel.symbols[id.index()])
        .map(|symbol| (symbol.bytes, u64::from(symbol.align)))
        .collect();
    let (offsets, end) = layout::place(&sizes, shared);
    let mut kernel = kernel.clone();
    if end > total {
        return Ok(kernel);
    }
    for (id, offset) in variables.variables.iter().zip(offsets) {
        let place = &mut kernel.symbols[id.index()].place;
        if let Place::Offset(_) = place {
            *place = Place::Offset(offset as u32);
        }
    }
    Ok(kernel)
}

/// The variables of a kernel that lie, at least in part, behind what a block has for itself; dynamic memory always does.
pub(super) fn shared_variables(
    kernel: &Kernel,
    variables: &Variables,
    options: ScratchpadOptions,
) -> VariableSet {
    let private = options.threshold.private(u64::from(kernel.shared_bytes));
    let is_shared = |index: &usize| {
        let symbol = &kernel.symbols[variables.variables[*index].index()];
        match symbol.place {
            Place::Offset(offset) => u64::from(offset) + symbol.bytes > private,
            Place::DynamicShared | Place::Module(_) => true,
        }
    };
    let set = (0..variables.variables.len()).filter(is_shared).fold(0, |set, index| set | 1 << index);
    // What cannot be told apart is one even if there is no variable.
    if variables.variables.is_empty() { 1 } else { set }
}

/// The kernel with `relssp`, which every thread executes once, after its last access to what blocks share (§3.2.3), and after all
/// `readers` of scratchpad beside loads; as it is if `relssp` goes nowhere.
///
/// # Errors
/// As [`lay_out`].
pub fn release(
    kernel: &Kernel,
    readers: &[InstIndex],
    options: ScratchpadOptions,
) -> Result<Kernel, InsertError> {
    let variables = Variables::of(kernel)?;
    let cfg = graph(kernel)?;
    let set = shared_variables(kernel, &variables, options);
    let mut shared: Vec<bool> = variables.accessed.iter().map(|accessed| accessed & set != 0).collect();
    readers.iter().for_each(|reader| shared[reader.index()] = true);
    let insertions = match options.placement {
        Placement::Optimal => optimal(&cfg, &shared),
        Placement::Postdominator => at_postdominator(&cfg, &shared),
        Placement::None => return Ok(kernel.clone()),
    };
    check(&super::flow_of(&cfg), &shared, &insertions)
        .map_err(|source| InsertError::Release { kernel: kernel.name.clone(), source })?;
    Ok(insert(kernel, &insertions))
}

/// An instruction to be put in, for the line of another.
fn instruction(op: Op, text: &str, line: u32) -> Instruction {
    let text = text.to_owned();
    Instruction { line, text, guard: None, op, dsts: Vec::new(), srcs: Vec::new(), address: None }
}

fn relssp(line: u32) -> Instruction {
    instruction(Op::ReleaseScratchpad, "relssp", line)
}

/// Puts `relssp` where it is said. An edge that a jump takes gets a block of its own behind the last instruction.
pub fn insert(kernel: &Kernel, insertions: &[Insertion]) -> Kernel {
    let count = kernel.instructions.len();
    let exits = |at: usize| matches!(kernel.instructions[at].op, Op::Exit | Op::Trap);
    let has = |insertion| insertions.contains(&insertion);
    // Of one that always ends the thread, the edge out of the kernel is before it.
    let before = |at: usize| {
        has(Insertion::Before(at))
            || exits(at)
                && kernel.instructions[at].guard.is_none()
                && has(Insertion::Edge { from: at, to: None })
    };
    let falls_into = |at: usize| match at.checked_sub(1) {
        None => has(Insertion::Start),
        Some(from) => {
            kernel.instructions[from].falls_through() && has(Insertion::Edge { from, to: Some(at) })
        }
    };
    let mut instructions = Vec::with_capacity(count + 2 * insertions.len());
    // Where jumps to an instruction go.
    let mut entries = Vec::with_capacity(count);
    for (at, old) in kernel.instructions.iter().enumerate() {
        if falls_into(at) {
            instructions.push(relssp(old.line));
        }
        entries.push(InstIndex(instructions.len() as u32));
        if before(at) {
            instructions.push(relssp(old.line));
        }
        instructions.push(old.clone());
    }
    let mut new = Kernel { instructions, ..kernel.clone() };
    let mut position = 0;
    for (at, old) in kernel.instructions.iter().enumerate() {
        position += usize::from(falls_into(at)) + usize::from(before(at));
        let end = |new: &Kernel| InstIndex(new.instructions.len() as u32);
        if old.guard.is_some() && exits(at) && has(Insertion::Edge { from: at, to: None }) {
            let target = end(&new);
            let ending = Instruction { guard: None, ..old.clone() };
            new.instructions.extend([relssp(old.line), ending]);
            new.instructions[position].op = Op::Bra { uniform: false, target };
        }
        for (index, target) in old.targets().iter().enumerate() {
            let entry = entries[target.index()];
            let is_split = has(Insertion::Edge { from: at, to: Some(target.index()) });
            let goes_to = if is_split { end(&new) } else { entry };
            if is_split {
                let jump = Op::Bra { uniform: true, target: entry };
                new.instructions.extend([relssp(old.line), instruction(jump, "bra", old.line)]);
            }
            let op = &mut new.instructions[position].op;
            if let Op::Bra { target, .. } = op {
                *target = goes_to;
            } else if let Op::Brx { targets, .. } = op {
                targets[index] = goes_to;
            }
        }
        position += 1;
    }
    new
}
