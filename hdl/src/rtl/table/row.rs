//! Conditions over one row of a table, evaluated over every row at once.

use std::marker::PhantomData;
use std::ops;

use crate::rtl::bits::Bits;
use crate::rtl::builder::{POISON, caller};
use crate::rtl::error::Problem;
use crate::rtl::module::Module;
use crate::rtl::netlist::{RowExpr, TableId};
use crate::rtl::operand::Literal;
use crate::rtl::signal::Signal;

use super::record::{Record, by_place};

/// Any row of a table, inside [`Table::matching`](super::Table::matching): its fields are those of the record.
#[derive(Clone, Copy)]
pub struct Row<'r, 'm, R: Record> {
    m: Module<'m>,
    table: TableId,
    fields: R::With<RowSignal<'r, 'm>>,
}

impl<'r, 'm, R: Record> ops::Deref for Row<'r, 'm, R> {
    type Target = R::With<RowSignal<'r, 'm>>;

    fn deref(&self) -> &Self::Target {
        &self.fields
    }
}

impl<'r, 'm, R: Record> Row<'r, 'm, R> {
    pub(super) fn new(m: Module<'m>, table: TableId) -> Row<'r, 'm, R> {
        let fields = by_place::<R, _>(|place| {
            let width = m.arena.borrow().module.tables[table.index()].fields[place as usize].width;
            RowSignal::new(m, RowExpr::Field(place), width)
        });
        Row { m, table, fields }
    }

    /// The valid bit of the row.
    #[track_caller]
    pub fn valid(self) -> RowSignal<'r, 'm> {
        let source = caller();
        let has = self.m.arena.borrow_mut().has_valid_bits(self.table, source);
        match has {
            true => RowSignal::new(self.m, RowExpr::Valid, 1),
            false => RowSignal::poison(self.m),
        }
    }

    /// The row's bit of `rows`, which has one bit a row.
    #[track_caller]
    pub fn bit_of(self, rows: Signal<'m>) -> RowSignal<'r, 'm> {
        let source = caller();
        let rows = self.m.make(|b| {
            let depth = b.module.tables[self.table.index()].depth;
            b.of_width(rows.id, depth, || "a mask of rows".to_string(), source)
        });
        RowSignal::new(self.m, RowExpr::PerRow(rows.id), 1)
    }
}

/// A value that differs from row to row.
#[derive(Clone, Copy)]
pub struct RowSignal<'r, 'm> {
    m: Module<'m>,
    /// Position in the arena's row expressions.
    id: usize,
    inside: PhantomData<fn(&'r ()) -> &'r ()>,
}

impl<'r, 'm> RowSignal<'r, 'm> {
    /// Equal: one bit.
    #[track_caller]
    pub fn eq(self, other: impl RowOperand<'r, 'm>) -> RowSignal<'r, 'm> {
        self.binary("eq", other.row_signal_beside(self), Some(1), RowExpr::Eq)
    }

    /// Not equal: one bit.
    #[track_caller]
    pub fn ne(self, other: impl RowOperand<'r, 'm>) -> RowSignal<'r, 'm> {
        !self.eq(other)
    }

    /// Less than, unsigned: one bit.
    #[track_caller]
    pub fn lt(self, other: impl RowOperand<'r, 'm>) -> RowSignal<'r, 'm> {
        self.binary("lt", other.row_signal_beside(self), Some(1), RowExpr::Lt)
    }

    /// Greater than or equal, unsigned: one bit.
    #[track_caller]
    pub fn ge(self, other: impl RowOperand<'r, 'm>) -> RowSignal<'r, 'm> {
        !self.lt(other)
    }

    /// Bits `low .. low + width`.
    #[track_caller]
    pub fn slice(self, low: usize, width: usize) -> RowSignal<'r, 'm> {
        let source = caller();
        let (expr, own) = self.into_parts();
        if is_poison(&expr) {
            return self;
        }
        let fits = width > 0 && low.checked_add(width).is_some_and(|end| end <= own as usize);
        if fits {
            return RowSignal::new(
                self.m,
                RowExpr::Slice(Box::new(expr), low as u32, width as u32),
                width as u32,
            );
        }
        let value = "a row's value".to_string();
        let (low, taken) = (low as u64, width.max(1) as u64);
        let problem = Problem::SliceBeyond { value, width: own, low, taken };
        self.m.arena.borrow_mut().error(source, problem);
        RowSignal::poison(self.m)
    }

    /// Bit `index`.
    #[track_caller]
    pub fn bit(self, index: usize) -> RowSignal<'r, 'm> {
        self.slice(index, 1)
    }

