//! Operands: names to registers and variables, literals to bits, widths checked.

use super::super::ast::{Number, RawOperand};
use super::super::error::Complaint;
use super::super::ir::{Address, Axis, Base, Op, Operand, Reg, Special, Symbol, Type, TypeKind};
use super::kernel::Lowering;
use super::left_out;
use super::scope::Named;
use crate::program::Space;

/// How a register's width must relate to the instruction's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// Equal.
    Exact,
    /// Equal or wider: sources are truncated, results extended.
    Wider,
}

impl<'a> Lowering<'a, '_> {
    /// Checks the number of operands.
    pub(super) fn count(
        operands: &[RawOperand<'a>],
        accepted: std::ops::RangeInclusive<usize>,
    ) -> Result<(), Complaint> {
        if accepted.contains(&operands.len()) {
            return Ok(());
        }
        let range = if accepted.start() == accepted.end() {
            accepted.start().to_string()
        } else {
            format!("{} to {}", accepted.start(), accepted.end())
        };
        Err(format!("found {} operands; accepted: {range}", operands.len()))
    }

    /// An instruction with one result and plain sources.
    pub(super) fn simple(
        &mut self,
        op: Op,
        operands: &[RawOperand<'a>],
        result: Type,
        sources: &[Type],
    ) -> Result<(), Complaint> {
        Self::count(operands, sources.len() + 1..=sources.len() + 1)?;
        let dst = self.result(&operands[0], result, Fit::Exact)?;
        let srcs = operands[1..]
            .iter()
            .zip(sources)
            .map(|(operand, &ty)| self.source(operand, ty, Fit::Exact))
            .collect::<Result<Vec<_>, _>>()?;
        self.emit(op, vec![dst], srcs, None);
        Ok(())
    }

    /// A register by name, whatever its type.
    fn any_register(&mut self, name: &'a str) -> Result<Option<Reg>, Complaint> {
        Ok(match self.frame().find(name) {
            Some((_, Named::Register(register))) => Some(register),
            Some((scope, Named::NewRegister(ty))) => {
                let register = self.new_register(name, ty);
                self.frame().scopes[scope].bind_register(name, register);
                Some(register)
            }
            Some((_, Named::Symbol(_))) | None => None,
        })
    }

    /// A register by name, of the width of `ty`.
    pub(super) fn register(&mut self, name: &'a str, ty: Type) -> Result<Reg, Complaint> {
        self.fitting_register(name, ty, Fit::Exact)
    }

    fn fitting_register(&mut self, name: &'a str, ty: Type, fit: Fit) -> Result<Reg, Complaint> {
        let register =
            self.any_register(name)?.ok_or_else(|| format!("`{name}` is not a declared register"))?;
        let declared = self.registers[register.index()].ty;
        let predicates = (declared == Type::Pred, ty == Type::Pred);
        let fits = match fit {
            Fit::Exact => declared.bits() == ty.bits(),
            Fit::Wider => declared.bits() >= ty.bits(),
        };
        if predicates.0 != predicates.1 || !fits {
            let wider = match fit {
                Fit::Exact => "",
                Fit::Wider => " or more",
            };
            return Err(format!("the register `{name}` is {declared}; accepted: {} bits{wider}", ty.bits()));
        }
        Ok(register)
    }

    /// A result; `None` for the sink `_`.
    pub(super) fn result(
        &mut self,
        operand: &RawOperand<'a>,
        ty: Type,
        fit: Fit,
    ) -> Result<Option<Reg>, Complaint> {
        match operand {
            RawOperand::Name("_") => Ok(None),
            RawOperand::Name(name) => self.fitting_register(name, ty, fit).map(Some),
            other => Err(format!("found {} as a result; accepted: a register", describe(other))),
        }
    }

    /// `d|p`: a result and a predicate, the predicate optional.
    pub(super) fn result_pair(
        &mut self,
        operand: &RawOperand<'a>,
        ty: Type,
    ) -> Result<Vec<Option<Reg>>, Complaint> {
        if let RawOperand::Pair(first, second) = operand {
            let first = self.result(first, ty, Fit::Exact)?;
            Ok(vec![first, self.result(second, Type::Pred, Fit::Exact)?])
        } else {
            Ok(vec![self.result(operand, ty, Fit::Exact)?])
        }
    }

    /// A source.
    pub(super) fn source(
        &mut self,
        operand: &RawOperand<'a>,
        ty: Type,
        fit: Fit,
    ) -> Result<Operand, Complaint> {
        match operand {
            RawOperand::Name("WARP_SZ") if ty != Type::Pred => Ok(Operand::Imm(32)),
            RawOperand::Name(name) => {
                left_out::special_register(name)?;
                if let Some(special) = special(name, None) {
                    return self.special(special, ty);
                }
                match self.named_symbol(name)? {
                    Some(symbol) => self.symbol_operand(symbol, 0, false, ty),
                    None => self.fitting_register(name, ty, fit).map(Operand::Reg),
                }
            }
            RawOperand::Not(name) => self.register(name, Type::Pred).and_then(|register| {
                if ty == Type::Pred {
                    Ok(Operand::Not(register))
                } else {
                    Err("found a negated predicate; accepted only where a predicate is read".to_owned())
                }
            }),
            RawOperand::Member(name, member) => {
                left_out::special_register(name)?;
                let special = special(name, Some(member)).ok_or_else(|| {
                    format!("found `{name}.{member}`; accepted: %tid %ntid %ctaid %nctaid with .x .y .z")
                })?;
                self.special(special, ty)
            }
            RawOperand::Number(number) => immediate(*number, ty).map(Operand::Imm),
            RawOperand::Offset(name, offset) => self.offset_symbol(name, *offset, false, ty),
            RawOperand::Generic(name, offset) => self.offset_symbol(name, *offset, true, ty),
            RawOperand::Address(..)
            | RawOperand::Texel(..)
            | RawOperand::Vector(_)
            | RawOperand::Pair(..)
            | RawOperand::Group(_) => Err(format!(
                "found {} as a source; accepted: a register, a number or a variable",
                describe(operand)
            )),
        }
    }

    fn special(&self, special: Special, ty: Type) -> Result<Operand, Complaint> {
        match ty.bits() {
            16 | 32 | 64 => Ok(Operand::Special(special)),
            bits => Err(format!("a special register is read as {bits} bits; accepted: 16, 32 or 64")),
        }
    }

    fn offset_symbol(
        &mut self,
        name: &'a str,
        offset: i64,
        generic: bool,
        ty: Type,
    ) -> Result<Operand, Complaint> {
        let symbol =
            self.named_symbol(name)?.ok_or_else(|| format!("`{name}` is not a declared variable"))?;
        self.symbol_operand(symbol, offset, generic, ty)
    }

    fn symbol_operand(
        &mut self,
        symbol: super::super::ir::SymbolId,
        offset: i64,
        generic: bool,
        ty: Type,
    ) -> Result<Operand, Complaint> {
        if !matches!(ty.bits(), 32 | 64) || ty.kind() == TypeKind::Float {
            return Err(format!("an address is read as {ty}; accepted: 32 and 64-bit integers"));
        }
        Ok(if generic { Operand::GenericSymbol(symbol, offset) } else { Operand::Symbol(symbol, offset) })
    }

    /// A variable by name: of the function, or of the module.
    pub(super) fn named_symbol(
        &mut self,
        name: &'a str,
    ) -> Result<Option<super::super::ir::SymbolId>, Complaint> {
        match self.frame().find(name) {
            Some((_, Named::Symbol(symbol))) => Ok(Some(symbol)),
            Some((_, Named::Register(_) | Named::NewRegister(_))) => Ok(None),
            None => self.module_symbol(name),
        }
    }

    /// An address, and the state space in which it is accessed, given the one the instruction names.
    pub(super) fn address(
        &mut self,
        operand: &RawOperand<'a>,
        space: Option<Space>,
    ) -> Result<(Address, Space), Complaint> {
        let RawOperand::Address(name, offset) = operand else {
            return Err(format!("found {}; accepted: an address in brackets", describe(operand)));
        };
        let inlined = self.frames.len() > 1;
        let named_space = match space {
            Some(Space::Parameter) if inlined => Space::Local,
            Some(space) => space,
            None => Space::Generic,
        };
        let (base, space) = match name {
            None => (Base::Zero, named_space),
            Some(name) => match self.named_symbol(name)? {
                Some(symbol) => {
                    let actual = self.symbols[symbol.index()].space;
                    let call_variable = self.call_variables.contains(&symbol);
                    let agrees = match space {
                        None => true,
                        Some(Space::Parameter) => actual == Space::Parameter || call_variable,
                        Some(space) => space == actual && !call_variable,
                    };
                    if !agrees {
                        return Err(format!(
                            "`{name}` is in another state space ({})",
                            space_name(&self.symbols[symbol.index()])
                        ));
                    }
                    (Base::Symbol(symbol), actual)
                }
                None => {
                    let register = self
                        .any_register(name)?
                        .ok_or_else(|| format!("`{name}` is not a declared register or variable"))?;
                    let ty = self.registers[register.index()].ty;
                    if !matches!(ty.bits(), 32 | 64) {
                        return Err(format!(
                            "the address register `{name}` is {ty}; accepted: 32 or 64 bits"
                        ));
                    }
                    (Base::Reg(register), named_space)
                }
            },
        };
        let offset = *offset;
        Ok((Address { base, offset }, space))
    }
}

fn space_name(symbol: &Symbol) -> &'static str {
    match symbol.space {
        Space::Global => ".global",
        Space::Shared => ".shared",
        Space::Local => ".local",
        Space::Constant => ".const",
        Space::Generic => "generic",
        Space::Parameter => ".param",
    }
}

