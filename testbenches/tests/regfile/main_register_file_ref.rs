//! Reference of the main register file: banks side by side.
//!
//! §2.1: registers "are interleaved across the register file banks".

use warpfile_hdl::regfile::Geometry;
use warpfile_testbenches::lockstep::{Pins, Reference};

use super::bank_ref::Bank;
use super::traffic::Write;
use super::warp_register::pack;

/// The banks.
#[derive(Clone)]
pub struct MainRegisterFileReference {
    banks: Vec<Bank>,
}

/// One cycle: what is read from each bank, a row in some lanes, and what each writer offers.
#[derive(Clone, Debug)]
pub struct FileCycle {
    pub reads: Vec<Option<(usize, u32)>>,
    pub writes: Vec<Option<Write>>,
}

impl MainRegisterFileReference {
    pub fn new(geometry: Geometry) -> MainRegisterFileReference {
        MainRegisterFileReference { banks: vec![Bank::new(geometry.lanes); geometry.banks] }
    }

    /// The writer that each bank takes: the lowest-numbered of those that address it.
    pub fn taken(&self, writes: &[Option<Write>]) -> Vec<Option<usize>> {
        let banks = self.banks.len();
        let writer_of = |bank| {
            writes.iter().position(|write| write.as_ref().is_some_and(|write| write.register % banks == bank))
        };
        (0..banks).map(writer_of).collect()
    }
}

impl Reference for MainRegisterFileReference {
    type Operation = FileCycle;

    fn inputs(&self, cycle: &FileCycle, inputs: &mut Pins) {
        for (b, read) in cycle.reads.iter().enumerate() {
            let Some((row, lanes)) = *read else { continue };
            inputs.set(&format!("read{b}_valid_i"), 1u8);
            inputs.set(&format!("read{b}_row_i"), row);
            inputs.set(&format!("read{b}_lanes_i"), lanes);
        }
        for (w, write) in cycle.writes.iter().enumerate() {
            let Some(write) = write else { continue };
            inputs.set(&format!("write{w}_valid_i"), 1u8);
            inputs.set(&format!("write{w}_register_i"), write.register);
            inputs.set(&format!("write{w}_lanes_i"), write.lanes);
            inputs.set(&format!("write{w}_value_i"), pack(&write.values));
        }
    }

    fn cycle(&mut self, cycle: &FileCycle, outputs: &mut Pins) {
        let taken = self.taken(&cycle.writes);
        for (w, write) in cycle.writes.iter().enumerate() {
            let (ready, offered) = (taken.contains(&Some(w)), write.is_some());
            outputs.set_known(&format!("write{w}_ready_o"), u8::from(ready), u8::from(offered));
        }
        let banks = self.banks.len();
        for (b, bank) in self.banks.iter_mut().enumerate() {
            bank.value().expect(outputs, &format!("read{b}_value_o"));
            let write = taken[b].and_then(|w| cycle.writes[w].clone());
            let row = write.map(|write| Write { register: write.register / banks, ..write });
            bank.clock(cycle.reads[b], row.as_ref());
        }
    }
}
