//! Reference of the banked register file: an operand is what its register held when the instruction was taken.
//!
//! When operands are out and which writes wait is as Fig. 3(a) and [`Collectors`] say; what is in the operands does
//! not depend on that, for a write waits until earlier instructions have read the register.

use warpfile_hdl::regfile::{BankedRegisterFile, SOURCES};
use warpfile_testbenches::lockstep::{Pins, Reference};

use super::collectors_ref::{Arrival, Collectors, Held};
use super::traffic::{Write, registers};
use super::warp_register::{WarpRegister, pack};

/// Result of a short operation, then of a long-latency operation.
const WRITERS: [&str; 2] = ["result", "fill"];

#[derive(Clone)]
pub struct BankedRegisterFileReference {
    banks: usize,
    lanes: usize,
    registers: Vec<WarpRegister>,
    collectors: Collectors,
    /// Operands of the instruction in each collector.
    operands: Vec<[WarpRegister; SOURCES]>,
    /// What was dispatched in the cycle before.
    left: Option<Held>,
    /// Offers that have not been taken are repeated.
    pending: Offers,
}

/// What happens in a cycle, as far as the contract and earlier offers allow it.
#[derive(Clone, Debug)]
pub struct Intent {
    pub issue: Option<Instruction>,
    pub writes: [Option<Write>; 2],
    pub ready_units: u32,
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Instruction {
    pub id: usize,
    pub unit: usize,
    pub active: u32,
    pub sources: [Option<usize>; SOURCES],
}

/// What is offered in a cycle.
#[derive(Clone, Debug, Default)]
struct Offers {
    issue: Option<Instruction>,
    writes: [Option<Write>; 2],
}

impl BankedRegisterFileReference {
    pub fn new(parameters: &BankedRegisterFile) -> BankedRegisterFileReference {
        let BankedRegisterFile { geometry, collectors, access_cycles, .. } = *parameters;
        let unknown = WarpRegister::unknown(geometry.lanes);
        BankedRegisterFileReference {
            banks: geometry.banks,
            lanes: geometry.lanes,
            registers: vec![unknown.clone(); registers(geometry)],
            collectors: Collectors::new(geometry.banks, collectors, access_cycles),
            operands: vec![[(); SOURCES].map(|()| unknown.clone()); collectors],
            left: None,
            pending: Offers::default(),
        }
    }

    /// The intent within what the scoreboard of the harness allows: of writes to one register one is under way,
    /// and no instruction that reads a register is offered beside a write to it. An instruction without executing
    /// lanes reads nothing.
    fn offers(&self, intent: &Intent) -> Offers {
        let mut offers = self.pending.clone();
        for (w, write) in intent.writes.iter().enumerate() {
            let Some(write) = write else { continue };
            let waits_for_it = |issue: &Instruction| issue.sources.contains(&Some(write.register));
            let hazard = offers.issue.as_ref().is_some_and(waits_for_it)
                || offers.writes.iter().flatten().any(|other| other.register == write.register);
            if offers.writes[w].is_none() && !hazard && write.lanes != 0 {
                offers.writes[w] = Some(write.clone());
            }
        }
        if let (None, Some(wanted)) = (&offers.issue, &intent.issue) {
            let mut issue = wanted.clone();
            for source in &mut issue.sources {
                let written = |register| offers.writes.iter().flatten().any(|w| w.register == register);
                *source = source.filter(|&register| issue.active != 0 && !written(register));
            }
            offers.issue = Some(issue);
        }
        offers
    }

    /// Whether each offered write is taken: no earlier instruction has still to read the register, and no
    /// lower-numbered writer has the port of its bank.
    fn taken(&self, writes: &[Option<Write>; 2]) -> [bool; 2] {
        let mut ports = vec![true; self.banks];
        writes.each_ref().map(|write| {
            write.as_ref().is_some_and(|write| {
                let bank = write.register % self.banks;
                let taken = ports[bank] && !self.collectors.has_still_to_read(write.register);
                ports[bank] &= !taken;
                taken
            })
        })
    }

    fn values(&self, issue: &Instruction) -> [WarpRegister; SOURCES] {
        issue.sources.map(|source| match source {
            Some(register) => self.registers[register].in_lanes(issue.active, Some(0)),
            None => WarpRegister::zero(self.lanes),
        })
    }

    fn deliver(&self, outputs: &mut Pins) {
        outputs.set("operands_valid_o", u8::from(self.left.is_some()));
        let Some(left) = &self.left else { return };
        outputs.set("operands_id_o", left.id);
        for (k, value) in self.operands[left.collector].iter().enumerate() {
            value.expect(outputs, &format!("operands_source{k}_o"));
        }
    }
}

impl Reference for BankedRegisterFileReference {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        let offers = self.offers(intent);
        inputs.set("unit_ready_i", intent.ready_units);
        if let Some(issue) = &offers.issue {
            inputs.set("issue_valid_i", 1u8);
            inputs.set("issue_id_i", issue.id);
            inputs.set("issue_unit_i", issue.unit);
            inputs.set("issue_active_i", issue.active);
            for (k, source) in issue.sources.iter().enumerate() {
                let Some(register) = *source else { continue };
                inputs.set(&format!("issue_source{k}_valid_i"), 1u8);
                inputs.set(&format!("issue_source{k}_register_i"), register);
            }
        }
        for (name, write) in WRITERS.iter().zip(&offers.writes) {
            let Some(write) = write else { continue };
            inputs.set(&format!("{name}_valid_i"), 1u8);
            inputs.set(&format!("{name}_register_i"), write.register);
            inputs.set(&format!("{name}_lanes_i"), write.lanes);
            inputs.set(&format!("{name}_value_i"), pack(&write.values));
        }
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let mut offers = self.offers(intent);
        self.deliver(outputs);
        let taken = self.taken(&offers.writes);
        for (w, name) in WRITERS.iter().enumerate() {
            let offered = u8::from(offers.writes[w].is_some());
            outputs.set_known(&format!("{name}_ready_o"), u8::from(taken[w]), offered);
        }
        outputs.set("issue_ready_o", u8::from(self.collectors.is_ready()));

        let arrival = offers.issue.as_ref().map(|issue| Arrival {
            id: issue.id,
            unit: issue.unit,
            sources: issue.sources.map(|source| source.map(|register| (register, issue.active))),
        });
        let step = self.collectors.cycle(arrival.as_ref(), intent.ready_units);
        outputs.set("dispatch_valid_o", u8::from(step.dispatched.is_some()));
        if let Some(held) = &step.dispatched {
            outputs.set("dispatch_id_o", held.id);
            outputs.set("dispatch_unit_o", held.unit);
        }
        self.left = step.dispatched;

        if let (Some(collector), Some(issue)) = (step.entered, &offers.issue) {
            self.operands[collector] = self.values(issue);
            offers.issue = None;
        }
        for (write, taken) in offers.writes.iter_mut().zip(taken) {
            if let Some(write) = write.take_if(|_| taken) {
                self.registers[write.register].write(write.lanes, &write.values);
            }
        }
        self.pending = offers;
    }
}
