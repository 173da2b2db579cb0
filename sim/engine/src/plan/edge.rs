//! What happens at the clock edge: captured reads, registers, tables.
//!
//! Edges are applied one after the other, tables first. An operand that an earlier edge may already have
//! changed is therefore copied while the circuit settles.

use warpfile_hdl::rtl::netlist::{Field, NodeId, TableId, Update};

use super::inst::{Inst, element_bytes};
use super::layout::{Builder, words};
use super::{ONE, RegisterEdge, Store, UpdateEdge};
use crate::activity::{ActivityKind, LaneGroups, PortMeter, RegisterMeter};

impl Builder<'_> {
    /// Plans the clock edge and what is counted in it.
    pub fn lower_edges(&mut self) {
        self.origin = u32::MAX;
        for index in 0..self.flat.registers.len() {
            self.lower_register(index);
        }
        for table in (0..self.flat.tables.len() as u32).map(TableId) {
            self.lower_captures(table);
            self.meter_reads(table);
            self.lower_updates(table);
        }
    }

    fn lower_register(&mut self, index: usize) {
        let flat = self.flat;
        let register = &flat.registers[index];
        let q = self.plan.registers[index].q;
        let n = self.plan.registers[index].n;
        let next = match self.slot(register.item.next) {
            held if held == q => held,
            next => self.stable(next, n),
        };
        let enable = register.item.enable.map_or(ONE, |node| self.slot(node));
        self.plan.registers[index].next = next;
        self.plan.registers[index].enable = self.stable(enable, 1);
        let path = flat.path(register.scope, &register.item.name);
        self.plan.register_meters.push(RegisterMeter { path, width: register.item.width });
    }

    fn lower_captures(&mut self, table: TableId) {
        let flat = self.flat;
        let description = &flat.tables[table.index()].item;
        for (port, read) in (0..).zip(&description.reads).filter(|(_, read)| read.clocked) {
            let enable = self.slot(read.enable);
            let enable = self.stable(enable, 1);
            let capture = self.captures[table.index()][port as usize].clone();
            for ((field, layout), q) in (0..).zip(&description.fields).zip(capture.fields) {
                let (row, n) = (self.emit_read(table, port, field), words(layout.width));
                let next = match read.gating_lanes(layout) {
                    Some(lanes) => self.emit_wanted(lanes, layout, row, q),
                    None => row,
                };
                self.plan.captures.push(RegisterEdge { q, next, enable, n, reset: None });
            }
            if let Some(q) = capture.valid {
                let next = self.emit_read_valid(table, port);
                self.plan.captures.push(RegisterEdge { q, next, enable, n: 1, reset: None });
            }
        }
    }

    /// `row` in the arrays of `field` with a wanted lane, what is `held` in the others.
    fn emit_wanted(&mut self, lanes: NodeId, field: &Field, row: u32, held: u32) -> u32 {
        let (groups, size) = (field.lanes / field.lanes_per_array, field.lanes_per_array);
        let mask = match (self.slot(lanes), size) {
            (lanes, 1) => lanes,
            (a, size) => self.emit(words(groups), |d| Inst::GroupOr { d, a, groups, size }),
        };
        let (then, otherwise, lane) = (row, held, field.width / groups);
        self.emit(words(field.width), |d| Inst::LaneMux { d, mask, then, otherwise, lanes: groups, lane })
    }

    fn lower_updates(&mut self, table: TableId) {
        let flat = self.flat;
        for (index, update) in flat.tables[table.index()].item.updates.iter().enumerate() {
            let edge = match update {
                Update::Write { address, enable, fields, set_valid, .. } => {
                    let stores = self.plan.stores.len() as u32;
                    for field in fields {
                        let store = self.store(table, field.field, field.value, field.lanes);
                        self.plan.stores.push(store);
                    }
                    Some(UpdateEdge::Write {
                        enable: self.operand(*enable),
                        address: self.operand(*address),
                        depth: self.depth(table),
                        stores,
                        count: fields.len() as u32,
                        valid: self.valid(table).filter(|_| *set_valid),
                    })
                }
                Update::Add { address, enable, field, amount, .. } => Some(UpdateEdge::Add {
                    enable: self.operand(*enable),
                    address: self.operand(*address),
                    depth: self.depth(table),
                    base: self.rows(table, *field),
                    width: flat.tables[table.index()].item.fields[*field as usize].width,
                    amount: self.operand(*amount),
                }),
                Update::ClearRow { address, enable } => self.valid(table).map(|valid| UpdateEdge::ClearRow {
                    enable: self.operand(*enable),
                    address: self.operand(*address),
                    depth: self.depth(table),
                    valid,
                }),
                Update::ClearRows { rows, enable } => self.valid(table).map(|valid| UpdateEdge::ClearRows {
                    enable: self.operand(*enable),
                    rows: self.operand(*rows),
                    valid,
                    n: words(self.depth(table)),
                }),
                Update::SetRows { rows, enable } => self.valid(table).map(|valid| UpdateEdge::SetRows {
                    enable: self.operand(*enable),
                    rows: self.operand(*rows),
                    valid,
                    n: words(self.depth(table)),
                }),
            };
            self.plan.updates.extend(edge);
            self.meter_update(table, index, update);
        }
    }

    fn store(&mut self, table: TableId, field: u32, value: NodeId, lanes: Option<NodeId>) -> Store {
        let description = &self.flat.tables[table.index()].item.fields[field as usize];
        Store {
            base: self.rows(table, field),
            bytes: element_bytes(description.width),
            n: words(description.width),
            value: self.operand(value),
            lanes: lanes.map(|node| self.operand(node)),
            lane_count: description.lanes,
            lane_width: description.width / description.lanes,
        }
    }

    fn depth(&self, table: TableId) -> u32 {
        self.plan.tables[table.index()].depth
    }

    /// An operand of a table's update: tables change first, so only valid bits need a copy.
    fn operand(&mut self, node: NodeId) -> u32 {
        let place = self.slot(node);
        if self.valids.contains(&place) { self.copy(place, words(self.width(node))) } else { place }
    }

    /// An operand of a register: a copy of anything that changes at the edge.
    fn stable(&mut self, place: u32, n: u32) -> u32 {
        let changes = self.valids.contains(&place) || self.registered.contains(&place);
        if changes { self.copy(place, n) } else { place }
    }

    fn copy(&mut self, a: u32, n: u32) -> u32 {
        if let Some(&copy) = self.copies.get(&(a, n)) {
            return copy;
        }
        let copy = match n {
            1 => self.emit(1, |d| Inst::Copy { d, a }),
            n => self.emit(n, |d| Inst::WideCopy { d, a, n }),
        };
        self.copies.insert((a, n), copy);
        copy
    }

    fn meter_reads(&mut self, table: TableId) {
        let flat = self.flat;
        let description = &flat.tables[table.index()].item;
        for read in &description.reads {
            let all_fields = (0..description.fields.len() as u32).map(|field| (field, read.lanes));
            let kind = if read.clocked { ActivityKind::ClockedRead } else { ActivityKind::Read };
            self.meter(table, &read.name, kind, read.enable, all_fields.collect());
        }
        for port in &description.matches {
            self.meter(table, &port.name, ActivityKind::Match, port.enable, Vec::new());
        }
    }

    fn meter_update(&mut self, table: TableId, index: usize, update: &Update) {
        match update {
            Update::Write { name, enable, fields, .. } => {
                let written = fields.iter().map(|write| (write.field, write.lanes)).collect();
                self.meter(table, name, ActivityKind::Write, *enable, written);
            }
            Update::Add { name, enable, field, .. } => {
                self.meter(table, name, ActivityKind::Add, *enable, vec![(*field, None)]);
            }
            Update::ClearRow { enable, .. } => {
                let name = format!("clear_row_{index}");
                self.meter(table, &name, ActivityKind::ClearRow, *enable, Vec::new());
            }
            Update::ClearRows { enable, .. } => {
                let name = format!("clear_rows_{index}");
                self.meter(table, &name, ActivityKind::ClearRows, *enable, Vec::new());
            }
            Update::SetRows { enable, .. } => {
                let name = format!("set_rows_{index}");
                self.meter(table, &name, ActivityKind::SetRows, *enable, Vec::new());
            }
        }
    }

    fn meter(
        &mut self,
        table: TableId,
        port: &str,
        kind: ActivityKind,
        enable: NodeId,
        fields: Vec<(u32, Option<NodeId>)>,
    ) {
        let description = &self.flat.tables[table.index()].item;
        let mut meter = PortMeter {
            table: self.plan.tables[table.index()].path.clone(),
            port: port.to_owned(),
            kind,
            enable: self.slot(enable),
            arrays: 0,
            groups: Vec::new(),
        };
        for (field, lanes) in fields {
            let field = &description.fields[field as usize];
            match lanes.filter(|_| field.lanes > 1) {
                Some(node) => meter.groups.push(LaneGroups {
                    mask: self.slot(node),
                    lanes: field.lanes,
                    size: field.lanes_per_array,
                }),
                None => meter.arrays += field.lanes / field.lanes_per_array,
            }
        }
        self.plan.port_meters.push(meter);
    }
}
