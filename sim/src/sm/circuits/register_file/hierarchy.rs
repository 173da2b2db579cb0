//! A register file hierarchy circuit as operand storage: a register file whose operands are where the compiler says.

use warpfile_engine::{Engine, EngineError, InPort};
use warpfile_kernels::placement::Upper;
use warpfile_kernels::program::{BlockIndex, MAX_SOURCES, Program};

use super::super::super::design::{
    Issue, MAX_ISSUES, OperandStorage, StorageInputs, StorageOutputs, WarpSlot, Write,
};
use super::super::super::report::HierarchyAccesses;
use super::super::super::{Accesses, PortActivity, SimError};
use super::super::{Group, accesses};
use super::{RegisterFileCircuit, TableNames, per_source};

/// Name of the table of the last result file.
const LRF_TABLE: &str = "lrf";
/// Name of the table of the operand register file.
const ORF_TABLE: &str = "orf";

/// A register file with the ports of `RegisterFileHierarchy`.
pub struct HierarchyCircuit<E> {
    register_file: RegisterFileCircuit<E>,
    ways: Vec<EntryPorts>,
    orf_entries: u8,
}

/// Ports of a way that name slots and entries.
struct EntryPorts {
    slot: InPort,
    source_entry_valid: [InPort; MAX_SOURCES],
    source_entry: [InPort; MAX_SOURCES],
    copy_valid: InPort,
    copy_entry: InPort,
    copy_source: InPort,
    result_main: InPort,
    result_entry_valid: InPort,
    result_slot: InPort,
    result_entry: InPort,
}

impl<E: Engine> HierarchyCircuit<E> {
    /// A circuit with so many entries a slot in its operand register file, that delivers operands `operand_cycles`
    /// after the scheduler's pick at the earliest. Errors name a port that is not there.
    pub fn new(
        engine: E,
        mrf: &'static str,
        operand_cycles: u64,
        orf_entries: u8,
    ) -> Result<HierarchyCircuit<E>, EngineError> {
        let ways = (0..MAX_ISSUES).map(|way| EntryPorts::resolve(&engine, way)).collect::<Result<_, _>>()?;
        let tables = TableNames { mrf, rfc: None };
        let register_file = RegisterFileCircuit::new(engine, tables, MAX_ISSUES, operand_cycles)?;
        Ok(HierarchyCircuit { register_file, ways, orf_entries })
    }

    /// The number of an entry in the circuit: those of the operand register file come first.
    fn number(&self, upper: Upper) -> u64 {
        match upper {
            Upper::Orf(entry) => u64::from(entry),
            Upper::Lrf => u64::from(self.orf_entries),
        }
    }

    fn set_sources(&mut self, way: usize, issue: &Issue) {
        let engine = &mut self.register_file.engine;
        engine.set(self.ways[way].slot, issue.slot as u64);
        engine.set(self.ways[way].copy_valid, 0);
        for (index, source) in issue.sources.iter().enumerate() {
            let place = source.map(|source| source.place).unwrap_or_default();
            let entry = place.upper.map(|upper| self.number(upper));
            let (engine, ports) = (&mut self.register_file.engine, &self.ways[way]);
            engine.set(ports.source_entry_valid[index], u64::from(entry.is_some()));
            engine.set(ports.source_entry[index], entry.unwrap_or_default());
            if let Some(entry) = place.copied_to {
                engine.set(ports.copy_valid, 1);
                engine.set(ports.copy_entry, u64::from(entry));
                engine.set(ports.copy_source, index as u64);
            }
        }
    }

    fn set_result(&mut self, way: usize, write: &Write<'_>) {
        let entry = write.place.upper.map(|upper| self.number(upper));
        let (engine, ports) = (&mut self.register_file.engine, &self.ways[way]);
        engine.set(ports.result_main, u64::from(write.place.main));
        engine.set(ports.result_entry_valid, u64::from(entry.is_some()));
        engine.set(ports.result_slot, write.slot.unwrap_or_default() as u64);
        engine.set(ports.result_entry, entry.unwrap_or_default());
    }
}

impl<E: Engine> OperandStorage for HierarchyCircuit<E> {
    fn operand_cycles(&self) -> u64 {
        self.register_file.operand_cycles()
    }

    fn dispatches(&self) -> usize {
        self.register_file.dispatches()
    }

    fn start_kernel(&mut self, program: &Program) -> Result<(), SimError> {
        self.register_file.start_kernel(program)
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        self.register_file.registers_per_warp(program)
    }

    fn start_warp(&mut self, warp: WarpSlot, first_row: u32, block: BlockIndex) {
        self.register_file.start_warp(warp, first_row, block);
    }

    fn held_warps(&self) -> u64 {
        0
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        for way in 0..self.ways.len() {
            if let Some(issue) = &inputs.issue[way] {
                self.set_sources(way, issue);
            }
            if let Some(write) = &inputs.result[way] {
                self.set_result(way, write);
            }
        }
        self.register_file.cycle(inputs, outputs)
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.register_file.end_warp(warp);
    }

    fn mrf(&self) -> Accesses {
        self.register_file.mrf()
    }

    fn rfc(&self) -> Accesses {
        Accesses::default()
    }

    fn hierarchy(&self) -> HierarchyAccesses {
        let engine = &self.register_file.engine;
        HierarchyAccesses { lrf: accesses(engine, LRF_TABLE), orf: accesses(engine, ORF_TABLE) }
    }

    fn activity(&self) -> Vec<PortActivity> {
        self.register_file.activity()
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        self.register_file.circuit()
    }
}

impl EntryPorts {
    fn resolve(engine: &dyn Engine, way: usize) -> Result<EntryPorts, EngineError> {
        let issue = Group::new(engine, &format!("issue{way}"));
        let result = Group::new(engine, &format!("result{way}"));
        Ok(EntryPorts {
            slot: issue.input("slot_i")?,
            source_entry_valid: per_source(|k| issue.input(&format!("source{k}_entry_valid_i")))?,
            source_entry: per_source(|k| issue.input(&format!("source{k}_entry_i")))?,
            copy_valid: issue.input("copy_valid_i")?,
            copy_entry: issue.input("copy_entry_i")?,
            copy_source: issue.input("copy_source_i")?,
            result_main: result.input("main_i")?,
            result_entry_valid: result.input("entry_valid_i")?,
            result_slot: result.input("slot_i")?,
            result_entry: result.input("entry_i")?,
        })
    }
}
