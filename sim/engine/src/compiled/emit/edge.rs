//! The clock edge: tables, registers, captured reads, from what the cycle before left in the arena.

use std::collections::BTreeMap;
use std::ops::Range;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};

use super::super::guards::{Literal, cost_worth_a_branch};
use super::super::kernels::{self, Kernel};
use super::Emitter;
use super::frame::Pointer;
use super::slots::is_early;
use crate::plan::{ONE, RegisterEdge, Store, UpdateEdge, ZERO};

/// What it costs to give a register its next value, in the unit of guards.
const TAKING: u32 = 8;

/// What changes at the edge, outside of instances or in one.
struct Edges<'a> {
    /// Captured rows that are taken before tables change.
    early: Vec<&'a RegisterEdge>,
    /// Indices of updates.
    updates: Range<usize>,
    /// Registers, and captured rows that are taken with them.
    registers: Vec<&'a RegisterEdge>,
}

impl<'a> Emitter<'a, '_> {
    /// Emits the edge: tables, then registers, as tables may be given what a register holds. Instances come in between.
    pub fn emit_edge(&mut self) {
        let updates = 0..self.instances.map_or(self.plan.updates.len(), |instances| instances.updates.start);
        let outside = self.edges(None, updates);
        self.take_early(&outside);
        self.change_tables(&outside);
        if let Some(instances) = self.instances {
            let first = self.edges(Some(0), instances.updates.clone());
            let instances = self.begin_instances(instances);
            self.take_early(&first);
            self.change_tables(&first);
            self.change_registers(&first);
            self.end_instances(instances);
        }
        self.change_registers(&outside);
    }

    /// What changes in an instance, or outside of all.
    fn edges(&self, instance: Option<u32>, updates: Range<usize>) -> Edges<'a> {
        let is_there = |edge: &&RegisterEdge| {
            self.instances.and_then(|instances| instances.instance_at(edge.q)) == instance
        };
        let captures = self.plan.captures.iter().filter(is_there);
        let (early, late): (Vec<_>, Vec<_>) = captures.partition(|capture| is_early(self.graph, capture));
        let registers = self.plan.registers.iter().filter(is_there).chain(late).collect();
        Edges { early, updates, registers }
    }

    fn take_early(&mut self, edges: &Edges) {
        edges.early.iter().for_each(|capture| self.emit_register(capture));
    }

    fn change_tables(&mut self, edges: &Edges) {
        for index in edges.updates.clone() {
            let update = &self.plan.updates[index];
            if !self.update_without_asking(update) {
                self.when(update.enable(), |emitter| emitter.emit_update(index, update));
            }
        }
    }

    fn change_registers(&mut self, edges: &Edges) {
        let mut together: BTreeMap<u32, Vec<&RegisterEdge>> = BTreeMap::new();
        for &edge in &edges.registers {
            together.entry(edge.enable).or_default().push(edge);
        }
        for (enable, edges) in together {
            let asked = Literal { place: enable, holds: true }.canonical(self.graph);
            let worth_asking = cost_worth_a_branch(asked.as_slice(), self.profile);
            if enable != ONE && edges.len() as u32 * TAKING >= worth_asking && !self.carries {
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
        if edge.n > 1 {
            let next = self.pointer_at_edge(edge.next);
            return self.frame.copy(q, next, edge.n);
        }
        let next = self.word_at_edge(edge.next);
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

    fn emit_register(&mut self, edge: &RegisterEdge) {
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
                let valid = self.frame.place(valid);
                let word = self.frame.load(valid);
                let word = self.ins().band_not(word, bit);
                self.frame.store(valid, word);
            }
            UpdateEdge::ClearRows { enable, rows, valid, n: 1 } => {
                let rows = self.masked_rows(enable, rows);
                let valid = self.frame.place(valid);
                let word = self.frame.load(valid);
                let word = self.ins().band_not(word, rows);
                self.frame.store(valid, word);
            }
            UpdateEdge::SetRows { enable, rows, valid, n: 1 } => {
                let rows = self.masked_rows(enable, rows);
                let valid = self.frame.place(valid);
                let word = self.frame.load(valid);
                let word = self.ins().bor(word, rows);
                self.frame.store(valid, word);
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
                let index = self.number_in_instance(index, |instances| instances.updates.len());
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
                let [field, value] = [field, value].map(|pointer| self.frame.flatten(pointer));
                let count = self.frame.constant(u64::from(store.lane_count));
                let width = self.frame.constant(u64::from(store.lane_width));
                let kernel = kernels::blend(store.lane_count, store.lane_width);
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
    fn enable(&self) -> u32 {
        match *self {
            UpdateEdge::Write { enable, .. }
            | UpdateEdge::Add { enable, .. }
            | UpdateEdge::ClearRow { enable, .. }
            | UpdateEdge::ClearRows { enable, .. }
            | UpdateEdge::SetRows { enable, .. } => enable,
        }
    }
}
