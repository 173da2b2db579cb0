//! Reference of the two-scheduler register file: an operand is what its register held when the instruction was taken.
//!
//! Kim & Ro, WIR, §VII-E: two instructions a cycle, "independently from two groups of 24 warps each"; §II: one register file
//! of eight bank groups. Of two groups of collectors the first has its pick of banks; an instruction goes to one or the other
//! by turns. What is in the operands does not depend on that: a write waits until earlier instructions have read the register.

use warpfile_hdl::regfile::{ExtraRead, TwoSchedulerRegisterFile};
use warpfile_testbenches::lockstep::{Pins, Reference};

use super::offers_ref::{Group, Instruction, Offers, deliver, dispatch};
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
    extra_read: ExtraRead,
    /// Extra reads that were refused in the cycle before, and those whose bank operands had; what was read for the others.
    refused: [bool; 2],
    lost: [bool; 2],
    extra_values: [Option<WarpRegister>; 2],
}

/// What happens in a cycle, as far as the contract and earlier offers allow it.
#[derive(Clone, Debug)]
pub struct TwoSchedulerIntent {
    pub issues: [Option<Instruction>; 2],
    pub writes: [Option<Write>; 3],
    pub ready_units: u32,
    pub take_two: u32,
    /// Registers that are read beside operands.
    pub extra_reads: [Option<usize>; 2],
}

impl TwoSchedulerRegisterFileReference {
    pub fn new(parameters: &TwoSchedulerRegisterFile) -> TwoSchedulerRegisterFileReference {
        let TwoSchedulerRegisterFile { geometry, collectors, access_cycles, .. } = *parameters;
        let group = || Group::new(geometry, collectors, access_cycles);
        TwoSchedulerRegisterFileReference {
            banks: geometry.banks,
            lanes: geometry.lanes,
            registers: vec![WarpRegister::unknown(geometry.lanes); registers(geometry)],
            groups: [group(), group()],
            turn: 0,
            issues: [None, None],
            writes: [const { None }; 3],
            extra_read: parameters.extra_read,
            refused: [false; 2],
            lost: [false; 2],
            extra_values: [None, None],
        }
    }

    /// Registers read beside operands, if any are.
    fn extra_reads(&self, intent: &TwoSchedulerIntent) -> [Option<usize>; 2] {
        if self.extra_read == ExtraRead::None { [None; 2] } else { intent.extra_reads }
    }

    /// Whether an extra read comes before operands (Kim & Ro, Fig. 7: verify-reads go through the banks' arbiter).
    fn comes_first(&self, number: usize) -> bool {
        match self.extra_read {
            ExtraRead::None | ExtraRead::AfterOperands => false,
            ExtraRead::InTurn => self.lost[number],
            ExtraRead::BeforeOperands => true,
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

impl TwoSchedulerRegisterFileReference {
    /// Reads beside operands, which have read some banks: who has been refused comes first, else the first.
    fn read_beside(&mut self, wanted: [Option<usize>; 2], of_operands: &[usize], outputs: &mut Pins) {
        if self.extra_read == ExtraRead::None {
            return;
        }
        let second_first = self.extra_read == ExtraRead::InTurn && self.refused[1] && !self.refused[0];
        let mut busy = of_operands.to_vec();
        for number in if second_first { [1, 0] } else { [0, 1] } {
            let read = wanted[number].filter(|register| !busy.contains(&(register % self.banks)));
            busy.extend(read.map(|register| register % self.banks));
            let port = format!("extra_read{number}");
            outputs.set(&format!("{port}_ready_o"), u8::from(read.is_some()));
            if let Some(value) = &self.extra_values[number] {
                value.expect(outputs, &format!("{port}_value_o"));
            }
            self.refused[number] = wanted[number].is_some() && read.is_none();
            self.lost[number] =
                wanted[number].is_some_and(|register| of_operands.contains(&(register % self.banks)));
            self.extra_values[number] = read.map(|register| self.registers[register].clone());
        }
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
        for (number, register) in self.extra_reads(intent).into_iter().enumerate() {
            if let Some(register) = register {
                inputs.set(&format!("extra_read{number}_valid_i"), 1u8);
                inputs.set(&format!("extra_read{number}_register_i"), register);
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
        let extra_reads = self.extra_reads(intent);
        let bank = |register: usize| register % self.banks;
        let first =
            (0..2).filter(|&number| self.comes_first(number)).filter_map(|number| extra_reads[number]);
        let kept: Vec<usize> = first.map(bank).collect();
        let (mut busy_banks, mut taken_units) = (kept.clone(), 0);
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
        self.read_beside(extra_reads, &busy_banks[kept.len()..], outputs);
        offers.write(written, &mut self.registers);
        (self.issues, self.writes) = (issues, offers.writes);
    }
}
