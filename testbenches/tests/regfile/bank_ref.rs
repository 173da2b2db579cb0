//! Reference of a register bank: a map from rows to values, and what was read last.
//!
//! §2.1: "multiple dual-ported banks (1 read and 1 write per cycle)".

use std::collections::BTreeMap;

use warpfile_testbenches::lockstep::{Pins, Reference};

use super::traffic::Write;
use super::warp_register::{WarpRegister, pack};

/// Rows of one bank.
#[derive(Clone)]
pub struct Bank {
    lanes: usize,
    rows: BTreeMap<usize, WarpRegister>,
    read: WarpRegister,
}

impl Bank {
    pub fn new(lanes: usize) -> Bank {
        Bank { lanes, rows: BTreeMap::new(), read: WarpRegister::unknown(lanes) }
    }

    /// The row asked for in an earlier cycle, in the lanes that were wanted.
    pub fn value(&self) -> &WarpRegister {
        &self.read
    }

    /// The cycle ends: first the read, which sees the old row, then the write.
    pub fn clock(&mut self, read: Option<(usize, u32)>, write: Option<&Write>) {
        let unknown = WarpRegister::unknown(self.lanes);
        if let Some((row, lanes)) = read {
            self.read = self.rows.get(&row).unwrap_or(&unknown).in_lanes(lanes, None);
        }
        if let Some(write) = write {
            self.rows.entry(write.register).or_insert(unknown).write(write.lanes, &write.values);
        }
    }
}

/// A bank with its writers.
#[derive(Clone)]
pub struct RegisterBankReference {
    pub bank: Bank,
}

/// One cycle: a read of a row in some lanes, and what each writer offers.
#[derive(Clone, Debug)]
pub struct BankCycle {
    pub read: Option<(usize, u32)>,
    pub writes: Vec<Option<Write>>,
}

impl Reference for RegisterBankReference {
    type Operation = BankCycle;

    fn inputs(&self, cycle: &BankCycle, inputs: &mut Pins) {
        if let Some((row, lanes)) = cycle.read {
            inputs.set("read_valid_i", 1u8);
            inputs.set("read_row_i", row);
            inputs.set("read_lanes_i", lanes);
        }
        for (w, write) in cycle.writes.iter().enumerate() {
            let Some(write) = write else { continue };
            inputs.set(&format!("write{w}_valid_i"), 1u8);
            inputs.set(&format!("write{w}_row_i"), write.register);
            inputs.set(&format!("write{w}_lanes_i"), write.lanes);
            inputs.set(&format!("write{w}_value_i"), pack(&write.values));
        }
    }

    fn cycle(&mut self, cycle: &BankCycle, outputs: &mut Pins) {
        self.bank.value().expect(outputs, "value_o");
        let taken = cycle.writes.iter().position(Option::is_some);
        for (w, write) in cycle.writes.iter().enumerate() {
            let offered = u8::from(write.is_some());
            outputs.set_known(&format!("write{w}_ready_o"), u8::from(taken == Some(w)), offered);
        }
        self.bank.clock(cycle.read, taken.and_then(|w| cycle.writes[w].as_ref()));
    }
}
