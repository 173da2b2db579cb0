//! The circuit as operand storage: which operands of an instruction are kept.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::reuse::ReuseRegisterFile;
use warpfile_kernels::compile::reuse::Marks;
use warpfile_kernels::program::{BlockIndex, MAX_SOURCES, Program};

use super::{COUNTERS, Reused};
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::mechanisms::register_file::{ACCESS_CYCLES, RegisterFile, common_ports};
use crate::sm::design::{Issue, OperandStorage, StorageInputs, StorageOutputs, WarpRows, WarpSlot};
use crate::sm::{Accesses, PortActivity, SimError};

/// Names of the tables that keep the operands of each position.
const VALUES_TABLES: [&str; MAX_SOURCES] = ["values0", "values1", "values2"];

/// A register file with the ports of `ReuseRegisterFile`.
pub struct ReuseStorage {
    register_file: RegisterFile,
    ports: CircuitPorts<ReuseRegisterFile>,
    /// Which operands of each instruction are kept.
    marks: Vec<[bool; MAX_SOURCES]>,
}

impl ReuseStorage {
    /// An engine that runs `circuit`.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(engine: AnyEngine, circuit: &ReuseRegisterFile) -> Result<ReuseStorage, EngineError> {
        let ports = engine.ports(circuit)?;
        let register_file = RegisterFile::new(engine, common_ports!(ports), ACCESS_CYCLES);
        Ok(ReuseStorage { register_file, ports, marks: Vec::new() })
    }

    fn set_marks(&mut self, index: usize, issue: &Issue) {
        let (engine, ports) = (self.register_file.engine.state_mut(), &self.ports.issue[index]);
        let marks = self.marks[issue.inst.0 as usize];
        for ((source, marked), port) in issue.sources.iter().zip(marks).zip(&ports.source) {
            engine.set(port.keep_i, u64::from(marked && source.is_some()));
        }
    }
}

impl OperandStorage for ReuseStorage {
    fn operand_cycles(&self) -> u64 {
        self.register_file.operand_cycles()
    }

    fn dispatches(&self) -> usize {
        self.register_file.dispatches()
    }

    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        let none = || vec![[false; MAX_SOURCES]; kernel.program.instructions.len()];
        self.marks = kernel.notes.get::<Marks>().map_or_else(none, |marks| marks.instructions.clone());
        self.register_file.start_kernel(kernel)
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        self.register_file.registers_per_warp(program)
    }

    fn start_warp(&mut self, warp: WarpSlot, rows: WarpRows, block: BlockIndex) {
        self.register_file.start_warp(warp, rows, block);
    }

    fn held_warps(&self) -> u64 {
        0
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        for index in 0..self.ports.issue.len() {
            if let Some(issue) = &inputs.issue[index] {
                self.set_marks(index, issue);
            }
        }
        self.register_file.cycle(inputs, outputs)
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.register_file.end_warp(warp);
    }

    fn count(&self, into: &mut Counts) {
        self.register_file.count(into);
        let positions = VALUES_TABLES.map(|table| self.register_file.accesses(table));
        let sum = |of: fn(&Accesses) -> u64| positions.iter().map(of).sum();
        let values = Accesses {
            reads: sum(|position| position.reads),
            writes: sum(|position| position.writes),
            cluster_reads: sum(|position| position.cluster_reads),
            cluster_writes: sum(|position| position.cluster_writes),
        };
        let [first, second, third] = positions.map(|position| position.reads);
        into.add(COUNTERS, &Reused { values, first, second, third });
    }

    fn activity(&self) -> Vec<PortActivity> {
        self.register_file.activity()
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        self.register_file.circuit()
    }
}
