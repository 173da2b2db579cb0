//! The layer: what the SM does with registers, told to the circuits of its partitions.

use warpfile_engine::Engine;
use warpfile_kernels::program::{BlockIndex, InstId, WarpInstruction};

use super::kernel::Kernel;
use super::partition::{NOT_ON_WHEN_READ, NOT_ON_WHEN_WRITTEN, Partition};
use super::{CIRCUIT, COUNTERS, Liveness, MAX_REGISTERS, Parameters, Policy};
use crate::config::Config;
use crate::counters::Counts;
use crate::mechanisms::{Compiled, RegisterRows};
use crate::sm::SimError;
use crate::sm::design::{Layer, RowAccess, RowStates, RowUses, WarpPlace, WarpRows, name_in_partition};

/// Outputs that are looked at before a cycle is run.
pub(super) const FORESEEN: [&str; 3] = ["on_o", "sleep_o", "off_o"];

/// A row was accessed that could not be.
#[derive(Debug, thiserror::Error)]
#[error("kernel {kernel}, scheduler {partition}, warp slot {warp}, {by}: R{register} {what}")]
struct WrongAccess {
    kernel: String,
    partition: usize,
    warp: usize,
    /// The instruction, or what writes for none.
    by: String,
    register: u16,
    what: String,
}

/// The kernel has more registers than a set of them holds.
#[derive(Debug, thiserror::Error)]
#[error("kernel {kernel}: {registers} registers a thread; registers that sleep are at most {MAX_REGISTERS}")]
struct TooManyRegisters {
    kernel: String,
    registers: u16,
}

/// Registers that sleep, of an SM.
pub struct PowerLayer {
    policy: Policy,
    /// Where registers lie.
    rows: RegisterRows,
    /// Values survive an OFF, and those that would not are counted.
    survives: bool,
    kernel: Kernel,
    partitions: Vec<Partition>,
    /// Warps of each partition that it holds back in this cycle.
    held: Vec<u64>,
    /// What ends the run.
    fault: Option<Box<WrongAccess>>,
    design: String,
    lost_lanes: u64,
}

impl PowerLayer {
    pub fn new(config: &Config, policy: Policy, partitions: Vec<Partition>) -> PowerLayer {
        PowerLayer {
            policy,
            rows: super::register_rows(config),
            survives: config.of::<Parameters>().liveness == Liveness::Thesis,
            kernel: Kernel::default(),
            held: vec![0; partitions.len()],
            partitions,
            fault: None,
            design: config.design.to_string(),
            lost_lanes: 0,
        }
    }

    fn fail(&mut self, at: WarpPlace, inst: InstId, register: u16, what: String) {
        let decoded = &self.kernel.instructions[inst.0 as usize];
        self.fault.get_or_insert_with(|| {
            Box::new(WrongAccess {
                kernel: self.kernel.name.clone(),
                partition: at.partition,
                warp: at.warp,
                by: format!("instruction {:#x} ({})", decoded.pc, decoded.text),
                register,
                what,
            })
        });
    }
}

