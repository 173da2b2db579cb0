//! Collectors with a cache beside their reference, which knows when a bank is read and when not.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::regfile::{Geometry, SOURCES};
use warpfile_hdl::reuse::ReuseCollectors;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use crate::regfile::collectors_ref::{Arrival, BankRead, Collectors, Held, Reuse};
use crate::regfile::operand_collectors::ready_units;
use crate::regfile::traffic::{all_lanes, geometries, masks, registers};
use crate::regfile::warp_register::{WarpRegister, pack};

const UNITS: usize = 3;

/// One cycle: what is offered and which of its operands are kept, the units that are ready, what the banks give, the registers
/// about to be written and those that are, banks that others read.
#[derive(Clone, Debug)]
struct Cycle {
    offered: Option<(Arrival, [bool; SOURCES])>,
    ready_units: u32,
    rows: Vec<Vec<u32>>,
    writes: Vec<(usize, bool)>,
    busy_banks: Vec<usize>,
}

#[derive(Clone)]
struct ReuseCollectorsReference {
    parameters: ReuseCollectors,
    collectors: Collectors,
    /// Values read for each collector, and kept of each position and bank.
    values: Vec<[WarpRegister; SOURCES]>,
    kept: BTreeMap<(usize, usize), WarpRegister>,
    /// Reads of the cycle before, and what left in it.
    asked: Vec<BankRead>,
    left: Option<Held>,
}

impl ReuseCollectorsReference {
    fn new(parameters: &ReuseCollectors) -> ReuseCollectorsReference {
        let ReuseCollectors { geometry, collectors, access_cycles, .. } = *parameters;
        let nothing = [(); SOURCES].map(|()| WarpRegister::unknown(geometry.lanes));
        ReuseCollectorsReference {
            parameters: parameters.clone(),
            collectors: Collectors::new(geometry.banks, collectors, access_cycles),
            values: vec![nothing; collectors],
            kept: BTreeMap::new(),
            asked: Vec::new(),
            left: None,
        }
    }

    /// What the banks give, or the cache, for the reads of the cycle before.
    fn keep(&mut self, rows: &[Vec<u32>]) {
        for read in &self.asked {
            let place = (read.position, read.bank);
            let value = match self.kept.get(&place) {
                Some(kept) if read.reused => kept.clone(),
                _ => {
                    let mut value = WarpRegister::unknown(self.parameters.geometry.lanes);
                    value.write(u32::MAX, &rows[read.bank]);
                    value
                }
            };
            if read.keep {
                self.kept.insert(place, value.clone());
            }
            self.values[read.collector][read.position] = value;
        }
    }

    /// A write is only of a register that nothing has still to read.
    fn written(&self, cycle: &Cycle) -> Vec<Option<usize>> {
        let is_read_now = |register: usize| {
            let mut sources = cycle.offered.iter().flat_map(|(arrival, _)| arrival.sources.iter().flatten());
            sources.any(|(source, _)| *source == register)
        };
        let written = |&(register, is): &(usize, bool)| {
            let may_be = is && !self.collectors.has_still_to_read(register) && !is_read_now(register);
            may_be.then_some(register)
        };
        cycle.writes.iter().map(written).collect()
    }
}

