//! What an instruction reads, under which condition, and how much it writes.

use super::Plan;
use super::inst::{ColumnInst, ColumnOp, Inst, array_words};

/// When an operand matters to an instruction's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// In every cycle.
    Always,
    /// Where the word at this place is not 0.
    If(u32),
    /// Where the word at this place is 0.
    Unless(u32),
}

/// What a place is to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// First word of the result.
    Result,
    /// A value that is read.
    Operand,
    /// Where the rows begin that an address counts from.
    Rows,
}

/// The place of an operand and when it matters.
pub type Operand = (u32, Need);

impl Inst {
    /// First word of the result.
    pub fn result(&self, plan: &Plan) -> u32 {
        match *self {
            Inst::Copy { d, .. }
            | Inst::Not { d, .. }
            | Inst::And { d, .. }
            | Inst::Or { d, .. }
            | Inst::Xor { d, .. }
            | Inst::Add { d, .. }
            | Inst::Sub { d, .. }
            | Inst::Mul { d, .. }
            | Inst::Eq { d, .. }
            | Inst::Lt { d, .. }
            | Inst::ShiftLeft { d, .. }
            | Inst::ShiftRight { d, .. }
            | Inst::Mux { d, .. }
            | Inst::Slice { d, .. }
            | Inst::Join { d, .. }
            | Inst::NonZero { d, .. }
            | Inst::AllOnes { d, .. }
            | Inst::Parity { d, .. }
            | Inst::FirstOne { d, .. }
            | Inst::LowestOne { d, .. }
            | Inst::Decode { d, .. }
            | Inst::PopCount { d, .. }
            | Inst::Read { d, .. }
            | Inst::ReadBit { d, .. }
            | Inst::WideCopy { d, .. }
            | Inst::WideNot { d, .. }
            | Inst::WideAnd { d, .. }
            | Inst::WideOr { d, .. }
            | Inst::WideXor { d, .. }
            | Inst::WideAdd { d, .. }
            | Inst::WideSub { d, .. }
            | Inst::WideMul { d, .. }
            | Inst::WideEq { d, .. }
            | Inst::WideLt { d, .. }
            | Inst::WideShiftLeft { d, .. }
            | Inst::WideShiftRight { d, .. }
            | Inst::WideMux { d, .. }
            | Inst::WideSlice { d, .. }
            | Inst::Concat { d, .. }
            | Inst::WideNonZero { d, .. }
            | Inst::WideAllOnes { d, .. }
            | Inst::WideParity { d, .. }
            | Inst::PartSelect { d, .. }
            | Inst::FoldWords { d, .. }
            | Inst::WideFirstOne { d, .. }
            | Inst::WideLowestOne { d, .. }
            | Inst::WideDecode { d, .. }
            | Inst::WidePopCount { d, .. }
            | Inst::LaneSelect { d, .. }
            | Inst::OneHotSelect { d, .. }
            | Inst::LaneMux { d, .. }
            | Inst::LaneEq { d, .. }
            | Inst::LaneAdd { d, .. }
            | Inst::Replicate { d, .. }
            | Inst::SpreadLanes { d, .. }
            | Inst::GroupOr { d, .. }
            | Inst::PrefixOr { d, .. }
            | Inst::PrefixCount { d, .. }
            | Inst::XorHash { d, .. }
            | Inst::WideRead { d, .. }
            | Inst::Given { d, .. } => d,
            Inst::Column { column } => plan.columns[column as usize].d,
        }
    }

