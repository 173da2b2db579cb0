//! The wake-up controller beside rows that count down.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::greener::{Rows, WakeUpController};
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::bits;

/// Rows that are not ON, and those that wake up with the cycles that are left.
#[derive(Clone)]
pub struct WakeReference {
    parameters: WakeUpController,
    pub sleeping: BTreeSet<usize>,
    pub off: BTreeSet<usize>,
    waking: BTreeMap<usize, usize>,
    /// Rows that begin next, if there is a limit.
    collected: BTreeSet<usize>,
}

/// What a cycle of the controller comes to.
pub struct Woken {
    pub waking: BTreeSet<usize>,
    pub woken: BTreeSet<usize>,
}

impl WakeReference {
    /// All rows are OFF.
    pub fn new(parameters: &WakeUpController) -> WakeReference {
        WakeReference {
            parameters: parameters.clone(),
            sleeping: BTreeSet::new(),
            off: (0..parameters.file.rows_of_all()).collect(),
            waking: BTreeMap::new(),
            collected: BTreeSet::new(),
        }
    }

    /// Whether a row wakes up.
    pub fn is_waking(&self, row: usize) -> bool {
        self.waking.contains_key(&row)
    }

    /// Rows that begin to wake up of those asked for.
    fn begin(&mut self, asked: &BTreeSet<usize>) -> BTreeSet<usize> {
        let WakeUpController { file, rush_limit, .. } = self.parameters;
        if rush_limit == 0 {
            return asked.clone();
        }
        let waiting: BTreeSet<usize> = self.collected.intersection(asked).copied().collect();
        let of_bank = |bank: usize| waiting.iter().copied().filter(move |row| row / file.rows == bank);
        let begin: BTreeSet<usize> =
            (0..file.banks).flat_map(|bank| of_bank(bank).take(rush_limit)).collect();
        let left: BTreeSet<usize> = waiting.difference(&begin).copied().collect();
        self.collected = if left.is_empty() { asked.difference(&begin).copied().collect() } else { left };
        begin
    }

    /// One cycle; rows that are woken are ON from the next on.
    pub fn step(&mut self, request: &BTreeSet<usize>) -> Woken {
        let asked = request.iter().copied();
        let asked = asked.filter(|row| self.sleeping.contains(row) || self.off.contains(row));
        let asked: BTreeSet<usize> = asked.filter(|row| !self.is_waking(*row)).collect();
        for row in self.begin(&asked) {
            let latency = if self.off.contains(&row) {
                self.parameters.off_latency
            } else {
                self.parameters.sleep_latency
            };
            self.waking.insert(row, latency);
        }
        let waking = self.waking.keys().copied().collect();
        self.waking.values_mut().for_each(|left| *left -= 1);
        let woken: BTreeSet<usize> =
            self.waking.iter().filter(|(_, left)| **left == 0).map(|(row, _)| *row).collect();
        for row in &woken {
            self.waking.remove(row);
            self.sleeping.remove(row);
            self.off.remove(row);
        }
        Woken { waking, woken }
    }
}

/// Rows asked for; rows that went to SLEEP and OFF in the cycle before, as far as they are ON.
type Intent = (BTreeSet<usize>, BTreeSet<usize>, BTreeSet<usize>);

impl WakeReference {
    fn with_down(&self, (_, sleep, off): &Intent) -> WakeReference {
        let mut after = self.clone();
        let is_on = |row: &&usize| !self.sleeping.contains(row) && !self.off.contains(row);
        after.sleeping.extend(sleep.iter().filter(is_on).filter(|row| !off.contains(row)));
        after.off.extend(off.iter().filter(is_on));
        after
    }
}

impl Reference for WakeReference {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        let now = self.with_down(intent);
        inputs.set("request_i", bits(&intent.0));
        inputs.set("sleep_i", bits(&now.sleeping));
        inputs.set("off_i", bits(&now.off));
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        *self = self.with_down(intent);
        let Woken { waking, woken } = self.step(&intent.0);
        outputs.set("waking_o", bits(&waking));
        outputs.set("woken_o", bits(&woken));
    }
}

fn traffic(cycles: usize) -> impl Strategy<Value = (WakeUpController, Vec<Intent>)> {
    let sizes = (1..4_usize, 1..8_usize, 1..6_usize, 1..6_usize, 0..4_usize);
    sizes.prop_flat_map(move |(banks, rows, sleep_latency, off_latency, rush_limit)| {
        let file = Rows { banks, rows };
        let circuit = WakeUpController { file, sleep_latency, off_latency, rush_limit };
        let rows = || btree_set(0..file.rows_of_all(), 0..=file.rows_of_all() / 2);
        (Just(circuit), vec((rows(), rows(), rows()), 1..cycles))
    })
}

fn check(circuit: &WakeUpController, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &WakeReference::new(circuit), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn a_row_is_woken_in_the_latency_of_its_state((circuit, cycles) in traffic(60)) {
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

const SMALL: WakeUpController =
    WakeUpController { file: Rows { banks: 2, rows: 2 }, sleep_latency: 1, off_latency: 2, rush_limit: 0 };

/// However many rows are asked for again and again, with a limit each comes up in the end.
#[test]
fn with_a_limit_no_row_waits_for_ever() {
    let circuit = WakeUpController { file: Rows { banks: 1, rows: 6 }, rush_limit: 1, ..SMALL };
    let all: BTreeSet<usize> = (0..6).collect();
    // What is ON goes down at once, and all are asked for.
    let cycles: Vec<Intent> = (0..60).map(|_| (all.clone(), all.clone(), BTreeSet::new())).collect();
    check(&circuit, Lockstep::default(), &cycles).unwrap();
    let mut reference = WakeReference::new(&circuit);
    let mut woken = BTreeSet::new();
    for intent in &cycles {
        reference = reference.with_down(intent);
        woken.extend(reference.step(&intent.0).woken);
    }
    assert_eq!(woken, all);
}

/// More rows are asked for than may begin, in every bank: the lowest begin, as many as the limit says.
#[test]
fn the_lowest_rows_begin_first() {
    for rush_limit in 1..=3 {
        let file = Rows { banks: 3, rows: 7 };
        let circuit = WakeUpController { file, rush_limit, ..SMALL };
        let all: BTreeSet<usize> = (0..file.rows_of_all()).collect();
        let cycles: Vec<Intent> = (0..20).map(|_| (all.clone(), all.clone(), BTreeSet::new())).collect();
        check(&circuit, Lockstep::default(), &cycles).unwrap();
    }
}

#[test]
fn verilog() {
    let files = emit(&elaborate(&SMALL).unwrap()).modules;
    let text: Vec<String> = files.into_iter().map(|file| file.text).collect();
    insta::assert_snapshot!(text.join("\n"));
}
