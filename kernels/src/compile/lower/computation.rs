//! Which machine instructions compute their results from registers and constants alone, and what they compute.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::emit::{Emitter, MachineOp};
use crate::compile::lowering::{Temporary, Value};
use crate::compile::optimise::resolve::{VReg, Word};
use crate::program::{IMMEDIATE_BITS, MAX_SOURCES, Operation, Space};
use crate::ptx::ir::{Base, MemoryOrder, Op, Operand, Special};

/// What a machine instruction computes; its form is not numbered yet ([`Computation`](crate::program::Computation)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Computed {
    /// Its results, from its sources and constants.
    Function {
        /// Opcode, types, modifiers, kinds of operands, and the constants that are not in `immediates`.
        form: String,
        /// Short constants, in the order of the operands; with the sources at most [`MAX_SOURCES`].
        immediates: Vec<u16>,
    },
    /// The same, but for what global memory or the scratchpad holds.
    Load {
        /// As of a function.
        form: String,
        /// The same.
        immediates: Vec<u16>,
    },
    /// A volatile access, or one that orders others.
    Ordering,
    /// It reads or writes invented values.
    Invented,
    /// Its expansion needs more registers than it reads itself.
    Wide,
    /// Anything else.
    #[default]
    Other,
}

/// Notes of each instruction of an expansion what it computes. Functions are not those that read or write predicates that are
/// no registers, that read what a thread has of its own (its index, the clock), and those of expansions that need more than
/// they read themselves.
pub fn note_computations(emitter: &Emitter, ops: &mut [MachineOp]) {
    let predicates = ops.iter().any(|op| has_other_predicates(emitter, op));
    let first_temporary = emitter.first_temporary();
    let of_program = |(register, _): &(VReg, Value)| (register.0 < first_temporary).then_some(*register);
    let needed: BTreeSet<VReg> = ops.iter().flat_map(|op| op.sources.iter().filter_map(of_program)).collect();
    for (position, op) in ops.iter_mut().enumerate() {
        let reads_all = needed.iter().all(|needed| op.sources.iter().any(|(register, _)| register == needed));
        op.computed = if orders(emitter, op) {
            Computed::Ordering
        } else if op.sources.iter().chain(&op.results).any(|(_, value)| is_invented(value)) {
            Computed::Invented
        } else if predicates || !only_writes_registers(emitter, op) {
            Computed::Other
        } else if op.copy {
            Computed::Function { form: "copy".to_owned(), immediates: Vec::new() }
        } else if reads_all || op.is_function {
            let function = function(emitter, op, position);
            function.map_or(Computed::Other, |Form { text: form, immediates }| match op.operation {
                Operation::Load(access) if !is_constant(access.space) => Computed::Load { form, immediates },
                _ => Computed::Function { form, immediates },
            })
        } else {
            Computed::Wide
        };
    }
}

/// Whether it reads or writes a predicate that is no register. A guard that is one only says which lanes execute.
fn has_other_predicates(emitter: &Emitter, op: &MachineOp) -> bool {
    let mut predicates = op.predicate_sources.iter().chain(&op.predicate_results);
    predicates.any(|&predicate| !emitter.is_register(predicate))
}

fn is_invented(value: &Value) -> bool {
    matches!(value, Value::Temporary(Temporary::Step(_)))
}

fn is_constant(space: Space) -> bool {
    matches!(space, Space::Constant | Space::Parameter)
}

/// Whether it is an access that orders others beside its own.
fn orders(emitter: &Emitter, op: &MachineOp) -> bool {
    let is_strong = matches!(
        emitter.instruction.op,
        Op::Ld { order: MemoryOrder::Strong, .. } | Op::St { order: MemoryOrder::Strong, .. }
    );
    match op.operation {
        Operation::Load(_) | Operation::Store(_) => is_strong,
        Operation::Atomic(_) | Operation::Fence => true,
        Operation::Alu
        | Operation::Sfu
        | Operation::Double
        | Operation::Texture
        | Operation::Barrier
        | Operation::Release
        | Operation::Branch
        | Operation::Exit => false,
    }
}

