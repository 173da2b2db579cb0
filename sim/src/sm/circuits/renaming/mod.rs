//! A register file that renames registers, as operand storage.

mod ports;
mod residents;

use warpfile_engine::{Engine, EngineError};
use warpfile_hdl::rfv::{ALLOWANCE_BITS, MAX_ALLOWANCE};
use warpfile_kernels::program::{BlockIndex, InstId, Program};
use warpfile_kernels::releases::Release;

use super::super::design::{
    Issue, MAX_ISSUES, OperandStorage, StorageInputs, StorageOutputs, WarpSlot, Write,
};
use super::super::in_flight::CAPACITY;
use super::super::report::RenamingStatistics;
use super::super::{Accesses, PortActivity, SimError};
use super::{RegisterFileCircuit, TableNames, accesses};
use ports::RenamingPorts;
use residents::Residents;

/// Name of the table that holds the names of registers.
const NAMES_TABLE: &str = "names";

/// A [`RegisterFileCircuit`] whose circuit renames registers, with what it has to be told of programs and warps.
pub struct RenamedRegisterFile<E> {
    file: RegisterFileCircuit<E>,
    ports: RenamingPorts,
    /// Physical registers.
    registers: u64,
    kernel: Kernel,
    residents: Residents,
    /// Name of register 0 of each warp.
    first_names: [u32; u64::BITS as usize],
    /// Registers that the next instruction of each warp writes.
    demands: [u8; u64::BITS as usize],
    /// Registers that each warp may take.
    allowances: [u8; u64::BITS as usize],
    /// Registers that instructions write that have been picked and not taken.
    picked: u64,
    /// Instructions in flight, by number.
    in_flight: Vec<InstId>,
    /// Names of warps that have ended, and whether there are some.
    retiring: (Vec<u64>, bool),
    /// Room for a set of names.
    set: Vec<u64>,
    statistics: RenamingStatistics,
}

/// What a program says of its registers.
#[derive(Default)]
struct Kernel {
    name: String,
    instructions: Vec<KernelInstruction>,
    registers_per_thread: u16,
    most_held: u64,
    most_held_at_barrier: u64,
}

struct KernelInstruction {
    results: Vec<u16>,
    release: Release,
}

impl<E: Engine> RenamedRegisterFile<E> {
    /// A circuit with so many names and physical registers that delivers operands `operand_cycles` after the
    /// scheduler's pick at the earliest. Errors name a port that is not there.
    pub fn new(
        engine: E,
        tables: TableNames,
        operand_cycles: u64,
        names: usize,
        registers: u64,
    ) -> Result<RenamedRegisterFile<E>, EngineError> {
        let words = names.div_ceil(u64::BITS as usize);
        Ok(RenamedRegisterFile {
            ports: RenamingPorts::resolve(&engine)?,
            file: RegisterFileCircuit::new(engine, tables, MAX_ISSUES, operand_cycles)?,
            registers,
            kernel: Kernel::default(),
            residents: Residents::default(),
            first_names: [0; u64::BITS as usize],
            demands: [0; u64::BITS as usize],
            allowances: [0; u64::BITS as usize],
            picked: 0,
            in_flight: vec![InstId(0); CAPACITY],
            retiring: (vec![0; words], false),
            set: vec![0; words],
            statistics: RenamingStatistics::default(),
        })
    }

    /// Every instruction releases registers, also one that no lane executes; only one that some lane executes writes.
    fn set_issue(&mut self, way: usize, issue: &Option<Issue>) {
        let Some(issue) = issue else { return };
        let (engine, ports) = (&mut self.file.engine, &self.ports.issue[way]);
        let KernelInstruction { results, release } = &self.kernel.instructions[issue.inst.0 as usize];
        let first = self.first_names[issue.warp];
        let writes = issue.active != 0;
        engine.set(ports.warp, issue.warp as u64);
        for (index, (&valid, &register)) in ports.result_valid.iter().zip(&ports.result_register).enumerate()
        {
            let result = results.get(index).filter(|_| writes);
            engine.set(valid, u64::from(result.is_some()));
            if let Some(&result) = result {
                engine.set(register, u64::from(first + u32::from(result)));
            }
        }
        self.set.fill(0);
        for register in &release.registers {
            add(&mut self.set, first + u32::from(register.0));
        }
        for (&result, _) in results.iter().zip(&release.results).filter(|(_, dies)| **dies && !writes) {
            add(&mut self.set, first + u32::from(result));
        }
        engine.set_words(ports.release, &self.set);
        self.in_flight[usize::from(issue.id)] = issue.inst;
    }

    fn set_writes(&mut self, inputs: &StorageInputs<'_>) {
        for (port, write) in inputs.result.iter().chain([&inputs.fill]).enumerate() {
            let dies = write.as_ref().is_some_and(|write| self.dies(write));
            self.file.engine.set(self.ports.dead[port], u64::from(dies));
        }
    }

    /// Whether nothing reads a result.
    fn dies(&self, write: &Write<'_>) -> bool {
        let InstId(inst) = self.in_flight[usize::from(write.id)];
        self.kernel.instructions[inst as usize].release.results[write.result]
    }

    fn set_retiring(&mut self) {
        let (names, some) = &mut self.retiring;
        self.file.engine.set_words(self.ports.retire, names);
        if *some {
            names.fill(0);
            *some = false;
        }
    }

