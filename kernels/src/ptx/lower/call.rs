//! `call`: the function's body is lowered in place, with registers and labels of its own.

use super::super::ast::{Declaration, Function, RawOperand, Storage};
use super::super::error::Complaint;
use super::super::ir::{Address, Base, MemoryOrder, Op, SymbolId, Type};
use super::form::Form;
use super::kernel::{Item, Lowering};
use super::operand::{Fit, describe};
use super::scope::{Frame, Named, Scope};
use super::{left_out, system};
use crate::program::Space;

/// Depth of calls at most.
const MAX_DEPTH: usize = 64;

/// An argument or result of a call, as the caller names it.
enum Actual<'a> {
    Variable(SymbolId),
    Value(RawOperand<'a>),
}

pub(super) fn call<'a>(
    lowering: &mut Lowering<'a, '_>,
    mut form: Form<'a>,
    operands: &[RawOperand<'a>],
) -> Result<(), Complaint> {
    form.flag("uni");
    form.finish()?;
    let (results, name, arguments) = parts(operands)?;
    if let Some(system) = system::named(name).filter(|_| !lowering.module.functions.contains_key(name)) {
        return skipped_by_guard(lowering, |lowering| system::call(lowering, &system, results, arguments));
    }
    let function = callee(lowering, name)?;
    let results = actuals(lowering, results, &function.results, "results")?;
    let arguments = actuals(lowering, arguments, &function.parameters, "arguments")?;
    skipped_by_guard(lowering, |lowering| inline(lowering, function, &results, &arguments))
}

/// Emits what the current instruction is replaced by, behind a branch that skips it where its guard does not hold.
fn skipped_by_guard<'a, 'm>(
    lowering: &mut Lowering<'a, 'm>,
    emit: impl FnOnce(&mut Lowering<'a, 'm>) -> Result<(), Complaint>,
) -> Result<(), Complaint> {
    let skip = lowering.new_label();
    if let Some(mut guard) = lowering.take_guard() {
        guard.negated = !guard.negated;
        lowering.emit_branch(Some(guard), skip);
        lowering.take_guard();
    }
    emit(lowering)?;
    lowering.items.push(Item::Label(skip));
    Ok(())
}

/// Result operands, name of the function, argument operands.
type Parts<'o, 'a> = (&'o [RawOperand<'a>], &'a str, &'o [RawOperand<'a>]);

fn parts<'o, 'a>(operands: &'o [RawOperand<'a>]) -> Result<Parts<'o, 'a>, Complaint> {
    match operands {
        [RawOperand::Name(name)] => Ok((&[], name, &[])),
        [RawOperand::Name(name), RawOperand::Group(arguments)] => Ok((&[], name, arguments)),
        [RawOperand::Group(results), RawOperand::Name(name)] => Ok((results, name, &[])),
        [RawOperand::Group(results), RawOperand::Name(name), RawOperand::Group(arguments)] => {
            Ok((results, name, arguments))
        }
        // A call through a register names the prototype behind its arguments.
        [
            RawOperand::Group(results),
            RawOperand::Name(name),
            RawOperand::Group(arguments),
            RawOperand::Name(_),
        ] => Ok((results, name, arguments)),
        [RawOperand::Name(name), RawOperand::Group(arguments), RawOperand::Name(_)] => {
            Ok((&[], name, arguments))
        }
        _other => Err("the operands are not those of a direct call".to_owned()),
    }
}

fn callee<'a>(lowering: &mut Lowering<'a, '_>, name: &str) -> Result<&'a Function<'a>, Complaint> {
    if !lowering.module.functions.contains_key(name) {
        left_out::function(name)?;
    }
    let function = *lowering
        .module
        .functions
        .get(name)
        .filter(|function| !function.entry)
        .ok_or_else(|| format!("`{name}` is not a .func with a body in this file"))?;
    if let Some(errors) = &function.unreadable {
        lowering.reporter.add(errors);
        if function.body.is_none() {
            return Err(format!("`{name}`, on line {}, cannot be read", function.line));
        }
    }
    if lowering.frames.iter().any(|frame| frame.function == name) {
        return Err(format!(
            "`{name}` calls itself, which is not supported; accepted: calls that can be inlined"
        ));
    }
    if lowering.frames.len() >= MAX_DEPTH {
        return Err(format!("calls are nested deeper than {MAX_DEPTH}"));
    }
    Ok(function)
}