/// An operand in words, for messages.
pub(super) fn describe(operand: &RawOperand<'_>) -> String {
    match operand {
        RawOperand::Name(name) => format!("`{name}`"),
        RawOperand::Not(name) => format!("`!{name}`"),
        RawOperand::Member(name, member) => format!("`{name}.{member}`"),
        RawOperand::Number(_) => "a number".to_owned(),
        RawOperand::Offset(name, offset) => format!("`{name}+{offset}`"),
        RawOperand::Generic(name, _) => format!("`generic({name})`"),
        RawOperand::Address(..) => "an address".to_owned(),
        RawOperand::Texel(..) => "a texture address".to_owned(),
        RawOperand::Vector(_) => "a vector".to_owned(),
        RawOperand::Pair(..) => "a pair".to_owned(),
        RawOperand::Group(_) => "a list in parentheses".to_owned(),
    }
}

/// The bits of a literal in a type.
pub(super) fn immediate(number: Number, ty: Type) -> Result<u64, Complaint> {
    let mask = if ty.bits() == 64 { u64::MAX } else { (1 << ty.bits()) - 1 };
    let single = |value: f64| u64::from((value as f32).to_bits());
    match (number, ty) {
        (Number::Int(value), _) if ty.kind() != TypeKind::Float => {
            // Compilers write true as 1 or as -1.
            if ty == Type::Pred {
                return Ok(u64::from(value != 0));
            }
            // A negative number may be written as the 64 bits that it has as a constant expression (PTX ISA, 4.5.1).
            let signed = i128::from(value as i64);
            let fits = |value: i128| (-(1 << (ty.bits() - 1))..1 << ty.bits()).contains(&value);
            if fits(value) || fits(signed) {
                return Ok(value as u64 & mask);
            }
            let (low, high) = (-(1_i128 << (ty.bits() - 1)), (1_i128 << ty.bits()) - 1);
            Err(format!("found the number {value} for {ty}; accepted: {low} to {high}"))
        }
        (Number::Single(bits), Type::F32 | Type::B32) => Ok(u64::from(bits)),
        (Number::Single(bits), Type::F64 | Type::B64) => Ok(f64::from(f32::from_bits(bits)).to_bits()),
        (Number::Double(value), Type::F32 | Type::B32) => Ok(single(value)),
        (Number::Double(value), Type::F64 | Type::B64) => Ok(value.to_bits()),
        (Number::Int(_), _) => {
            Err(format!("found an integer for {ty}; accepted: 0f, 0d or a decimal fraction"))
        }
        (Number::Single(_) | Number::Double(_), _) => {
            Err(format!("found a floating-point number for {ty}; accepted for: .f32 .f64 .b32 .b64"))
        }
    }
}