/// Whether it does nothing but to write registers: from registers and constants, and from what memory holds.
fn only_writes_registers(emitter: &Emitter, op: &MachineOp) -> bool {
    let computes = match op.operation {
        Operation::Alu | Operation::Sfu | Operation::Double => !op.has_effect,
        Operation::Load(access) => match access.space {
            Space::Constant | Space::Parameter => true,
            // Loads that an expansion adds are those of a thread's own memory.
            Space::Global | Space::Shared => matches!(emitter.instruction.op, Op::Ld { .. }),
            Space::Local | Space::Generic => false,
        },
        Operation::Texture
        | Operation::Store(_)
        | Operation::Atomic(_)
        | Operation::Barrier
        | Operation::Fence
        | Operation::Release
        | Operation::Branch
        | Operation::Exit => false,
    };
    computes && !op.results.is_empty() && op.sources.len() <= MAX_SOURCES
}

/// The form and short constants of a function.
struct Form {
    text: String,
    immediates: Vec<u16>,
}

fn function(emitter: &Emitter, op: &MachineOp, position: usize) -> Option<Form> {
    let instruction = emitter.instruction;
    let mut into = Form {
        text: format!("{} {:?} {position} {:?}", op.name, instruction.op, result_words(emitter, op)),
        immediates: Vec::new(),
    };
    for &operand in &instruction.srcs {
        operand_form(emitter, op, operand, &mut into)?;
    }
    if let Some(address) = instruction.address {
        match address.base {
            Base::Reg(register) => operand_form(emitter, op, Operand::Reg(register), &mut into)?,
            Base::Symbol(symbol) => operand_form(emitter, op, Operand::Symbol(symbol, 0), &mut into)?,
            Base::Zero => {}
        }
        literal(op, address.offset as u64, &mut into);
    }
    Some(into)
}

/// Which words of which results it writes; that of a temporary says what it is.
fn result_words(emitter: &Emitter, op: &MachineOp) -> Vec<String> {
    let place = |register| emitter.instruction.dsts.iter().position(|result| *result == Some(register));
    let word = |&(_, value): &(VReg, Value)| match value {
        Value::Before(register, word) | Value::After(register, word) => {
            format!("{:?} {word}", place(register))
        }
        Value::Temporary(temporary) => format!("{temporary:?}"),
    };
    op.results.iter().map(word).collect()
}

/// Adds an operand; `None` if it is not the same for all threads and in no register.
fn operand_form(emitter: &Emitter, op: &MachineOp, operand: Operand, into: &mut Form) -> Option<()> {
    match operand {
        Operand::Imm(bits) => literal(op, bits, into),
        Operand::Special(special) => {
            is_of_launch(special).then_some(())?;
            let _ = write!(into.text, " {special:?}");
        }
        Operand::Symbol(..) | Operand::GenericSymbol(..) => {
            let _ = write!(into.text, " {operand:?}");
        }
        Operand::Reg(register) | Operand::Not(register) => {
            if matches!(operand, Operand::Not(_)) {
                into.text.push_str(" not");
            }
            let (words, web) = emitter.read(register);
            for (word, found) in words.into_iter().enumerate() {
                match found {
                    Word::Literal(value) => literal(op, u64::from(value), into),
                    Word::Launch => {
                        let _ = write!(into.text, " launch {web:?} {word}");
                    }
                    Word::Register(register) => {
                        let place = op.sources.iter().position(|(source, _)| *source == register);
                        let _ = write!(into.text, " r{place:?}");
                    }
                }
            }
        }
    }
    Some(())
}

/// A constant: an operand of its own if it is short and there is a place, else a part of the form.
fn literal(op: &MachineOp, value: u64, into: &mut Form) {
    let has_place = op.sources.len() + into.immediates.len() < MAX_SOURCES;
    match u16::try_from(value) {
        Ok(short) if has_place && short >> IMMEDIATE_BITS == 0 => {
            into.immediates.push(short);
            into.text.push_str(" i");
        }
        Ok(_) | Err(_) => {
            let _ = write!(into.text, " {value:#x}");
        }
    }
}

/// Whether a special register is the same in all threads of a launch.
fn is_of_launch(special: Special) -> bool {
    match special {
        Special::Ntid(_)
        | Special::Nctaid(_)
        | Special::NWarpId
        | Special::SmId
        | Special::NSmId
        | Special::GridId
        | Special::DynamicSharedBytes
        | Special::TotalSharedBytes => true,
        Special::Tid(_)
        | Special::Ctaid(_)
        | Special::LaneId
        | Special::WarpId
        | Special::Clock
        | Special::ClockHi
        | Special::Clock64
        | Special::LaneMaskEq
        | Special::LaneMaskLe
        | Special::LaneMaskLt
        | Special::LaneMaskGe
        | Special::LaneMaskGt => false,
    }
}