    fn new(m: Module<'m>, expr: RowExpr, width: u32) -> RowSignal<'r, 'm> {
        let rows = &mut m.arena.borrow_mut().rows;
        rows.push((expr, width));
        RowSignal { m, id: rows.len() - 1, inside: PhantomData }
    }

    fn poison(m: Module<'m>) -> RowSignal<'r, 'm> {
        RowSignal::new(m, RowExpr::Outer(POISON), 1)
    }

    /// The expression and its width.
    pub(super) fn into_parts(self) -> (RowExpr, u32) {
        self.m.arena.borrow().rows[self.id].clone()
    }

    #[track_caller]
    fn binary(
        self,
        operation: &'static str,
        other: RowSignal<'r, 'm>,
        width: Option<u32>,
        expr: impl FnOnce(Box<RowExpr>, Box<RowExpr>) -> RowExpr,
    ) -> RowSignal<'r, 'm> {
        let source = caller();
        let ((left, left_width), (right, right_width)) = (self.into_parts(), other.into_parts());
        if is_poison(&left) || is_poison(&right) {
            return RowSignal::poison(self.m);
        }
        if left_width != right_width {
            let describe = |e: &RowExpr| match e {
                RowExpr::Outer(node) => self.m.arena.borrow().describe(*node),
                _ => "a row's value".to_string(),
            };
            let (left, right) = (describe(&left), describe(&right));
            let problem = Problem::OperandWidths { operation, left, left_width, right, right_width };
            self.m.arena.borrow_mut().error(source, problem);
            return RowSignal::poison(self.m);
        }
        RowSignal::new(self.m, expr(Box::new(left), Box::new(right)), width.unwrap_or(left_width))
    }
}

fn is_poison(expr: &RowExpr) -> bool {
    *expr == RowExpr::Outer(POISON)
}

/// What stands on the right of an operation on a row's value: another one, a signal of the module (the same
/// for every row), or a number.
pub trait RowOperand<'r, 'm> {
    /// The operand, next to `beside`.
    #[track_caller]
    fn row_signal_beside(self, beside: RowSignal<'r, 'm>) -> RowSignal<'r, 'm>;
}

impl<'r, 'm> RowOperand<'r, 'm> for RowSignal<'r, 'm> {
    fn row_signal_beside(self, _: RowSignal<'r, 'm>) -> RowSignal<'r, 'm> {
        self
    }
}

impl<'r, 'm> RowOperand<'r, 'm> for Signal<'m> {
    fn row_signal_beside(self, beside: RowSignal<'r, 'm>) -> RowSignal<'r, 'm> {
        RowSignal::new(beside.m, RowExpr::Outer(self.id), self.bits())
    }
}

impl<'r, 'm, L: Literal> RowOperand<'r, 'm> for L {
    #[track_caller]
    fn row_signal_beside(self, beside: RowSignal<'r, 'm>) -> RowSignal<'r, 'm> {
        let source = caller();
        let (expr, width) = beside.into_parts();
        if is_poison(&expr) {
            return beside;
        }
        let bits: Option<Bits> = self.to_bits(width);
        let constant = beside.m.make(|b| match bits {
            Some(bits) => b.constant(bits, source),
            None => b.error(source, Problem::ConstantTooWide { value: self.text(), width }),
        });
        RowSignal::new(beside.m, RowExpr::Outer(constant.id), width)
    }
}

impl<'r, 'm, R: RowOperand<'r, 'm>> ops::BitAnd<R> for RowSignal<'r, 'm> {
    type Output = RowSignal<'r, 'm>;
    #[track_caller]
    fn bitand(self, other: R) -> RowSignal<'r, 'm> {
        self.binary("&", other.row_signal_beside(self), None, RowExpr::And)
    }
}

impl<'r, 'm, R: RowOperand<'r, 'm>> ops::BitOr<R> for RowSignal<'r, 'm> {
    type Output = RowSignal<'r, 'm>;
    #[track_caller]
    fn bitor(self, other: R) -> RowSignal<'r, 'm> {
        self.binary("|", other.row_signal_beside(self), None, RowExpr::Or)
    }
}

impl<'r, 'm> ops::Not for RowSignal<'r, 'm> {
    type Output = RowSignal<'r, 'm>;
    fn not(self) -> RowSignal<'r, 'm> {
        let (expr, width) = self.into_parts();
        if is_poison(&expr) {
            return self;
        }
        RowSignal::new(self.m, RowExpr::Not(Box::new(expr)), width)
    }
}