/// A special register by name.
fn special(name: &str, member: Option<&str>) -> Option<Special> {
    if let Some(member) = member {
        let axis = match member {
            "x" => Axis::X,
            "y" => Axis::Y,
            "z" => Axis::Z,
            _other => return None,
        };
        return Some(match name {
            "%tid" => Special::Tid(axis),
            "%ntid" => Special::Ntid(axis),
            "%ctaid" => Special::Ctaid(axis),
            "%nctaid" => Special::Nctaid(axis),
            _other => return None,
        });
    }
    Some(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NWarpId,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NSmId,
        "%gridid" => Special::GridId,
        "%clock" | "%globaltimer_lo" => Special::Clock,
        "%clock_hi" | "%globaltimer_hi" => Special::ClockHi,
        "%clock64" | "%globaltimer" => Special::Clock64,
        "%lanemask_eq" => Special::LaneMaskEq,
        "%lanemask_le" => Special::LaneMaskLe,
        "%lanemask_lt" => Special::LaneMaskLt,
        "%lanemask_ge" => Special::LaneMaskGe,
        "%lanemask_gt" => Special::LaneMaskGt,
        "%dynamic_smem_size" => Special::DynamicSharedBytes,
        "%total_smem_size" => Special::TotalSharedBytes,
        _other => return None,
    })
}
