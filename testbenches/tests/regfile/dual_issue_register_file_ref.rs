//! Reference of the dual-issue register file: an operand is what its register held when the instruction was taken.
//!
//! Two groups of collectors take instructions in turn, in program order. The first has its pick of banks and units.
//! What is in the operands does not depend on that: a write waits until earlier instructions have read the register.

use warpfile_hdl::regfile::{DualIssueRegisterFile, SOURCES};
use warpfile_testbenches::lockstep::{Pins, Reference};

use super::banked_register_file_ref::Instruction;
use super::collectors_ref::{Arrival, Collectors, Held};
use super::traffic::{Write, registers};
use super::warp_register::{WarpRegister, pack};

/// Two results of short operations, then of a long-latency operation.
const WRITERS: [&str; 3] = ["result0", "result1", "fill"];

#[derive(Clone)]
pub struct DualIssueRegisterFileReference {
    banks: usize,
    lanes: usize,
    registers: Vec<WarpRegister>,
    groups: [Group; 2],
    /// The group that the next instruction goes to.
    turn: usize,
    /// Offers that have not been taken are repeated.
    pending: Offers,
}

/// A group of collectors.
#[derive(Clone)]
struct Group {
    collectors: Collectors,
    /// Operands of the instruction in each collector.
    operands: Vec<[WarpRegister; SOURCES]>,
    /// What was dispatched in the cycle before.
    left: Option<Held>,
}

/// What happens in a cycle, as far as the contract and earlier offers allow it.
#[derive(Clone, Debug)]
pub struct DualIntent {
    pub issues: [Option<Instruction>; 2],
    pub writes: [Option<Write>; 3],
    pub ready_units: u32,
}

/// What is offered in a cycle: instructions in program order, from the first port on.
#[derive(Clone, Debug, Default)]
struct Offers {
    issues: Vec<Instruction>,
    writes: [Option<Write>; 3],
}

impl DualIssueRegisterFileReference {
    pub fn new(parameters: &DualIssueRegisterFile) -> DualIssueRegisterFileReference {
        let DualIssueRegisterFile { geometry, collectors, access_cycles, .. } = *parameters;
        let unknown = WarpRegister::unknown(geometry.lanes);
        let group = || Group {
            collectors: Collectors::new(geometry.banks, collectors, access_cycles),
            operands: vec![[(); SOURCES].map(|()| unknown.clone()); collectors],
            left: None,
        };
        DualIssueRegisterFileReference {
            banks: geometry.banks,
            lanes: geometry.lanes,
            registers: vec![unknown.clone(); registers(geometry)],
            groups: [group(), group()],
            turn: 0,
            pending: Offers::default(),
        }
    }

    /// The intent within what the scoreboard of the harness allows: of writes to one register one is under way, and
    /// no instruction that reads a register is offered beside a write to it.
    fn offers(&self, intent: &DualIntent) -> Offers {
        let mut offers = self.pending.clone();
        for (w, write) in intent.writes.iter().enumerate() {
            let Some(write) = write else { continue };
            let hazard = offers.issues.iter().any(|issue| issue.sources.contains(&Some(write.register)))
                || offers.writes.iter().flatten().any(|other| other.register == write.register);
            if offers.writes[w].is_none() && !hazard && write.lanes != 0 {
                offers.writes[w] = Some(write.clone());
            }
        }
        for wanted in intent.issues.iter().flatten() {
            if offers.issues.len() == 2 {
                break;
            }
            let mut issue = wanted.clone();
            for source in &mut issue.sources {
                let written = |register| offers.writes.iter().flatten().any(|w| w.register == register);
                *source = source.filter(|&register| issue.active != 0 && !written(register));
            }
            offers.issues.push(issue);
        }
        offers
    }

