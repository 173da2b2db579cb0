//! Tables: storage, ports and updates.

use warpfile_hdl::rtl::bits::Bits;
use warpfile_hdl::rtl::netlist::{Field, FieldWrite, NodeId, ReadPort, RowExpr, Table, TableId, Update};

use crate::Style;
use crate::code::{Code, Statement, range};
use crate::expr::{Text, element, number};
use crate::module::ModuleWriter;
use crate::operands::{Storage, lane_width, storage};

/// What a read port shows: a field, or the valid bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Shown {
    /// Index of the field.
    Field(u32),
    /// The row's valid bit.
    Valid,
}

/// One output of a read port that something reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReadOutput {
    /// The table.
    pub(crate) table: TableId,
    /// Index of the port.
    pub(crate) port: u32,
    /// What of the row.
    pub(crate) shown: Shown,
}

/// Whether there are addresses without a row.
fn beyond_depth(table: &Table) -> bool {
    table.address_bits >= 32 || 1u32 << table.address_bits != table.depth
}

/// The row that `address` names of an array called `name`.
fn row_of(name: &str, address: &Text) -> String {
    format!("{name}[{}]", address.text())
}

impl<'a> ModuleWriter<'a> {
    pub(crate) fn declare_table(&mut self, code: &mut Code, id: TableId) {
        let table = &self.module.tables[id.index()];
        for (index, field) in table.fields.iter().enumerate() {
            if storage(table, index, self.style) != Storage::Lanes {
                let name = self.names.tables[id.index()].fields[index].clone();
                code.line(&format!("reg {}{name} [0:{}];", range(field.width), table.depth - 1));
                self.declare(&format!("{name}[0]"), 1);
            }
        }
        if table.has_valid {
            let name = self.names.tables[id.index()].valid.clone();
            code.line(&format!("reg {}{name};", range(table.depth)));
            self.declare(&name, table.depth);
            if changes_valid(table) {
                code.line(&format!(
                    "reg {}{};",
                    range(table.depth),
                    self.names.tables[id.index()].valid_next
                ));
            }
        }
    }

    /// Declares what a port shows where state drives it: captured rows and rows put together from lanes.
    pub(crate) fn declare_read(&mut self, code: &mut Code, read: ReadOutput) {
        let kind = match (self.is_clocked(read), self.is_laned(read)) {
            (true, _) => "reg",
            (false, true) => "wire",
            (false, false) => return,
        };
        let (name, width) = (self.read_name(read), self.read_width(read));
        code.line(&format!("{kind} {}{name};", range(width)));
        self.declare(&name, width);
    }

    /// Prints a port that sees one array in the same cycle.
    pub(crate) fn write_read(&mut self, code: &mut Code, read: ReadOutput) {
        if self.is_clocked(read) || self.is_laned(read) {
            return;
        }
        let (name, width) = (self.read_name(read), self.read_width(read));
        let seen = self.row_seen(read).whole();
        code.line(&format!("wire {}{name} = {seen};", range(width)));
        self.declare(&name, width);
    }

    /// Prints the match lines of an associative port.
    pub(crate) fn write_match(&mut self, code: &mut Code, id: TableId, port: u32) {
        let table = &self.module.tables[id.index()];
        let name = self.names.tables[id.index()].matches[port as usize].clone();
        code.line(&format!("wire {}{name};", range(table.depth)));
        self.declare(&name, table.depth);
        let condition = &table.matches[port as usize].condition;
        self.over_rows(code, &name, table.depth, |writer, code| {
            let row = writer.names.local("row");
            let line = writer.row(id, condition).whole();
            code.line(&format!("assign {} = {line};", element(&name, table.depth, 1, &row)));
        });
    }

    /// Prints the storage of a table, its updates and the ports that state drives.
    pub(crate) fn write_table(&mut self, code: &mut Code, id: TableId, reads: &[ReadOutput]) {
        let table = &self.module.tables[id.index()];
        self.write_arrays(code, id);
        for field in 0..table.fields.len() {
            match storage(table, field, self.style) {
                Storage::Array => {}
                Storage::Merged => self.write_merged(code, id, field),
                Storage::Lanes => self.write_lanes(code, id, field, reads),
                Storage::Rows => self.write_rows(code, id, field),
            }
        }
        if table.has_valid {
            self.write_valid(code, id);
        }
    }

