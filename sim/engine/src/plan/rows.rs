//! Associative ports: a condition over one row becomes operations on all rows at once.
//!
//! One-bit expressions are kept as bit vectors, one bit a row, so that conditions combine as ordinary wide
//! operations; wider ones are columns, one value a row.

use warpfile_hdl::rtl::netlist::{RowExpr, TableId};

use super::ZERO;
use super::inst::{Column, ColumnInst, ColumnOp, Inst, array_words, element_bytes};
use super::layout::{Builder, words};

/// An expression for all rows.
enum Rows {
    /// One bit a row, packed.
    Bits(u32),
    /// A value a row.
    Column(Column),
}

impl Builder<'_> {
    /// Emits the match lines of a port; returns where they are.
    pub fn lower_match(&mut self, table: TableId, port: u32) -> u32 {
        let condition = &self.flat.tables[table.index()].item.matches[port as usize].condition;
        let rows = self.lower_rows(table, condition);
        self.row_bits(table, rows)
    }

    fn lower_rows(&mut self, table: TableId, expr: &RowExpr) -> Rows {
        match expr {
            RowExpr::Field(field) => {
                let width = self.plan.tables[table.index()].fields[*field as usize].width;
                Rows::Column(Column { base: self.rows(table, *field), bytes: element_bytes(width), width })
            }
            RowExpr::Valid => Rows::Bits(match self.valid(table) {
                Some(valid) => valid,
                None => self.fill_rows(table, ZERO),
            }),
            RowExpr::Outer(node) => {
                Rows::Column(Column { base: self.slot(*node), bytes: 0, width: self.width(*node) })
            }
            RowExpr::PerRow(node) => Rows::Bits(self.slot(*node)),
            RowExpr::Slice(value, low, width) => match self.lower_rows(table, value) {
                Rows::Column(a) => {
                    let op = ColumnOp::Slice { low: *low, width: *width };
                    Rows::Column(self.emit_column(table, op, a, a, *width))
                }
                // The only part of one bit is that bit.
                one_bit => one_bit,
            },
            RowExpr::Not(a) => match self.lower_rows(table, a) {
                Rows::Column(a) if a.width > 1 => {
                    Rows::Column(self.emit_column(table, ColumnOp::Not, a, a, a.width))
                }
                one_bit => {
                    let a = self.row_bits(table, one_bit);
                    Rows::Bits(self.not_bits(table, a))
                }
            },
            RowExpr::And(a, b) => self.row_bitwise(table, a, b, ColumnOp::And),
            RowExpr::Or(a, b) => self.row_bitwise(table, a, b, ColumnOp::Or),
            RowExpr::Eq(a, b) => self.row_compare(table, a, b, ColumnOp::Eq),
            RowExpr::Lt(a, b) => self.row_compare(table, a, b, ColumnOp::Lt),
        }
    }

    fn row_bitwise(&mut self, table: TableId, a: &RowExpr, b: &RowExpr, op: ColumnOp) -> Rows {
        match (self.lower_rows(table, a), self.lower_rows(table, b)) {
            (Rows::Column(a), Rows::Column(b)) if a.width > 1 => {
                Rows::Column(self.emit_column(table, op, a, b, a.width))
            }
            (a, b) => {
                let (a, b) = (self.row_bits(table, a), self.row_bits(table, b));
                let n = self.row_words(table);
                Rows::Bits(self.emit(n, |d| {
                    if op == ColumnOp::And {
                        Inst::WideAnd { d, a, b, n }
                    } else {
                        Inst::WideOr { d, a, b, n }
                    }
                }))
            }
        }
    }

    /// A slice of a column beside what is the same for all rows needs no column of slices.
    fn lower_slice_equal(&mut self, table: TableId, slice: &RowExpr, other: &RowExpr) -> Option<Rows> {
        let (RowExpr::Slice(value, low, width), RowExpr::Outer(_)) = (slice, other) else { return None };
        let Rows::Column(b) = self.lower_rows(table, other) else { return None };
        let Rows::Column(a) = self.lower_rows(table, value) else { return None };
        let is_narrow = a.bytes > 0 && a.width <= 64;
        let op = ColumnOp::EqSlice { low: *low, width: *width };
        is_narrow.then(|| Rows::Bits(self.emit_row_bits(table, op, a, b)))
    }

    /// Whether bits of a column that others choose, the same for all rows, are all 0 needs no column of these bits.
    fn lower_disjoint(&mut self, table: TableId, chosen: &RowExpr, zero: &RowExpr) -> Option<Rows> {
        let (RowExpr::And(value, bits), RowExpr::Outer(_)) = (chosen, zero) else { return None };
        let (RowExpr::Outer(_), Rows::Column(zero)) = (&**bits, self.lower_rows(table, zero)) else {
            return None;
        };
        if self.plan.constants.get(zero.base as usize) != Some(&0) {
            return None;
        }
        let Rows::Column(b) = self.lower_rows(table, bits) else { return None };
        let Rows::Column(a) = self.lower_rows(table, value) else { return None };
        let is_narrow = a.bytes > 0 && a.width <= 64;
        is_narrow.then(|| Rows::Bits(self.emit_row_bits(table, ColumnOp::Disjoint, a, b)))
    }

    /// An equality that takes one look at a column where the general way makes another column first.
    fn lower_part_equal(&mut self, table: TableId, a: &RowExpr, b: &RowExpr) -> Option<Rows> {
        self.lower_slice_equal(table, a, b).or_else(|| self.lower_disjoint(table, a, b))
    }

    fn row_compare(&mut self, table: TableId, a: &RowExpr, b: &RowExpr, op: ColumnOp) -> Rows {
        if op == ColumnOp::Eq {
            let found = self.lower_part_equal(table, a, b);
            if let Some(found) = found.or_else(|| self.lower_part_equal(table, b, a)) {
                return found;
            }
        }
        match (self.lower_rows(table, a), self.lower_rows(table, b)) {
            (Rows::Column(a), Rows::Column(b)) => Rows::Bits(self.emit_row_bits(table, op, a, b)),
            (a, b) => {
                let (a, b) = (self.row_bits(table, a), self.row_bits(table, b));
                let n = self.row_words(table);
                Rows::Bits(if op == ColumnOp::Eq {
                    let different = self.emit(n, |d| Inst::WideXor { d, a, b, n });
                    self.not_bits(table, different)
                } else {
                    let not_a = self.not_bits(table, a);
                    self.emit(n, |d| Inst::WideAnd { d, a: not_a, b, n })
                })
            }
        }
    }

    /// A one-bit expression as a bit vector.
    fn row_bits(&mut self, table: TableId, rows: Rows) -> u32 {
        match rows {
            Rows::Bits(bits) => bits,
            Rows::Column(Column { base, bytes: 0, .. }) => self.fill_rows(table, base),
            Rows::Column(a) => self.emit_row_bits(table, ColumnOp::Pack, a, a),
        }
    }

    fn row_words(&self, table: TableId) -> u32 {
        words(self.plan.tables[table.index()].depth)
    }

    fn not_bits(&mut self, table: TableId, a: u32) -> u32 {
        let (n, width) = (self.row_words(table), self.plan.tables[table.index()].depth);
        self.emit(n, |d| Inst::WideNot { d, a, width })
    }

    /// One bit, the same for every row.
    fn fill_rows(&mut self, table: TableId, a: u32) -> u32 {
        let (n, width) = (self.row_words(table), self.plan.tables[table.index()].depth);
        self.emit(n, |d| Inst::Replicate { d, a, from: 1, width })
    }

    fn emit_row_bits(&mut self, table: TableId, op: ColumnOp, a: Column, b: Column) -> u32 {
        let n = self.row_words(table);
        self.emit_column_inst(table, op, a, b, n)
    }

    fn emit_column(&mut self, table: TableId, op: ColumnOp, a: Column, b: Column, width: u32) -> Column {
        let depth = self.plan.tables[table.index()].depth;
        let base = self.emit_column_inst(table, op, a, b, array_words(width, depth));
        Column { base, bytes: element_bytes(width), width }
    }

    fn emit_column_inst(&mut self, table: TableId, op: ColumnOp, a: Column, b: Column, n: u32) -> u32 {
        let depth = self.plan.tables[table.index()].depth;
        let column = self.plan.columns.len() as u32;
        let d = self.emit(n, |_| Inst::Column { column });
        self.plan.columns.push(ColumnInst { op, d, a, b, depth });
        d
    }
}
