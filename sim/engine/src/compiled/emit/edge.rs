//! The clock edge: tables, registers, captured reads, from what the cycle before left in the arena.

use std::collections::{BTreeMap, BTreeSet};

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::super::guards::WORTH_A_BRANCH;
use super::super::kernels::{self, Kernel};
use super::Emitter;
use super::frame::Pointer;
use super::slots::is_early;
use super::units::Unit;
use crate::compiled::parts::{PartId, Parts};
use crate::plan::{ONE, Plan, RegisterEdge, Store, TableLayout, UpdateEdge, ZERO};

/// What it costs to give a register its next value, in the unit of guards.
const TAKING: u32 = 8;

/// What changes at the edge.
struct Edges<'a> {
    /// Captured rows that are taken before tables change.
    early: Vec<&'a RegisterEdge>,
    /// Registers, and captured rows that are taken with them.
    registers: Vec<&'a RegisterEdge>,
}

impl<'a> Emitter<'a, '_> {
    /// Emits the edge: tables, then registers, as tables may be given what a register holds.
    pub fn emit_edge(&mut self) {
        if let Some(parts) = self.parts {
            return self.emit_edge_in_parts(parts);
        }
        let all = self.edges();
        all.early.iter().for_each(|capture| self.emit_register(capture));
        self.change_tables(0..self.plan.updates.len());
        self.change_registers(&all.registers);
    }

    /// Emits the edge part by part, where there is something to do: after captured rows all tables, then all registers.
    fn emit_edge_in_parts(&mut self, parts: &Parts) {
        let all = self.edges();
        let captures = self.by_part(parts, &all.early).into_iter();
        self.emit_in_any_order(parts, captures.map(|(part, edges)| Unit::Capture(part, edges)));
        let (updates, needs) = self.updates_by_part(parts);
        self.emit_units(parts, &updates, &needs);
        let registers = self.by_part(parts, &all.registers).into_iter();
        self.emit_in_any_order(parts, registers.map(|(part, edges)| Unit::Take(part, edges)));
    }

    fn emit_in_any_order(&mut self, parts: &Parts, units: impl Iterator<Item = Unit<'a>>) {
        let units: Vec<Unit> = units.collect();
        self.emit_units(parts, &units, &vec![BTreeSet::new(); units.len()]);
    }

    /// Emits what happens where a part has something for the edge or for counters; always if it is nobody's.
    pub fn when_due(&mut self, parts: &Parts, part: Option<PartId>, body: impl FnOnce(&mut Self)) {
        let Some(part) = part else { return body(self) };
        let due = self.frame.stored(parts.due(part));
        self.frame.open(due, true);
        body(self);
        self.frame.close();
    }

    /// Registers by the part that decides whether they change.
    fn by_part<'e>(
        &self,
        parts: &Parts,
        edges: &[&'e RegisterEdge],
    ) -> BTreeMap<Option<PartId>, Vec<&'e RegisterEdge>> {
        let mut by_part: BTreeMap<Option<PartId>, Vec<&RegisterEdge>> = BTreeMap::new();
        for &edge in edges {
            let deciding = if edge.enable == ONE { edge.next } else { edge.enable };
            by_part.entry(parts.of_place(self.graph, deciding)).or_default().push(edge);
        }
        by_part
    }

    /// Updates by the part that enables them, and after which others each group comes: those of one table stay in order.
    fn updates_by_part(&self, parts: &Parts) -> (Vec<Unit<'a>>, Vec<BTreeSet<usize>>) {
        let mut groups: Vec<(Option<PartId>, Vec<usize>)> = Vec::new();
        let mut needs: Vec<BTreeSet<usize>> = Vec::new();
        // By table, the last group that changes it.
        let mut last: BTreeMap<u32, usize> = BTreeMap::new();
        for (index, update) in self.plan.updates.iter().enumerate() {
            let part = parts.of_place(self.graph, update.enable());
            let table = self.table_of(update);
            let from = table.and_then(|table| last.get(&table).copied()).unwrap_or(0);
            let found = groups.iter().skip(from).position(|(other, _)| *other == part).map(|at| from + at);
            let group = found.unwrap_or_else(|| {
                groups.push((part, Vec::new()));
                needs.push(BTreeSet::new());
                groups.len() - 1
            });
            groups[group].1.push(index);
            let before = table.and_then(|table| last.insert(table, group));
            needs[group].extend(before.filter(|&before| before != group));
        }
        (groups.into_iter().map(|(part, updates)| Unit::Update(part, updates)).collect(), needs)
    }

    /// The table that an update changes, by its first place.
    fn table_of(&self, update: &UpdateEdge) -> Option<u32> {
        let changed = update.changed(self.plan)?;
        let is_its = |table: &&TableLayout| {
            table.valid == Some(changed) || table.fields.iter().any(|field| field.base == changed)
        };
        let table = self.plan.tables.iter().find(is_its)?;
        table.valid.or_else(|| table.fields.first().map(|field| field.base))
    }

    fn edges(&self) -> Edges<'a> {
        let captures = self.plan.captures.iter();
        let (early, late): (Vec<_>, Vec<_>) = captures.partition(|capture| is_early(self.graph, capture));
        Edges { early, registers: self.plan.registers.iter().chain(late).collect() }
    }

    pub fn change_tables(&mut self, updates: impl Iterator<Item = usize>) {
        for index in updates {
            let update = &self.plan.updates[index];
            if !self.update_without_asking(update) {
                self.when(update.enable(), |emitter| emitter.emit_update(index, update));
            }
        }
    }

    pub fn change_registers(&mut self, edges: &[&RegisterEdge]) {
        let mut together: BTreeMap<u32, Vec<&RegisterEdge>> = BTreeMap::new();
        for &edge in edges {
            together.entry(edge.enable).or_default().push(edge);
        }
        for (enable, edges) in together {
            let is_worth_asking = edges.len() as u32 * TAKING >= WORTH_A_BRANCH;
            if enable != ONE && is_worth_asking && !self.carries {
                self.when(enable, |emitter| edges.iter().for_each(|edge| emitter.take_next(edge)));
            } else {
                edges.into_iter().for_each(|edge| self.emit_register(edge));
            }
        }
    }

    /// Gives a register its next value, enabled or not.
    fn take_next(&mut self, edge: &RegisterEdge) {
        if edge.next == edge.q {
            return;
        }
        let q = self.frame.place(edge.q);
        let readers = self.readers_of_source(edge.q);
        if edge.n > 1 {
            let next = self.pointer_at_edge(edge.next);
            self.mark_if_different(readers, q, next, edge.n);
            return self.frame.copy(q, next, edge.n);
        }
        let next = self.word_at_edge(edge.next);
        self.mark_if_different_word(readers, q, next);
        self.frame.store(q, next);
        self.frame.know_word(edge.q, next);
    }

    /// Emits what happens where the word at `enable` is not 0.
    fn when(&mut self, enable: u32, body: impl FnOnce(&mut Self)) {
        if enable == ONE {
            return body(self);
        }
        let word = self.word_at_edge(enable);
        self.frame.open(word, true);
        body(self);
        self.frame.close();
    }

    pub fn emit_register(&mut self, edge: &RegisterEdge) {
        if edge.enable == ONE {
            return self.take_next(edge);
        }
        if edge.n > 1 {
            return self.when(edge.enable, |emitter| emitter.take_next(edge));
        }
        if edge.next == edge.q || edge.enable == ZERO {
            return;
        }
        let (enable, old) = (self.word_at_edge(edge.enable), self.word_at_edge(edge.q));
        let next = self.word_at_edge(edge.next);
        let value = self.ins().select(enable, next, old);
        let q = self.frame.place(edge.q);
        let readers = self.readers_of_source(edge.q);
        if !readers.is_empty() {
            let different = self.ins().bxor(old, value);
            self.mark(readers, different);
        }
        self.frame.store(q, value);
        self.frame.know_word(edge.q, value);
    }

    /// Emits an update of a few words with its enable as a mask, so that nothing depends on what it is; says whether it
    /// is one. Where it is 0 the operands may be those of an earlier cycle, which name a row as well.
    fn update_without_asking(&mut self, update: &UpdateEdge) -> bool {
        match *update {
            UpdateEdge::ClearRow { enable, address, depth, valid }
                if depth <= 64 && self.is_below(address, depth) =>
            {
                let (enable, row) = (self.word_at_edge(enable), self.word_at_edge(address));
                let bit = self.ins().ishl(enable, row);
                let at = self.frame.place(valid);
                let word = self.frame.load(at);
                let word = self.ins().band_not(word, bit);
                self.mark_if_different_word(self.readers_of_source(valid), at, word);
                self.frame.store(at, word);
            }
            UpdateEdge::ClearRows { enable, rows, valid, n: 1 } => {
                let rows = self.masked_rows(enable, rows);
                let at = self.frame.place(valid);
                let word = self.frame.load(at);
                let word = self.ins().band_not(word, rows);
                self.mark_if_different_word(self.readers_of_source(valid), at, word);
                self.frame.store(at, word);
            }
            UpdateEdge::SetRows { enable, rows, valid, n: 1 } => {
                let rows = self.masked_rows(enable, rows);
                let at = self.frame.place(valid);
                let word = self.frame.load(at);
                let word = self.ins().bor(word, rows);
                self.mark_if_different_word(self.readers_of_source(valid), at, word);
                self.frame.store(at, word);
            }
            UpdateEdge::Write { .. }
            | UpdateEdge::Add { .. }
            | UpdateEdge::ClearRow { .. }
            | UpdateEdge::ClearRows { .. }
            | UpdateEdge::SetRows { .. } => return false,
        }
        true
    }

    /// The rows at a place, or none where the enable is 0.
    fn masked_rows(&mut self, enable: u32, rows: u32) -> Value {
        let (enable, rows) = (self.word_at_edge(enable), self.word_at_edge(rows));
        let all = self.ins().ineg(enable);
        self.ins().band(rows, all)
    }

    fn emit_update(&mut self, index: usize, update: &UpdateEdge) {
        for place in update.all_changed(self.plan) {
            self.mark_always(self.readers_of_source(place));
        }
        match *update {
            UpdateEdge::Write { address, depth, stores, count, valid, .. } => {
                self.with_row(address, depth, |emitter, row| {
                    for index in stores..stores + count {
                        let store = emitter.plan.stores[index as usize];
                        emitter.emit_store(row, &store);
                    }
                    if let Some(valid) = valid {
                        emitter.change_valid(row, valid, depth, |emitter, word, bit| {
                            emitter.frame.builder.ins().bor(word, bit)
                        });
                    }
                });
            }
            UpdateEdge::ClearRow { address, depth, valid, .. } => {
                self.with_row(address, depth, |emitter, row| {
                    emitter.change_valid(row, valid, depth, |emitter, word, bit| {
                        emitter.frame.builder.ins().band_not(word, bit)
                    });
                });
            }
            UpdateEdge::ClearRows { rows, valid, n, .. } => {
                let (valid, rows) = (self.frame.place(valid), self.pointer_at_edge(rows));
                self.frame.map(valid, &[valid, rows], n, |builder, words| {
                    builder.ins().band_not(words[0], words[1])
                });
            }
            UpdateEdge::SetRows { rows, valid, n, .. } => {
                let (valid, rows) = (self.frame.place(valid), self.pointer_at_edge(rows));
                self.frame
                    .map(valid, &[valid, rows], n, |builder, words| builder.ins().bor(words[0], words[1]));
            }
            UpdateEdge::Add { enable, address, amount, .. } => {
                for operand in [enable, address, amount] {
                    self.materialise_at_edge(operand);
                }
                let plan = self.frame.address(self.plan);
                let index = self.frame.constant(index as u64);
                let arena = self.frame.arena;
                self.frame.call_kernel(kernels::update as Kernel, &[plan, index, arena]);
            }
        }
    }

    /// Emits what happens to the row at an address, if there is such a row.
    fn with_row(&mut self, address: u32, depth: u32, body: impl FnOnce(&mut Self, Value)) {
        let row = self.word_at_edge(address);
        if self.is_below(address, depth) {
            return body(self, row);
        }
        let exists = self.ins().icmp_imm_u(IntCC::UnsignedLessThan, row, i64::from(depth));
        self.frame.open(exists, true);
        body(self, row);
        self.frame.close();
    }

    /// Where a field of an existing row is, at `bytes` bytes a row.
    fn field(&mut self, row: Value, base: u32, bytes: u32) -> Pointer {
        let distance = self.frame.builder.ins().imul_imm_u(row, i64::from(bytes));
        let first = self.frame.place(base);
        Pointer { base: self.frame.builder.ins().iadd(first.base, distance), ..first }
    }

    fn emit_store(&mut self, row: Value, store: &Store) {
        let field = self.field(row, store.base, store.bytes);
        match store.lanes {
            None if store.n == 1 => {
                let value = self.word_at_edge(store.value);
                self.set_element(field, store.bytes, value);
            }
            Some(lanes) if store.n == 1 => {
                let (bits, new) = (self.word_at_edge(lanes), self.word_at_edge(store.value));
                let old = self.element(field, store.bytes);
                let mask = self.spread(bits, store.lane_count, store.lane_width);
                let new = self.ins().band(new, mask);
                let old = self.ins().band_not(old, mask);
                let value = self.ins().bor(new, old);
                self.set_element(field, store.bytes, value);
            }
            None => {
                let value = self.pointer_at_edge(store.value);
                self.frame.copy(field, value, store.n);
            }
            Some(lanes) if store.lane_count <= 64 => {
                let (mask, value) = (self.word_at_edge(lanes), self.pointer_at_edge(store.value));
                let (mask, lanes, lane) = self.in_lanes_of_32(mask, store.lane_count, store.lane_width);
                let [field, value] = [field, value].map(|pointer| self.frame.flatten(pointer));
                let (count, width) = (self.frame.constant(lanes.into()), self.frame.constant(lane.into()));
                let kernel = kernels::blend(lanes, lane);
                self.frame.call_kernel(kernel, &[field, value, mask, count, width]);
            }
            Some(lanes) => {
                let (lanes, value) = (self.pointer_at_edge(lanes), self.pointer_at_edge(store.value));
                let [field, value, lanes] = [field, value, lanes].map(|pointer| self.frame.flatten(pointer));
                let count = self.frame.constant(u64::from(store.lane_count));
                let width = self.frame.constant(u64::from(store.lane_width));
                let arguments = [field, value, lanes, count, width];
                self.frame.call_kernel(kernels::blend_many as Kernel, &arguments);
            }
        }
    }

    /// Changes the valid bit of a row.
    fn change_valid(
        &mut self,
        row: Value,
        valid: u32,
        depth: u32,
        change: impl FnOnce(&mut Self, Value, Value) -> Value,
    ) {
        let at = match depth {
            0..=64 => self.frame.place(valid),
            _ => {
                let index = self.frame.builder.ins().ushr_imm_u(row, 6);
                self.field(index, valid, 8)
            }
        };
        let word = self.frame.load(at);
        let one = self.frame.constant(1);
        let bit = self.frame.builder.ins().ishl(one, row);
        let word = change(self, word, bit);
        self.frame.store(at, word);
    }
}

impl UpdateEdge {
    /// Places of fields and valid bits that change.
    fn all_changed(&self, plan: &Plan) -> Vec<u32> {
        match *self {
            UpdateEdge::Write { stores, count, valid, .. } => {
                let stores = &plan.stores[stores as usize..(stores + count) as usize];
                stores.iter().map(|store| store.base).chain(valid).collect()
            }
            UpdateEdge::Add { base, .. } => vec![base],
            UpdateEdge::ClearRow { valid, .. }
            | UpdateEdge::ClearRows { valid, .. }
            | UpdateEdge::SetRows { valid, .. } => vec![valid],
        }
    }

    /// The word that is not 0 where it changes something.
    pub fn enable(&self) -> u32 {
        match *self {
            UpdateEdge::Write { enable, .. }
            | UpdateEdge::Add { enable, .. }
            | UpdateEdge::ClearRow { enable, .. }
            | UpdateEdge::ClearRows { enable, .. }
            | UpdateEdge::SetRows { enable, .. } => enable,
        }
    }
}