    /// Prints the registers that capture rows.
    pub(crate) fn write_captured(&mut self, code: &mut Code, reads: &[ReadOutput]) {
        for &read in reads {
            if !self.is_clocked(read) || self.is_laned(read) {
                continue;
            }
            let name = self.read_name(read);
            let mask = self.capture_mask(code, read);
            let seen = self.row_seen(read);
            let next = match mask {
                Some(mask) => {
                    self.read(&name, 0, self.read_width(read));
                    let kept = Text::infix(Text::atom(name.clone()), "&", Text::atom(format!("~{mask}")));
                    Text::infix(kept, "|", Text::infix(seen, "&", Text::atom(mask)))
                }
                None => seen,
            };
            let capture = vec![Statement::Assign(format!("{name} <= {};", next.whole()))];
            let enable = self.port(read).enable;
            let body = self.under(&[enable], None, capture);
            self.clocked(code, &body);
        }
    }

    /// Bits of the arrays that a clocked port captures; `None` if it captures the whole row.
    fn capture_mask(&mut self, code: &mut Code, read: ReadOutput) -> Option<String> {
        let Shown::Field(index) = read.shown else { return None };
        let field = &self.module.tables[read.table.index()].fields[index as usize];
        let lanes = self.port(read).gating_lanes(field)?;
        let (arrays, width) = (field.lanes / field.lanes_per_array, field.width);
        let mask = self.names.scope.fresh(&format!("{}_mask", self.read_name(read)));
        code.line(&format!("wire {}{mask};", range(width)));
        let label = self.names.scope.fresh(&format!("{mask}_array"));
        self.over_lanes(code, &label, arrays, |writer, code| {
            let array = writer.names.local("lane");
            let wanted = writer.wants_array(lanes, field, &array);
            let target = element(&mask, width, width / arrays, &array);
            code.line(&format!("assign {target} = {{{}{{{}}}}};", width / arrays, wanted.whole()));
        });
        Some(mask)
    }

    /// Whether a lane of an array of `field` is among `lanes`.
    fn wants_array(&mut self, lanes: NodeId, field: &Field, array: &str) -> Text {
        let wanted = self.lane_of(lanes, field.lanes / field.lanes_per_array, array);
        if field.lanes_per_array > 1 { Text::unary("|", wanted) } else { wanted }
    }