    /// Calls `visit` with every place that is read. Rows of tables are state, not operands.
    pub fn visit_operands(&self, plan: &Plan, visit: &mut dyn FnMut(Operand)) {
        let mut all = |places: &[u32]| places.iter().for_each(|&place| visit((place, Need::Always)));
        match *self {
            Inst::Copy { a, .. }
            | Inst::Not { a, .. }
            | Inst::Slice { a, .. }
            | Inst::NonZero { a, .. }
            | Inst::AllOnes { a, .. }
            | Inst::Parity { a, .. }
            | Inst::FirstOne { a, .. }
            | Inst::LowestOne { a, .. }
            | Inst::Decode { a, .. }
            | Inst::PopCount { a, .. }
            | Inst::WideCopy { a, .. }
            | Inst::WideNot { a, .. }
            | Inst::WideSlice { a, .. }
            | Inst::WideNonZero { a, .. }
            | Inst::WideAllOnes { a, .. }
            | Inst::WideParity { a, .. }
            | Inst::FoldWords { a, .. }
            | Inst::WideFirstOne { a, .. }
            | Inst::WideLowestOne { a, .. }
            | Inst::WideDecode { a, .. }
            | Inst::WidePopCount { a, .. }
            | Inst::Replicate { a, .. }
            | Inst::SpreadLanes { a, .. }
            | Inst::GroupOr { a, .. }
            | Inst::PrefixOr { a, .. }
            | Inst::PrefixCount { a, .. }
            | Inst::XorHash { a, .. }
            | Inst::Given { a, .. } => all(&[a]),
            Inst::And { a, b, .. }
            | Inst::Or { a, b, .. }
            | Inst::Xor { a, b, .. }
            | Inst::Add { a, b, .. }
            | Inst::Sub { a, b, .. }
            | Inst::Mul { a, b, .. }
            | Inst::Eq { a, b, .. }
            | Inst::Lt { a, b, .. }
            | Inst::ShiftLeft { a, b, .. }
            | Inst::ShiftRight { a, b, .. }
            | Inst::Join { a, b, .. }
            | Inst::WideAnd { a, b, .. }
            | Inst::WideOr { a, b, .. }
            | Inst::WideXor { a, b, .. }
            | Inst::WideAdd { a, b, .. }
            | Inst::WideSub { a, b, .. }
            | Inst::WideMul { a, b, .. }
            | Inst::WideEq { a, b, .. }
            | Inst::WideLt { a, b, .. }
            | Inst::WideShiftLeft { a, b, .. }
            | Inst::WideShiftRight { a, b, .. }
            | Inst::LaneEq { a, b, .. }
            | Inst::LaneAdd { a, b, .. } => all(&[a, b]),
            Inst::Read { address, .. } | Inst::ReadBit { address, .. } | Inst::WideRead { address, .. } => {
                all(&[address]);
            }
            Inst::Mux { condition, then, otherwise, .. }
            | Inst::WideMux { condition, then, otherwise, .. } => {
                visit((condition, Need::Always));
                visit((then, Need::If(condition)));
                visit((otherwise, Need::Unless(condition)));
            }
            Inst::LaneSelect { vector, index, .. } => all(&[vector, index]),
            Inst::OneHotSelect { select, vector, .. } => all(&[select, vector]),
            Inst::LaneMux { mask, then, otherwise, .. } => all(&[mask, then, otherwise]),
            Inst::PartSelect { select, parts, count, .. } => {
                visit((select, Need::Always));
                for part in &plan.parts[parts as usize..(parts + count) as usize] {
                    visit((part.a, Need::If(select)));
                }
            }
            Inst::Concat { parts, count, .. } => {
                for part in &plan.parts[parts as usize..(parts + count) as usize] {
                    visit((part.a, Need::Always));
                }
            }
            Inst::Column { column } => {
                let ColumnInst { a, b, .. } = plan.columns[column as usize];
                all(&[a.base, b.base]);
            }
        }
    }

    /// Calls `visit` with every place that the instruction itself names; those of parts and columns are named in the plan.
    pub fn visit_places_mut(&mut self, visit: &mut dyn FnMut(Role, &mut u32)) {
        let mut all = |result: &mut u32, operands: &mut [&mut u32]| {
            visit(Role::Result, result);
            operands.iter_mut().for_each(|place| visit(Role::Operand, place));
        };
        match self {
            Inst::Copy { d, a, .. }
            | Inst::Not { d, a, .. }
            | Inst::Slice { d, a, .. }
            | Inst::NonZero { d, a, .. }
            | Inst::AllOnes { d, a, .. }
            | Inst::Parity { d, a, .. }
            | Inst::FirstOne { d, a, .. }
            | Inst::LowestOne { d, a, .. }
            | Inst::Decode { d, a, .. }
            | Inst::PopCount { d, a, .. }
            | Inst::WideCopy { d, a, .. }
            | Inst::WideNot { d, a, .. }
            | Inst::WideSlice { d, a, .. }
            | Inst::WideNonZero { d, a, .. }
            | Inst::WideAllOnes { d, a, .. }
            | Inst::WideParity { d, a, .. }
            | Inst::FoldWords { d, a, .. }
            | Inst::WideFirstOne { d, a, .. }
            | Inst::WideLowestOne { d, a, .. }
            | Inst::WideDecode { d, a, .. }
            | Inst::WidePopCount { d, a, .. }
            | Inst::Replicate { d, a, .. }
            | Inst::SpreadLanes { d, a, .. }
            | Inst::GroupOr { d, a, .. }
            | Inst::PrefixOr { d, a, .. }
            | Inst::PrefixCount { d, a, .. }
            | Inst::XorHash { d, a, .. }
            | Inst::Given { d, a, .. } => all(d, &mut [a]),
            Inst::And { d, a, b, .. }
            | Inst::Or { d, a, b, .. }
            | Inst::Xor { d, a, b, .. }
            | Inst::Add { d, a, b, .. }
            | Inst::Sub { d, a, b, .. }
            | Inst::Mul { d, a, b, .. }
            | Inst::Eq { d, a, b, .. }
            | Inst::Lt { d, a, b, .. }
            | Inst::ShiftLeft { d, a, b, .. }
            | Inst::ShiftRight { d, a, b, .. }
            | Inst::Join { d, a, b, .. }
            | Inst::WideAnd { d, a, b, .. }
            | Inst::WideOr { d, a, b, .. }
            | Inst::WideXor { d, a, b, .. }
            | Inst::WideAdd { d, a, b, .. }
            | Inst::WideSub { d, a, b, .. }
            | Inst::WideMul { d, a, b, .. }
            | Inst::WideEq { d, a, b, .. }
            | Inst::WideLt { d, a, b, .. }
            | Inst::WideShiftLeft { d, a, b, .. }
            | Inst::WideShiftRight { d, a, b, .. }
            | Inst::LaneEq { d, a, b, .. }
            | Inst::LaneAdd { d, a, b, .. } => all(d, &mut [a, b]),
            Inst::Read { d, address, base, .. }
            | Inst::ReadBit { d, address, base, .. }
            | Inst::WideRead { d, address, base, .. } => {
                all(d, &mut [address]);
                visit(Role::Rows, base);
            }
            Inst::Mux { d, condition, then, otherwise, .. }
            | Inst::WideMux { d, condition, then, otherwise, .. } => {
                all(d, &mut [condition, then, otherwise]);
            }
            Inst::LaneSelect { d, vector, index, .. } => all(d, &mut [vector, index]),
            Inst::OneHotSelect { d, select, vector, .. } => all(d, &mut [select, vector]),
            Inst::LaneMux { d, mask, then, otherwise, .. } => all(d, &mut [mask, then, otherwise]),
            Inst::PartSelect { d, select, .. } => all(d, &mut [select]),
            Inst::Concat { d, .. } => all(d, &mut []),
            Inst::Column { .. } => {}
        }
    }

