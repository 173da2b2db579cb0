//! The sleep-transistor control beside a state for each row.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::greener::{Rows, SleepTransistors};
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::bits;

/// State of a row, and whether it holds a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    Off,
    Sleep { holds: bool },
    On { holds: bool },
}

impl Row {
    pub fn is_on(self) -> bool {
        matches!(self, Row::On { .. })
    }

    pub fn holds(self) -> bool {
        matches!(self, Row::On { holds: true } | Row::Sleep { holds: true })
    }
}

/// What is done to a row in a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Done {
    pub woken: bool,
    pub to_sleep: bool,
    pub to_off: bool,
    pub requested: bool,
    pub freed: bool,
    pub written: bool,
}

impl Row {
    /// §4.1.1: a row that is asked for stays up, one that has no warp is OFF.
    pub fn after(self, done: Done) -> Row {
        let goes_down = !done.requested;
        let holds = self.holds() || done.written;
        match self {
            _ if done.freed || (done.to_off && goes_down) => Row::Off,
            Row::On { .. } if done.to_sleep && goes_down => Row::Sleep { holds },
            Row::On { .. } => Row::On { holds },
            Row::Sleep { .. } | Row::Off if done.woken => Row::On { holds: self.holds() },
            Row::Sleep { .. } | Row::Off => self,
        }
    }
}

#[derive(Clone)]
struct Transistors(Vec<Row>);

/// What is asked for; what is contradictory is left out.
#[derive(Clone, Debug)]
struct Intent {
    woken: BTreeSet<usize>,
    to_sleep: BTreeSet<usize>,
    to_off: BTreeSet<usize>,
    requested: BTreeSet<usize>,
    freed: BTreeSet<usize>,
    read: BTreeSet<usize>,
    written: BTreeSet<usize>,
}

impl Transistors {
    fn done(&self, intent: &Intent) -> Vec<Done> {
        let has = |set: &BTreeSet<usize>, row: usize| set.contains(&row);
        let of = |(row, state): (usize, &Row)| Done {
            woken: has(&intent.woken, row) && !has(&intent.to_sleep, row) && !has(&intent.to_off, row),
            to_sleep: has(&intent.to_sleep, row),
            to_off: has(&intent.to_off, row),
            requested: has(&intent.requested, row),
            freed: has(&intent.freed, row),
            written: has(&intent.written, row) && state.is_on(),
        };
        self.0.iter().enumerate().map(of).collect()
    }

    fn rows(&self, condition: impl Fn(Row) -> bool) -> BTreeSet<usize> {
        (0..self.0.len()).filter(|row| condition(self.0[*row])).collect()
    }
}

fn rows_with(done: &[Done], condition: impl Fn(&Done) -> bool) -> BTreeSet<usize> {
    (0..done.len()).filter(|row| condition(&done[*row])).collect()
}

impl Reference for Transistors {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        let done = self.done(intent);
        let read = intent.read.iter().copied().filter(|row| self.0[*row].is_on()).collect();
        inputs.set("woken_i", bits(&rows_with(&done, |done| done.woken)));
        inputs.set("to_sleep_i", bits(&rows_with(&done, |done| done.to_sleep)));
        inputs.set("to_off_i", bits(&rows_with(&done, |done| done.to_off)));
        inputs.set("request_i", bits(&rows_with(&done, |done| done.requested)));
        inputs.set("free_i", bits(&rows_with(&done, |done| done.freed)));
        inputs.set("write_i", bits(&rows_with(&done, |done| done.written)));
        inputs.set("read_i", bits(&read));
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        outputs.set("on_o", bits(&self.rows(Row::is_on)));
        outputs.set("sleep_o", bits(&self.rows(|row| matches!(row, Row::Sleep { .. }))));
        outputs.set("off_o", bits(&self.rows(|row| row == Row::Off)));
        outputs.set("holds_o", bits(&self.rows(Row::holds)));
        let done = self.done(intent);
        self.0.iter_mut().zip(done).for_each(|(row, done)| *row = row.after(done));
    }
}

fn traffic(cycles: usize) -> impl Strategy<Value = (SleepTransistors, Vec<Intent>)> {
    (1..4_usize, 1..7_usize).prop_flat_map(move |(banks, rows)| {
        let file = Rows { banks, rows };
        let all = file.rows_of_all();
        let some = || btree_set(0..all, 0..=all / 2);
        let few = || btree_set(0..all, 0..=all / 4);
        let sets = (some(), some(), few(), some(), few(), some(), some());
        let intent = sets.prop_map(|(woken, to_sleep, to_off, requested, freed, read, written)| Intent {
            woken,
            to_sleep,
            to_off,
            requested,
            freed,
            read,
            written,
        });
        (Just(SleepTransistors { file }), vec(intent, 1..cycles))
    })
}

fn check(circuit: &SleepTransistors, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    let reference = Transistors(vec![Row::Off; circuit.file.rows_of_all()]);
    how.run(&elaborate(circuit).unwrap(), &reference, cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn a_row_goes_where_it_is_sent_and_loses_its_value_when_off((circuit, cycles) in traffic(60)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, cycles) in traffic(40)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }
}

#[test]
fn verilog() {
    let files = emit(&elaborate(&SleepTransistors { file: Rows { banks: 2, rows: 2 } }).unwrap()).modules;
    let text: Vec<String> = files.into_iter().map(|file| file.text).collect();
    insta::assert_snapshot!(text.join("\n"));
}
