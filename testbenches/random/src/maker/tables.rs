//! Ports and updates of tables.

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::*;

use super::{Maker, SOURCE};
use crate::choice::{Choice, nth, rest};
use crate::numbers::Random;

impl Maker<'_> {
    fn chosen_table(&self, number: u16) -> Option<TableId> {
        let count = self.module.tables.len() as u32;
        (count > 0).then(|| TableId(u32::from(number) % count))
    }

    fn table_of(&self, id: TableId) -> &Table {
        &self.module.tables[id.index()]
    }

    /// Lanes of the table's laned fields.
    fn lanes_of_table(&self, id: TableId) -> Option<u32> {
        self.table_of(id).fields.iter().map(|field| field.lanes).find(|lanes| *lanes > 1)
    }

    /// A read port with all it shows, if there is a table.
    pub(super) fn read(&mut self, [_, key, which, address, enable, lanes]: Choice) {
        let Some(table) = self.chosen_table(which) else { return };
        let address = self.of_width(address, self.table_of(table).address_bits);
        let enable = self.enable(enable);
        let lanes_of_table = self.lanes_of_table(table).filter(|_| lanes % 2 == 1);
        let lanes = lanes_of_table.map(|count| self.of_width(rest(lanes, 2), count));
        let clocked = which / 4 % 2 == 1;
        let description = &mut self.module.tables[table.index()];
        let port = description.reads.len() as u32;
        let name = format!("read{port}");
        description.reads.push(ReadPort { name, address, enable, lanes, clocked, source: SOURCE });
        let widths: Vec<u32> = description.fields.iter().map(|field| field.width).collect();
        if description.has_valid {
            self.keep(key.wrapping_add(7), Op::TableReadValid { table, port }, 1);
        }
        for (field, width) in (0..).zip(widths) {
            self.keep(key.wrapping_add(field as u16), Op::TableRead { table, port, field }, width);
        }
    }

    /// An associative port, if there is a table.
    pub(super) fn associative(&mut self, [_, key, which, enable, wanted, size]: Choice) {
        let Some(table) = self.chosen_table(which) else { return };
        let mut random = Random(wanted.into());
        let condition = match size % 4 {
            0 => self.tag_condition(table, 1, &mut random),
            1 => self.tag_condition(table, 3, &mut random),
            _ => self.row_condition(table, u32::from(size / 4 % 4), &mut random),
        };
        let enable = self.enable(enable);
        let description = &mut self.module.tables[table.index()];
        let (port, depth) = (description.matches.len() as u32, description.depth);
        let name = format!("match{port}");
        description.matches.push(MatchPort { name, enable, condition, source: SOURCE });
        self.keep(key, Op::TableMatch { table, port }, depth);
    }

    /// What caches and queues ask: some fields equal what is looked for, in a valid row.
    fn tag_condition(&mut self, table: TableId, fields: u32, random: &mut Random) -> RowExpr {
        let count = self.table_of(table).fields.len() as u32;
        let mut condition = if self.table_of(table).has_valid { Some(RowExpr::Valid) } else { None };
        for index in 0..fields.min(count) {
            let field = (index + random.below(count)) % count;
            let width = self.table_of(table).fields[field as usize].width;
            let wanted = self.of_width(random.number() as u16, width);
            let equal = RowExpr::Eq(Box::new(RowExpr::Field(field)), Box::new(RowExpr::Outer(wanted)));
            condition = Some(match condition {
                None => equal,
                Some(all) => RowExpr::And(Box::new(all), Box::new(equal)),
            });
        }
        condition.expect("a table has a field")
    }

    /// Any one-bit expression over a row.
    fn row_condition(&mut self, table: TableId, budget: u32, random: &mut Random) -> RowExpr {
        let depth = self.table_of(table).depth;
        let mut next = || random.number() as u16;
        match next() % if budget == 0 { 3 } else { 8 } {
            0 if self.table_of(table).has_valid => RowExpr::Valid,
            0 | 1 => RowExpr::PerRow(self.of_width(next(), depth)),
            2 => RowExpr::Outer(self.one_bit(next())),
            3 => RowExpr::Not(Box::new(self.row_condition(table, budget - 1, random))),
            4 => {
                let (field, width) = self.row_field(table, random);
                RowExpr::Slice(Box::new(field), random.below(width), 1)
            }
            5 => {
                let a = Box::new(self.row_condition(table, budget - 1, random));
                let b = Box::new(self.row_condition(table, budget - 1, random));
                match random.below(4) {
                    0 => RowExpr::And(a, b),
                    1 => RowExpr::Or(a, b),
                    2 => RowExpr::Eq(a, b),
                    _ => RowExpr::Lt(a, b),
                }
            }
            _ => self.row_comparison(table, random),
        }
    }

    fn row_comparison(&mut self, table: TableId, random: &mut Random) -> RowExpr {
        let (field, width) = self.row_field(table, random);
        let wanted = RowExpr::Outer(self.of_width(random.number() as u16, width));
        let field = if random.chance(3) { RowExpr::Not(Box::new(field)) } else { field };
        let (field, wanted) = (Box::new(field), Box::new(wanted));
        let field = match random.below(4) {
            0 if random.chance(2) => {
                let zero = self.add(Op::Constant(Bits::zero(width)), width);
                let chosen = Box::new(RowExpr::And(field, wanted));
                return RowExpr::Eq(chosen, Box::new(RowExpr::Outer(zero)));
            }
            0 => Box::new(RowExpr::And(field, wanted.clone())),
            1 => Box::new(RowExpr::Or(field, wanted.clone())),
            _ => field,
        };
        match random.below(4) {
            0 => RowExpr::Lt(field, wanted),
            1 => RowExpr::Lt(wanted, field),
            _ => RowExpr::Eq(field, wanted),
        }
    }

    /// A field or a part of one, and its width.
    fn row_field(&mut self, table: TableId, random: &mut Random) -> (RowExpr, u32) {
        let fields = &self.table_of(table).fields;
        let index = random.below(fields.len() as u32);
        let width = fields[index as usize].width;
        if random.chance(2) {
            return (RowExpr::Field(index), width);
        }
        let low = random.below(width);
        let width = 1 + random.below(width - low);
        (RowExpr::Slice(Box::new(RowExpr::Field(index)), low, width), width)
    }

    /// An update, if there is a table. Addresses and enables are often those of the update before, so that
    /// several updates meet in one row.
    pub(super) fn update(&mut self, choice: Choice) {
        let [kind, which, address, enable, value, lanes] = choice;
        let Some(table) = self.chosen_table(which) else { return };
        let Table { address_bits, depth, has_valid, .. } = *self.table_of(table);
        let index = self.table_of(table).updates.len();
        let address = match self.table_of(table).updates.last().and_then(row_of) {
            Some(last) if address % 3 == 2 => last,
            _ => self.of_width(rest(address, 3), address_bits),
        };
        let enable = self.enable(enable);
        let name = format!("update{index}");
        let update = match kind % if has_valid { 8 } else { 5 } {
            0..3 => {
                let fields = self.written_fields(table, kind / 8, value, lanes);
                Update::Write { name, address, enable, fields, set_valid: which / 4 % 2 == 1 }
            }
            3 | 4 => {
                let field = u32::from(lanes) % self.table_of(table).fields.len() as u32;
                let amount = self.of_width(value, self.table_of(table).fields[field as usize].width);
                Update::Add { name, address, enable, field, amount }
            }
            5 => Update::ClearRow { address, enable },
            6 => Update::ClearRows { rows: self.of_width(value, depth), enable },
            _ => Update::SetRows { rows: self.of_width(value, depth), enable },
        };
        self.module.tables[table.index()].updates.push(update);
    }

    /// Gives tables with fields that no update changes a port that writes those.
    pub(super) fn write_what_nothing_writes(&mut self) {
        for table in (0..self.module.tables.len() as u32).map(TableId) {
            let description = self.table_of(table).clone();
            let written = |field: &u32| description.updates.iter().any(|update| changes(update, *field));
            let missing = (0..description.fields.len() as u32).filter(|field| !written(field));
            let fields: Vec<FieldWrite> = missing
                .map(|field| {
                    let value = self.of_width(field as u16, description.fields[field as usize].width);
                    FieldWrite { field, value, lanes: None }
                })
                .collect();
            if !fields.is_empty() {
                let (address, enable) = (self.of_width(0, description.address_bits), self.one_bit(0));
                let name = format!("update{}", description.updates.len());
                let write = Update::Write { name, address, enable, fields, set_valid: true };
                self.module.tables[table.index()].updates.push(write);
            }
        }
    }

    fn written_fields(&mut self, table: TableId, left_out: u16, value: u16, lanes: u16) -> Vec<FieldWrite> {
        let mut writes = Vec::new();
        for index in 0..self.table_of(table).fields.len() {
            let Field { width, lanes: lane_count, .. } = self.table_of(table).fields[index];
            if left_out % 2 == 1 && left_out / 2 % 4 == index as u16 {
                continue;
            }
            let value = self.of_width(nth(value, index), width);
            let masked = lane_count > 1 && !lanes.is_multiple_of(4);
            let lanes = masked.then(|| self.of_width(rest(lanes, 4), lane_count));
            writes.push(FieldWrite { field: index as u32, value, lanes });
        }
        writes
    }
}

/// Whether an update changes a field of some row.
fn changes(update: &Update, field: u32) -> bool {
    match update {
        Update::Write { fields, .. } => fields.iter().any(|write| write.field == field),
        Update::Add { field: added, .. } => *added == field,
        Update::ClearRow { .. } | Update::ClearRows { .. } | Update::SetRows { .. } => false,
    }
}

/// The address of an update of one row.
fn row_of(update: &Update) -> Option<NodeId> {
    match update {
        Update::Write { address, .. } | Update::Add { address, .. } | Update::ClearRow { address, .. } => {
            Some(*address)
        }
        Update::ClearRows { .. } | Update::SetRows { .. } => None,
    }
}
