//! Reference of the register power unit: rows with a state, rows that count down, decoded instructions by warp.

use std::collections::BTreeSet;

use warpfile_hdl::greener::{ENTERS, LEAVES, RegisterPowerUnit, WakeUpController};
use warpfile_testbenches::lockstep::{Pins, Reference};

use super::lookup_table::{Intent as LookupIntent, LookupReference};
use super::sleep_transistors::{Done, Row};
use super::wake_up_controller::WakeReference;
use super::{bits, packed};

/// States by their codes; what is no code is taken as ON.
const OFF: usize = 0;
const SLEEP: usize = 1;

/// An access to a register.
#[derive(Clone, Debug)]
pub struct Access {
    pub warp: usize,
    pub register: usize,
    pub number: usize,
    pub row: usize,
    pub writes: bool,
    pub changes: bool,
    pub codes: [usize; 3],
    pub code: Option<usize>,
}

/// What happens in a cycle; accesses to rows that are not ON and what is contradictory are left out.
#[derive(Clone, Debug)]
pub struct Intent {
    pub accesses: Vec<Option<Access>>,
    pub requested: BTreeSet<usize>,
    pub freed: BTreeSet<usize>,
    /// Its searches are those of the accesses.
    pub lookup: LookupIntent,
}

#[derive(Clone)]
pub struct PowerReference {
    rows: Vec<Row>,
    wake: WakeReference,
    lookup: Option<LookupReference>,
}

impl PowerReference {
    pub fn new(parameters: &RegisterPowerUnit) -> PowerReference {
        let &RegisterPowerUnit { file, sleep_latency, off_latency, rush_limit, .. } = parameters;
        PowerReference {
            rows: vec![Row::Off; file.rows_of_all()],
            wake: WakeReference::new(&WakeUpController { file, sleep_latency, off_latency, rush_limit }),
            lookup: (parameters.entries > 0).then(|| LookupReference::new(&parameters.lookup())),
        }
    }

    /// The accesses that can be made.
    fn accesses<'i>(&self, intent: &'i Intent) -> Vec<Option<&'i Access>> {
        let mut rows = BTreeSet::new();
        let accesses = intent.accesses.iter();
        accesses
            .map(|access| {
                access.as_ref().filter(|access| self.rows[access.row].is_on() && rows.insert(access.row))
            })
            .collect()
    }

    fn freed(&self, intent: &Intent) -> BTreeSet<usize> {
        intent.freed.iter().copied().filter(|row| !self.wake.is_waking(*row)).collect()
    }

    fn requested(&self, intent: &Intent) -> BTreeSet<usize> {
        intent.requested.difference(&self.freed(intent)).copied().collect()
    }

    /// The state that an access sends its row to, and whether a younger instruction keeps it ON.
    fn outcome(&self, access: &Access) -> (usize, bool) {
        let said = access.code.map_or(SLEEP, |code| access.codes[code]);
        let found = self
            .lookup
            .as_ref()
            .is_some_and(|lookup| lookup.finds(access.warp, access.number, access.register));
        (said, found && access.changes)
    }

    fn rows_with(&self, condition: impl Fn(Row) -> bool) -> BTreeSet<usize> {
        (0..self.rows.len()).filter(|row| condition(self.rows[*row])).collect()
    }
}

impl Reference for PowerReference {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        for (port, access) in self.accesses(intent).into_iter().enumerate() {
            let Some(access) = access else { continue };
            let mut set = |name: &str, value: usize| inputs.set(&format!("access{port}_{name}_i"), value);
            set("valid", 1);
            set("writes", usize::from(access.writes));
            set("changes", usize::from(access.changes));
            set("row", access.row);
            set("has_code", usize::from(access.code.is_some()));
            set("code", access.code.unwrap_or(0));
            if self.lookup.is_some() {
                inputs.set(&format!("access{port}_by_warp_i"), access.warp);
                inputs.set(&format!("access{port}_by_register_i"), access.register);
                inputs.set(&format!("access{port}_by_number_i"), access.number);
            }
            inputs.set(&format!("access{port}_codes_i"), packed(&access.codes, 2));
        }
        inputs.set("request_i", bits(&self.requested(intent)));
        inputs.set("free_i", bits(&self.freed(intent)));
        if let Some(lookup) = &self.lookup {
            lookup.set_changes(&intent.lookup, "ended_i", inputs);
        }
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let (freed, requested) = (self.freed(intent), self.requested(intent));
        outputs.set("on_o", bits(&self.rows_with(Row::is_on)));
        outputs.set("sleep_o", bits(&self.rows_with(|row| matches!(row, Row::Sleep { .. }))));
        outputs.set("off_o", bits(&self.rows_with(|row| row == Row::Off)));
        outputs.set("holds_o", bits(&self.rows_with(Row::holds)));
        let mut done = vec![Done::default(); self.rows.len()];
        for (port, access) in self.accesses(intent).into_iter().enumerate() {
            let outcome = access.map(|access| (access, self.outcome(access)));
            let kept = outcome.is_some_and(|(_, (said, kept))| kept && said < 2);
            outputs.set(&format!("access{port}_kept_o"), u8::from(kept));
            if let Some((access, (said, found))) = outcome {
                let done = &mut done[access.row];
                let goes = access.changes && !found;
                done.to_sleep |= goes && said == SLEEP;
                done.to_off |= goes && said == OFF;
                done.written |= access.writes;
            }
        }
        self.wake.sleeping = self.rows_with(|row| matches!(row, Row::Sleep { .. }));
        self.wake.off = self.rows_with(|row| row == Row::Off);
        let woken = self.wake.step(&requested);
        outputs.set("waking_o", bits(&woken.waking));
        for (row, (state, done)) in self.rows.iter_mut().zip(done).enumerate() {
            let done = Done {
                woken: woken.woken.contains(&row),
                requested: requested.contains(&row),
                freed: freed.contains(&row),
                ..done
            };
            *state = state.after(done);
        }
        if let Some(lookup) = &mut self.lookup {
            for (port, entered) in lookup.change(&intent.lookup).into_iter().enumerate() {
                outputs.set(&format!("enter{port}_entered_o"), u8::from(entered));
            }
        }
    }
}

/// Ports that enter and leave.
pub const PORTS: (usize, usize) = (ENTERS, LEAVES);
