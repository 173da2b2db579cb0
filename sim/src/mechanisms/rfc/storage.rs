//! The register file cache circuit as operand storage: what it has to be told of slots, last reads and idle values.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::rfc::CachedRegisterFile;
use warpfile_kernels::program::{BlockIndex, InstId, Instruction, MAX_RESULTS, MAX_SOURCES, Program};

use super::{COPIES, COUNTERS, Copies};
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::mechanisms::register_file::{ACCESS_CYCLES, RegisterFile, common_ports, say_rows, set_rows_on};
use crate::sm::design::{
    Flush, Issue, OperandStorage, RowUses, StorageInputs, StorageOutputs, WarpRows, WarpSlot, Write,
};
use crate::sm::{PortActivity, SimError};

/// Cycles of the tag check before register access (Gebhart et al., Fig. 3(b)).
const TAG_CYCLES: usize = 1;
/// Name of the table that holds values in the cache.
const VALUES_TABLE: &str = "values";

/// A [`RegisterFile`] whose circuit has a cache in front.
pub struct CachedStorage {
    file: RegisterFile,
    ports: CircuitPorts<CachedRegisterFile>,
    /// Slots that are searched for copies at each write; none if each register is one warp's.
    slots_searched: u64,
    copies: Copies,
    /// What the compiler says of each instruction's operands.
    code: Vec<Marks>,
}

/// What the compiler says of an instruction's operands.
struct Marks {
    /// No executing lane reads the source again.
    last_read: [bool; MAX_SOURCES],
    /// The source is not read again before the warp may next be suspended.
    source_idle: [bool; MAX_SOURCES],
    /// The result is not read before the warp may next be suspended.
    result_idle: [bool; MAX_RESULTS],
}

impl CachedStorage {
    /// An engine that runs `circuit`.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(engine: AnyEngine, circuit: &CachedRegisterFile) -> Result<CachedStorage, EngineError> {
        let ports = engine.ports(circuit)?;
        let mut file = RegisterFile::new(engine, common_ports!(ports), TAG_CYCLES + ACCESS_CYCLES);
        file.extra_reads = ports.extra_read.clone();
        let slots_searched = if circuit.shared { circuit.slots as u64 } else { 0 };
        Ok(CachedStorage { file, ports, slots_searched, copies: Copies::default(), code: Vec::new() })
    }

    fn set_issue(&mut self, index: usize, issue: &Issue) {
        let (engine, ports) = (self.file.engine.state_mut(), &self.ports.issue[index]);
        let marks = &self.code[issue.inst.0 as usize];
        engine.set(ports.slot_i, issue.slot as u64);
        for source in (0..MAX_SOURCES).filter(|&source| issue.sources[source].is_some()) {
            engine.set(ports.source[source].last_read_i, u64::from(marks.last_read[source]));
            engine.set(ports.source[source].idle_i, u64::from(marks.source_idle[source]));
        }
    }

    fn set_result(&mut self, index: usize, write: &Write<'_>) {
        let (engine, ports) = (self.file.engine.state_mut(), &self.ports);
        let marks = &self.code[write.inst.0 as usize];
        engine.set(ports.result_slot_i[index], write.slot.unwrap_or_default() as u64);
        engine.set(ports.result_cached_i[index], u64::from(write.cached));
        engine.set(ports.result_idle_i[index], u64::from(marks.result_idle[write.result]));
    }

    fn set_fill(&mut self, write: &Write<'_>) {
        let (engine, ports) = (self.file.engine.state_mut(), &self.ports);
        engine.set(ports.fill_slot_i, write.slot.unwrap_or_default() as u64);
        engine.set(ports.fill_slot_valid_i, u64::from(write.slot.is_some()));
    }

    fn set_flush(&mut self, flush: Option<Flush>) {
        let (engine, ports) = (self.file.engine.state_mut(), &self.ports.flush);
        engine.set(ports.valid_i, u64::from(flush.is_some()));
        if let Some(flush) = flush {
            engine.set(ports.slot_i, flush.slot as u64);
            engine.set(ports.discard_i, u64::from(flush.discard));
        }
    }
}

impl OperandStorage for CachedStorage {
    fn operand_cycles(&self) -> u64 {
        self.file.operand_cycles()
    }

    fn dispatches(&self) -> usize {
        self.file.dispatches()
    }

    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.code = kernel.program.instructions.iter().map(Marks::new).collect();
        self.file.start_kernel(kernel)
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        self.file.registers_per_warp(program)
    }

    /// Tags say where an operand is, and slots where a result goes.
    fn row_uses(&self, _inst: InstId) -> RowUses {
        RowUses::FOUND_LATER
    }

    fn start_warp(&mut self, warp: WarpSlot, rows: WarpRows, block: BlockIndex) {
        self.file.start_warp(warp, rows, block);
    }

    fn held_warps(&self) -> u64 {
        0
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        for index in 0..self.ports.issue.len() {
            if let Some(issue) = &inputs.issue[index] {
                self.set_issue(index, issue);
            }
            if let Some(write) = &inputs.result[index] {
                self.set_result(index, write);
            }
        }
        if let Some(write) = &inputs.fill {
            self.set_fill(write);
        }
        self.set_flush(inputs.flush);
        set_rows_on(&mut self.file.engine, &self.ports.rows, inputs.rows);
        self.file.set(inputs);
        self.file.step(inputs, outputs);
        let taken = outputs.result_taken.iter().chain([&outputs.fill_taken]).filter(|&&taken| taken).count();
        self.copies.searched += taken as u64 * self.slots_searched;
        say_rows(&self.file.engine, &self.ports.rows, &mut outputs.rows);
        outputs.busy_slots = self.file.engine.get(self.ports.slot_busy_o);
        Ok(())
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.file.end_warp(warp);
    }

    fn count(&self, into: &mut Counts) {
        self.file.count(into);
        into.add(COUNTERS, &self.file.accesses(VALUES_TABLE));
        into.add(COPIES, &self.copies);
    }

    fn activity(&self) -> Vec<PortActivity> {
        self.file.activity()
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        self.file.circuit()
    }
}

impl Marks {
    fn new(instruction: &Instruction) -> Marks {
        let source = |index: usize| instruction.sources.get(index);
        Marks {
            last_read: std::array::from_fn(|index| source(index).is_some_and(|source| source.last_read)),
            source_idle: std::array::from_fn(|index| {
                source(index).is_some_and(|source| source.idle_until_suspension)
            }),
            result_idle: std::array::from_fn(|index| {
                instruction.results.get(index).is_some_and(|result| result.idle_until_suspension)
            }),
        }
    }
}
