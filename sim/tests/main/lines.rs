//! Register lines between operand storage and memory.

use std::cell::RefCell;
use std::rc::Rc;

use warpfile_engine::Engine;
use warpfile_kernels::program::{BlockIndex, LANES, Program};
use warpfile_sim::config::{Config, DesignName, preset};
use warpfile_sim::sm::design::{
    FilledLine, Line, LineRequest, OperandStorage, PartitionDesign, StorageInputs, StorageOutputs, WarpSlot,
};
use warpfile_sim::sm::{Accesses, PortActivity, RunOptions, RunReport, SimError, SingleLevel, run_design};

use crate::kernels::{Kernel, Sequence};
use crate::stand_ins::{design, ideal_storage};

/// A storage that writes lines 0, 1, 2 of its warp 1 and fetches them again, whatever the kernel does.
struct Lines {
    inner: Box<dyn OperandStorage>,
    partition: u32,
    values: Vec<[u32; LANES]>,
    requested: usize,
    filled: Rc<RefCell<Vec<(u32, FilledLine)>>>,
}

const LINES: usize = 3;

impl OperandStorage for Lines {
    fn keeps_lines_in_memory(&self) -> bool {
        true
    }

    fn line_request(&self) -> Option<LineRequest<'_>> {
        let line = Line { compressed: false, warp: 1, register: self.requested % LINES };
        if self.requested < LINES {
            Some(LineRequest::Write { line, values: &self.values[line.register] })
        } else if self.requested < 2 * LINES {
            Some(LineRequest::Fetch { line, invalidates: false, tag: 100 + line.register as u16 })
        } else {
            None
        }
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        self.requested += usize::from(inputs.line_request_taken);
        if let Some(line) = inputs.line {
            self.filled.borrow_mut().push((self.partition, *line));
        }
        self.inner.cycle(inputs, outputs)
    }

    fn operand_cycles(&self) -> u64 {
        self.inner.operand_cycles()
    }

    fn dispatches(&self) -> usize {
        self.inner.dispatches()
    }

    fn start_kernel(&mut self, program: &Program) -> Result<(), SimError> {
        self.inner.start_kernel(program)
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        self.inner.registers_per_warp(program)
    }

    fn start_warp(&mut self, warp: WarpSlot, first_row: u32, block: BlockIndex) {
        self.inner.start_warp(warp, first_row, block);
    }

    fn held_warps(&self) -> u64 {
        self.inner.held_warps()
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.inner.end_warp(warp);
    }

    fn mrf(&self) -> Accesses {
        self.inner.mrf()
    }

    fn rfc(&self) -> Accesses {
        self.inner.rfc()
    }

    fn activity(&self) -> Vec<PortActivity> {
        self.inner.activity()
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        self.inner.circuit()
    }
}

fn gtx980() -> Config {
    Config { design: DesignName::Baseline, ..preset("gtx980-regless").expect("complete") }
}

fn value(partition: u32, register: u32) -> [u32; LANES] {
    std::array::from_fn(|lane| partition << 16 | register << 8 | lane as u32)
}

/// Runs a kernel of loads beside the lines; gives what came back, by partition.
fn run(config: &Config) -> (RunReport, Vec<(u32, FilledLine)>) {
    let filled = Rc::new(RefCell::new(Vec::new()));
    let next = RefCell::new(0..);
    let design = design(config, || {
        let partition = next.borrow_mut().next().expect("without end");
        let storage = Lines {
            inner: ideal_storage(config, 3),
            partition,
            values: (0..LINES as u32).map(|register| value(partition, register)).collect(),
            requested: 0,
            filled: Rc::clone(&filled),
        };
        let scheduler = SingleLevel::new(config.scheduler.single_level);
        PartitionDesign { storage: Box::new(storage), scheduler: Box::new(scheduler) }
    });
    let kernel = (0..8).fold(Kernel::new().warps(1, 8), |kernel, step| kernel.load(1 + step, 0));
    let mut kernel = Sequence::from(kernel.alu(9, &[8]));
    let report = run_design(config, design, &mut kernel, RunOptions::default()).expect("runs");
    let filled = filled.borrow().clone();
    (report, filled)
}

#[test]
fn what_a_partition_writes_comes_back_to_it_and_to_no_other() {
    let (report, mut filled) = run(&gtx980());
    filled.sort_by_key(|(partition, line)| (*partition, line.tag));
    let expected: Vec<_> = (0..4)
        .flat_map(|partition| (0..LINES).map(move |register| (partition, register)))
        .map(|(partition, register)| {
            let line = Line { compressed: false, warp: 1, register };
            let values = value(partition, register as u32);
            (partition, FilledLine { line, tag: 100 + register as u16, values })
        })
        .collect();
    assert_eq!(filled, expected);
    let lines = &report.memory.register_lines;
    assert_eq!((lines.writes, lines.fetched_from_l1), (12, 12));
    assert_eq!(lines.l1_requests(), 24);
}

#[test]
fn lines_and_loads_take_turns_at_the_one_port() {
    let (report, _) = run(&gtx980());
    // 64 loads of one block of 128 bytes each, beside 24 requests for lines.
    assert_eq!(report.memory.transactions, 64);
    assert!(report.cycles > 64 + 24, "{}", report.cycles);
}

#[test]
fn several_partitions_use_the_port_every_cycle() {
    let mut config = gtx980();
    config.memory.single_l1_port = false;
    let (unlimited, _) = run(&config);
    let (limited, _) = run(&gtx980());
    assert!(limited.cycles <= unlimited.cycles + 24, "{} and {}", limited.cycles, unlimited.cycles);
}