    /// Who goes first, and how many registers are left for the others.
    fn set_limits(&mut self, parked: u64) -> Result<(), SimError> {
        let slack = self.slack()?;
        let (engine, limits) = (&mut self.file.engine, &self.ports.limits);
        engine.set(limits.oldest, self.residents.oldest());
        engine.set(limits.first, self.residents.first(parked));
        engine.set(limits.quota, self.kernel.most_held_at_barrier);
        engine.set(limits.slack, slack);
        Ok(())
    }

    /// Registers left when one warp holds the most it ever does, and the others of its block what they hold at a barrier.
    fn slack(&self) -> Result<u64, SimError> {
        let Kernel { name, most_held, most_held_at_barrier, .. } = &self.kernel;
        let warps = self.residents.most_warps();
        let needed = if warps == 0 { 0 } else { most_held + (warps - 1) * most_held_at_barrier };
        self.registers.checked_sub(needed).ok_or_else(|| SimError::TooFewRegisters {
            kernel: name.clone(),
            needed,
            most_held: *most_held,
            warps,
            most_held_at_barrier: *most_held_at_barrier,
            available: self.registers,
        })
    }

    fn follow(&mut self, inputs: &StorageInputs<'_>, outputs: &StorageOutputs) {
        for (issue, _) in inputs.issue.iter().zip(&outputs.issue_taken).filter(|(_, taken)| **taken) {
            let results = issue.as_ref().map_or(0, |issue| self.results(issue.inst));
            self.picked -= u64::from(results);
        }
        let engine = &self.file.engine;
        let words = engine.get_words(self.ports.limits.allowance);
        for (warp, allowance) in self.allowances.iter_mut().enumerate() {
            let bit = warp * ALLOWANCE_BITS;
            let word = words.get(bit / 64).copied().unwrap_or(0);
            *allowance = (word >> (bit % 64)) as u8 & MAX_ALLOWANCE as u8;
        }
        let in_use = engine.get(self.ports.held);
        self.statistics.most_in_use = self.statistics.most_in_use.max(in_use);
        self.statistics.register_cycles += in_use;
        self.statistics.allocation_waits += engine.get(self.ports.register_wait);
    }

    /// Registers that an instruction writes.
    fn results(&self, inst: InstId) -> u8 {
        self.kernel.instructions[inst.0 as usize].results.len() as u8
    }
}

impl<E: Engine> OperandStorage for RenamedRegisterFile<E> {
    fn operand_cycles(&self) -> u64 {
        self.file.operand_cycles()
    }

    fn dispatches(&self) -> usize {
        self.file.dispatches()
    }

    fn start_kernel(&mut self, program: &Program) -> Result<(), SimError> {
        self.kernel = Kernel::new(program);
        self.file.start_kernel(program)
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        self.file.registers_per_warp(program)
    }

    fn decode(&mut self, warp: WarpSlot, inst: InstId) {
        self.demands[warp] = self.results(inst);
    }

    fn pick(&mut self, _warp: WarpSlot, inst: InstId) {
        self.picked += u64::from(self.results(inst));
    }

    fn start_warp(&mut self, warp: WarpSlot, first_row: u32, block: BlockIndex) {
        self.residents.start(warp, block);
        self.first_names[warp] = first_row;
    }

    /// Those whose next instruction writes more registers than the warp may take, beside those that are picked.
    fn held_warps(&self) -> u64 {
        let held = |warp: &usize| {
            let demand = u64::from(self.demands[*warp]);
            demand > 0 && demand + self.picked > u64::from(self.allowances[*warp])
        };
        super::super::warp::each(self.residents.all()).filter(held).fold(0, |all, warp| all | 1 << warp)
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        for (way, issue) in inputs.issue.iter().enumerate() {
            self.set_issue(way, issue);
        }
        self.set_writes(inputs);
        self.set_retiring();
        self.set_limits(inputs.parked)?;
        self.file.cycle(inputs, outputs)?;
        self.follow(inputs, outputs);
        Ok(())
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.residents.end(warp);
        let (names, some) = &mut self.retiring;
        let first = self.first_names[warp];
        for register in 0..u32::from(self.kernel.registers_per_thread) {
            add(names, first + register);
        }
        *some = true;
    }

    fn mrf(&self) -> Accesses {
        self.file.mrf()
    }

    fn rfc(&self) -> Accesses {
        self.file.rfc()
    }

    fn renaming(&self) -> RenamingStatistics {
        RenamingStatistics { allocations: accesses(&self.file.engine, NAMES_TABLE).writes, ..self.statistics }
    }

    fn activity(&self) -> Vec<PortActivity> {
        self.file.activity()
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        self.file.circuit()
    }
}

impl Kernel {
    fn new(program: &Program) -> Kernel {
        let Some(releases) = &program.releases else { return Kernel::default() };
        let instructions = program.instructions.iter().zip(&releases.instructions);
        Kernel {
            name: program.name.clone(),
            instructions: instructions
                .map(|(instruction, release)| KernelInstruction {
                    results: instruction.results.iter().map(|result| result.register.0).collect(),
                    release: release.clone(),
                })
                .collect(),
            registers_per_thread: program.registers_per_thread,
            most_held: u64::from(releases.most_held),
            most_held_at_barrier: u64::from(releases.most_held_at_barrier),
        }
    }
}

/// Adds a name to a set.
fn add(set: &mut [u64], name: u32) {
    set[name as usize / 64] |= 1 << (name % 64);
}