    /// Whether each offered write is taken: no earlier instruction has still to read the register, and no
    /// lower-numbered writer has the port of its bank.
    fn writes_taken(&self, writes: &[Option<Write>; 3]) -> [bool; 3] {
        let mut ports = vec![true; self.banks];
        writes.each_ref().map(|write| {
            write.as_ref().is_some_and(|write| {
                let bank = write.register % self.banks;
                let read_later =
                    self.groups.iter().any(|group| group.collectors.has_still_to_read(write.register));
                let taken = ports[bank] && !read_later;
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

    /// How many of the offered instructions are taken: each by the group whose turn it is, in order.
    fn issues_taken(&self, offered: usize) -> usize {
        let has_room = |index: &usize| self.groups[(self.turn + index) % 2].collectors.is_ready();
        (0..offered).take_while(has_room).count()
    }
}

impl Group {
    fn deliver(&self, port: usize, outputs: &mut Pins) {
        outputs.set(&format!("operands{port}_valid_o"), u8::from(self.left.is_some()));
        let Some(left) = &self.left else { return };
        outputs.set(&format!("operands{port}_id_o"), left.id);
        for (k, value) in self.operands[left.collector].iter().enumerate() {
            value.expect(outputs, &format!("operands{port}_source{k}_o"));
        }
    }
}

impl Reference for DualIssueRegisterFileReference {
    type Operation = DualIntent;

    fn inputs(&self, intent: &DualIntent, inputs: &mut Pins) {
        let offers = self.offers(intent);
        inputs.set("unit_ready_i", intent.ready_units);
        for (port, issue) in offers.issues.iter().enumerate() {
            inputs.set(&format!("issue{port}_valid_i"), 1u8);
            inputs.set(&format!("issue{port}_id_i"), issue.id);
            inputs.set(&format!("issue{port}_unit_i"), issue.unit);
            inputs.set(&format!("issue{port}_active_i"), issue.active);
            for (k, source) in issue.sources.iter().enumerate() {
                let Some(register) = *source else { continue };
                inputs.set(&format!("issue{port}_source{k}_valid_i"), 1u8);
                inputs.set(&format!("issue{port}_source{k}_register_i"), register);
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

    fn cycle(&mut self, intent: &DualIntent, outputs: &mut Pins) {
        let mut offers = self.offers(intent);
        for (port, group) in self.groups.iter().enumerate() {
            group.deliver(port, outputs);
        }
        let writes_taken = self.writes_taken(&offers.writes);
        for (w, name) in WRITERS.iter().enumerate() {
            let offered = u8::from(offers.writes[w].is_some());
            outputs.set_known(&format!("{name}_ready_o"), u8::from(writes_taken[w]), offered);
        }
        let taken = self.issues_taken(offers.issues.len());
        for port in 0..2 {
            let offered = u8::from(port < offers.issues.len());
            outputs.set_known(&format!("issue{port}_ready_o"), u8::from(port < taken), offered);
        }

        let issues: Vec<Instruction> = offers.issues.drain(..taken).collect();
        let (mut busy_banks, mut ready_units) = (Vec::new(), intent.ready_units);
        for number in 0..2 {
            let issue = issues.get((number + 2 - self.turn) % 2);
            let values = issue.map(|issue| self.values(issue));
            let arrival = issue.map(|issue| Arrival {
                id: issue.id,
                unit: issue.unit,
                sources: issue.sources.map(|source| source.map(|register| (register, issue.active))),
            });
            let group = &mut self.groups[number];
            let step = group.collectors.cycle_beside(arrival.as_ref(), ready_units, &busy_banks);
            busy_banks.extend(step.reads.iter().map(|read| read.bank));
            outputs.set(&format!("dispatch{number}_valid_o"), u8::from(step.dispatched.is_some()));
            if let Some(held) = &step.dispatched {
                ready_units &= !(1 << held.unit);
                outputs.set(&format!("dispatch{number}_id_o"), held.id);
                outputs.set(&format!("dispatch{number}_unit_o"), held.unit);
            }
            if let (Some(collector), Some(values)) = (step.entered, values) {
                group.operands[collector] = values;
            }
            group.left = step.dispatched;
        }
        self.turn = (self.turn + taken) % 2;
        for (write, taken) in offers.writes.iter_mut().zip(writes_taken) {
            if let Some(write) = write.take_if(|_| taken) {
                self.registers[write.register].write(write.lanes, &write.values);
            }
        }
        self.pending = offers;
    }
}
