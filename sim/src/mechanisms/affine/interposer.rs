//! What stands at the register file of a partition and knows which registers are tuples.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine};
use warpfile_hdl::affine::{AffineDetector, TupleTable};
use warpfile_kernels::program::{LANES, LaneMask, MAX_RESULTS, MAX_SOURCES};

use super::kernel::linear;
use super::{COUNTERS, Circuits, Counted, DETECTOR, TABLE};
use crate::counters::Counts;
use crate::mechanisms::circuit::words;
use crate::mechanisms::{Build, Compiled};
use crate::sm::design::{
    ID_BITS, Interposer, Issue, MAX_ISSUES, MAX_OFFERED, OperandStorage, StorageInputs, StorageOutputs, Unit,
    Write,
};
use crate::sm::{OperationClass, SimError};

/// A circuit that runs, with its ports.
pub struct Running<P> {
    engine: AnyEngine,
    ports: P,
}

/// An instruction in flight, by its number.
#[derive(Clone, Copy, Debug)]
struct Flying {
    /// All its register operands were tuples, and it executes in all lanes; until it has a result.
    on_tuples: bool,
    /// Where it executes.
    unit: Unit,
    /// Which of its results are affine.
    affine: [bool; MAX_RESULTS],
}

/// Tuples in front of the register file of a partition. It passes everything on as it is.
pub struct Affine {
    detector: Running<CircuitPorts<AffineDetector>>,
    table: Running<CircuitPorts<TupleTable>>,
    /// Results of short operations a cycle.
    issues: usize,
    /// Of each instruction what one lane computes of tuples; `None` if it takes all lanes.
    linear: Vec<Option<OperationClass>>,
    flying: Vec<Flying>,
    counted: Counted,
}

impl Affine {
    /// One of each partition.
    ///
    /// # Errors
    /// A parameter that a circuit does not support.
    pub fn of_partitions(at: &Build<'_>, circuits: &Circuits) -> Result<Vec<Affine>, SimError> {
        let Circuits { detector, table } = circuits;
        let detectors =
            at.of_partitions(detector, &[], |engine| Ok(Running { ports: engine.ports(detector)?, engine }))?;
        let tables =
            at.of_partitions(table, &[], |engine| Ok(Running { ports: engine.ports(table)?, engine }))?;
        let flying = Flying { on_tuples: false, unit: Unit::Control, affine: [false; MAX_RESULTS] };
        let one = |(detector, table)| Affine {
            detector,
            table,
            issues: circuits.detector.values - 1,
            linear: Vec::new(),
            flying: vec![flying; 1 << ID_BITS],
            counted: Counted::default(),
        };
        Ok(detectors.into_iter().zip(tables).map(one).collect())
    }

