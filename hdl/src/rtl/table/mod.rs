//! Tables: rows of a record, with read, write and associative ports.

mod checks;
mod ports;
mod record;
mod row;

use std::marker::PhantomData;

use self::checks::PortKind;
use super::builder::{ModuleBuilder, POISON, caller};
use super::error::Problem;
use super::module::Module;
use super::netlist::{self, FieldWrite, MatchPort, NodeId, Op, ReadPort, SourceLine, TableId, Update};
use super::operand::Operand;
use super::signal::Signal;
use super::vector::index_bits;

pub(super) use self::checks::TablePlan;
pub use self::ports::{Read, Write};
use self::record::by_place;
pub use self::record::{Field, FieldShape, Record};
pub use self::row::{Row, RowOperand, RowSignal};

/// A table of a module, with rows of a [`Record`]:
///
/// ```
/// # use warpfile_hdl::rtl::{Field, In, Module, Ports, Record};
/// # #[derive(Ports)]
/// # struct Request<'m> { valid_i: In<'m>, tag_i: In<'m>, row_i: In<'m>, lanes_i: In<'m>, data_i: In<'m> }
/// #[derive(Clone, Copy, Record)]
/// struct Line<T = Field> {
///     #[bits(12)]
///     tag: T,
///     #[bits(1024)]
///     #[lanes(32)]
///     data: T,
/// }
/// # fn example<'m>(m: &Module<'m>, lookup: &Request<'m>, fill: &Request<'m>) {
/// let lines = m.table::<Line>("lines", 64, &()).valid_bits().ports(1, 1);
/// let hits = lines.matching("lookup", lookup.valid_i, |row| row.valid() & row.tag.eq(lookup.tag_i));
/// let line = lines.read("line", hits.priority_encode(), hits.any()).data;
/// m.when(fill.valid_i, || {
///     lines.write("fill", fill.row_i, Line { tag: fill.tag_i, data: fill.data_i }).lanes(fill.lanes_i);
/// });
/// # }
/// ```
///
/// Every call of `read`, `read_clocked`, `matching`, `write` and `add` is one physical port with a name. A read
/// sees the rows as they were before this cycle's updates; updates take effect in program order. A read
/// outside the depth gives 0, a write outside it is dropped.
#[derive(Clone, Copy)]
pub struct Table<'m, R: Record> {
    m: Module<'m>,
    /// `None` after an error that leaves no table.
    id: Option<TableId>,
    depth: usize,
    record: PhantomData<fn() -> R>,
}