    /// Words of the result.
    pub fn result_words(&self, plan: &Plan) -> u32 {
        match *self {
            Inst::WideCopy { n, .. }
            | Inst::WideAnd { n, .. }
            | Inst::WideOr { n, .. }
            | Inst::WideXor { n, .. }
            | Inst::WideMux { n, .. }
            | Inst::Concat { n, .. }
            | Inst::PartSelect { n, .. }
            | Inst::WideLowestOne { n, .. }
            | Inst::WideRead { n, .. }
            | Inst::Given { n, .. } => n,
            Inst::WideNot { width, .. }
            | Inst::WideAdd { width, .. }
            | Inst::WideSub { width, .. }
            | Inst::WideMul { width, .. }
            | Inst::WideShiftLeft { width, .. }
            | Inst::WideShiftRight { width, .. }
            | Inst::WideSlice { width, .. }
            | Inst::WideDecode { width, .. }
            | Inst::Replicate { width, .. }
            | Inst::PrefixOr { width, .. } => width.div_ceil(64),
            Inst::LaneSelect { lane, .. } | Inst::OneHotSelect { lane, .. } => lane.div_ceil(64),
            Inst::LaneMux { lanes, lane, .. }
            | Inst::LaneAdd { lanes, lane, .. }
            | Inst::SpreadLanes { lanes, lane, .. }
            | Inst::PrefixCount { lanes, lane, .. } => (lanes * lane).div_ceil(64),
            Inst::LaneEq { lanes, .. } => lanes.div_ceil(64),
            Inst::GroupOr { groups, .. } => groups.div_ceil(64),
            Inst::XorHash { rows, .. } => rows.div_ceil(64),
            Inst::Column { column } => plan.columns[column as usize].result_words(),
            Inst::Copy { .. }
            | Inst::Not { .. }
            | Inst::And { .. }
            | Inst::Or { .. }
            | Inst::Xor { .. }
            | Inst::Add { .. }
            | Inst::Sub { .. }
            | Inst::Mul { .. }
            | Inst::Eq { .. }
            | Inst::Lt { .. }
            | Inst::ShiftLeft { .. }
            | Inst::ShiftRight { .. }
            | Inst::Mux { .. }
            | Inst::Slice { .. }
            | Inst::Join { .. }
            | Inst::NonZero { .. }
            | Inst::AllOnes { .. }
            | Inst::Parity { .. }
            | Inst::FirstOne { .. }
            | Inst::LowestOne { .. }
            | Inst::Decode { .. }
            | Inst::PopCount { .. }
            | Inst::Read { .. }
            | Inst::ReadBit { .. }
            | Inst::WideEq { .. }
            | Inst::WideLt { .. }
            | Inst::WideNonZero { .. }
            | Inst::WideAllOnes { .. }
            | Inst::WideParity { .. }
            | Inst::FoldWords { .. }
            | Inst::WideFirstOne { .. }
            | Inst::WidePopCount { .. } => 1,
        }
    }
}

impl ColumnInst {
    /// Calls `visit` with every place that is named: a column of its own for each row is one of rows.
    pub fn visit_places_mut(&mut self, visit: &mut dyn FnMut(Role, &mut u32)) {
        visit(Role::Result, &mut self.d);
        for column in [&mut self.a, &mut self.b] {
            let role = if column.bytes == 0 { Role::Operand } else { Role::Rows };
            visit(role, &mut column.base);
        }
    }

    /// Words of the result.
    pub fn result_words(&self) -> u32 {
        match self.op {
            ColumnOp::Eq | ColumnOp::EqSlice { .. } | ColumnOp::Disjoint | ColumnOp::Lt | ColumnOp::Pack => {
                self.depth.div_ceil(64)
            }
            ColumnOp::Not | ColumnOp::And | ColumnOp::Or => array_words(self.a.width, self.depth),
            ColumnOp::Slice { width, .. } => array_words(width, self.depth),
        }
    }
}