impl Layer for PowerLayer {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        let registers = kernel.program.registers_per_thread;
        if usize::from(registers) > MAX_REGISTERS {
            let kernel = kernel.program.name.clone();
            return Err(SimError::mechanism(TooManyRegisters { kernel, registers }));
        }
        let states = if self.policy == Policy::SleepReg { None } else { kernel.notes.get() };
        self.kernel = Kernel::new(kernel.program, states, self.rows);
        Ok(())
    }

    fn start_rows(&mut self, uses: &[RowUses]) {
        self.kernel.set_row_uses(uses);
    }

    fn start_warp(&mut self, at: WarpPlace, rows: WarpRows, _block: BlockIndex) {
        let registers = self.kernel.registers_per_thread;
        self.partitions[at.partition].start_warp(at.warp, rows, registers);
    }

    fn decode(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        self.partitions[at.partition].decode(at.warp, instruction.inst.0);
    }

    fn held_warps(&mut self, index: usize) -> u64 {
        let (partition, instructions) = (&mut self.partitions[index], &self.kernel.instructions);
        let mut held = 0;
        for warp in 0..partition.warps.len() {
            held |= u64::from(partition.must_wait(warp, instructions)) << warp;
        }
        self.held[index] = held;
        held
    }

    /// Rows are up, and operands read, in a few cycles.
    fn brief_waits(&mut self, partition: usize) -> u64 {
        self.held[partition]
    }

    fn rows(&mut self, partition: usize) -> Option<RowStates<'_>> {
        let rows = self.partitions[partition].rows();
        // A line or shared row that is no register's has no value that could survive.
        Some(if self.survives && self.rows == RegisterRows::Fixed {
            RowStates { lost: &[], ..rows }
        } else {
            rows
        })
    }

    fn access_rows(&mut self, partition: usize, rows: &[RowAccess]) {
        let wrong = self.partitions[partition].access_rows(rows, &self.kernel.instructions);
        if let Some((warp, register, what)) = wrong {
            self.fault.get_or_insert_with(|| {
                Box::new(WrongAccess {
                    kernel: self.kernel.name.clone(),
                    partition,
                    warp,
                    by: "what the operand storage accesses".to_owned(),
                    register,
                    what: what.to_owned(),
                })
            });
        }
    }

    fn holds_companion(&mut self, at: WarpPlace) -> bool {
        self.partitions[at.partition].must_wait(at.warp, &self.kernel.instructions)
    }

    fn issue(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let inst = instruction.inst;
        let decoded = &self.kernel.instructions[inst.0 as usize];
        let wrong = self.partitions[at.partition].issue(at.warp, inst.0, decoded);
        if let Some(register) = wrong {
            self.fail(at, inst, register, "is issued while its row is not ON".to_owned());
        }
    }

    fn read(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let (inst, active) = (instruction.inst, instruction.active);
        for index in 0..self.kernel.instructions[inst.0 as usize].sources.len() {
            let decoded = &self.kernel.instructions[inst.0 as usize];
            let operand = decoded.sources[index];
            let (is_on, lost) =
                self.partitions[at.partition].access(at.warp, decoded, operand, false, active);
            if !is_on {
                self.fail(at, inst, operand.register, NOT_ON_WHEN_READ.to_owned());
            }
            self.lost_lanes += u64::from((lost & instruction.defined[index]).count_ones());
        }
    }

    fn written(&mut self, at: WarpPlace, instruction: &WarpInstruction, result: usize) {
        let inst = instruction.inst;
        let decoded = &self.kernel.instructions[inst.0 as usize];
        let operand = decoded.results[result];
        let of_partition = &mut self.partitions[at.partition];
        let (is_on, _) = of_partition.access(at.warp, decoded, operand, true, instruction.active);
        if !is_on {
            self.fail(at, inst, operand.register, NOT_ON_WHEN_WRITTEN.to_owned());
        }
    }

    fn retire(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let decoded = &self.kernel.instructions[instruction.inst.0 as usize];
        let partition = &mut self.partitions[at.partition];
        if instruction.active == 0 {
            // Its results are not written; what its codes say of them holds all the same.
            for &operand in &decoded.results {
                partition.access(at.warp, decoded, operand, true, 0);
            }
        }
        partition.retire(at.warp, instruction.inst.0);
    }

    fn end_warp(&mut self, at: WarpPlace) {
        self.partitions[at.partition].end_warp(at.warp, self.kernel.registers_per_thread);
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        for partition in &mut self.partitions {
            partition.end_cycle(&self.kernel.instructions);
        }
        match self.fault.take() {
            Some(fault) => Err(SimError::Circuit { design: self.design.clone(), problem: fault.to_string() }),
            None => Ok(()),
        }
    }

    fn waits_for(&self, at: WarpPlace) -> Option<String> {
        self.partitions[at.partition].waits_for(at.warp, &self.kernel.instructions)
    }

    fn count(&self, into: &mut Counts) {
        for partition in &self.partitions {
            into.add(COUNTERS, &partition.counted);
        }
        into.add(COUNTERS, &super::Power { lost_lanes: self.lost_lanes, ..super::Power::default() });
    }

    fn circuits(&self) -> Vec<(String, &dyn Engine)> {
        let name = |index| name_in_partition(index, self.partitions.len(), CIRCUIT);
        let partitions = self.partitions.iter().enumerate();
        partitions.map(|(index, partition)| (name(index), partition.circuit())).collect()
    }
}
