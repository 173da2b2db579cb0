//! Gives every piece of state its place, and holds what the other phases of planning share.

use std::collections::BTreeMap;
use std::ops::Range;

use warpfile_hdl::rtl::bits::{Bits, words_for};
use warpfile_hdl::rtl::netlist::{NodeId, Op, TableId};

use super::inst::{Inst, element_bytes};
use super::order::Order;
use super::{FieldLayout, Fill, LINE_WORDS, ONE, Plan, TableLayout, ZERO};
use crate::flatten::Flat;
use crate::{EngineError, Observe, Options};

/// A plan in the making.
pub(super) struct Builder<'a> {
    pub flat: &'a Flat,
    pub plan: Plan,
    /// First word of each node's value, once it is known.
    slots: Vec<Option<u32>>,
    /// Places of captured rows by table, then clocked read port.
    pub captures: Vec<Vec<Capture>>,
    /// Copies made of values that change during an edge.
    pub copies: BTreeMap<(u32, u32), u32>,
    next: u64,
    /// The expression that is being lowered.
    pub origin: u32,
    constants: BTreeMap<(u32, Vec<u64>), u32>,
    /// Places that change at the clock edge besides valid bits: registers, then captured reads.
    pub registered: Range<u32>,
    /// Places of valid bits.
    pub valids: Range<u32>,
    /// Nodes whose value never changes.
    pub fixed: BTreeMap<NodeId, Bits>,
}

/// Where a read port's captured row is; empty for a combinational port.
#[derive(Clone, Debug, Default)]
pub(super) struct Capture {
    /// By field.
    pub fields: Vec<u32>,
    /// The captured valid bit.
    pub valid: Option<u32>,
}