    /// What the units offer is looked at before anything else takes it.
    fn detect(&mut self, offered: &[Option<Write<'_>>; MAX_OFFERED]) {
        let Running { engine, ports } = &mut self.detector;
        let (short, long) = offered.split_at(MAX_ISSUES);
        let results = || short[..self.issues].iter().chain(long).zip(&ports.value);
        for (write, port) in results() {
            if let Some(write) = write {
                engine.set_words(port.value_i, &words(write.values));
            }
        }
        engine.step();
        for (write, port) in results() {
            let Some(write) = write else { continue };
            let is_affine = engine.get(port.affine_o) == 1;
            let flying = &mut self.flying[usize::from(write.id)];
            flying.affine[write.result] = is_affine;
            // An offer is repeated until it is taken; it counts once.
            let on_tuples = std::mem::take(&mut flying.on_tuples);
            let class = self.linear[write.inst.0 as usize].filter(|_| on_tuples && is_affine);
            if let Some(class) = class {
                self.counted.one_lane.count(flying.unit);
                self.counted.lanes_spared.count(class, LANES as u32 - 1);
            }
        }
    }

    /// Registers that the register file has begun to read or has written in this cycle.
    fn follow(&mut self, inputs: &StorageInputs<'_>, outputs: &StorageOutputs) {
        let StorageOutputs { issue_taken, result_taken, fill_taken, extra_reads_taken, .. } = outputs;
        let issues = self.issues;
        let taken = |index: usize| inputs.issue[index].filter(|_| issue_taken[index]);
        let written = |index: usize| match index < issues {
            true => inputs.result[index].filter(|_| result_taken[index]),
            false => inputs.fill.filter(|_| *fill_taken),
        };
        let operand =
            |place: usize| taken(place / MAX_SOURCES).and_then(|issue| issue.sources[place % MAX_SOURCES]);
        let extra = |index: usize| inputs.extra_reads[index].filter(|_| extra_reads_taken[index]);
        let Running { engine, ports } = &mut self.table;
        for (place, port) in ports.read.iter().enumerate() {
            let row = match place.checked_sub(issues * MAX_SOURCES) {
                Some(index) => extra(index),
                None => operand(place),
            };
            engine.set(port.valid_i, u64::from(row.is_some()));
            if let Some(row) = row {
                engine.set(port.register_i, u64::from(row));
            }
        }
        for (index, port) in ports.write.iter().enumerate() {
            let write = written(index);
            engine.set(port.valid_i, u64::from(write.is_some()));
            if let Some(write) = write {
                let is_affine = self.flying[usize::from(write.id)].affine[write.result];
                engine.set(port.register_i, u64::from(write.row));
                engine.set(port.whole_i, u64::from(write.lanes == LaneMask::MAX));
                engine.set(port.affine_i, u64::from(is_affine));
            }
        }
        engine.step();
        for index in 0..issues {
            if let Some(issue) = taken(index) {
                self.follow_reads(index, &issue);
            }
        }
        for index in (0..MAX_ISSUES).filter(|&index| extra(index).is_some()) {
            self.follow_read(issues * MAX_SOURCES + index, LaneMask::MAX);
        }
        for index in 0..=issues {
            if let Some(write) = written(index) {
                self.follow_write(index, write.lanes);
            }
        }
    }

    /// The operands of an instruction that has been taken.
    fn follow_reads(&mut self, index: usize, issue: &Issue) {
        let mut on_tuples = issue.active == LaneMask::MAX;
        for place in (0..MAX_SOURCES).filter(|place| issue.sources[*place].is_some()) {
            on_tuples &= self.follow_read(index * MAX_SOURCES + place, issue.active);
        }
        self.counted.executed.count(issue.unit);
        let flying = &mut self.flying[usize::from(issue.id)];
        (flying.on_tuples, flying.unit) = (on_tuples, issue.unit);
    }

    /// A register that is read, at a port of the table. Gives whether it is a tuple.
    fn follow_read(&mut self, port: usize, lanes: LaneMask) -> bool {
        let Running { engine, ports } = &self.table;
        let is_tuple = engine.get(ports.read[port].tuple_o) == 1;
        if is_tuple {
            self.counted.reads += 1;
            self.counted.reads_spared += slices(lanes) - 1;
        }
        is_tuple
    }

    /// A register that has been written.
    fn follow_write(&mut self, index: usize, lanes: LaneMask) {
        let Running { engine, ports } = &self.table;
        let port = &ports.write[index];
        if engine.get(port.tuple_o) == 1 {
            self.counted.writes += 1;
            self.counted.writes_spared += slices(lanes) - 1;
        }
        if engine.get(port.expands_o) == 1 {
            self.counted.expanded += 1;
            self.counted.expansion_writes += slices(LaneMask::MAX) - slices(lanes);
        }
    }
}

/// Banks of four lanes that some of the lanes are in.
fn slices(lanes: LaneMask) -> u64 {
    let pairs = lanes | lanes >> 1;
    u64::from(((pairs | pairs >> 2) & 0x1111_1111).count_ones())
}

impl Interposer for Affine {
    fn start_kernel(
        &mut self,
        storage: &mut dyn OperandStorage,
        kernel: &Compiled<'_>,
    ) -> Result<(), SimError> {
        self.linear = linear(kernel.program);
        storage.start_kernel(kernel)
    }

    fn cycle(
        &mut self,
        storage: &mut dyn OperandStorage,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
    ) -> Result<(), SimError> {
        self.detect(inputs.from_units);
        storage.cycle(inputs, outputs)?;
        self.follow(inputs, outputs);
        Ok(())
    }

    fn count(&self, into: &mut Counts) {
        into.add(COUNTERS, &self.counted);
    }

    fn circuits(&self) -> Vec<(&'static str, &dyn Engine)> {
        vec![(DETECTOR, &self.detector.engine), (TABLE, &self.table.engine)]
    }
}

#[cfg(test)]
mod tests {
    use super::slices;

    #[test]
    fn lanes_are_in_banks_of_four() {
        assert_eq!(slices(0), 0);
        assert_eq!(slices(u32::MAX), 8);
        assert_eq!([0x1, 0x2, 0x4, 0x8, 0xf].map(slices), [1; 5]);
        assert_eq!(slices(0x18), 2);
        assert_eq!(slices(0x8000_0001), 2);
    }
}
