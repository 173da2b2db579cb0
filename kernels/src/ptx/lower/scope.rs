//! Names within a function: registers, variables, labels.

use std::collections::BTreeMap;

use super::super::ir::{Reg, SymbolId, Type};

/// A label, before it is resolved to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LabelId(pub(super) u32);

/// A register declaration: registers come into being when first used.
#[derive(Clone, Copy)]
struct Range {
    ty: Type,
    /// `None` for a single register without a number.
    count: Option<u64>,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// A register in use.
    Register(Reg),
    /// A declared register that has not been used before.
    NewRegister(Type),
    /// A variable.
    Symbol(SymbolId),
}

/// One pair of braces.
#[derive(Default)]
pub(super) struct Scope<'a> {
    ranges: BTreeMap<&'a str, Range>,
    registers: BTreeMap<&'a str, Reg>,
    symbols: BTreeMap<&'a str, SymbolId>,
    pub(super) labels: BTreeMap<&'a str, LabelId>,
    pub(super) tables: BTreeMap<&'a str, &'a [&'a str]>,
}

impl<'a> Scope<'a> {
    /// Declares registers; `false` if the name is taken.
    pub(super) fn declare_registers(&mut self, name: &'a str, ty: Type, count: Option<u64>) -> bool {
        !self.symbols.contains_key(name) && self.ranges.insert(name, Range { ty, count }).is_none()
    }

    /// Declares a variable; `false` if the name is taken.
    pub(super) fn declare_symbol(&mut self, name: &'a str, symbol: SymbolId) -> bool {
        !self.ranges.contains_key(name) && self.symbols.insert(name, symbol).is_none()
    }

    /// Remembers the register that a name stands for.
    pub(super) fn bind_register(&mut self, name: &'a str, register: Reg) {
        self.registers.insert(name, register);
    }

    /// What a name stands for in this scope.
    pub(super) fn find(&self, name: &str) -> Option<Named> {
        if let Some(&register) = self.registers.get(name) {
            return Some(Named::Register(register));
        }
        if let Some(&symbol) = self.symbols.get(name) {
            return Some(Named::Symbol(symbol));
        }
        self.declared_type(name).map(Named::NewRegister)
    }

    fn declared_type(&self, name: &str) -> Option<Type> {
        if let Some(Range { ty, count: None }) = self.ranges.get(name) {
            return Some(*ty);
        }
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        (name.len() - digits..name.len()).find_map(|split| {
            let (prefix, number) = name.split_at(split);
            let range = self.ranges.get(prefix)?;
            let canonical = number.len() == 1 || !number.starts_with('0');
            let number: u64 = number.parse().ok()?;
            (canonical && number < range.count?).then_some(range.ty)
        })
    }
}

/// A function being lowered: an entry, or a function inlined into it.
pub(super) struct Frame<'a> {
    /// Its name.
    pub(super) function: &'a str,
    /// Its scopes, the innermost last.
    pub(super) scopes: Vec<Scope<'a>>,
    /// Where `ret` goes; `None` in an entry.
    pub(super) end: Option<LabelId>,
}

impl<'a> Frame<'a> {
    /// The innermost meaning of a name, and the scope it is in.
    pub(super) fn find(&self, name: &str) -> Option<(usize, Named)> {
        (0..self.scopes.len())
            .rev()
            .find_map(|scope| self.scopes[scope].find(name).map(|named| (scope, named)))
    }

    /// The innermost label of that name.
    pub(super) fn label(&self, name: &str) -> Option<LabelId> {
        self.scopes.iter().rev().find_map(|scope| scope.labels.get(name).copied())
    }

    /// The innermost table of branch targets of that name.
    pub(super) fn table(&self, name: &str) -> Option<&'a [&'a str]> {
        self.scopes.iter().rev().find_map(|scope| scope.tables.get(name).copied())
    }

    /// The innermost scope.
    pub(super) fn innermost(&mut self) -> Option<&mut Scope<'a>> {
        self.scopes.last_mut()
    }
}
