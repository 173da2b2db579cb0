//! Mechanisms from outside: a storage that keeps registers without a circuit, a layer that paces warps, and one that says where
//! they lie. What they need of the program is in this file and in the registry that a test makes.

use warpfile_kernels::program::{InstId, LANES, Operation, Program, WarpInstruction};
use warpfile_sim::config::{Accepted, Config, ConfigError, SectionInfo, conflict};
use warpfile_sim::counters::{Counts, Row, Shown};
use warpfile_sim::energy::grid::Ports;
use warpfile_sim::energy::structure::{ArrayAccesses, Structure};
use warpfile_sim::mechanisms::{Build, Compiled, Info, Mechanism, Notes, Part, Pass, Registry, Role};
use warpfile_sim::sm::design::{Admission, Classes, Home, Layer, WarpPlace, WarpRows};
use warpfile_sim::sm::{RunReport, SimError};
use warpfile_sim::{counters, parameters};

use crate::stand_ins::ideal_storage;

/// Every mechanism that comes with the program, and those of this file.
pub fn registry() -> Registry {
    Registry::shipped().with(&[&Ideal, &Pacer, &Mover])
}

/// A storage that reads every operand three cycles after the pick.
pub struct Ideal;

impl Mechanism for Ideal {
    fn info(&self) -> Info {
        let summary = "registers without a circuit";
        Info { name: "ideal", summary, design: Some(("ideal", summary)), preset: "gebhart2011" }
    }

    fn role(&self) -> Role {
        Role::Storage { scheduler: "two-level" }
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let of_partitions = (0..at.partitions()).map(|_| ideal_storage(at.config, 3)).collect();
        Ok(Part::Storages { of_partitions, line_port: None })
    }

    fn structures(&self, config: &Config) -> Vec<Structure> {
        vec![Structure::of_warp_registers(
            "ideal registers",
            config.sm.schedulers as u32,
            config.register_file.rows as u32,
            Ports::DUAL,
            |report: &RunReport| ArrayAccesses::of(report.mrf()),
        )]
    }
}

/// A layer that lets a warp issue once in so many cycles.
pub struct Pacer;

parameters! {
    /// Paces warps.
    pub struct Parameters in "pacer" {
        /// Cycles from an issue of a warp to its next.
        cycles: u64 = 16, Accepted::integer(1, 64);
        /// Blocks that may be resident.
        blocks: u64 = 64, Accepted::integer(1, 64);
        /// Warps with odd numbers are picked from first.
        odd_first: bool = false, Accepted::Flag;
    }
}

counters! {
    /// What the layer saw.
    pub struct Paced {
        /// Instructions issued.
        issued: sum("warp instructions"),
        /// Operands delivered.
        read: sum("warp instructions"),
        /// Registers written.
        written: sum("registers"),
        /// Instructions that were not as they had been decoded.
        otherwise: sum("warp instructions"),
        /// Cycles in which only some of the warps that could be picked were given.
        narrowed: sum("cycles"),
        /// Instructions issued by others than these.
        passed_over: sum("warp instructions"),
        /// Instructions of which nothing is left to do.
        retired: sum("warp instructions"),
        /// Loads, as the compiler pass has noted them.
        loads: sum("warp instructions"),
        /// Warps started.
        started: sum("warps"),
        /// Warps ended.
        ended: sum("warps"),
        /// Warps of a partition that were there at once, at most.
        most_warps: maximum("warps"),
    }
}

/// The notes of the pass: which instructions are loads.
struct Loads(Vec<bool>);

struct PacerLayer {
    parameters: Parameters,
    now: u64,
    loads: Vec<bool>,
    /// When each warp slot of each partition may issue again.
    free_at: Vec<[u64; 64]>,
    resident: Vec<u64>,
    /// The warps of each partition that are to be picked from in this cycle.
    preferred: Vec<u64>,
    /// The next instruction of each warp of each partition.
    decoded: Vec<Vec<(InstId, [u64; LANES])>>,
    counted: Paced,
}

impl Mechanism for Pacer {
    fn info(&self) -> Info {
        Info { name: "pacer", summary: "a warp issues now and then", design: None, preset: "gebhart2011" }
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Parameters>())
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let Parameters { cycles, .. } = config.of();
        if cycles > config.sm.watchdog_cycles {
            return Err(conflict("pacer.cycles", cycles, "at most sm.watchdog_cycles".to_owned()));
        }
        Ok(())
    }

    fn pass(&self) -> Pass {
        Pass::Notes
    }

    fn compile(&self, _: &Config, program: &Program, notes: &mut Notes) -> Result<Option<Program>, SimError> {
        let is_load = |operation| matches!(operation, Operation::Load(_));
        notes.leave(Loads(program.instructions.iter().map(|one| is_load(one.operation)).collect()));
        Ok(None)
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        Ok(Part::Layer(Box::new(PacerLayer {
            parameters: at.config.of(),
            now: 0,
            loads: Vec::new(),
            free_at: vec![[0; 64]; at.partitions()],
            resident: vec![0; at.partitions()],
            preferred: vec![u64::MAX; at.partitions()],
            decoded: vec![vec![(InstId(0), [0; LANES]); 64]; at.partitions()],
            counted: Paced::default(),
        })))
    }

    fn rows(&self) -> Vec<Row> {
        vec![Row { label: "paced", shown: Shown::Count("pacer.issued") }]
    }
}

