//! Reference of the banked register file: an operand is what its register held when the instruction was taken.
//!
//! When operands are out and which writes wait is as Fig. 3(a) and [`Collectors`] say; what is in the operands does
//! not depend on that, for a write waits until earlier instructions have read the register. A register that is read beside
//! them (Kim & Ro, WIR, Fig. 7: the arbiter schedules verify-reads) is what it held in that cycle.

use warpfile_hdl::regfile::{BankedRegisterFile, ExtraRead, SOURCES};
use warpfile_testbenches::lockstep::{Pins, Reference};

use super::collectors_ref::{Collectors, Held};
use super::offers_ref::{Instruction, Offers, deliver, dispatch};
use super::traffic::{Write, registers};
use super::warp_register::WarpRegister;

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
    pending: Offers<2>,
    extra_read: ExtraRead,
    /// An extra read was refused in the cycle before; what was read if it was not.
    extra_refused: bool,
    extra_value: Option<WarpRegister>,
}

/// What happens in a cycle, as far as the contract and earlier offers allow it.
#[derive(Clone, Debug)]
pub struct Intent {
    pub issue: Option<Instruction>,
    pub writes: [Option<Write>; 2],
    pub ready_units: u32,
    /// A register that is read beside operands.
    pub extra_read: Option<usize>,
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
            extra_read: parameters.extra_read,
            extra_refused: false,
            extra_value: None,
        }
    }

    fn extra_comes_first(&self) -> bool {
        match self.extra_read {
            ExtraRead::None | ExtraRead::AfterOperands => false,
            ExtraRead::InTurn => self.extra_refused,
            ExtraRead::BeforeOperands => true,
        }
    }

    fn has_extra_read(&self) -> bool {
        self.extra_read != ExtraRead::None
    }

    fn offers(&self, intent: &Intent) -> Offers<2> {
        self.pending.with(std::array::from_ref(&intent.issue), &intent.writes)
    }
}

impl Reference for BankedRegisterFileReference {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        inputs.set("unit_ready_i", intent.ready_units);
        self.offers(intent).set(inputs, &["issue"], WRITERS);
        if let Some(register) = intent.extra_read.filter(|_| self.has_extra_read()) {
            inputs.set("extra_read0_valid_i", 1u8);
            inputs.set("extra_read0_register_i", register);
        }
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let mut offers = self.offers(intent);
        deliver("operands", self.left.as_ref(), &self.operands, outputs);
        let has_still_to_read = |register| self.collectors.has_still_to_read(register);
        let written = offers.writes_taken(self.banks, has_still_to_read, outputs, WRITERS);
        outputs.set("issue_ready_o", u8::from(self.collectors.is_ready()));

        let arrival = offers.issues.first().map(Instruction::arrival);
        let extra = intent.extra_read.filter(|_| self.has_extra_read());
        let bank = |register: usize| register % self.banks;
        let first = extra.filter(|_| self.extra_comes_first());
        let busy: Vec<usize> = first.map(bank).into_iter().collect();
        let step = self.collectors.cycle_beside(arrival.as_ref(), intent.ready_units, &busy);
        let is_free = |register: &usize| step.reads.iter().all(|read| read.bank != bank(*register));
        let read = extra.filter(is_free);
        if self.has_extra_read() {
            outputs.set("extra_read0_ready_o", u8::from(read.is_some()));
            if let Some(value) = &self.extra_value {
                value.expect(outputs, "extra_read0_value_o");
            }
        }
        self.extra_refused = extra.is_some() && read.is_none();
        self.extra_value = read.map(|register| self.registers[register].clone());
        dispatch("dispatch", step.dispatched.as_ref(), outputs);
        self.left = step.dispatched;
        if let Some(collector) = step.entered {
            let issue = offers.issues.remove(0);
            self.operands[collector] = issue.values(&self.registers, self.lanes);
        }
        offers.write(written, &mut self.registers);
        self.pending = offers;
    }
}