impl<'a> Builder<'a> {
    pub fn new(flat: &'a Flat, options: &Options, order: &Order) -> Builder<'a> {
        let plan = Plan {
            circuit: flat.scopes[0].name.clone(),
            scopes: flat.scopes.clone(),
            qualified_outputs: options.observe == Observe::State,
            count_activity: options.count_activity,
            count_toggles: options.count_toggles,
            ..Plan::default()
        };
        let mut builder = Builder {
            flat,
            plan,
            slots: vec![None; flat.nodes.len()],
            captures: Vec::new(),
            copies: BTreeMap::new(),
            next: 0,
            origin: 0,
            constants: BTreeMap::new(),
            registered: 0..0,
            valids: 0..0,
            fixed: BTreeMap::new(),
        };
        builder.place_constants(order);
        builder.place_inputs();
        builder.place_registers();
        builder.place_captures();
        builder.place_valids();
        builder.place_rows();
        builder
    }

    pub fn finish(mut self) -> Result<Plan, EngineError> {
        self.plan.arena_words = u32::try_from(self.next)
            .map_err(|_| EngineError::TooLarge { circuit: self.plan.circuit.clone() })?;
        Ok(self.plan)
    }

    /// Where a node's value is. Nodes are lowered in order, so operands always have a place.
    pub fn slot(&self, node: NodeId) -> u32 {
        self.slots[node.index()].expect("operands are ordered before their users")
    }

    pub fn set_slot(&mut self, node: NodeId, slot: u32) {
        self.slots[node.index()] = Some(slot);
        // The last word of a value may be narrow. Of nodes that share a place the narrowest tells most.
        let width = self.width(node);
        let last = slot + words(width) - 1;
        let bits = width - 64 * (words(width) - 1);
        let known = self.plan.widths.entry(last).or_insert(bits);
        *known = bits.min(*known);
    }

    pub fn width(&self, node: NodeId) -> u32 {
        self.flat.nodes[node.index()].item.width
    }

    /// A new place, aligned as its size asks for: at a multiple of the largest power of two that it fills, of a line at
    /// most. Offsets past 32 bits are caught by `finish`.
    pub fn allocate(&mut self, words: impl Into<u64>) -> u32 {
        let words = words.into();
        let alignment = 1 << words.max(1).ilog2().min(LINE_WORDS.ilog2());
        let place = self.next.next_multiple_of(alignment);
        self.next = place + words;
        place as u32
    }

    /// Adds an instruction with a result of `words` words; returns where the result is.
    pub fn emit(&mut self, words: u32, inst: impl FnOnce(u32) -> Inst) -> u32 {
        let d = self.allocate(words);
        self.plan.program.push(inst(d));
        self.plan.origins.push(self.origin);
        d
    }

    /// Place of a constant, made by `place_constants`.
    pub fn constant(&self, bits: &Bits) -> u32 {
        self.constants[&(bits.width(), bits.words().to_vec())]
    }

    fn place_constants(&mut self, order: &Order) {
        let fixed = [(ZERO, Bits::zero(1)), (ONE, Bits::ones(1))];
        for (place, bits) in fixed {
            self.add_constant(&bits);
            debug_assert_eq!(self.constant(&bits), place);
        }
        let flat = self.flat;
        let fields = flat.tables.iter().flat_map(|table| &table.item.fields).map(|field| field.width);
        let lanes = order.nodes.iter().map(|node| &flat.nodes[node.index()].item).map(|node| node.width);
        let widest = Bits::zero(fields.chain(lanes).max().unwrap_or(1));
        self.add_constant(&widest);
        self.plan.zeros = self.constant(&widest);
        for &node in &order.nodes {
            if let Some(bits) = self.fixed_value(node) {
                self.add_constant(&bits);
                self.fixed.insert(node, bits);
            }
        }
        for register in &flat.registers {
            register.item.reset.iter().for_each(|bits| self.add_constant(bits));
        }
    }

    /// The value of a constant, of what is put together from constants, or of what is 0 as a part of it is.
    fn fixed_value(&self, node: NodeId) -> Option<Bits> {
        let width = self.width(node);
        match &self.flat.nodes[node.index()].item.op {
            Op::Constant(bits) => Some(bits.clone()),
            Op::Wire(a) => self.fixed.get(a).cloned(),
            Op::And(a, b) if self.is_zero(a) || self.is_zero(b) => Some(Bits::zero(width)),
            Op::Replicate(a) | Op::SpreadLanes(a) | Op::ZeroExtend(a) | Op::ReduceOr(a)
                if self.is_zero(a) =>
            {
                Some(Bits::zero(width))
            }
            Op::Not(a) => self.fixed.get(a).map(Bits::complement),
            Op::Slice { value, low } => self.fixed.get(value).map(|bits| bits.slice(*low, width)),
            Op::Concat(parts) => self.fixed_concat(width, parts),
            // One bit repeated is recognised as a mask where it is used.
            Op::Replicate(a) if self.width(*a) > 1 => {
                let times = width.div_ceil(self.width(*a));
                let whole = self.fixed_concat(times * self.width(*a), &vec![*a; times as usize]);
                whole.map(|bits| bits.slice(0, width))
            }
            _ => None,
        }
    }

    fn is_zero(&self, node: &NodeId) -> bool {
        self.fixed.get(node).is_some_and(Bits::is_zero)
    }

    /// The operand that the value of a node always equals, as a constant beside it changes nothing.
    pub fn unchanged(&self, node: NodeId) -> Option<NodeId> {
        let of_two = |a: &NodeId, b: &NodeId, is_neutral: &dyn Fn(&NodeId) -> bool| match () {
            () if is_neutral(b) => Some(*a),
            () if is_neutral(a) => Some(*b),
            () => None,
        };
        let is_ones = |node: &NodeId| self.fixed.get(node).is_some_and(Bits::is_ones);
        match &self.flat.nodes[node.index()].item.op {
            Op::And(a, b) => of_two(a, b, &is_ones),
            Op::Or(a, b) | Op::Xor(a, b) | Op::Add(a, b) | Op::LaneAdd { a, b, .. } => {
                of_two(a, b, &|node| self.is_zero(node))
            }
            Op::Sub(a, b) if self.is_zero(b) => Some(*a),
            Op::Mux { condition, then, otherwise } => {
                let condition = self.fixed.get(condition)?;
                Some(if condition.is_zero() { *otherwise } else { *then })
            }
            _ => None,
        }
    }

    fn fixed_concat(&self, width: u32, parts: &[NodeId]) -> Option<Bits> {
        let mut low = 0;
        let mut value = Bits::zero(width).to_biguint();
        for part in parts {
            let bits = self.fixed.get(part)?;
            value |= bits.to_biguint() << low;
            low += bits.width();
        }
        Bits::from_biguint(width, &value)
    }

    fn add_constant(&mut self, bits: &Bits) {
        let key = (bits.width(), bits.words().to_vec());
        if !self.constants.contains_key(&key) {
            let place = self.allocate(bits.words().len() as u32);
            self.constants.insert(key, place);
            self.plan.constants.resize(place as usize, 0);
            self.plan.constants.extend_from_slice(bits.words());
        }
    }

    fn place_inputs(&mut self) {
        // As among themselves, they are aligned in the arena.
        self.next = self.next.next_multiple_of(LINE_WORDS.into());
        let start = self.next as u32;
        for input in &self.flat.inputs {
            let offset = self.allocate(words(input.width)) - start;
            let port = super::InPort { offset, width: input.width };
            self.plan.in_ports.insert(input.name.clone(), port);
        }
        self.plan.inputs = start..self.next as u32;
    }

    fn place_registers(&mut self) {
        let start = self.next as u32;
        for (index, register) in (0..).zip(&self.flat.registers) {
            let q = self.allocate(words(register.item.width));
            let reset = register.item.reset.as_ref().map(|bits| self.constant(bits));
            if reset.is_none() {
                self.fill(q, register.item.width, key(FillKind::Register, index, 0, 0));
            }
            // Next value and enable are known once everything is lowered.
            let n = words(register.item.width);
            self.plan.registers.push(super::RegisterEdge { q, next: q, enable: ZERO, n, reset });
        }
        self.registered = start..self.next as u32;
    }

    fn place_captures(&mut self) {
        for (index, table) in (0..).zip(&self.flat.tables) {
            let mut captures = Vec::new();
            for (port, read) in (0..).zip(&table.item.reads) {
                let mut capture = Capture::default();
                if read.clocked {
                    for (field, layout) in (0..).zip(&table.item.fields) {
                        let place = self.allocate(words(layout.width));
                        self.fill(place, layout.width, key(FillKind::Capture, index, port, field));
                        capture.fields.push(place);
                    }
                    if table.item.has_valid {
                        let place = self.allocate(1_u32);
                        self.fill(place, 1, key(FillKind::CapturedValid, index, port, 0));
                        capture.valid = Some(place);
                    }
                }
                captures.push(capture);
            }
            self.captures.push(captures);
        }
        self.registered.end = self.next as u32;
    }

    fn place_valids(&mut self) {
        let start = self.next as u32;
        for table in &self.flat.tables {
            let valid = table.item.has_valid.then(|| self.allocate(words(table.item.depth)));
            self.plan.tables.push(TableLayout {
                path: self.flat.path(table.scope, &table.item.name),
                depth: table.item.depth,
                fields: Vec::new(),
                valid,
            });
        }
        self.valids = start..self.next as u32;
    }

    fn place_rows(&mut self) {
        for (index, table) in (0..).zip(&self.flat.tables) {
            for (field, description) in (0..).zip(&table.item.fields) {
                let (name, width) = (description.name.clone(), description.width);
                let bytes = element_bytes(width);
                let base = self.allocate((u64::from(bytes) * u64::from(table.item.depth)).div_ceil(8));
                self.plan.tables[index as usize].fields.push(FieldLayout { name, base, width });
                for row in 0..table.item.depth {
                    let key = key(FillKind::Row, index, field, row);
                    let distance = u64::from(row) * u64::from(bytes);
                    let (offset, shift) =
                        (base.wrapping_add((distance / 8) as u32), 8 * (distance % 8) as u32);
                    self.plan.fills.push(Fill { offset, shift, width, key });
                }
            }
        }
    }

    fn fill(&mut self, offset: u32, width: u32, key: u64) {
        self.plan.fills.push(Fill { offset, shift: 0, width, key });
    }

    /// Field `field` of row 0 of a table.
    pub fn rows(&self, table: TableId, field: u32) -> u32 {
        self.plan.tables[table.index()].fields[field as usize].base
    }

    /// Valid bits of a table; a table without them has none set.
    pub fn valid(&self, table: TableId) -> Option<u32> {
        self.plan.tables[table.index()].valid
    }
}

/// Words of a value.
pub(super) fn words(width: u32) -> u32 {
    words_for(width) as u32
}

/// What is filled from the seed.
#[derive(Clone, Copy)]
enum FillKind {
    Register,
    Capture,
    CapturedValid,
    Row,
}

/// Names a piece of state by its place in the netlist rather than in the arena, so that the values do not
/// depend on the options.
fn key(kind: FillKind, index: u32, port_or_field: u32, row_or_field: u32) -> u64 {
    [kind as u64, index.into(), port_or_field.into(), row_or_field.into()]
        .into_iter()
        .fold(0, |key, part| crate::state::scramble(key ^ part))
}
