//! The register cache circuit as operand storage: what it has to be told of warps and last reads.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::hybrid::RegisterCacheHierarchy;
use warpfile_kernels::program::{BlockIndex, InstId, Instruction, MAX_SOURCES, Program};

use super::COUNTERS;
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::mechanisms::register_file::{ACCESS_CYCLES, RegisterFile, common_ports, say_rows, set_rows_on};
use crate::sm::design::{Issue, OperandStorage, RowUses, StorageInputs, StorageOutputs, WarpRows, WarpSlot};
use crate::sm::{PortActivity, SimError};

/// Name of the table that holds values in the cache.
pub(super) const VALUES_TABLE: &str = "values";

/// For each instruction the sources that no executing lane reads again.
pub(super) type LastReads = Vec<[bool; MAX_SOURCES]>;

/// Those of a program.
pub(super) fn last_reads(program: &Program) -> LastReads {
    let of_instruction = |instruction: &Instruction| {
        std::array::from_fn(|k| instruction.sources.get(k).is_some_and(|source| source.last_read))
    };
    program.instructions.iter().map(of_instruction).collect()
}

/// A [`RegisterFile`] whose circuit has a register cache in front.
pub struct RegisterCacheStorage {
    file: RegisterFile,
    ports: CircuitPorts<RegisterCacheHierarchy>,
    last_reads: LastReads,
    /// Warps that have ended since the last cycle, one bit each.
    ended: u64,
}

impl RegisterCacheStorage {
    /// An engine that runs `circuit`.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(
        engine: AnyEngine,
        circuit: &RegisterCacheHierarchy,
    ) -> Result<RegisterCacheStorage, EngineError> {
        let ports = engine.ports(circuit)?;
        let file = RegisterFile::new(engine, common_ports!(ports), ACCESS_CYCLES);
        Ok(RegisterCacheStorage { file, ports, last_reads: Vec::new(), ended: 0 })
    }

    fn set_issue(&mut self, index: usize, issue: &Issue) {
        let (engine, ports) = (self.file.engine.state_mut(), &self.ports.issue[index]);
        if let [warp] = ports.warp_i[..] {
            engine.set(warp, issue.warp as u64);
        }
        let last_reads = &self.last_reads[issue.inst.0 as usize];
        for ((port, source), &ends) in ports.source.iter().zip(&issue.sources).zip(last_reads) {
            engine.set(port.last_read_i, u64::from(source.is_some() && ends));
        }
    }
}

impl OperandStorage for RegisterCacheStorage {
    fn operand_cycles(&self) -> u64 {
        self.file.operand_cycles()
    }

    fn dispatches(&self) -> usize {
        self.file.dispatches()
    }

    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.last_reads = last_reads(kernel.program);
        self.file.start_kernel(kernel)
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        self.file.registers_per_warp(program)
    }

    /// Tags say where an operand is; every result goes to the cache.
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
                self.file.engine.state_mut().set(self.ports.result_warp_i[index], write.warp as u64);
            }
        }
        let engine = self.file.engine.state_mut();
        if let Some(write) = &inputs.fill {
            engine.set(self.ports.fill_warp_i, write.warp as u64);
        }
        engine.set(self.ports.ended_i, std::mem::take(&mut self.ended));
        set_rows_on(&mut self.file.engine, &self.ports.rows, inputs.rows);
        self.file.cycle(inputs, outputs)?;
        say_rows(&self.file.engine, &self.ports.rows, &mut outputs.rows);
        Ok(())
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.ended |= 1 << warp;
        self.file.end_warp(warp);
    }

    fn count(&self, into: &mut Counts) {
        self.file.count(into);
        into.add(COUNTERS, &self.file.accesses(VALUES_TABLE));
    }

    fn activity(&self) -> Vec<PortActivity> {
        self.file.activity()
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        self.file.circuit()
    }
}
