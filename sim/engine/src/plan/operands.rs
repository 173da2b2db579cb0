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
            | Inst::WideRead { d, .. } => d,
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
            | Inst::XorHash { a, .. } => all(&[a]),
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
            | Inst::WideRead { n, .. } => n,
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
