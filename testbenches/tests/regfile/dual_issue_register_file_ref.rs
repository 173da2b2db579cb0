//! Reference of the dual-issue register file: an operand is what its register held when the instruction was taken.
//!
//! Two groups of collectors take instructions in turn, in program order. The first has its pick of banks and units.
//! What is in the operands does not depend on that: a write waits until earlier instructions have read the register.

use warpfile_hdl::regfile::DualIssueRegisterFile;
use warpfile_testbenches::lockstep::{Pins, Reference};

use super::offers_ref::{Group, Instruction, Offers, deliver, dispatch};
use super::traffic::{Write, registers};
use super::warp_register::WarpRegister;

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
    pending: Offers<3>,
}

/// What happens in a cycle, as far as the contract and earlier offers allow it.
#[derive(Clone, Debug)]
pub struct DualIntent {
    pub issues: [Option<Instruction>; 2],
    pub writes: [Option<Write>; 3],
    pub ready_units: u32,
}

impl DualIssueRegisterFileReference {
    pub fn new(parameters: &DualIssueRegisterFile) -> DualIssueRegisterFileReference {
        let DualIssueRegisterFile { geometry, collectors, access_cycles, .. } = *parameters;
        let group = || Group::new(geometry, collectors, access_cycles);
        DualIssueRegisterFileReference {
            banks: geometry.banks,
            lanes: geometry.lanes,
            registers: vec![WarpRegister::unknown(geometry.lanes); registers(geometry)],
            groups: [group(), group()],
            turn: 0,
            pending: Offers::default(),
        }
    }

    fn offers(&self, intent: &DualIntent) -> Offers<3> {
        self.pending.with(&intent.issues, &intent.writes)
    }

    /// How many of the offered instructions are taken: each by the group whose turn it is, in order.
    fn issues_taken(&self, offered: usize) -> usize {
        let has_room = |index: &usize| self.groups[(self.turn + index) % 2].collectors.is_ready();
        (0..offered).take_while(has_room).count()
    }
}

impl Reference for DualIssueRegisterFileReference {
    type Operation = DualIntent;

    fn inputs(&self, intent: &DualIntent, inputs: &mut Pins) {
        inputs.set("unit_ready_i", intent.ready_units);
        self.offers(intent).set(inputs, &["issue0", "issue1"], WRITERS);
    }

    fn cycle(&mut self, intent: &DualIntent, outputs: &mut Pins) {
        let mut offers = self.offers(intent);
        for (port, group) in self.groups.iter().enumerate() {
            deliver(&format!("operands{port}"), group.left.as_ref(), &group.operands, outputs);
        }
        let has_still_to_read =
            |register| self.groups.iter().any(|group| group.collectors.has_still_to_read(register));
        let written = offers.writes_taken(self.banks, has_still_to_read, outputs, WRITERS);
        let taken = self.issues_taken(offers.issues.len());
        for port in 0..2 {
            let offered = u8::from(port < offers.issues.len());
            outputs.set_known(&format!("issue{port}_ready_o"), u8::from(port < taken), offered);
        }

        let issues: Vec<Instruction> = offers.issues.drain(..taken).collect();
        let (mut busy_banks, mut ready_units) = (Vec::new(), intent.ready_units);
        for number in 0..2 {
            let issue = issues.get((number + 2 - self.turn) % 2);
            let values = issue.map(|issue| issue.values(&self.registers, self.lanes));
            let arrival = issue.map(Instruction::arrival);
            let group = &mut self.groups[number];
            let step = group.collectors.cycle_beside(arrival.as_ref(), ready_units, &busy_banks);
            busy_banks.extend(step.reads.iter().map(|read| read.bank));
            dispatch(&format!("dispatch{number}"), step.dispatched.as_ref(), outputs);
            if let Some(held) = &step.dispatched {
                ready_units &= !(1 << held.unit);
            }
            if let (Some(collector), Some(values)) = (step.entered, values) {
                group.operands[collector] = values;
            }
            group.left = step.dispatched;
        }
        self.turn = (self.turn + taken) % 2;
        offers.write(written, &mut self.registers);
        self.pending = offers;
    }
}