impl Layer for PacerLayer {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.loads = kernel.notes.get::<Loads>().map(|loads| loads.0.clone()).unwrap_or_default();
        Ok(())
    }

    fn admit(&mut self, admission: &Admission) -> u64 {
        admission.blocks.min(self.parameters.blocks)
    }

    fn start_warp(&mut self, at: WarpPlace, _rows: WarpRows, _block: u64) {
        self.counted.started += 1;
        self.resident[at.partition] += 1;
        self.counted.most_warps = self.counted.most_warps.max(self.resident[at.partition]);
    }

    fn held_warps(&mut self, partition: usize) -> u64 {
        let waits = |warp: &usize| self.free_at[partition][*warp] > self.now;
        (0..64).filter(waits).fold(0, |held, warp| held | 1 << warp)
    }

    fn decode(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        self.decoded[at.partition][at.warp] = (instruction.inst, instruction.addresses);
    }

    fn preferred_warps(&mut self, partition: usize, ready: u64) -> u64 {
        let odd = ready & 0xaaaa_aaaa_aaaa_aaaa;
        let preferred = if self.parameters.odd_first && odd != 0 { odd } else { ready };
        self.counted.narrowed += u64::from(preferred != ready);
        self.preferred[partition] = preferred;
        preferred
    }

    fn issue(&mut self, at: WarpPlace, instruction: &WarpInstruction) {
        let as_decoded = self.decoded[at.partition][at.warp] == (instruction.inst, instruction.addresses);
        self.counted.otherwise += u64::from(!as_decoded);
        self.counted.passed_over += u64::from(self.preferred[at.partition] >> at.warp & 1 == 0);
        self.counted.issued += 1;
        self.counted.loads += u64::from(self.loads[instruction.inst.0 as usize]);
        self.free_at[at.partition][at.warp] = self.now + self.parameters.cycles;
    }

    fn read(&mut self, _: WarpPlace, _: &WarpInstruction) {
        self.counted.read += 1;
    }

    fn written(&mut self, _: WarpPlace, _: &WarpInstruction, _result: usize) {
        self.counted.written += 1;
    }

    fn retire(&mut self, _: WarpPlace, _: &WarpInstruction) {
        self.counted.retired += 1;
    }

    fn end_warp(&mut self, at: WarpPlace) {
        self.counted.ended += 1;
        self.resident[at.partition] -= 1;
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        self.now += 1;
        Ok(())
    }

    fn count(&self, into: &mut Counts) {
        into.add("pacer", &self.counted);
    }
}

/// A layer that has one block resident, puts its warps into the last slots, and their registers, in the opposite order, into the
/// last rows, in two stretches of which the second lies before the first. Warps with odd numbers are to be picked first. It is of
/// a scheduler.
pub struct Mover;

#[derive(Default)]
struct MoverLayer {
    partitions: usize,
    registers: u16,
    admission: Admission,
    order: Vec<u16>,
}

impl Mechanism for Mover {
    fn info(&self) -> Info {
        Info { name: "mover", summary: "registers lie elsewhere", design: None, preset: "gebhart2011" }
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn scheduler(&self) -> Option<&'static str> {
        Some("owf")
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let partitions = at.partitions();
        Ok(Part::Layer(Box::new(MoverLayer { partitions, ..MoverLayer::default() })))
    }
}

impl Layer for MoverLayer {
    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.registers = kernel.program.registers_per_thread;
        self.order = (0..self.registers).rev().collect();
        Ok(())
    }

    fn admit(&mut self, admission: &Admission) -> u64 {
        self.admission = *admission;
        1
    }

    fn register_order(&self) -> Option<&[u16]> {
        Some(&self.order)
    }

    fn home(&self, _slot: usize, number: usize) -> Option<Home> {
        let Admission { rows_per_warp, of_partition, .. } = self.admission;
        let (partition, index) = (number % self.partitions, number / self.partitions);
        let end = of_partition.rows - index as u32 * rows_per_warp;
        let split = rows_per_warp / 3;
        let rows = WarpRows::in_two(end - split, split, end - rows_per_warp);
        Some(Home { at: WarpPlace { partition, warp: of_partition.warps - 1 - index }, rows })
    }

    fn classes(&mut self, _partition: usize) -> Classes {
        Classes { first: 0xaaaa_aaaa_aaaa_aaaa, last: 0x1111_1111_1111_1111 }
    }
}

/// A layer that lets no warp issue from some cycle on, and says so. It is in no registry but those of tests that end so.
pub struct Stopper;

parameters! {
    /// Stops warps.
    pub struct Stop in "stopper" {
        /// The first cycle in which nothing issues.
        cycle: u64 = 3000, Accepted::integer(0, 1 << 40);
    }
}

struct StopperLayer {
    stop: Stop,
    now: u64,
}

impl Mechanism for Stopper {
    fn info(&self) -> Info {
        Info { name: "stopper", summary: "nothing issues any more", design: None, preset: "gebhart2011" }
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Stop>())
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        Ok(Part::Layer(Box::new(StopperLayer { stop: at.config.of(), now: 0 })))
    }
}

impl Layer for StopperLayer {
    fn held_warps(&mut self, _partition: usize) -> u64 {
        if self.now >= self.stop.cycle { u64::MAX } else { 0 }
    }

    fn waits_for(&self, _at: WarpPlace) -> Option<String> {
        Some("nothing that comes".to_owned())
    }

    fn end_cycle(&mut self) -> Result<(), SimError> {
        self.now += 1;
        Ok(())
    }
}
