//! Instructions with what they name elsewhere in the plan, and what updates read.

use crate::compiled::graph::InstId;
use crate::plan::inst::{ColumnInst, Inst, Part};
use crate::plan::operands::Role;
use crate::plan::{Plan, UpdateEdge};

/// An instruction with its parts, its column and its masks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    inst: Inst,
    parts: Vec<Part>,
    column: Option<ColumnInst>,
    masks: Vec<u64>,
}

impl Whole {
    pub fn of(plan: &Plan, id: InstId) -> Whole {
        let inst = plan.program[id];
        let mut whole = Whole { inst, parts: Vec::new(), column: None, masks: Vec::new() };
        match inst {
            Inst::Concat { parts, count, .. } | Inst::PartSelect { parts, count, .. } => {
                whole.parts = plan.parts[parts as usize..(parts + count) as usize].to_vec();
            }
            Inst::Column { column } => whole.column = Some(plan.columns[column as usize]),
            Inst::XorHash { masks, rows, n, .. } => {
                whole.masks = plan.masks[masks as usize..(masks + rows * n) as usize].to_vec();
            }
            _ => {}
        }
        whole
    }

    /// Calls `visit` with every place that is named.
    pub fn visit_places_mut(&mut self, visit: &mut dyn FnMut(Role, &mut u32)) {
        let Whole { inst, parts, column, masks: _ } = self;
        inst.visit_places_mut(visit);
        for part in parts {
            let words = match inst {
                Inst::PartSelect { n, .. } => *n,
                _ => part.width.div_ceil(64),
            };
            visit(Role::Operand(words), &mut part.a);
        }
        column.iter_mut().for_each(|column| column.visit_places_mut(visit));
    }

    /// What is done, whatever it is done with and wherever that is named.
    pub fn form(mut self) -> Whole {
        self.visit_places_mut(&mut |_, place| *place = 0);
        match &mut self.inst {
            Inst::Concat { parts: index, .. }
            | Inst::PartSelect { parts: index, .. }
            | Inst::Column { column: index }
            | Inst::XorHash { masks: index, .. } => *index = 0,
            _ => {}
        }
        self
    }

    /// What is read: operands and rows.
    pub fn operands(mut self) -> Vec<(Role, u32)> {
        let mut operands = Vec::new();
        self.visit_places_mut(&mut |role, place| operands.push((role, *place)));
        operands.retain(|(role, _)| *role != Role::Result);
        operands
    }

    /// Takes the place of the instruction in the plan. Parts get places of their own: another may have had the same.
    pub fn put(mut self, plan: &mut Plan, id: InstId) {
        match &mut self.inst {
            Inst::Concat { parts, .. } | Inst::PartSelect { parts, .. } => {
                *parts = plan.parts.len() as u32;
                plan.parts.extend(self.parts);
            }
            Inst::Column { column } => {
                self.column.into_iter().for_each(|inst| plan.columns[*column as usize] = inst);
            }
            _ => {}
        }
        plan.program[id] = self.inst;
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