impl Reference for ReuseCollectorsReference {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        if let Some((arrival, keep)) = &cycle.offered {
            inputs.set("issue_valid_i", 1u8);
            inputs.set("issue_id_i", arrival.id);
            inputs.set("issue_unit_i", arrival.unit);
            for (k, source) in arrival.sources.iter().enumerate() {
                inputs.set(&format!("keep{k}_i"), u8::from(keep[k]));
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
        for (w, ((register, _), written)) in cycle.writes.iter().zip(self.written(cycle)).enumerate() {
            inputs.set(&format!("write{w}_register_i"), *register);
            if self.parameters.drops_written {
                inputs.set(&format!("written{w}_valid_i"), u8::from(written.is_some()));
                inputs.set(&format!("written{w}_register_i"), *register);
            }
        }
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        self.keep(&cycle.rows);
        outputs.set("operands_valid_o", u8::from(self.left.is_some()));
        if let Some(left) = &self.left {
            outputs.set("operands_id_o", left.id);
            for (k, source) in left.sources.iter().enumerate() {
                let lanes = source.map_or(0, |operand| operand.lanes);
                let value = self.values[left.collector][k].in_lanes(lanes, Some(0));
                value.expect(outputs, &format!("operands_source{k}_o"));
            }
        }
        for (w, (register, _)) in cycle.writes.iter().enumerate() {
            let blocked = self.collectors.has_still_to_read(*register);
            outputs.set(&format!("write{w}_blocked_o"), u8::from(blocked));
        }
        outputs.set("issue_ready_o", u8::from(self.collectors.is_ready()));
        outputs.set("issue_index_o", self.collectors.next());

        let written: Vec<usize> = self.written(cycle).into_iter().flatten().collect();
        let offered = cycle.offered.as_ref();
        let reuse = Reuse {
            keep: offered.map_or([false; SOURCES], |(_, keep)| *keep),
            written: if self.parameters.drops_written { &written } else { &[] },
        };
        let arrival = offered.map(|(arrival, _)| arrival);
        let step = self.collectors.cycle_reusing(arrival, cycle.ready_units, &cycle.busy_banks, &[], reuse);
        let Geometry { banks, lanes, .. } = self.parameters.geometry;
        for b in 0..banks {
            let read = step.reads.iter().find(|read| read.bank == b && !read.reused);
            outputs.set(&format!("read{b}_valid_o"), u8::from(read.is_some()));
            if let Some(read) = read {
                outputs.set(&format!("read{b}_row_o"), read.row);
                let wanted = if read.keep { all_lanes(lanes) } else { read.lanes };
                outputs.set(&format!("read{b}_lanes_o"), wanted);
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

fn circuits() -> impl Strategy<Value = ReuseCollectors> {
    (geometries(), 2..6_usize, 3..6_usize, 1..3_usize, any::<bool>(), any::<bool>()).prop_map(
        |(geometry, collectors, access_cycles, writers, shares_banks, drops_written)| ReuseCollectors {
            geometry,
            collectors,
            access_cycles,
            id_bits: 6,
            units: UNITS,
            writers,
            shares_banks,
            drops_written,
        },
    )
}

fn traffic(cycles: usize) -> impl Strategy<Value = (ReuseCollectors, Vec<Cycle>)> {
    (circuits(), any::<bool>()).prop_flat_map(move |(circuit, few)| {
        let Geometry { banks, lanes, .. } = circuit.geometry;
        let all = registers(circuit.geometry);
        let registers = if few { all.min(6) } else { all };
        let source = || option::weighted(0.8, (0..registers, masks(lanes)));
        let arrival = (0..64_usize, 0..UNITS, [source(), source(), source()])
            .prop_map(|(id, unit, sources)| Arrival { id, unit, sources });
        let keep = [(); SOURCES].map(|()| prop::bool::weighted(0.7));
        let rows = vec(vec(any::<u32>(), lanes), banks);
        let writes = vec((0..registers, prop::bool::weighted(0.3)), circuit.writers);
        let busy_banks = vec(option::weighted(0.3, 0..banks), if circuit.shares_banks { 2 } else { 0 });
        let cycle = (option::weighted(0.8, (arrival, keep)), ready_units(UNITS), rows, writes, busy_banks)
            .prop_map(|(offered, ready_units, rows, writes, busy_banks)| {
                let busy_banks = busy_banks.into_iter().flatten().collect();
                Cycle { offered, ready_units, rows, writes, busy_banks }
            });
        (Just(circuit), vec(cycle, 1..cycles))
    })
}

fn check(circuit: &ReuseCollectors, how: Lockstep, cycles: &[Cycle]) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &ReuseCollectorsReference::new(circuit), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn an_operand_that_is_kept_leaves_its_bank_to_another((circuit, cycles) in traffic(80)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, cycles) in traffic(60)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }
}
