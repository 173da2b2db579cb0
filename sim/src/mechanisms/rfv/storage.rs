//! A register file that renames registers, as operand storage.

use warpfile_engine::{AnyEngine, CircuitPorts, Engine, EngineError};
use warpfile_hdl::rfv::VirtualRegisterFile;
use warpfile_kernels::compile::rfv::{Release, Releases};
use warpfile_kernels::program::{BlockIndex, InstId, PhysReg, Program};

use super::residents::Residents;
use super::{COUNTERS, Renaming, TooFewRegisters};
use crate::counters::Counts;
use crate::mechanisms::Compiled;
use crate::mechanisms::register_file::{ACCESS_CYCLES, RegisterFile, common_ports};
use crate::sm::design::{Issue, OperandStorage, StorageInputs, StorageOutputs, WarpRows, WarpSlot, Write};
use crate::sm::{PortActivity, SimError, each};

/// Name of the table that holds the names of registers.
const NAMES_TABLE: &str = "names";

/// A [`RegisterFile`] whose circuit renames registers, with what it has to be told of programs and warps.
pub struct RenamedRegisterFile {
    file: RegisterFile,
    ports: CircuitPorts<VirtualRegisterFile>,
    /// Physical registers.
    registers: u64,
    kernel: Kernel,
    residents: Residents,
    /// Name of register 0 of each warp.
    first_names: [u32; u64::BITS as usize],
    /// Registers that the next instruction of each warp writes.
    demands: [u8; u64::BITS as usize],
    /// Warps that may take registers, one bit each.
    admitted: u64,
    /// Names of warps that have ended, and these warps.
    retiring: (Vec<u64>, u64),
    /// Room for a set of names.
    set: Vec<u64>,
    statistics: Renaming,
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

impl RenamedRegisterFile {
    /// An engine that runs `circuit`.
    ///
    /// # Errors
    /// A port that is not there.
    pub fn new(engine: AnyEngine, circuit: &VirtualRegisterFile) -> Result<RenamedRegisterFile, EngineError> {
        let ports = engine.ports(circuit)?;
        let words = circuit.names.div_ceil(u64::BITS as usize);
        Ok(RenamedRegisterFile {
            file: RegisterFile::new(engine, common_ports!(ports), ACCESS_CYCLES),
            ports,
            registers: circuit.table().registers() as u64,
            kernel: Kernel::default(),
            residents: Residents::default(),
            first_names: [0; u64::BITS as usize],
            demands: [0; u64::BITS as usize],
            admitted: 0,
            retiring: (vec![0; words], 0),
            set: vec![0; words],
            statistics: Renaming::default(),
        })
    }

    /// Every instruction releases registers, also one that no lane executes; only one that some lane executes writes.
    fn set_issue(&mut self, index: usize, issue: &Option<Issue>) {
        let Some(issue) = issue else { return };
        let (engine, ports) = (self.file.engine.state_mut(), &self.ports.issue[index]);
        let KernelInstruction { results, release } = &self.kernel.instructions[issue.inst.0 as usize];
        let first = self.first_names[issue.warp];
        let writes = issue.active != 0;
        engine.set(ports.warp_i, issue.warp as u64);
        for (number, ports) in ports.result.iter().enumerate() {
            let result = results.get(number).filter(|_| writes);
            engine.set(ports.valid_i, u64::from(result.is_some()));
            if let Some(&result) = result {
                engine.set(ports.register_i, u64::from(first + u32::from(result)));
            }
        }
        self.set.fill(0);
        for register in &release.registers {
            add(&mut self.set, first + u32::from(register.0));
        }
        for (&result, _) in results.iter().zip(&release.results).filter(|(_, dies)| **dies && !writes) {
            add(&mut self.set, first + u32::from(result));
        }
        engine.set_words(ports.release_i, &self.set);
    }

    fn set_writes(&mut self, inputs: &StorageInputs<'_>) {
        let results = self.ports.result_dead_i.iter().zip(&inputs.result);
        for (&port, write) in results.chain([(&self.ports.fill_dead_i, &inputs.fill)]) {
            let dies = write.as_ref().is_some_and(|write| self.dies(write));
            self.file.engine.set(port, u64::from(dies));
        }
    }

    /// Whether nothing reads a result.
    fn dies(&self, write: &Write<'_>) -> bool {
        self.kernel.instructions[write.inst.0 as usize].release.results[write.result]
    }

