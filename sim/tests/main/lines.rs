//! Register lines between operand storage and memory.

use std::cell::RefCell;
use std::rc::Rc;

use warpfile_engine::Engine;
use warpfile_kernels::program::{BlockIndex, LANES, Program};
use warpfile_sim::config::{Config, preset};
use warpfile_sim::counters::Counts;
use warpfile_sim::mechanisms::single_level::SingleLevel;
use warpfile_sim::mechanisms::{Build, Compiled, regless};
use warpfile_sim::sm::design::{
    Design, FilledLine, Line, LineRequest, OperandStorage, PartitionDesign, StorageInputs, StorageOutputs,
    WarpRows, WarpSlot,
};
use warpfile_sim::sm::{PortActivity, RunOptions, RunReport, SimError, run_design};

use crate::kernels::{Kernel, Sequence};
use crate::stand_ins::{design, ideal_storage};

/// A storage that writes lines 0, 1, 2 of its warp 1 and fetches them again, whatever the kernel does.
struct Lines {
    inner: Box<dyn OperandStorage>,
    partition: u32,
    values: Vec<[u32; LANES]>,
    requested: usize,
    /// Cycles so far.
    now: u64,
    seen: Rc<RefCell<Seen>>,
}

/// What the storages have seen, each by the number of its partition.
#[derive(Default)]
struct Seen {
    filled: Vec<(u32, FilledLine)>,
    /// Cycles in which a request was taken.
    taken: Vec<u64>,
}

const LINES: usize = 3;

impl OperandStorage for Lines {
    fn line_request(&mut self) -> Option<LineRequest<'_>> {
        let line = Line { compressed: false, warp: 1, register: self.requested % LINES };
        if self.requested < LINES {
            Some(LineRequest::Write { line, values: &self.values[line.register] })
        } else if self.requested < 2 * LINES {
            Some(LineRequest::Fetch { line, invalidates: false, tag: 10 + line.register as u16 })
        } else {
            None
        }
    }

    fn cycle(&mut self, inputs: &StorageInputs<'_>, outputs: &mut StorageOutputs) -> Result<(), SimError> {
        if inputs.line_request_taken {
            self.requested += 1;
            self.seen.borrow_mut().taken.push(self.now);
        }
        if let Some(line) = inputs.line {
            self.seen.borrow_mut().filled.push((self.partition, *line));
        }
        self.now += 1;
        self.inner.cycle(inputs, outputs)
    }

    fn operand_cycles(&self) -> u64 {
        self.inner.operand_cycles()
    }

    fn dispatches(&self) -> usize {
        self.inner.dispatches()
    }

    fn start_kernel(&mut self, kernel: &Compiled<'_>) -> Result<(), SimError> {
        self.inner.start_kernel(kernel)
    }

    fn registers_per_warp(&self, program: &Program) -> u64 {
        self.inner.registers_per_warp(program)
    }

    fn start_warp(&mut self, warp: WarpSlot, rows: WarpRows, block: BlockIndex) {
        self.inner.start_warp(warp, rows, block);
    }

    fn held_warps(&self) -> u64 {
        self.inner.held_warps()
    }

    fn end_warp(&mut self, warp: WarpSlot) {
        self.inner.end_warp(warp);
    }

    fn count(&self, into: &mut Counts) {
        self.inner.count(into);
    }

    fn activity(&self) -> Vec<PortActivity> {
        self.inner.activity()
    }

    fn circuit(&self) -> Option<&dyn Engine> {
        self.inner.circuit()
    }
}

fn gtx980() -> Config {
    preset("gtx980-regless").expect("complete").with_design("baseline").expect("known")
}

fn value(partition: u32, register: u32) -> [u32; LANES] {
    std::array::from_fn(|lane| partition << 16 | register << 8 | lane as u32)
}

/// Runs a kernel of as many loads a warp beside the lines.
fn run(config: &Config, loads: u16) -> (RunReport, Seen) {
    let seen = Rc::new(RefCell::new(Seen::default()));
    let next = RefCell::new(0..);
    let design = design(config, || {
        let partition = next.borrow_mut().next().expect("without end");
        let storage = Lines {
            inner: ideal_storage(config, 3),
            partition,
            values: (0..LINES as u32).map(|register| value(partition, register)).collect(),
            requested: 0,
            now: 0,
            seen: Rc::clone(&seen),
        };
        let scheduler = SingleLevel::new(config.scheduler.single_level);
        PartitionDesign { storage: Box::new(storage), schedulers: vec![Box::new(scheduler)] }
    });
    let line_port =
        regless::line_port(&Build::new(config, &RunOptions::default())).expect("a port for the shape");
    let design = Design { line_port: Some(line_port), ..design };
    let kernel = (0..loads).fold(Kernel::new().warps(1, 8), |kernel, step| kernel.load(1 + step, 0));
    let mut kernel = Sequence::from(kernel.alus(20, 9, &[9]));
    let report = run_design(config, design, &mut kernel, RunOptions::default()).expect("runs");
    (report, seen.take())
}

#[test]
fn what_a_partition_writes_comes_back_to_it_and_to_no_other() {
    let (report, Seen { mut filled, .. }) = run(&gtx980(), 8);
    filled.sort_by_key(|(partition, line)| (*partition, line.tag));
    let expected: Vec<_> = (0..4)
        .flat_map(|partition| (0..LINES).map(move |register| (partition, register)))
        .map(|(partition, register)| {
            let line = Line { compressed: false, warp: 1, register };
            let values = value(partition, register as u32);
            (partition, FilledLine { line, tag: 10 + register as u16, values })
        })
        .collect();
    assert_eq!(filled, expected);
    let lines = &report.memory.register_lines;
    assert_eq!((lines.writes, lines.fetched_from_l1), (12, 12));
    assert_eq!(lines.l1_requests(), 24);
}

#[test]
fn lines_and_loads_take_turns_at_the_one_port() {
    let (report, Seen { mut taken, .. }) = run(&gtx980(), 8);
    // 64 loads of one block of 128 bytes each, beside 24 requests for lines.
    assert_eq!(report.memory.transactions, 64);
    assert!(report.cycles > 64 + 24, "{}", report.cycles);
    taken.sort_unstable();
    assert!(taken.windows(2).all(|two| two[0] < two[1]), "one a cycle: {taken:?}");
}

#[test]
fn the_port_is_used_in_every_cycle_by_one_partition_or_by_four() {
    for schedulers in [1, 4] {
        let mut config = gtx980();
        config.sm.schedulers = schedulers;
        let (_, Seen { mut taken, .. }) = run(&config, 0);
        taken.sort_unstable();
        let expected: Vec<u64> = (0..schedulers * 2 * LINES as u64).collect();
        assert_eq!(taken, expected);
    }
}
