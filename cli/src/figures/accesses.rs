//! When the registers of warps are accessed in a run: a layer that looks on.

use std::cell::RefCell;

use anyhow::Result;
use warpfile_kernels::program::{BlockIndex, WarpInstruction};
use warpfile_kernels::workloads::OpenWorkload;
use warpfile_sim::config::Config;
use warpfile_sim::mechanisms::{Build, Compiled};
use warpfile_sim::sm::design::{Layer, WarpPlace, WarpRows};
use warpfile_sim::sm::{self, EngineName, RunOptions, SimError};

use super::report::Effort;
use crate::cache;

/// How the registers of all warps of a run were accessed. A register is accessed in a cycle if an operand is delivered from
/// it or a result is written to it then, for any lane; both at once count once.
#[derive(Debug, Default)]
pub struct RegisterAccesses {
    /// What it took.
    pub effort: Effort,
    /// Warps.
    pub warps: u64,
    /// Cycles that they lived, summed.
    pub cycles_lived: u64,
    /// Their registers, summed.
    registers: u64,
    /// Of each warp the cycles in which registers were accessed, summed over registers, by the cycles that it lived; summed
    /// over warps.
    accessed: f64,
    /// The warp that lived longest, the first of them.
    pub longest: WarpAccesses,
}

/// How a warp's registers were accessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WarpAccesses {
    /// Its kernel.
    pub kernel: String,
    /// Its registers.
    pub registers: u16,
    /// Cycles from its start to its end.
    pub cycles: u64,
    /// Cycle since its start, and register, in the order of the cycles.
    pub accesses: Vec<(u64, u16)>,
}

impl RegisterAccesses {
    /// Share of its warp's life in which a register is accessed, mean over the registers of all warps; `None` without any.
    pub fn accessed_share(&self) -> Option<f64> {
        (self.registers > 0).then(|| self.accessed / self.registers as f64)
    }

    /// A warp has ended.
    fn end(&mut self, warp: WarpAccesses) {
        self.warps += 1;
        self.cycles_lived += warp.cycles;
        self.registers += u64::from(warp.registers);
        self.accessed += warp.accesses.len() as f64 / warp.cycles.max(1) as f64;
        if warp.cycles > self.longest.cycles {
            self.longest = warp;
        }
    }
}

impl WarpAccesses {
    /// Cycles in which each register was accessed.
    pub fn by_register(&self) -> Vec<u64> {
        let mut counts = vec![0; usize::from(self.registers)];
        for &(_, register) in &self.accesses {
            counts[usize::from(register)] += 1;
        }
        counts
    }
}

/// Runs a workload and looks on; every operand is checked, and so are the results.
pub fn register_accesses(
    config: &Config,
    opened: &mut OpenWorkload,
    engine: EngineName,
) -> Result<RegisterAccesses> {
    let found = RefCell::new(RegisterAccesses::default());
    let options = RunOptions { engine, code_cache: cache::code(), ..RunOptions::default() };
    let mut design = config.design.build(&Build::new(config, &options))?;
    design.layers.push(Box::new(Onlooker::new(config, &found)));
    let report = sm::run_design(config, design, opened, options)?;
    opened.check_results()?;
    let effort = Effort::of(&report);
    Ok(RegisterAccesses { effort, ..found.into_inner() })
}

/// Holds nothing back and notes accesses.
struct Onlooker<'f> {
    found: &'f RefCell<RegisterAccesses>,
    kernel: String,
    registers: u16,
    /// Registers that each instruction of the kernel reads, and those that it writes.
    instructions: Vec<[Vec<u16>; 2]>,
    now: u64,
    /// Warp slots of each partition.
    warps: Vec<Vec<Resident>>,
}

/// A warp slot.
#[derive(Clone, Debug, Default)]
struct Resident {
    started: u64,
    /// When each register was last accessed, in cycles since the start, and one more; 0 if never.
    last: Vec<u64>,
    accesses: Vec<(u64, u16)>,
}

impl Resident {
    fn access(&mut self, now: u64, register: u16) {
        let at = now - self.started;
        let last = &mut self.last[usize::from(register)];
        if *last != at + 1 {
            *last = at + 1;
            self.accesses.push((at, register));
        }
    }
}

impl<'f> Onlooker<'f> {
    fn new(config: &Config, found: &'f RefCell<RegisterAccesses>) -> Onlooker<'f> {
        let of_partition = vec![Resident::default(); config.warps_per_partition() as usize];
        Onlooker {
            found,
            kernel: String::new(),
            registers: 0,
            instructions: Vec::new(),
            now: 0,
            warps: vec![of_partition; config.partitions() as usize],
        }
    }

    fn warp(&mut self, at: WarpPlace) -> &mut Resident {
        &mut self.warps[at.partition][at.warp]
    }
}

impl Layer for Onlooker<'_> {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.kernel.clone_from(&kernel.program.name);
        self.registers = kernel.program.registers_per_thread;
        let instructions = kernel.program.instructions.iter().map(|one| {
            let sources = one.sources.iter().map(|source| source.register.0).collect();
            [sources, one.results.iter().map(|result| result.register.0).collect()]
        });
        self.instructions = instructions.collect();
        Ok(())
    }

    fn start_warp(&mut self, at: WarpPlace, _rows: WarpRows, _block: BlockIndex) {
        let last = vec![0; usize::from(self.registers)];
        *self.warp(at) = Resident { started: self.now, last, accesses: Vec::new() };
    }

    fn read(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        if instruction.active == 0 {
            return;
        }
        let warp = &mut self.warps[at.partition][at.warp];
        for &register in &self.instructions[instruction.inst.0 as usize][0] {
            warp.access(self.now, register);
        }
    }

    fn written(&mut self, at: WarpPlace, instruction: &WarpInstruction, result: usize) {
        let register = self.instructions[instruction.inst.0 as usize][1][result];
        let now = self.now;
        self.warp(at).access(now, register);
    }

    fn end_warp(&mut self, at: WarpPlace) {
        let resident = std::mem::take(self.warp(at));
        self.found.borrow_mut().end(WarpAccesses {
            kernel: self.kernel.clone(),
            registers: self.registers,
            cycles: self.now - resident.started,
            accesses: resident.accesses,
        });
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        self.now += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use warpfile_kernels::workloads;
    use warpfile_sim::sm::EngineName;

    use super::register_accesses;
    use crate::figures::sweep::Point;
    use crate::figures::variation::Variation;

    #[test]
    fn every_operand_and_every_result_of_a_run_is_an_access_of_its_register() {
        let config =
            Variation::of("tiny", &[]).config(&Point::new("k20x-greener", "baseline")).expect("valid");
        let mut opened = workloads::by_name("vectoradd").expect("known").open("tiny").expect("opens");
        let found = register_accesses(&config, &mut opened, EngineName::default()).expect("runs");
        let warp = &found.longest;
        assert!(found.warps > 1 && warp.cycles > 0 && warp.cycles <= found.effort.cycles);
        assert!(warp.accesses.is_sorted_by_key(|&(cycle, _)| cycle));
        assert!(warp.accesses.iter().all(|&(cycle, _)| cycle < warp.cycles));
        let accessed: u64 = warp.by_register().iter().sum();
        assert_eq!(accessed, warp.accesses.len() as u64);
        // A warp reads operands_checked / warps registers in the mean, some of them in the cycle of another's write.
        assert!(accessed >= found.effort.operands_checked / found.warps, "{accessed}");
        let share = found.accessed_share().expect("has registers");
        assert!(share > 0.0 && share < 1.0, "{share}");
    }
}