    fn set_retiring(&mut self) {
        let (names, warps) = &mut self.retiring;
        self.file.engine.set_words(self.ports.retire_i, names);
        self.file.engine.set(self.ports.limits.ended_i, *warps);
        if *warps != 0 {
            names.fill(0);
            *warps = 0;
        }
    }

    /// Who asks for registers, and what a warp may need.
    fn set_limits(&mut self, parked: u64) -> Result<(), SimError> {
        self.check_oldest_fits()?;
        let (engine, limits) = (self.file.engine.state_mut(), &self.ports.limits);
        engine.set(limits.oldest_i, self.residents.oldest());
        engine.set(limits.turn_i, self.residents.turn(self.admitted, parked));
        engine.set(limits.parked_i, parked);
        engine.set(limits.claim_i, self.kernel.most_held);
        engine.set(limits.quota_i, self.kernel.most_held_at_barrier);
        Ok(())
    }

    /// There are registers for one warp that holds the most it ever does while the others of its block wait at a barrier.
    fn check_oldest_fits(&self) -> Result<(), SimError> {
        let Kernel { name, most_held, most_held_at_barrier, .. } = &self.kernel;
        let warps = self.residents.most_warps();
        let needed = if warps == 0 { 0 } else { most_held + (warps - 1) * most_held_at_barrier };
        if needed <= self.registers {
            return Ok(());
        }
        Err(SimError::mechanism(TooFewRegisters {
            kernel: name.clone(),
            needed,
            most_held: *most_held,
            warps,
            most_held_at_barrier: *most_held_at_barrier,
            available: self.registers,
        }))
    }

    fn follow(&mut self) {
        let engine = &self.file.engine;
        self.admitted = engine.get(self.ports.limits.admitted_o);
        let in_use = engine.get(self.ports.held_o);
        self.statistics.most_in_use = self.statistics.most_in_use.max(in_use);
        self.statistics.register_cycles += in_use;
        self.statistics.allocation_waits += engine.get(self.ports.register_wait_o);
    }

    /// Registers that an instruction writes.
    fn results(&self, inst: InstId) -> u8 {
        self.kernel.instructions[inst.0 as usize].results.len() as u8
    }
}

impl OperandStorage for RenamedRegisterFile {
    fn operand_cycles(&self) -> u64 {
        self.file.operand_cycles()
    }

    fn dispatches(&self) -> usize {
        self.file.dispatches()
    }

    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.kernel = match kernel.notes.get() {
            Some(releases) => Kernel::new(kernel.program, releases),
            None => Kernel::default(),
        };
        self.file.start_kernel(kernel)
    }

    /// A register that is released must have been written.
    fn waits_for(&self, inst: InstId) -> &[PhysReg] {
        &self.kernel.instructions[inst.0 as usize].release.registers
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        self.file.registers_per_warp(program)
    }

    fn decode(&mut self, warp: WarpSlot, inst: InstId) {
        self.demands[warp] = self.results(inst);
    }

    fn start_warp(&mut self, warp: WarpSlot, rows: WarpRows, block: BlockIndex) {
        self.residents.start(warp, block);
        self.first_names[warp] = rows.first();
    }

    /// Those that are not admitted and whose next instruction writes a register.
    fn held_warps(&self) -> u64 {
        let waiting = self.residents.all() & !self.admitted;
        let held = |warp: &usize| self.demands[*warp] > 0;
        each(waiting).filter(held).fold(0, |all, warp| all | 1 << warp)
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        for index in 0..self.ports.issue.len() {
            self.set_issue(index, &inputs.issue[index]);
        }
        self.set_writes(inputs);
        self.set_retiring();
        self.set_limits(inputs.parked)?;
        self.file.cycle(inputs, outputs)?;
        self.follow();
        Ok(())
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.residents.end(warp);
        self.admitted &= !(1 << warp);
        let (names, warps) = &mut self.retiring;
        let first = self.first_names[warp];
        for register in 0..u32::from(self.kernel.registers_per_thread) {
            add(names, first + register);
        }
        *warps |= 1 << warp;
    }

    fn count(&self, into: &mut Counts) {
        self.file.count(into);
        let allocations = self.file.accesses(NAMES_TABLE).writes;
        into.add(COUNTERS, &Renaming { allocations, ..self.statistics });
    }

    fn activity(&self) -> Vec<PortActivity> {
        self.file.activity()
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        self.file.circuit()
    }
}

impl Kernel {
    fn new(program: &Program, releases: &Releases) -> Kernel {
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
