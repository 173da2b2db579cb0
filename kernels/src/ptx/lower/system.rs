//! Calls of functions that the system provides: `vprintf` and `__assertfail`.
//!
//! Source: CUDA, "System calls" of the PTX interoperability guide; the declarations that nvcc and clang print.

use super::super::ast::RawOperand;
use super::super::error::Complaint;
use super::super::ir::{Address, Base, MemoryOrder, Op, Operand, Reg, SymbolId, Type};
use super::kernel::Lowering;
use super::operand::Fit;
use super::scope::Named;
use crate::program::Space;

/// A function of the system: its arguments, how many of them are read, what it returns.
pub(super) struct System {
    op: Op,
    arguments: &'static [Argument],
    read: usize,
    result: Option<Type>,
}

/// An argument.
#[derive(Clone, Copy)]
enum Argument {
    /// An address, or a size, which has as many bits.
    Address,
    /// 32 bits.
    Word,
}

impl Argument {
    fn ty(self, lowering: &Lowering<'_, '_>) -> Type {
        match self {
            Argument::Address => lowering.address_types()[1],
            Argument::Word => Type::B32,
        }
    }
}

/// The system's function of that name.
pub(super) fn named(name: &str) -> Option<System> {
    match name {
        "vprintf" => Some(System {
            op: Op::Print,
            arguments: &[Argument::Address; 2],
            read: 2,
            result: Some(Type::B32),
        }),
        // Message, file, line, function, bytes of a character.
        "__assertfail" => Some(System {
            op: Op::AssertFail,
            arguments: &[
                Argument::Address,
                Argument::Address,
                Argument::Word,
                Argument::Address,
                Argument::Address,
            ],
            read: 4,
            result: None,
        }),
        _other => None,
    }
}

/// Emits a call of it.
pub(super) fn call<'a>(
    lowering: &mut Lowering<'a, '_>,
    system: &System,
    results: &[RawOperand<'a>],
    arguments: &[RawOperand<'a>],
) -> Result<(), Complaint> {
    let returned = usize::from(system.result.is_some());
    if results.len() > returned || arguments.len() != system.arguments.len() {
        let (found, given) = (results.len(), arguments.len());
        let accepted = system.arguments.len();
        return Err(format!(
            "found {found} results and {given} arguments; accepted: at most {returned} and {accepted}"
        ));
    }
    let mut srcs = Vec::new();
    for (argument, kind) in arguments.iter().zip(system.arguments).take(system.read) {
        let ty = kind.ty(lowering);
        srcs.push(value(lowering, argument, ty)?);
    }
    let Some(ty) = system.result else {
        lowering.emit(system.op.clone(), Vec::new(), srcs, None);
        return Ok(());
    };
    let variable = results.first().and_then(|result| variable(lowering, result));
    let dst = match (variable, results.first()) {
        (Some(_), _) => Some(lowering.new_register("%result", ty)),
        (None, Some(result)) => lowering.result(result, ty, Fit::Exact)?,
        (None, None) => None,
    };
    lowering.emit(system.op.clone(), vec![dst], srcs, None);
    if let (Some(variable), Some(dst)) = (variable, dst) {
        store(lowering, dst, variable, ty);
    }
    Ok(())
}

fn variable(lowering: &mut Lowering<'_, '_>, operand: &RawOperand<'_>) -> Option<SymbolId> {
    let RawOperand::Name(name) = operand else { return None };
    match lowering.frame().find(name) {
        Some((_, Named::Symbol(symbol))) => Some(symbol),
        Some((_, Named::Register(_) | Named::NewRegister(_))) | None => None,
    }
}

/// An argument: what a variable holds, a register, or a number.
fn value<'a>(
    lowering: &mut Lowering<'a, '_>,
    argument: &RawOperand<'a>,
    ty: Type,
) -> Result<Operand, Complaint> {
    let Some(variable) = variable(lowering, argument) else {
        return lowering.source(argument, ty, Fit::Exact);
    };
    let register = lowering.new_register("%argument", ty);
    let op = Op::Ld { space: Space::Local, ty, order: MemoryOrder::Weak };
    lowering.emit(op, vec![Some(register)], Vec::new(), Some(start_of(variable)));
    Ok(Operand::Reg(register))
}

fn store(lowering: &mut Lowering<'_, '_>, register: Reg, variable: SymbolId, ty: Type) {
    let op = Op::St { space: Space::Local, ty, order: MemoryOrder::Weak };
    lowering.emit(op, Vec::new(), vec![Operand::Reg(register)], Some(start_of(variable)));
}

fn start_of(variable: SymbolId) -> Address {
    Address { base: Base::Symbol(variable), offset: 0 }
}
