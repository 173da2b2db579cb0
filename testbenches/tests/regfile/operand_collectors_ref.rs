//! Reference of the operand collectors: [`Collectors`] with the values that the banks give.

use warpfile_hdl::regfile::{OperandCollectors, SOURCES};
use warpfile_testbenches::lockstep::{Pins, Reference};

use super::collectors_ref::{Arrival, BankRead, Collectors, Held};
use super::warp_register::{WarpRegister, pack};

#[derive(Clone)]
pub struct OperandCollectorsReference {
    parameters: OperandCollectors,
    collectors: Collectors,
    /// Values read for each collector.
    values: Vec<[WarpRegister; SOURCES]>,
    /// Reads whose value the banks give in this cycle.
    asked: Vec<BankRead>,
    /// What left in the cycle before.
    left: Option<Held>,
}

/// One cycle: what is offered, the units that are ready, what the banks give, the registers about to be written.
#[derive(Clone, Debug)]
pub struct CollectorCycle {
    pub offered: Option<Arrival>,
    pub ready_units: u32,
    pub rows: Vec<Vec<u32>>,
    pub writes: Vec<usize>,
    /// Banks that others read.
    pub busy_banks: Vec<usize>,
}

impl OperandCollectorsReference {
    pub fn new(parameters: &OperandCollectors) -> OperandCollectorsReference {
        let OperandCollectors { geometry, collectors, access_cycles, .. } = *parameters;
        let nothing = [(); SOURCES].map(|()| WarpRegister::unknown(geometry.lanes));
        OperandCollectorsReference {
            parameters: parameters.clone(),
            collectors: Collectors::new(geometry.banks, collectors, access_cycles),
            values: vec![nothing; collectors],
            asked: Vec::new(),
            left: None,
        }
    }

    /// Keeps what the banks give for the reads of the cycle before.
    fn keep(&mut self, rows: &[Vec<u32>]) {
        for read in &self.asked {
            self.values[read.collector][read.position].write(u32::MAX, &rows[read.bank]);
        }
    }

    fn operands(&self, outputs: &mut Pins) {
        outputs.set("operands_valid_o", u8::from(self.left.is_some()));
        let Some(left) = &self.left else { return };
        outputs.set("operands_id_o", left.id);
        for (k, source) in left.sources.iter().enumerate() {
            let lanes = source.map_or(0, |operand| operand.lanes);
            let value = self.values[left.collector][k].in_lanes(lanes, Some(0));
            value.expect(outputs, &format!("operands_source{k}_o"));
        }
    }
}

impl Reference for OperandCollectorsReference {
    type Operation = CollectorCycle;

    fn inputs(&self, cycle: &CollectorCycle, inputs: &mut Pins) {
        if let Some(arrival) = &cycle.offered {
            inputs.set("issue_valid_i", 1u8);
            inputs.set("issue_id_i", arrival.id);
            inputs.set("issue_unit_i", arrival.unit);
            for (k, source) in arrival.sources.iter().enumerate() {
                let Some((register, lanes)) = *source else { continue };
                inputs.set(&format!("issue_source{k}_valid_i"), 1u8);
                inputs.set(&format!("issue_source{k}_register_i"), register);
                inputs.set(&format!("issue_source{k}_lanes_i"), lanes);
            }
        }
        inputs.set("unit_ready_i", cycle.ready_units);
        for bank in &cycle.busy_banks {
            inputs.set(&format!("bank_busy{bank}_i"), 1u8);
        }
        for (b, row) in cycle.rows.iter().enumerate() {
            inputs.set(&format!("read{b}_value_i"), pack(row));
        }
        for (w, register) in cycle.writes.iter().enumerate() {
            inputs.set(&format!("write{w}_register_i"), *register);
        }
    }

    fn cycle(&mut self, cycle: &CollectorCycle, outputs: &mut Pins) {
        self.keep(&cycle.rows);
        self.operands(outputs);
        for (w, register) in cycle.writes.iter().enumerate() {
            let blocked = self.collectors.has_still_to_read(*register);
            outputs.set(&format!("write{w}_blocked_o"), u8::from(blocked));
        }
        outputs.set("issue_ready_o", u8::from(self.collectors.is_ready()));
        outputs.set("issue_index_o", self.collectors.next());

        let step = self.collectors.cycle_beside(cycle.offered.as_ref(), cycle.ready_units, &cycle.busy_banks);
        for b in 0..self.parameters.geometry.banks {
            let read = step.reads.iter().find(|read| read.bank == b);
            outputs.set(&format!("read{b}_valid_o"), u8::from(read.is_some()));
            if let Some(read) = read {
                outputs.set(&format!("read{b}_row_o"), read.row);
                outputs.set(&format!("read{b}_lanes_o"), read.lanes);
            }
        }
        outputs.set("dispatch_valid_o", u8::from(step.dispatched.is_some()));
        if let Some(held) = &step.dispatched {
            outputs.set("dispatch_id_o", held.id);
            outputs.set("dispatch_unit_o", held.unit);
            outputs.set("dispatch_index_o", held.collector);
        }
        self.asked = step.reads;
        self.left = step.dispatched;
    }
}
