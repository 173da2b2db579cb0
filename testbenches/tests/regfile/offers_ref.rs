//! What is offered to a register file in a cycle, and what its references share.

use warpfile_hdl::regfile::{Geometry, SOURCES};
use warpfile_testbenches::lockstep::Pins;

use super::collectors_ref::{Arrival, Collectors, Held};
use super::traffic::Write;
use super::warp_register::{WarpRegister, pack};

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    pub id: usize,
    pub unit: usize,
    pub active: u32,
    pub sources: [Option<usize>; SOURCES],
}

impl Instruction {
    /// The inputs of the port of this name.
    pub fn set(&self, inputs: &mut Pins, name: &str) {
        inputs.set(&format!("{name}_valid_i"), 1u8);
        inputs.set(&format!("{name}_id_i"), self.id);
        inputs.set(&format!("{name}_unit_i"), self.unit);
        inputs.set(&format!("{name}_active_i"), self.active);
        for (k, source) in self.sources.iter().enumerate() {
            let Some(register) = *source else { continue };
            inputs.set(&format!("{name}_source{k}_valid_i"), 1u8);
            inputs.set(&format!("{name}_source{k}_register_i"), register);
        }
    }

    /// As it comes to the collectors.
    pub fn arrival(&self) -> Arrival {
        let sources = self.sources.map(|source| source.map(|register| (register, self.active)));
        Arrival { id: self.id, unit: self.unit, sources }
    }

    /// Its operands.
    pub fn values(&self, registers: &[WarpRegister], lanes: usize) -> [WarpRegister; SOURCES] {
        self.sources.map(|source| match source {
            Some(register) => registers[register].in_lanes(self.active, Some(0)),
            None => WarpRegister::zero(lanes),
        })
    }
}

/// A group of collectors.
#[derive(Clone)]
pub struct Group {
    pub collectors: Collectors,
    /// Operands of the instruction in each collector.
    pub operands: Vec<[WarpRegister; SOURCES]>,
    /// What was dispatched in the cycle before.
    pub left: Option<Held>,
}

impl Group {
    pub fn new(geometry: Geometry, collectors: usize, access_cycles: usize) -> Group {
        let unknown = WarpRegister::unknown(geometry.lanes);
        Group {
            collectors: Collectors::new(geometry.banks, collectors, access_cycles),
            operands: vec![[(); SOURCES].map(|()| unknown.clone()); collectors],
            left: None,
        }
    }
}

/// Instructions in program order, from the first port on, and writes by port.
#[derive(Clone, Debug)]
pub struct Offers<const WRITERS: usize> {
    pub issues: Vec<Instruction>,
    pub writes: [Option<Write>; WRITERS],
}

impl<const WRITERS: usize> Default for Offers<WRITERS> {
    fn default() -> Self {
        Offers { issues: Vec::new(), writes: [const { None }; WRITERS] }
    }
}

impl<const WRITERS: usize> Offers<WRITERS> {
    /// These, which have not been taken, and what is wanted at the other ports, within what the scoreboard of the
    /// harness allows: of writes to one register one is under way, and no instruction that reads a register is offered
    /// beside a write to it. An instruction without executing lanes reads nothing.
    pub fn with<const WAYS: usize>(
        &self,
        issues: &[Option<Instruction>; WAYS],
        writes: &[Option<Write>; WRITERS],
    ) -> Self {
        let mut offers = self.clone();
        for (w, write) in writes.iter().enumerate() {
            let Some(write) = write else { continue };
            let hazard = offers.issues.iter().any(|issue| issue.sources.contains(&Some(write.register)))
                || offers.writes.iter().flatten().any(|other| other.register == write.register);
            if offers.writes[w].is_none() && !hazard && write.lanes != 0 {
                offers.writes[w] = Some(write.clone());
            }
        }
        for wanted in issues.iter().flatten() {
            if offers.issues.len() == WAYS {
                break;
            }
            offers.issues.push(offers.allowed(wanted));
        }
        offers
    }

    /// An instruction as it may be offered beside these writes.
    pub fn allowed(&self, wanted: &Instruction) -> Instruction {
        let mut issue = wanted.clone();
        for source in &mut issue.sources {
            let written = |register| self.writes.iter().flatten().any(|write| write.register == register);
            *source = source.filter(|&register| issue.active != 0 && !written(register));
        }
        issue
    }

    /// The inputs of the ports of these names.
    pub fn set(&self, inputs: &mut Pins, issues: &[&str], writers: [&str; WRITERS]) {
        for (name, issue) in issues.iter().zip(&self.issues) {
            issue.set(inputs, name);
        }
        for (name, write) in writers.iter().zip(&self.writes) {
            let Some(write) = write else { continue };
            inputs.set(&format!("{name}_valid_i"), 1u8);
            inputs.set(&format!("{name}_register_i"), write.register);
            inputs.set(&format!("{name}_lanes_i"), write.lanes);
            inputs.set(&format!("{name}_value_i"), pack(&write.values));
        }
    }

    /// Whether each offered write is taken: no earlier instruction has still to read the register, and no lower-numbered
    /// writer has the port of its bank. Says so at the ports of these names.
    pub fn writes_taken(
        &self,
        banks: usize,
        has_still_to_read: impl Fn(usize) -> bool,
        outputs: &mut Pins,
        writers: [&str; WRITERS],
    ) -> [bool; WRITERS] {
        let mut ports = vec![true; banks];
        let taken = self.writes.each_ref().map(|write| {
            write.as_ref().is_some_and(|write| {
                let bank = write.register % banks;
                let taken = ports[bank] && !has_still_to_read(write.register);
                ports[bank] &= !taken;
                taken
            })
        });
        for (w, name) in writers.iter().enumerate() {
            let offered = u8::from(self.writes[w].is_some());
            outputs.set_known(&format!("{name}_ready_o"), u8::from(taken[w]), offered);
        }
        taken
    }

    /// Writes what is taken.
    pub fn write(&mut self, taken: [bool; WRITERS], registers: &mut [WarpRegister]) {
        for (write, taken) in self.writes.iter_mut().zip(taken) {
            if let Some(write) = write.take_if(|_| taken) {
                registers[write.register].write(write.lanes, &write.values);
            }
        }
    }
}

/// The instruction that is dispatched at the port of this name.
pub fn dispatch(name: &str, dispatched: Option<&Held>, outputs: &mut Pins) {
    outputs.set(&format!("{name}_valid_o"), u8::from(dispatched.is_some()));
    if let Some(held) = dispatched {
        outputs.set(&format!("{name}_id_o"), held.id);
        outputs.set(&format!("{name}_unit_o"), held.unit);
    }
}

/// Operands, by collector, of the instruction that left in the cycle before, at the port of this name.
pub fn deliver(name: &str, left: Option<&Held>, operands: &[[WarpRegister; SOURCES]], outputs: &mut Pins) {
    outputs.set(&format!("{name}_valid_o"), u8::from(left.is_some()));
    let Some(left) = left else { return };
    outputs.set(&format!("{name}_id_o"), left.id);
    for (k, value) in operands[left.collector].iter().enumerate() {
        value.expect(outputs, &format!("{name}_source{k}_o"));
    }
}
