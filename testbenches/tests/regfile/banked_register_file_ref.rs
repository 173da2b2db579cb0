//! Reference of the banked register file: an operand is what its register held when the instruction was taken.
//!
//! When operands are out and which writes wait is as Fig. 3(a) and [`Collectors`] say; what is in the operands does
//! not depend on that, for a write waits until earlier instructions have read the register.

use warpfile_hdl::regfile::{BankedRegisterFile, SOURCES};
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
}

/// What happens in a cycle, as far as the contract and earlier offers allow it.
#[derive(Clone, Debug)]
pub struct Intent {
    pub issue: Option<Instruction>,
    pub writes: [Option<Write>; 2],
    pub ready_units: u32,
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

    fn offers(&self, intent: &Intent) -> Offers<2> {
        self.pending.with(std::array::from_ref(&intent.issue), &intent.writes)
    }
}

impl Reference for BankedRegisterFileReference {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        inputs.set("unit_ready_i", intent.ready_units);
        self.offers(intent).set(inputs, &["issue"], WRITERS);
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let mut offers = self.offers(intent);
        deliver("operands", self.left.as_ref(), &self.operands, outputs);
        let has_still_to_read = |register| self.collectors.has_still_to_read(register);
        let written = offers.writes_taken(self.banks, has_still_to_read, outputs, WRITERS);
        outputs.set("issue_ready_o", u8::from(self.collectors.is_ready()));

        let arrival = offers.issues.first().map(Instruction::arrival);
        let step = self.collectors.cycle(arrival.as_ref(), intent.ready_units);
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
