//! A register file hierarchy circuit as operand storage: a register file whose operands are where the compiler says.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::rfh::RegisterFileHierarchy;
use warpfile_kernels::compile::rfh::{Placement, Places, Upper};
use warpfile_kernels::program::{BlockIndex, InstId, MAX_SOURCES, Program};

use super::{COUNTERS, UpperLevels};
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::mechanisms::register_file::{ACCESS_CYCLES, RegisterFile, common_ports};
use crate::sm::design::{
    Issue, OperandStorage, RowUse, RowUses, StorageInputs, StorageOutputs, WarpRows, WarpSlot, Write,
};
use crate::sm::{PortActivity, SimError};

/// Name of the table of the last result file.
const LRF_TABLE: &str = "lrf";
/// Name of the table of the operand register file.
const ORF_TABLE: &str = "orf";

/// A register file with the ports of `RegisterFileHierarchy`.
pub struct HierarchyStorage {
    register_file: RegisterFile,
    ports: CircuitPorts<RegisterFileHierarchy>,
    orf_entries: u8,
    /// Where the operands of each instruction are.
    places: Vec<Places>,
    /// Instructions that begin a strand: before them nothing is in the upper levels that is read again.
    begins_strand: Vec<bool>,
    /// Warps whose next instruction begins a strand, one bit each.
    between_strands: u64,
}

impl HierarchyStorage {
    /// An engine that runs `circuit`.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(engine: AnyEngine, circuit: &RegisterFileHierarchy) -> Result<HierarchyStorage, EngineError> {
        let ports = engine.ports(circuit)?;
        let register_file = RegisterFile::new(engine, common_ports!(ports), ACCESS_CYCLES);
        Ok(HierarchyStorage {
            register_file,
            ports,
            orf_entries: circuit.orf_entries as u8,
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
        let (engine, ports) = (self.register_file.engine.state_mut(), &self.ports.issue[index]);
        engine.set(ports.slot_i, issue.slot as u64);
        engine.set(ports.copy_valid_i, 0);
        for source in 0..MAX_SOURCES {
            let place = match issue.sources[source] {
                Some(_) => self.places[issue.inst.0 as usize].sources[source],
                None => Default::default(),
            };
            let entry = place.upper.map(|upper| self.number(upper));
            let (engine, ports) = (self.register_file.engine.state_mut(), &self.ports.issue[index]);
            engine.set(ports.source[source].entry_valid_i, u64::from(entry.is_some()));
            engine.set(ports.source[source].entry_i, entry.unwrap_or_default());
            if let Some(entry) = place.copied_to {
                engine.set(ports.copy_valid_i, 1);
                engine.set(ports.copy_entry_i, u64::from(entry));
                engine.set(ports.copy_source_i, source as u64);
            }
        }
    }

    fn set_result(&mut self, index: usize, write: &Write<'_>) {
        let place = self.places[write.inst.0 as usize].results[write.result];
        let entry = place.upper.map(|upper| self.number(upper));
        let (engine, ports) = (self.register_file.engine.state_mut(), &self.ports.result[index]);
        engine.set(ports.main_i, u64::from(place.main));
        engine.set(ports.entry_valid_i, u64::from(entry.is_some()));
        engine.set(ports.slot_i, write.slot.unwrap_or_default() as u64);
        engine.set(ports.entry_i, entry.unwrap_or_default());
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

    /// The compiler has said it.
    fn row_uses(&self, inst: InstId) -> RowUses {
        let in_row = |is_in_row: bool| if is_in_row { RowUse::Row } else { RowUse::Above };
        let places = &self.places[inst.0 as usize];
        RowUses {
            sources: places.sources.each_ref().map(|source| in_row(source.upper.is_none())),
            results: places.results.each_ref().map(|result| in_row(result.main)),
        }
    }

    fn start_warp(&mut self, warp: WarpSlot, rows: WarpRows, block: BlockIndex) {
        self.register_file.start_warp(warp, rows, block);
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
        for index in 0..self.ports.issue.len() {
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