    fn port(&self, read: ReadOutput) -> &'a ReadPort {
        &self.module.tables[read.table.index()].reads[read.port as usize]
    }

    pub(crate) fn is_clocked(&self, read: ReadOutput) -> bool {
        self.port(read).clocked
    }

    /// Whether what the port shows is put together from one array a lane.
    fn is_laned(&self, read: ReadOutput) -> bool {
        match read.shown {
            Shown::Field(field) => {
                needs_storage(&self.module.tables[read.table.index()], Shown::Field(field), self.style)
            }
            Shown::Valid => false,
        }
    }

    pub(crate) fn read_name(&self, read: ReadOutput) -> String {
        let names = &self.names.tables[read.table.index()].reads[read.port as usize];
        match read.shown {
            Shown::Field(field) => names.fields[field as usize].clone(),
            Shown::Valid => names.valid.clone(),
        }
    }

    pub(crate) fn read_width(&self, read: ReadOutput) -> u32 {
        match read.shown {
            Shown::Field(field) => self.module.tables[read.table.index()].fields[field as usize].width,
            Shown::Valid => 1,
        }
    }

    /// The row at a port's address, or 0 where there is none.
    fn row_seen(&mut self, read: ReadOutput) -> Text {
        let table = &self.module.tables[read.table.index()];
        let address = self.port(read).address;
        let index = self.value(address);
        let text = match read.shown {
            Shown::Field(field) => {
                let name = self.names.tables[read.table.index()].fields[field as usize].clone();
                self.read(&format!("{name}[0]"), 0, 1);
                row_of(&name, &index)
            }
            Shown::Valid => {
                let name = self.names.tables[read.table.index()].valid.clone();
                self.read(&name, 0, table.depth);
                element(&name, table.depth, 1, index.text())
            }
        };
        self.guarded(table, address, Text::atom(text), self.read_width(read))
    }

    /// `value`, or 0 if `address` is beyond the table.
    fn guarded(&mut self, table: &Table, address: NodeId, value: Text, width: u32) -> Text {
        match self.in_range(table, address) {
            Some(in_range) => Text::conditional(in_range, value, number(width, 0)),
            None => value,
        }
    }

    /// The condition that `address` is a row; `None` if it always is.
    fn in_range(&mut self, table: &Table, address: NodeId) -> Option<Text> {
        beyond_depth(table).then(|| {
            let limit = number(table.address_bits, u64::from(table.depth));
            Text::infix(self.value(address), "<", limit)
        })
    }

    /// `body` where all one-bit `conditions` and `more` hold.
    fn under(&mut self, conditions: &[NodeId], more: Option<Text>, body: Vec<Statement>) -> Vec<Statement> {
        let mut all = None;
        for &condition in conditions {
            if !self.is_constant(condition, Bits::ones) {
                all = Some(and(all, self.value(condition)));
            }
        }
        if let Some(more) = more {
            all = Some(and(all, more));
        }
        match all {
            Some(all) => vec![Statement::when(all.whole(), body)],
            None => body,
        }
    }

    fn clocked(&mut self, code: &mut Code, body: &[Statement]) {
        self.read("clk_i", 0, 1);
        code.process("always @(posedge clk_i)", body);
        code.blank();
    }

    /// Writes to fields kept in one array each.
    fn write_arrays(&mut self, code: &mut Code, id: TableId) {
        let table = &self.module.tables[id.index()];
        let mut body = Vec::new();
        for update in &table.updates {
            let Update::Write { address, enable, fields, .. } = update else { continue };
            let mut writes = Vec::new();
            let style = self.style;
            let is_array =
                |write: &&FieldWrite| storage(table, write.field as usize, style) == Storage::Array;
            for write in fields.iter().filter(is_array) {
                let address = self.value(*address);
                let row = row_of(&self.names.tables[id.index()].fields[write.field as usize], &address);
                let mut assign =
                    vec![Statement::Assign(format!("{row} <= {};", self.value(write.value).whole()))];
                // A mask over a single lane.
                if let Some(lanes) = write.lanes {
                    assign = self.under(&[lanes], None, assign);
                }
                writes.extend(assign);
            }
            if !writes.is_empty() {
                let in_range = self.in_range(table, *address);
                body.extend(self.under(&[*enable], in_range, writes));
            }
        }
        if !body.is_empty() {
            self.clocked(code, &body);
        }
    }

    /// A field with one masked write: the row with the written lanes replaced.
    fn write_merged(&mut self, code: &mut Code, id: TableId, field: usize) {
        let table = &self.module.tables[id.index()];
        let name = self.names.tables[id.index()].fields[field].clone();
        self.read(&format!("{name}[0]"), 0, 1);
        let masks = self.write_masks(code, id, field);
        let mut body = Vec::new();
        for (update, mask) in table.updates.iter().zip(masks) {
            let Update::Write { address, enable, fields, .. } = update else { continue };
            let write = fields.iter().find(|write| write.field as usize == field);
            let (Some(write), Some(mask)) = (write, mask) else { continue };
            let row = row_of(&name, &self.value(*address));
            let kept = Text::infix(Text::atom(row.clone()), "&", Text::atom(format!("~{mask}")));
            let value = self.value(write.value);
            let merged = Text::infix(kept, "|", Text::infix(value, "&", Text::atom(mask)));
            let in_range = self.in_range(table, *address);
            let assign = vec![Statement::Assign(format!("{row} <= {};", merged.whole()))];
            body.extend(self.under(&[*enable], in_range, assign));
        }
        self.clocked(code, &body);
    }

    /// A field with masked writes: one array a lane.
    fn write_lanes(&mut self, code: &mut Code, id: TableId, field: usize, reads: &[ReadOutput]) {
        let table = &self.module.tables[id.index()];
        let (width, lanes) = (table.fields[field].width, table.fields[field].lanes);
        let lane_width = lane_width(&table.fields[field]);
        let name = self.names.tables[id.index()].fields[field].clone();
        let stem = format!("{}_{}", table.name, table.fields[field].name);
        let ports: Vec<ReadOutput> = reads
            .iter()
            .copied()
            .filter(|r| r.table == id && r.shown == Shown::Field(field as u32))
            .collect();
        let label = self.names.tables[id.index()].lanes[field].clone();
        self.over_lanes(code, &label, lanes, |writer, code| {
            let lane = writer.names.local("lane");
            code.line(&format!("reg {}{name} [0:{}];", range(lane_width), table.depth - 1));
            let mut body = Vec::new();
            for update in &table.updates {
                let Update::Write { address, enable, fields, .. } = update else { continue };
                for write in fields.iter().filter(|w| w.field as usize == field) {
                    let value = writer.lane_of(write.value, lanes, &lane).whole();
                    let row = row_of(&name, &writer.value(*address));
                    let masked = write.lanes.map(|mask| writer.lane_of(mask, lanes, &lane));
                    let in_range = writer.in_range(table, *address);
                    let more = match (masked, in_range) {
                        (Some(mask), Some(in_range)) => Some(and(Some(mask), in_range)),
                        (mask, in_range) => mask.or(in_range),
                    };
                    body.extend(writer.under(
                        &[*enable],
                        more,
                        vec![Statement::Assign(format!("{row} <= {value};"))],
                    ));
                }
            }
            writer.clocked(code, &body);
            for &read in &ports {
                let target = element(&writer.read_name(read), width, lane_width, &lane);
                let port = writer.port(read);
                let seen = Text::atom(row_of(&name, &writer.value(port.address)));
                let seen = writer.guarded(table, port.address, seen, lane_width).whole();
                if port.clocked {
                    let capture = vec![Statement::Assign(format!("{target} <= {seen};"))];
                    let field = &table.fields[field];
                    let array = match field.lanes_per_array {
                        1 => lane.clone(),
                        several => format!("({lane} / {several})"),
                    };
                    let wanted =
                        port.gating_lanes(field).map(|lanes| writer.wants_array(lanes, field, &array));
                    let body = writer.under(&[port.enable], wanted, capture);
                    writer.clocked(code, &body);
                } else {
                    code.line(&format!("assign {target} = {seen};"));
                }
            }
            if ports.is_empty() {
                let unused = writer.names.scope.fresh(&format!("unused_{stem}"));
                code.line(&format!("wire {unused} = &{{1'b0, {name}[0]}};"));
            }
        });
        code.blank();
    }

    /// A field whose rows each work out their next value.
    fn write_rows(&mut self, code: &mut Code, id: TableId, field: usize) {
        let table = &self.module.tables[id.index()];
        let name = self.names.tables[id.index()].fields[field].clone();
        self.read(&format!("{name}[0]"), 0, 1);
        let masks = self.write_masks(code, id, field);
        let stem = format!("{}_{}", table.name, table.fields[field].name);
        self.over_rows(code, &stem, table.depth, |writer, code| {
            let (row, now, next) =
                (writer.names.local("row"), writer.names.local("now"), writer.names.local("next"));
            let width = range(table.fields[field].width);
            code.line(&format!("wire {width}{now} = {name}[{row}];"));
            code.line(&format!("reg {width}{next};"));
            let mut body = vec![Statement::Assign(format!("{next} = {now};"))];
            for (update, mask) in table.updates.iter().zip(&masks) {
                let (address, enable, assign) = match update {
                    Update::Write { address, enable, fields, .. } => {
                        let Some(write) = fields.iter().rfind(|w| w.field as usize == field) else {
                            continue;
                        };
                        let value = writer.value(write.value);
                        let value = match mask {
                            None => value,
                            Some(mask) => Text::infix(
                                Text::infix(Text::atom(next.clone()), "&", Text::atom(format!("~{mask}"))),
                                "|",
                                Text::infix(value, "&", Text::atom(mask.clone())),
                            ),
                        };
                        (*address, *enable, format!("{next} = {};", value.whole()))
                    }
                    Update::Add { address, enable, field: f, amount, .. } if *f as usize == field => {
                        (*address, *enable, format!("{next} = {next} + {};", writer.value(*amount).whole()))
                    }
                    Update::Add { .. }
                    | Update::ClearRow { .. }
                    | Update::ClearRows { .. }
                    | Update::SetRows { .. } => continue,
                };
                let own = Text::atom(format!("{row}[{}:0]", table.address_bits - 1));
                let hit = Text::infix(writer.value(address), "==", own);
                body.extend(writer.under(&[enable], Some(hit), vec![Statement::Assign(assign)]));
            }
            code.process("always @*", &body);
            writer.read("clk_i", 0, 1);
            code.line(&format!("always @(posedge clk_i) {name}[{row}] <= {next};"));
        });
        code.blank();
    }

    /// The lane masks of the writes to a field, widened to its bits, by update.
    fn write_masks(&mut self, code: &mut Code, id: TableId, field: usize) -> Vec<Option<String>> {
        let table = &self.module.tables[id.index()];
        let (width, lanes) = (table.fields[field].width, table.fields[field].lanes);
        let mut masks = Vec::new();
        for update in &table.updates {
            let mask = match update {
                Update::Write { name, fields, .. } => {
                    let write = fields.iter().rfind(|w| w.field as usize == field);
                    write.and_then(|w| w.lanes).map(|lanes| (name, lanes))
                }
                Update::Add { .. }
                | Update::ClearRow { .. }
                | Update::ClearRows { .. }
                | Update::SetRows { .. } => None,
            };
            masks.push(mask.map(|(port, node)| {
                if lanes == width {
                    return self.value(node).whole();
                }
                let mask = format!("{}_{port}_{}_mask", table.name, table.fields[field].name);
                let mask = self.names.scope.fresh(&mask);
                code.line(&format!("wire {}{mask};", range(width)));
                let label = self.names.scope.fresh(&format!("{mask}_lane"));
                self.over_lanes(code, &label, lanes, |writer, code| {
                    let lane = writer.names.local("lane");
                    let bit = writer.lane_of(node, lanes, &lane).whole();
                    let target = element(&mask, width, width / lanes, &lane);
                    code.line(&format!("assign {target} = {{{}{{{bit}}}}};", width / lanes));
                });
                mask
            }));
        }
        masks
    }

    fn write_valid(&mut self, code: &mut Code, id: TableId) {
        let table = &self.module.tables[id.index()];
        let (valid, next) =
            (self.names.tables[id.index()].valid.clone(), self.names.tables[id.index()].valid_next.clone());
        let mut otherwise = Vec::new();
        if changes_valid(table) {
            self.read(&valid, 0, table.depth);
            let mut body = vec![Statement::Assign(format!("{next} = {valid};"))];
            for update in &table.updates {
                body.extend(self.valid_update(table, &next, update));
            }
            code.process("always @*", &body);
            code.blank();
            otherwise.push(Statement::Assign(format!("{valid} <= {next};")));
        }
        self.read("rst_i", 0, 1);
        let cleared = vec![Statement::Assign(format!("{valid} <= {};", number(table.depth, 0).whole()))];
        self.clocked(code, &[Statement::If { condition: "rst_i".into(), then: cleared, otherwise }]);
    }

    fn valid_update(&mut self, table: &Table, next: &str, update: &Update) -> Vec<Statement> {
        match update {
            Update::Write { set_valid: false, .. } | Update::Add { .. } => Vec::new(),
            Update::Write { address, enable, set_valid: true, .. } => {
                self.valid_row(table, next, *address, *enable, "1'b1")
            }
            Update::ClearRow { address, enable } => self.valid_row(table, next, *address, *enable, "1'b0"),
            Update::ClearRows { rows, enable } => {
                let value = if self.is_constant(*rows, Bits::ones) {
                    number(table.depth, 0)
                } else {
                    Text::infix(Text::atom(next), "&", Text::unary("~", self.value(*rows)))
                };
                let assign = vec![Statement::Assign(format!("{next} = {};", value.whole()))];
                self.under(&[*enable], None, assign)
            }
            Update::SetRows { rows, enable } => {
                let value = Text::infix(Text::atom(next), "|", self.value(*rows));
                let assign = vec![Statement::Assign(format!("{next} = {};", value.whole()))];
                self.under(&[*enable], None, assign)
            }
        }
    }

    fn valid_row(
        &mut self,
        table: &Table,
        next: &str,
        address: NodeId,
        enable: NodeId,
        bit: &str,
    ) -> Vec<Statement> {
        let target = element(next, table.depth, 1, self.value(address).text());
        let in_range = self.in_range(table, address);
        self.under(&[enable], in_range, vec![Statement::Assign(format!("{target} = {bit};"))])
    }

    /// An expression over the row of the loop.
    fn row(&mut self, id: TableId, expression: &RowExpr) -> Text {
        let width = self.row_width(id, expression);
        self.row_bits(id, expression, 0, width)
    }

    fn row_width(&self, id: TableId, expression: &RowExpr) -> u32 {
        match expression {
            RowExpr::Field(field) => self.module.tables[id.index()].fields[*field as usize].width,
            RowExpr::Valid | RowExpr::PerRow(_) | RowExpr::Eq(..) | RowExpr::Lt(..) => 1,
            RowExpr::Outer(node) => self.width(*node),
            RowExpr::Slice(_, _, width) => *width,
            RowExpr::Not(a) | RowExpr::And(a, _) | RowExpr::Or(a, _) => self.row_width(id, a),
        }
    }

    /// Bits `low .. low + width` of an expression over a row.
    fn row_bits(&mut self, id: TableId, expression: &RowExpr, low: u32, width: u32) -> Text {
        let table = &self.module.tables[id.index()];
        match expression {
            RowExpr::Field(field) => {
                let name = self.names.tables[id.index()].fields[*field as usize].clone();
                self.read(&format!("{name}[0]"), 0, 1);
                let word = format!("{name}[{}]", self.names.local("row"));
                Text::atom(match width {
                    _ if width == table.fields[*field as usize].width => word,
                    1 => format!("{word}[{low}]"),
                    _ => format!("{word}[{}:{low}]", low + width - 1),
                })
            }
            RowExpr::Valid => {
                let name = self.names.tables[id.index()].valid.clone();
                self.read(&name, 0, table.depth);
                let row = self.names.local("row");
                Text::atom(element(&name, table.depth, 1, &row))
            }
            RowExpr::Outer(node) => self.bits(*node, low, width),
            RowExpr::PerRow(node) => {
                let row = self.names.local("row");
                self.lane_of(*node, table.depth, &row)
            }
            RowExpr::Slice(a, offset, _) => self.row_bits(id, a, low + offset, width),
            RowExpr::Not(a) => Text::unary("~", self.row_bits(id, a, low, width)),
            RowExpr::And(a, b) => {
                Text::infix(self.row_bits(id, a, low, width), "&", self.row_bits(id, b, low, width))
            }
            RowExpr::Or(a, b) => {
                Text::infix(self.row_bits(id, a, low, width), "|", self.row_bits(id, b, low, width))
            }
            RowExpr::Eq(a, b) => Text::infix(self.row(id, a), "==", self.row(id, b)),
            // Verilator warns about comparisons that constants decide.
            RowExpr::Lt(a, b) if self.is_outer(a, Bits::ones) || self.is_outer(b, Bits::zero) => number(1, 0),
            RowExpr::Lt(a, b) => Text::infix(self.row(id, a), "<", self.row(id, b)),
        }
    }

    fn is_outer(&self, expression: &RowExpr, make: impl Fn(u32) -> Bits) -> bool {
        matches!(expression, RowExpr::Outer(node) if self.is_constant(*node, make))
    }
}

/// Whether any update changes valid bits.
fn changes_valid(table: &Table) -> bool {
    table.updates.iter().any(|update| match update {
        Update::Write { set_valid, .. } => *set_valid,
        Update::Add { .. } => false,
        Update::ClearRow { .. } | Update::ClearRows { .. } | Update::SetRows { .. } => true,
    })
}

fn and(all: Option<Text>, more: Text) -> Text {
    match all {
        Some(all) => Text::infix(all, "&", more),
        None => more,
    }
}

/// Whether what a read port shows is put together where the table is printed.
pub(crate) fn needs_storage(table: &Table, shown: Shown, style: Style) -> bool {
    matches!(shown, Shown::Field(field) if storage(table, field as usize, style) == Storage::Lanes)
}
