//! Reference of the two-scheduler register file: an operand is what its register held when the instruction was taken.
//!
//! Kim & Ro, WIR, §VII-E: two instructions a cycle, "independently from two groups of 24 warps each"; §II: one register file
//! of eight bank groups. Of two groups of collectors the first has its pick of banks; an instruction goes to one or the other
//! by turns. What is in the operands does not depend on that: a write waits until earlier instructions have read the register.

use warpfile_hdl::regfile::{SOURCES, TwoSchedulerRegisterFile};
use warpfile_testbenches::lockstep::{Pins, Reference};

use super::collectors_ref::{Collectors, Held};
use super::offers_ref::{Instruction, Offers, deliver, dispatch};
use super::traffic::{Write, registers};
use super::warp_register::WarpRegister;

/// Two results of short operations, then of a long-latency operation.
const WRITERS: [&str; 3] = ["result0", "result1", "fill"];

#[derive(Clone)]
pub struct TwoSchedulerRegisterFileReference {
    banks: usize,
    lanes: usize,
    registers: Vec<WarpRegister>,
    groups: [Group; 2],
    /// The group that an instruction of the first scheduler goes to.
    turn: usize,
    /// Offers that have not been taken are repeated: instructions by scheduler, and writes.
    issues: [Option<Instruction>; 2],
    writes: [Option<Write>; 3],
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
pub struct TwoSchedulerIntent {
    pub issues: [Option<Instruction>; 2],
    pub writes: [Option<Write>; 3],
    pub ready_units: u32,
    pub take_two: u32,
}

impl TwoSchedulerRegisterFileReference {
    pub fn new(parameters: &TwoSchedulerRegisterFile) -> TwoSchedulerRegisterFileReference {
        let TwoSchedulerRegisterFile { geometry, collectors, access_cycles, .. } = *parameters;
        let unknown = WarpRegister::unknown(geometry.lanes);
        let group = || Group {
            collectors: Collectors::new(geometry.banks, collectors, access_cycles),
            operands: vec![[(); SOURCES].map(|()| unknown.clone()); collectors],
            left: None,
        };
        TwoSchedulerRegisterFileReference {
            banks: geometry.banks,
            lanes: geometry.lanes,
            registers: vec![unknown.clone(); registers(geometry)],
            groups: [group(), group()],
            turn: 0,
            issues: [None, None],
            writes: [const { None }; 3],
        }
    }

    /// Instructions by scheduler, and writes beside them.
    fn offers(&self, intent: &TwoSchedulerIntent) -> ([Option<Instruction>; 2], Offers<3>) {
        let waiting =
            Offers { issues: self.issues.iter().flatten().cloned().collect(), writes: self.writes.clone() };
        let offers = waiting.with(&[], &intent.writes);
        let issue = |scheduler: usize| {
            let wanted = intent.issues[scheduler].as_ref().map(|wanted| offers.allowed(wanted));
            self.issues[scheduler].clone().or(wanted)
        };
        ([issue(0), issue(1)], offers)
    }
}

impl Reference for TwoSchedulerRegisterFileReference {
    type Operation = TwoSchedulerIntent;

    fn inputs(&self, intent: &TwoSchedulerIntent, inputs: &mut Pins) {
        inputs.set("unit_ready_i", intent.ready_units);
        inputs.set("unit_takes_two_i", intent.take_two);
        let (issues, offers) = self.offers(intent);
        offers.set(inputs, &[], WRITERS);
        for (scheduler, issue) in issues.iter().enumerate() {
            if let Some(issue) = issue {
                issue.set(inputs, &format!("issue{scheduler}"));
            }
        }
    }

    fn cycle(&mut self, intent: &TwoSchedulerIntent, outputs: &mut Pins) {
        let (mut issues, mut offers) = self.offers(intent);
        for (port, group) in self.groups.iter().enumerate() {
            deliver(&format!("operands{port}"), group.left.as_ref(), &group.operands, outputs);
        }
        let has_still_to_read =
            |register| self.groups.iter().any(|group| group.collectors.has_still_to_read(register));
        let written = offers.writes_taken(self.banks, has_still_to_read, outputs, WRITERS);
        let (mut busy_banks, mut taken_units) = (Vec::new(), 0);
        let is_offered = issues.iter().any(Option::is_some);
        for number in 0..2 {
            let scheduler = number ^ self.turn;
            let issue = &mut issues[scheduler];
            let group = &mut self.groups[number];
            outputs.set(&format!("issue{scheduler}_ready_o"), u8::from(group.collectors.is_ready()));
            let values = issue.as_ref().map(|issue| issue.values(&self.registers, self.lanes));
            let arrival = issue.as_ref().map(Instruction::arrival);
            let ready = intent.ready_units & (!taken_units | intent.take_two);
            let step = group.collectors.cycle_beside(arrival.as_ref(), ready, &busy_banks);
            busy_banks.extend(step.reads.iter().map(|read| read.bank));
            dispatch(&format!("dispatch{number}"), step.dispatched.as_ref(), outputs);
            if let Some(held) = &step.dispatched {
                taken_units |= 1 << held.unit;
            }
            if let (Some(collector), Some(values)) = (step.entered, values) {
                group.operands[collector] = values;
                *issue = None;
            }
            group.left = step.dispatched;
        }
        self.turn ^= usize::from(is_offered);
        offers.write(written, &mut self.registers);
        (self.issues, self.writes) = (issues, offers.writes);
    }
}
