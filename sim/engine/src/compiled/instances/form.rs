//! What instructions and updates do, apart from what they do it with.

use crate::compiled::graph::InstId;
use crate::plan::inst::{ColumnInst, Inst};
use crate::plan::operands::Role;
use crate::plan::{Plan, UpdateEdge};

/// What an instruction does, whatever it does it with.
#[derive(PartialEq, Eq)]
pub struct Form {
    inst: Inst,
    parts: Vec<(u32, u32)>,
    masks: Vec<u64>,
    column: Option<ColumnInst>,
}

impl Form {
    pub fn of(plan: &Plan, id: InstId) -> Form {
        let mut form = Form { inst: plan.program[id], parts: Vec::new(), masks: Vec::new(), column: None };
        form.inst.visit_places_mut(&mut |_, place| *place = 0);
        match &mut form.inst {
            Inst::Concat { parts, count, .. } | Inst::PartSelect { parts, count, .. } => {
                let all = &plan.parts[*parts as usize..(*parts + *count) as usize];
                form.parts = all.iter().map(|part| (part.low, part.width)).collect();
                *parts = 0;
            }
            Inst::XorHash { masks, rows, n, .. } => {
                form.masks = plan.masks[*masks as usize..(*masks + *rows * *n) as usize].to_vec();
                *masks = 0;
            }
            Inst::Column { column } => {
                let mut inst = plan.columns[*column as usize];
                inst.visit_places_mut(&mut |_, place| *place = 0);
                form.column = Some(inst);
                *column = 0;
            }
            _ => {}
        }
        form
    }
}

/// What an instruction reads: operands and rows, in an order of its own.
pub fn operands(plan: &Plan, id: InstId) -> Vec<(Role, u32)> {
    let mut found = Vec::new();
    let mut note = |role: Role, place: &mut u32| {
        if role != Role::Result {
            found.push((role, *place));
        }
    };
    let mut inst = plan.program[id];
    inst.visit_places_mut(&mut note);
    match inst {
        Inst::Concat { parts, count, .. } | Inst::PartSelect { parts, count, .. } => {
            let parts = &plan.parts[parts as usize..(parts + count) as usize];
            parts.iter().for_each(|part| note(Role::Operand, &mut part.a.clone()));
        }
        Inst::Column { column } => plan.columns[column as usize].clone().visit_places_mut(&mut note),
        _ => {}
    }
    found
}

/// Words that an instruction reads of each operand, in the order of [`operands`]; rows count as none.
pub fn operand_words(plan: &Plan, id: InstId) -> Vec<u32> {
    let words = |bits: u32| bits.div_ceil(64);
    let parts = |parts: u32, count: u32| plan.parts[parts as usize..(parts + count) as usize].iter();
    match plan.program[id] {
        Inst::Copy { .. }
        | Inst::Not { .. }
        | Inst::Slice { .. }
        | Inst::NonZero { .. }
        | Inst::AllOnes { .. }
        | Inst::Parity { .. }
        | Inst::FirstOne { .. }
        | Inst::LowestOne { .. }
        | Inst::Decode { .. }
        | Inst::PopCount { .. } => vec![1],
        Inst::And { .. }
        | Inst::Or { .. }
        | Inst::Xor { .. }
        | Inst::Add { .. }
        | Inst::Sub { .. }
        | Inst::Mul { .. }
        | Inst::Eq { .. }
        | Inst::Lt { .. }
        | Inst::ShiftLeft { .. }
        | Inst::ShiftRight { .. }
        | Inst::Join { .. } => vec![1, 1],
        Inst::Mux { .. } => vec![1, 1, 1],
        Inst::Read { .. } | Inst::ReadBit { .. } | Inst::WideRead { .. } => vec![1, 0],
        Inst::WideCopy { n, .. }
        | Inst::WideNonZero { n, .. }
        | Inst::FoldWords { n, .. }
        | Inst::WideParity { n, .. }
        | Inst::WideFirstOne { n, .. }
        | Inst::WideLowestOne { n, .. }
        | Inst::WidePopCount { n, .. }
        | Inst::XorHash { n, .. }
        | Inst::Given { n, .. } => vec![n],
        Inst::WideNot { width, .. } | Inst::WideAllOnes { width, .. } | Inst::PrefixOr { width, .. } => {
            vec![words(width)]
        }
        Inst::WideAnd { n, .. }
        | Inst::WideOr { n, .. }
        | Inst::WideXor { n, .. }
        | Inst::WideEq { n, .. }
        | Inst::WideLt { n, .. } => vec![n, n],
        Inst::WideAdd { width, .. } | Inst::WideSub { width, .. } | Inst::WideMul { width, .. } => {
            vec![words(width); 2]
        }
        Inst::WideShiftLeft { b_n, width, .. } | Inst::WideShiftRight { b_n, width, .. } => {
            vec![words(width), b_n]
        }
        Inst::WideMux { n, .. } => vec![1, n, n],
        Inst::WideSlice { low, width, .. } => vec![words(low + width)],
        Inst::WideDecode { a_n, .. } => vec![a_n],
        Inst::LaneSelect { index_n, lanes, lane, .. } => vec![words(lanes * lane), index_n],
        Inst::OneHotSelect { lanes, lane, .. } => vec![words(lanes), words(lanes * lane)],
        Inst::LaneMux { lanes, lane, .. } => vec![words(lanes), words(lanes * lane), words(lanes * lane)],
        Inst::LaneEq { lanes, lane, .. } | Inst::LaneAdd { lanes, lane, .. } => vec![words(lanes * lane); 2],
        Inst::Replicate { from, .. } => vec![words(from)],
        Inst::SpreadLanes { lanes, .. } | Inst::PrefixCount { lanes, .. } => vec![words(lanes)],
        Inst::GroupOr { groups, size, .. } => vec![words(groups * size)],
        Inst::PartSelect { parts: first, count, n, .. } => {
            let parts = parts(first, count).map(|_| n);
            [words(count)].into_iter().chain(parts).collect()
        }
        Inst::Concat { parts: first, count, .. } => {
            parts(first, count).map(|part| words(part.width)).collect()
        }
        Inst::Column { column } => {
            let ColumnInst { a, b, .. } = plan.columns[column as usize];
            [a, b].map(|column| if column.bytes == 0 { words(column.width) } else { 0 }).to_vec()
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

    /// What an update reads, and how many words of each.
    pub fn operands(&self, plan: &Plan) -> Vec<(u32, u32)> {
        match *self {
            UpdateEdge::Write { enable, address, stores, count, .. } => {
                let mut operands = vec![(enable, 1), (address, 1)];
                for store in &plan.stores[stores as usize..(stores + count) as usize] {
                    operands.push((store.value, store.n));
                    operands.extend(store.lanes.map(|lanes| (lanes, store.lane_count.div_ceil(64))));
                }
                operands
            }
            UpdateEdge::Add { enable, address, amount, width, .. } => {
                vec![(enable, 1), (address, 1), (amount, width.div_ceil(64))]
            }
            UpdateEdge::ClearRow { enable, address, .. } => vec![(enable, 1), (address, 1)],
            UpdateEdge::ClearRows { enable, rows, n, .. } | UpdateEdge::SetRows { enable, rows, n, .. } => {
                vec![(enable, 1), (rows, n)]
            }
        }
    }
}
