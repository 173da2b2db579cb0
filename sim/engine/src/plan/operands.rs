//! What an instruction reads, under which condition, and how much it writes.

use super::inst::{ColumnInst, ColumnOp, Inst, array_words};
use super::{Plan, UpdateEdge};

/// When an operand matters to an instruction's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// First of so many words that are read.
    Operand(u32),
    /// First of so many words of rows that an address counts from, or that all are looked at.
    Rows(u32),
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
        match *self {
            Inst::Mux { condition, then, otherwise, .. }
            | Inst::WideMux { condition, then, otherwise, .. } => {
                visit((condition, Need::Always));
                visit((then, Need::If(condition)));
                visit((otherwise, Need::Unless(condition)));
            }
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
                [a.base, b.base].into_iter().for_each(|place| visit((place, Need::Always)));
            }
            mut other => other.visit_places_mut(&mut |role, place| {
                if let Role::Operand(_) = role {
                    visit((*place, Need::Always));
                }
            }),
        }
    }

    /// Calls `visit` with every place that is read, rows of tables included, and how many words of it.
    pub fn visit_reads(mut self, plan: &Plan, visit: &mut dyn FnMut(u32, u32)) {
        let read = &mut |role, place: &mut u32| {
            if let Role::Operand(words) | Role::Rows(words) = role {
                visit(*place, words);
            }
        };
        self.visit_places_mut(read);
        match self {
            Inst::Concat { parts, count, .. } | Inst::PartSelect { parts, count, .. } => {
                for part in &plan.parts[parts as usize..(parts + count) as usize] {
                    let words = match self {
                        Inst::PartSelect { n, .. } => n,
                        _ => part.width.div_ceil(64),
                    };
                    visit(part.a, words);
                }
            }
            Inst::Column { column } => {
                let mut column = plan.columns[column as usize];
                column.visit_places_mut(read);
            }
            _ => {}
        }
    }

    /// Calls `visit` with every place that the instruction itself names; those of parts and columns are named in the plan.
    pub fn visit_places_mut(&mut self, visit: &mut dyn FnMut(Role, &mut u32)) {
        let words = |bits: u32| bits.div_ceil(64);
        let mut all = |result: &mut u32, operands: &mut [(&mut u32, u32)]| {
            visit(Role::Result, result);
            operands.iter_mut().for_each(|(place, words)| visit(Role::Operand(*words), place));
        };
        match self {
            Inst::Copy { d, a }
            | Inst::Not { d, a, .. }
            | Inst::Slice { d, a, .. }
            | Inst::NonZero { d, a }
            | Inst::AllOnes { d, a, .. }
            | Inst::Parity { d, a }
            | Inst::FirstOne { d, a }
            | Inst::LowestOne { d, a }
            | Inst::Decode { d, a, .. }
            | Inst::PopCount { d, a } => all(d, &mut [(a, 1)]),
            Inst::And { d, a, b }
            | Inst::Or { d, a, b }
            | Inst::Xor { d, a, b }
            | Inst::Add { d, a, b, .. }
            | Inst::Sub { d, a, b, .. }
            | Inst::Mul { d, a, b, .. }
            | Inst::Eq { d, a, b }
            | Inst::Lt { d, a, b }
            | Inst::ShiftLeft { d, a, b, .. }
            | Inst::ShiftRight { d, a, b }
            | Inst::Join { d, a, b, .. } => all(d, &mut [(a, 1), (b, 1)]),
            Inst::Mux { d, condition, then, otherwise } => {
                all(d, &mut [(condition, 1), (then, 1), (otherwise, 1)]);
            }
            Inst::Read { d, address, base, depth, bytes } => {
                all(d, &mut [(address, 1)]);
                visit(Role::Rows((*depth * *bytes).div_ceil(8)), base);
            }
            Inst::ReadBit { d, address, base, depth } => {
                all(d, &mut [(address, 1)]);
                visit(Role::Rows(words(*depth)), base);
            }
            Inst::WideRead { d, address, base, depth, n } => {
                all(d, &mut [(address, 1)]);
                visit(Role::Rows(*depth * *n), base);
            }
            Inst::WideCopy { d, a, n }
            | Inst::WideNonZero { d, a, n }
            | Inst::FoldWords { d, a, n, .. }
            | Inst::WideParity { d, a, n }
            | Inst::WideFirstOne { d, a, n }
            | Inst::WideLowestOne { d, a, n }
            | Inst::WidePopCount { d, a, n }
            | Inst::XorHash { d, a, n, .. } => all(d, &mut [(a, *n)]),
            Inst::WideNot { d, a, width }
            | Inst::WideAllOnes { d, a, width }
            | Inst::PrefixOr { d, a, width } => all(d, &mut [(a, words(*width))]),
            Inst::WideAnd { d, a, b, n }
            | Inst::WideOr { d, a, b, n }
            | Inst::WideXor { d, a, b, n }
            | Inst::WideEq { d, a, b, n }
            | Inst::WideLt { d, a, b, n } => all(d, &mut [(a, *n), (b, *n)]),
            Inst::WideAdd { d, a, b, width }
            | Inst::WideSub { d, a, b, width }
            | Inst::WideMul { d, a, b, width } => all(d, &mut [(a, words(*width)), (b, words(*width))]),
            Inst::WideShiftLeft { d, a, b, b_n, width } | Inst::WideShiftRight { d, a, b, b_n, width } => {
                all(d, &mut [(a, words(*width)), (b, *b_n)]);
            }
            Inst::WideMux { d, condition, then, otherwise, n } => {
                all(d, &mut [(condition, 1), (then, *n), (otherwise, *n)]);
            }
            Inst::WideSlice { d, a, low, width } => all(d, &mut [(a, words(*low + *width))]),
            Inst::WideDecode { d, a, a_n, .. } => all(d, &mut [(a, *a_n)]),
            Inst::LaneSelect { d, vector, index, index_n, lanes, lane } => {
                all(d, &mut [(vector, words(*lanes * *lane)), (index, *index_n)]);
            }
            Inst::OneHotSelect { d, select, vector, lanes, lane } => {
                all(d, &mut [(select, words(*lanes)), (vector, words(*lanes * *lane))]);
            }
            Inst::LaneMux { d, mask, then, otherwise, lanes, lane } => {
                let n = words(*lanes * *lane);
                all(d, &mut [(mask, words(*lanes)), (then, n), (otherwise, n)]);
            }
            Inst::LaneEq { d, a, b, lanes, lane } | Inst::LaneAdd { d, a, b, lanes, lane } => {
                let n = words(*lanes * *lane);
                all(d, &mut [(a, n), (b, n)]);
            }
            Inst::Replicate { d, a, from, .. } => all(d, &mut [(a, words(*from))]),
            Inst::SpreadLanes { d, a, lanes, .. } | Inst::PrefixCount { d, a, lanes, .. } => {
                all(d, &mut [(a, words(*lanes))]);
            }
            Inst::GroupOr { d, a, groups, size } => all(d, &mut [(a, words(*groups * *size))]),
            Inst::PartSelect { d, select, count, .. } => all(d, &mut [(select, words(*count))]),
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
    /// Calls `visit` with every place that is named: a column of its own for each row is one of rows.
    pub fn visit_places_mut(&mut self, visit: &mut dyn FnMut(Role, &mut u32)) {
        visit(Role::Result, &mut self.d);
        for column in [&mut self.a, &mut self.b] {
            let role = match column.bytes {
                0 => Role::Operand(column.width.div_ceil(64)),
                _ => Role::Rows(array_words(column.width, self.depth)),
            };
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

impl UpdateEdge {
    /// Valid bits that change, or the first field that does; `None` if nothing ever changes.
    pub fn changed(&self, plan: &Plan) -> Option<u32> {
        match *self {
            UpdateEdge::Write { stores, count, valid, .. } => {
                let first = || plan.stores[stores as usize..(stores + count) as usize].first();
                valid.or_else(|| first().map(|store| store.base))
            }
            UpdateEdge::Add { base, .. } => Some(base),
            UpdateEdge::ClearRow { valid, .. }
            | UpdateEdge::ClearRows { valid, .. }
            | UpdateEdge::SetRows { valid, .. } => Some(valid),
        }
    }
}
