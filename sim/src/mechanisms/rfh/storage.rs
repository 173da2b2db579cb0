//! A register file hierarchy circuit as operand storage: a register file whose operands are where the compiler says.

use warpfile_engine::{AnyEngine, Engine, EngineError, InPort};
use warpfile_kernels::compile::rfh::{Placement, Places, Upper};
use warpfile_kernels::program::{BlockIndex, InstId, MAX_SOURCES, Program};

use super::{COUNTERS, UpperLevels};
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::mechanisms::circuit::{Group, numbered, per_source};
use crate::mechanisms::register_file::{ACCESS_CYCLES, RegisterFile};
use crate::sm::design::{Issue, OperandStorage, StorageInputs, StorageOutputs, WarpSlot, Write};
use crate::sm::{PortActivity, SimError};

/// Name of the table of the last result file.
const LRF_TABLE: &str = "lrf";
/// Name of the table of the operand register file.
const ORF_TABLE: &str = "orf";

/// A register file with the ports of `RegisterFileHierarchy`.
pub struct HierarchyStorage {
    register_file: RegisterFile,
    /// One for each instruction that is issued a cycle.
    ports: Vec<EntryPorts>,
    orf_entries: u8,
    /// Where the operands of each instruction are.
    places: Vec<Places>,
    /// Instructions that begin a strand: before them nothing is in the upper levels that is read again.
    begins_strand: Vec<bool>,
    /// Warps whose next instruction begins a strand, one bit each.
    between_strands: u64,
}

/// Ports of an instruction that name slots and entries.
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

impl HierarchyStorage {
    /// A circuit that takes `issues` instructions a cycle, with so many entries a slot in its operand register file.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(engine: AnyEngine, issues: usize, orf_entries: u8) -> Result<HierarchyStorage, EngineError> {
        let ports = numbered(issues, |number| EntryPorts::resolve(&engine, number))?;
        let register_file = RegisterFile::new(engine, issues, ACCESS_CYCLES)?;
        Ok(HierarchyStorage {
            register_file,
            ports,
            orf_entries,
            places: Vec::new(),
            begins_strand: Vec::new(),
            between_strands: u64::MAX,
        })
    }

    /// The number of an entry in the circuit: those of the operand register file come first.
    fn number(&self, upper: Upper) -> u64 {
        match upper {
            Upper::Orf(entry) => u64::from(entry),
            Upper::Lrf => u64::from(self.orf_entries),
        }
    }

    fn set_sources(&mut self, index: usize, issue: &Issue) {
        let (engine, ports) = (self.register_file.engine.state_mut(), &self.ports[index]);
        engine.set(ports.slot, issue.slot as u64);
        engine.set(ports.copy_valid, 0);
        for source in 0..MAX_SOURCES {
            let place = match issue.sources[source] {
                Some(_) => self.places[issue.inst.0 as usize].sources[source],
                None => Default::default(),
            };
            let entry = place.upper.map(|upper| self.number(upper));
            let (engine, ports) = (self.register_file.engine.state_mut(), &self.ports[index]);
            engine.set(ports.source_entry_valid[source], u64::from(entry.is_some()));
            engine.set(ports.source_entry[source], entry.unwrap_or_default());
            if let Some(entry) = place.copied_to {
                engine.set(ports.copy_valid, 1);
                engine.set(ports.copy_entry, u64::from(entry));
                engine.set(ports.copy_source, source as u64);
            }
        }
    }

    fn set_result(&mut self, index: usize, write: &Write<'_>) {
        let place = self.places[write.inst.0 as usize].results[write.result];
        let entry = place.upper.map(|upper| self.number(upper));
        let (engine, ports) = (self.register_file.engine.state_mut(), &self.ports[index]);
        engine.set(ports.result_main, u64::from(place.main));
        engine.set(ports.result_entry_valid, u64::from(entry.is_some()));
        engine.set(ports.result_slot, write.slot.unwrap_or_default() as u64);
        engine.set(ports.result_entry, entry.unwrap_or_default());
    }
}

impl OperandStorage for HierarchyStorage {
    fn operand_cycles(&self) -> u64 {
        self.register_file.operand_cycles()
    }

    fn dispatches(&self) -> usize {
        self.register_file.dispatches()
    }

    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        let instructions = kernel.program.instructions.len();
        self.begins_strand = vec![false; instructions];
        self.places = match kernel.notes.get::<Placement>() {
            Some(placement) => {
                for strand in &placement.strands {
                    self.begins_strand[strand.start as usize] = true;
                }
                placement.places.clone()
            }
            None => vec![Places::default(); instructions],
        };
        self.register_file.start_kernel(kernel)
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        self.register_file.registers_per_warp(program)
    }

    fn start_warp(&mut self, warp: WarpSlot, first_row: u32, block: BlockIndex) {
        self.register_file.start_warp(warp, first_row, block);
    }

    fn decode(&mut self, warp: WarpSlot, inst: InstId) {
        let begins = u64::from(self.begins_strand[inst.0 as usize]);
        self.between_strands = self.between_strands & !(1 << warp) | begins << warp;
    }

    fn held_warps(&self) -> u64 {
        0
    }

    /// What is in the upper levels is lost with the slot.
    fn suspendable_warps(&self) -> u64 {
        self.between_strands
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        for index in 0..self.ports.len() {
            if let Some(issue) = &inputs.issue[index] {
                self.set_sources(index, issue);
            }
            if let Some(write) = &inputs.result[index] {
                self.set_result(index, write);
            }
        }
        self.register_file.cycle(inputs, outputs)
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.register_file.end_warp(warp);
    }

    fn count(&self, into: &mut Counts) {
        self.register_file.count(into);
        let accesses = |table| self.register_file.accesses(table);
        into.add(COUNTERS, &UpperLevels { lrf: accesses(LRF_TABLE), orf: accesses(ORF_TABLE) });
    }

    fn activity(&self) -> Vec<PortActivity> {
        self.register_file.activity()
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        self.register_file.circuit()
    }
}

impl EntryPorts {
    fn resolve(engine: &dyn Engine, number: &str) -> Result<EntryPorts, EngineError> {
        let issue = Group::new(engine, &format!("issue{number}"));
        let result = Group::new(engine, &format!("result{number}"));
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
