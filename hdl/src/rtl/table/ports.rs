//! What reads and writes give back: the row that is read, the write that can still be masked.

use std::ops::Deref;

use super::record::by_place;
use super::{Record, Table};
use crate::rtl::builder::{POISON, caller};
use crate::rtl::error::Problem;
use crate::rtl::netlist::{Op, SourceLine, Update};
use crate::rtl::signal::Signal;

/// What a read port sees: its fields are those of the record.
#[derive(Clone, Copy)]
pub struct Read<'m, R: Record> {
    table: Table<'m, R>,
    port: u32,
    fields: R::With<Signal<'m>>,
}

impl<'m, R: Record> Deref for Read<'m, R> {
    type Target = R::With<Signal<'m>>;

    fn deref(&self) -> &Self::Target {
        &self.fields
    }
}

impl<'m, R: Record> Read<'m, R> {
    /// The port `port` of `table`.
    pub(super) fn new(table: Table<'m, R>, port: u32, source: SourceLine) -> Read<'m, R> {
        let fields = by_place::<R, _>(|field| {
            let Some(id) = table.id else { return table.poison() };
            table.m.make(|b| {
                let width = b.module.tables[id.index()].fields[field as usize].width;
                b.node(Op::TableRead { table: id, port, field }, width, source)
            })
        });
        Read { table, port, fields }
    }

    /// Says which lanes are wanted, one bit a lane. A clocked port captures the physical arrays with a wanted lane and
    /// holds what it shows of the others. A combinational port shows the whole row: the lanes count for activity only.
    #[track_caller]
    pub fn lanes(self, lanes: Signal<'m>) -> Read<'m, R> {
        let source = caller();
        self.table.edit(|b, id| {
            let name = b.module.tables[id.index()].reads[self.port as usize].name.clone();
            let lanes = b.lane_mask(id, lanes.id, &name, source);
            b.module.tables[id.index()].reads[self.port as usize].lanes = lanes;
        });
        self
    }

    /// The valid bit of the row.
    #[track_caller]
    pub fn valid(self) -> Signal<'m> {
        let source = caller();
        let Some(id) = self.table.id else { return self.table.poison() };
        self.table.m.make(|b| match b.has_valid_bits(id, source) {
            true => b.node(Op::TableReadValid { table: id, port: self.port }, 1, source),
            false => POISON,
        })
    }
}

/// A write port just made.
#[derive(Clone)]
pub struct Write<'m, R: Record> {
    pub(super) table: Table<'m, R>,
    pub(super) name: String,
    pub(super) update: Option<usize>,
}

impl<'m, R: Record> Write<'m, R> {
    /// Writes only the lanes whose bit is 1, in every field that has lanes.
    #[track_caller]
    pub fn lanes(self, mask: Signal<'m>) -> Write<'m, R> {
        let source = caller();
        self.table.edit(|b, id| {
            let mask = b.lane_mask(id, mask.id, &self.name, source);
            let table = &mut b.module.tables[id.index()];
            let Some(Update::Write { fields, .. }) = self.update.and_then(|u| table.updates.get_mut(u))
            else {
                return;
            };
            let plan = &b.table_plans[id.index()];
            let mut laned = fields.iter_mut().filter(|w| plan.laned[w.field as usize]).peekable();
            let nothing_to_mask = laned.peek().is_none();
            for write in laned {
                write.lanes = mask;
            }
            if nothing_to_mask && mask.is_some() {
                b.error(source, Problem::NoLanes { place: format!("the write `{}`", self.name) });
            }
        });
        self
    }

    /// Leaves the row's valid bit as it is.
    pub fn keep_valid(self) -> Write<'m, R> {
        self.table.edit(|b, id| {
            let updates = &mut b.module.tables[id.index()].updates;
            if let Some(Update::Write { set_valid, .. }) = self.update.and_then(|u| updates.get_mut(u)) {
                *set_valid = false;
            }
        });
        self
    }
}