impl<'m, R: Record> Table<'m, R> {
    pub(super) fn new(
        m: Module<'m>,
        name: String,
        depth: usize,
        params: &R::Params,
        source: SourceLine,
    ) -> Table<'m, R> {
        let b = &mut *m.arena.borrow_mut();
        b.take_name(&name, "table", source);
        let id = b.size(|| format!("the depth of table `{name}`"), depth, source).map(|rows| {
            let id = TableId(b.module.tables.len() as u32);
            b.module.tables.push(netlist::Table {
                name,
                depth: rows,
                address_bits: index_bits(depth) as u32,
                fields: Vec::new(),
                has_valid: false,
                reads: Vec::new(),
                matches: Vec::new(),
                updates: Vec::new(),
                source,
            });
            b.table_plans.push(TablePlan::default());
            id
        });
        let mut usable = true;
        if let Some(id) = id {
            for shape in R::fields(params) {
                usable &= b.add_field(id, shape, source);
            }
        }
        Table { m, id: id.filter(|_| usable), depth, record: PhantomData }
    }

    // What is there beside the records.

    /// One valid bit a row, kept apart from the rows, 0 after reset; set by writes.
    #[track_caller]
    pub fn valid_bits(self) -> Table<'m, R> {
        let source = caller();
        self.edit(|b, id| {
            b.module.tables[id.index()].has_valid = true;
            b.check_valid_is_no_field(id, source);
        });
        self
    }

    /// Declares the ports there are room for; one more is an error. Associative ports are not counted.
    pub fn ports(self, reads: usize, writes: usize) -> Table<'m, R> {
        self.edit(|b, id| b.table_plans[id.index()].ports = Some((reads, writes)));
        self
    }

    // Sizes.

    /// Rows.
    pub fn depth(self) -> usize {
        self.depth
    }

    /// Bits of an address.
    pub fn index_bits(self) -> usize {
        index_bits(self.depth)
    }

    // Reading.

    /// A read port that sees the row in the same cycle. `enable` (one bit) says when the port is used, which
    /// is what activity counts; the value does not depend on it. Inside `when`, its condition is joined to
    /// `enable`, here and for the other ports that have one.
    #[track_caller]
    pub fn read(self, name: impl Into<String>, address: Signal<'m>, enable: impl Operand<'m>) -> Read<'m, R> {
        self.add_read(name.into(), address, enable, false)
    }

    /// A read port that captures the row at the clock edge where `enable` (one bit) is 1, and holds it.
    #[track_caller]
    pub fn read_clocked(
        self,
        name: impl Into<String>,
        address: Signal<'m>,
        enable: impl Operand<'m>,
    ) -> Read<'m, R> {
        self.add_read(name.into(), address, enable, true)
    }

    /// An associative port: one bit a row, 1 where `condition` holds for it. `enable` (one bit) says when the
    /// port is used, as for [`read`](Table::read).
    ///
    /// A row's signals cannot leave the condition:
    ///
    /// ```compile_fail
    /// use warpfile_hdl::rtl::{Module, Record, Table};
    /// fn leak<'m, R: Record>(m: &Module<'m>, table: Table<'m, R>) {
    ///     let mut kept = None;
    ///     table.matching("leak", m.lit(1, 1), |row| { kept = Some(row.valid()); row.valid() });
    /// }
    /// ```
    #[track_caller]
    pub fn matching(
        self,
        name: impl Into<String>,
        enable: impl Operand<'m>,
        condition: impl for<'r> FnOnce(Row<'r, 'm, R>) -> RowSignal<'r, 'm>,
    ) -> Signal<'m> {
        let (source, name) = (caller(), name.into());
        let enable = self.enable(enable, source);
        let Some(id) = self.id else { return self.poison() };
        let (condition, width) = condition(Row::new(self.m, id)).into_parts();
        self.m.make(|b| {
            if let Some(problem) = (width != 1).then(|| Problem::Width {
                place: format!("the condition of `matching(\"{name}\")`"),
                needed: 1,
                value: "the expression".to_string(),
                found: width,
            }) {
                return b.error(source, problem);
            }
            b.take_port_name(id, &name, source);
            let table = &mut b.module.tables[id.index()];
            let (port, depth) = (table.matches.len() as u32, table.depth);
            table.matches.push(MatchPort { name, enable, condition, source });
            b.node(Op::TableMatch { table: id, port }, depth, source)
        })
    }

    /// All valid bits, bit `i` for row `i`.
    #[track_caller]
    pub fn valid_rows(self) -> Signal<'m> {
        let source = caller();
        let Some(id) = self.id else { return self.poison() };
        self.m.make(|b| {
            if !b.has_valid_bits(id, source) {
                return POISON;
            }
            let depth = b.module.tables[id.index()].depth;
            b.node(Op::TableValid(id), depth, source)
        })
    }

    // Updates: at the clock edge, in program order, under the conditions of `when`.

    /// A write port: one row, and its valid bit if the table has them. See [`Write`] for lane masks.
    #[track_caller]
    pub fn write(
        self,
        name: impl Into<String>,
        address: Signal<'m>,
        row: R::With<Signal<'m>>,
    ) -> Write<'m, R> {
        let fields = R::list(&row).into_iter().zip(0..).map(|(value, place)| (Field(place), value));
        self.write_row(name.into(), address, fields)
    }

    /// As [`write`](Table::write), of the fields that `fields` names; the others keep their value:
    ///
    /// ```
    /// # use warpfile_hdl::rtl::{Field, Module, Record, Signal, Table};
    /// # #[derive(Clone, Copy, Record)]
    /// # struct Line<T = Field> { tag: T, dirty: T }
    /// # fn example<'m>(m: &Module<'m>, lines: Table<'m, Line>, row: Signal<'m>) {
    /// lines.write_fields("clean", row, |line| [(line.dirty, m.lit(1, 0))]).keep_valid();
    /// # }
    /// ```
    #[track_caller]
    pub fn write_fields<F: IntoIterator<Item = (Field, Signal<'m>)>>(
        self,
        name: impl Into<String>,
        address: Signal<'m>,
        fields: impl FnOnce(R::With<Field>) -> F,
    ) -> Write<'m, R> {
        self.write_row(name.into(), address, fields(by_place::<R, Field>(Field)))
    }

    /// A port that adds `amount` to a field of one row, modulo its width. Several additions to one row in one
    /// cycle all count.
    #[track_caller]
    pub fn add(
        self,
        name: impl Into<String>,
        address: Signal<'m>,
        field: impl FnOnce(R::With<Field>) -> Field,
        amount: impl Operand<'m>,
    ) {
        let (source, name) = (caller(), name.into());
        let enable = self.always(source);
        let address = self.address(address, &name, source);
        let Some((field, amount)) =
            self.field_value(field(by_place::<R, Field>(Field)), amount, &name, source)
        else {
            return;
        };
        self.edit(|b, id| {
            b.take_port_name(id, &name, source);
            b.count_port(id, &name, PortKind::Write, source);
            b.module.tables[id.index()].updates.push(Update::Add { name, address, enable, field, amount });
        });
    }

    /// Makes one row invalid.
    #[track_caller]
    pub fn clear_row(self, address: Signal<'m>) {
        let source = caller();
        let enable = self.always(source);
        let address = self.address(address, "clear_row", source);
        self.update_valid(Update::ClearRow { address, enable }, source);
    }

    /// Makes the rows invalid whose bit in `rows` is 1.
    #[track_caller]
    pub fn clear_rows(self, rows: impl Operand<'m>) {
        let source = caller();
        let enable = self.always(source);
        let rows = self.row_mask(rows, source);
        self.update_valid(Update::ClearRows { rows, enable }, source);
    }

    /// Makes the rows valid whose bit in `rows` is 1.
    #[track_caller]
    pub fn set_rows(self, rows: impl Operand<'m>) {
        let source = caller();
        let enable = self.always(source);
        let rows = self.row_mask(rows, source);
        self.update_valid(Update::SetRows { rows, enable }, source);
    }

    /// Makes every row invalid.
    #[track_caller]
    pub fn clear_valid(self) {
        if self.id.is_some() {
            self.clear_rows(self.m.ones(self.depth));
        }
    }

    // Helpers.

    fn with<T>(self, f: impl FnOnce(&mut ModuleBuilder, TableId) -> T) -> Option<T> {
        self.id.map(|id| f(&mut self.m.arena.borrow_mut(), id))
    }

    fn edit(self, f: impl FnOnce(&mut ModuleBuilder, TableId)) {
        self.with(f);
    }

    fn poison(self) -> Signal<'m> {
        self.m.make(|_| POISON)
    }

    #[track_caller]
    fn write_row(
        self,
        name: String,
        address: Signal<'m>,
        fields: impl IntoIterator<Item = (Field, Signal<'m>)>,
    ) -> Write<'m, R> {
        let source = caller();
        let enable = self.always(source);
        let address = self.address(address, &name, source);
        let fields: Vec<(u32, NodeId)> = fields
            .into_iter()
            .filter_map(|(field, value)| self.field_value(field, value, &name, source))
            .collect();
        self.edit(|b, id| {
            b.take_port_name(id, &name, source);
            b.count_port(id, &name, PortKind::Write, source);
            let duplicate = (1..fields.len()).find(|&i| fields[..i].iter().any(|f| f.0 == fields[i].0));
            let table = &mut b.module.tables[id.index()];
            if let Some(i) = duplicate {
                let name = table.fields[fields[i].0 as usize].name.clone();
                b.error(source, Problem::DuplicateName { name, kind: "field of this write" });
                return;
            }
            let writes = fields.iter().map(|&(field, value)| FieldWrite { field, value, lanes: None });
            let (fields, set_valid) = (writes.collect(), table.has_valid);
            table.updates.push(Update::Write { name: name.clone(), address, enable, fields, set_valid });
        });
        let update = self.with(|b, id| b.module.tables[id.index()].updates.len().checked_sub(1)).flatten();
        Write { table: self, name, update }
    }

    #[track_caller]
    fn add_read(
        self,
        name: String,
        address: Signal<'m>,
        enable: impl Operand<'m>,
        clocked: bool,
    ) -> Read<'m, R> {
        let source = caller();
        let enable = self.enable(enable, source);
        let address = self.address(address, &name, source);
        let port = self.with(|b, id| {
            b.take_port_name(id, &name, source);
            b.count_port(id, &name, PortKind::Read, source);
            let reads = &mut b.module.tables[id.index()].reads;
            reads.push(ReadPort { name, address, enable, lanes: None, clocked, source });
            reads.len() as u32 - 1
        });
        Read::new(self, port.unwrap_or(0), source)
    }

    /// `enable` joined with the conditions of `when`.
    #[track_caller]
    fn enable(self, enable: impl Operand<'m>, source: SourceLine) -> NodeId {
        let one = self.m.lit(1, 1);
        let enable = enable.signal_beside(one).one_bit("an enable");
        self.m.make(|b| b.enabled(enable.id, source)).id
    }

    /// The conditions of `when`.
    fn always(self, source: SourceLine) -> NodeId {
        self.m
            .make(|b| {
                let one = b.always(source);
                b.enabled(one, source)
            })
            .id
    }

    fn address(self, address: Signal<'m>, port: &str, source: SourceLine) -> NodeId {
        if self.id.is_none() {
            return POISON;
        }
        let needed = self.index_bits() as u32;
        let place = || format!("the address of `{port}`");
        self.m.make(|b| b.of_width(address.id, needed, place, source)).id
    }

    #[track_caller]
    fn row_mask(self, rows: impl Operand<'m>, source: SourceLine) -> NodeId {
        if self.id.is_none() {
            return POISON;
        }
        let rows = rows.signal_beside(self.m.ones(self.depth));
        let place = || "a mask of rows".to_string();
        self.m.make(|b| b.of_width(rows.id, self.depth as u32, place, source)).id
    }

    fn update_valid(self, update: Update, source: SourceLine) {
        self.edit(|b, id| {
            if b.has_valid_bits(id, source) {
                b.module.tables[id.index()].updates.push(update);
            }
        });
    }

    /// The place of a field, with a value of its width.
    #[track_caller]
    fn field_value(
        self,
        Field(place): Field,
        value: impl Operand<'m>,
        port: &str,
        source: SourceLine,
    ) -> Option<(u32, NodeId)> {
        let (name, width) = self.with(|b, id| {
            let field = &b.module.tables[id.index()].fields[place as usize];
            (field.name.clone(), field.width)
        })?;
        let value = value.signal_beside(self.m.lit(width as usize, 0));
        let describe = || format!("field `{name}` of `{port}`");
        Some((place, self.m.make(|b| b.of_width(value.id, width, describe, source)).id))
    }
}