fn actuals<'a>(
    lowering: &mut Lowering<'a, '_>,
    operands: &[RawOperand<'a>],
    formals: &[Declaration<'a>],
    what: &str,
) -> Result<Vec<Actual<'a>>, Complaint> {
    if operands.len() != formals.len() {
        return Err(format!("found {} {what}; accepted: {}", operands.len(), formals.len()));
    }
    operands
        .iter()
        .map(|operand| {
            if let RawOperand::Name(name) = operand
                && let Some((_, Named::Symbol(symbol))) = lowering.frame().find(name)
            {
                return Ok(Actual::Variable(symbol));
            }
            match operand {
                RawOperand::Name(_) | RawOperand::Number(_) => Ok(Actual::Value(operand.clone())),
                other => Err(format!(
                    "found {} among the {what}; accepted: a variable or a register",
                    describe(other)
                )),
            }
        })
        .collect()
}

fn inline<'a>(
    lowering: &mut Lowering<'a, '_>,
    function: &'a Function<'a>,
    results: &[Actual<'a>],
    arguments: &[Actual<'a>],
) -> Result<(), Complaint> {
    lowering.enter_inlined();
    let end = lowering.new_label();
    let mut scope = Scope::default();
    let mut copies_in = Vec::new();
    let mut copies_out = Vec::new();
    for (actual, formal) in arguments.iter().zip(&function.parameters) {
        let variable = bind(lowering, &mut scope, actual, formal)?;
        if let Actual::Value(value) = actual {
            copy_in(lowering, value, variable, formal.ty)?;
        }
        if formal.storage == Storage::Register {
            copies_in.push((formal, variable));
        }
    }
    for (actual, formal) in results.iter().zip(&function.results) {
        let variable = bind(lowering, &mut scope, actual, formal)?;
        copies_out.push((actual, formal, variable));
    }
    lowering.frames.push(Frame { function: function.name, scopes: vec![scope], end: Some(end) });
    for (formal, variable) in copies_in {
        copy_out(lowering, &RawOperand::Name(formal.name), variable, formal.ty)?;
    }
    if let Some(body) = &function.body {
        lowering.block(body);
    }
    lowering.take_guard();
    lowering.items.push(Item::Label(end));
    // `ret` jumps to `end`, so results kept in registers are copied behind it, in the function's scope.
    for (_, formal, variable) in &copies_out {
        if formal.storage == Storage::Register {
            copy_in(lowering, &RawOperand::Name(formal.name), *variable, formal.ty)?;
        }
    }
    lowering.frames.pop();
    for (actual, formal, variable) in copies_out {
        if let Actual::Value(value) = actual {
            copy_out(lowering, value, variable, formal.ty)?;
        }
    }
    Ok(())
}

/// Declares a formal parameter in the function's scope and gives the variable that carries its value.
fn bind<'a>(
    lowering: &mut Lowering<'a, '_>,
    scope: &mut Scope<'a>,
    actual: &Actual<'a>,
    formal: &Declaration<'a>,
) -> Result<SymbolId, Complaint> {
    let variable = match actual {
        Actual::Variable(symbol) => *symbol,
        Actual::Value(_) => {
            let bytes = formal.bytes.ok_or_else(|| format!("`{}` has no size", formal.name))?;
            lowering.call_variable(formal.name, bytes, formal.align)?
        }
    };
    let fresh = match formal.storage {
        Storage::Register => scope.declare_registers(formal.name, formal.ty, None),
        Storage::Memory(_) | Storage::Texture => scope.declare_symbol(formal.name, variable),
    };
    if fresh { Ok(variable) } else { Err(format!("`{}` is declared twice", formal.name)) }
}

fn at(variable: SymbolId) -> Address {
    Address { base: Base::Symbol(variable), offset: 0 }
}

/// Stores a register or number into a variable.
fn copy_in<'a>(
    lowering: &mut Lowering<'a, '_>,
    value: &RawOperand<'a>,
    variable: SymbolId,
    ty: Type,
) -> Result<(), Complaint> {
    let src = lowering.source(value, ty, Fit::Exact)?;
    let space = Space::Local;
    lowering.emit(Op::St { space, ty, order: MemoryOrder::Weak }, Vec::new(), vec![src], Some(at(variable)));
    Ok(())
}

/// Loads a register from a variable.
fn copy_out<'a>(
    lowering: &mut Lowering<'a, '_>,
    register: &RawOperand<'a>,
    variable: SymbolId,
    ty: Type,
) -> Result<(), Complaint> {
    let dst = lowering.result(register, ty, Fit::Exact)?;
    let space = Space::Local;
    lowering.emit(Op::Ld { space, ty, order: MemoryOrder::Weak }, vec![dst], Vec::new(), Some(at(variable)));
    Ok(())
}
