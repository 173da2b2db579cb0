//! Programs that no one has written, through every design: operands, divergence, barriers, accesses to memory and scratchpad.

use std::cell::Cell;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use warpfile_kernels::program::{ControlFlow, Flow, LaneMask, Operation};
use warpfile_random::drawn_config;
use warpfile_sim::config::{Config, apply_overrides, preset};
use warpfile_sim::mechanisms::Registry;
use warpfile_sim::mechanisms::sharing::{self, Parameters, Shared};
use warpfile_sim::mechanisms::warp_level_divergence::{self, Placed};
use warpfile_sim::sm::{RunOptions, RunReport, chip_sms, run};

use crate::kernels::{Kernel, Sequence, global, shared};

const REGISTERS: u16 = 12;
/// Bytes of scratchpad that a block has.
const SCRATCHPAD: u32 = 256;

/// What an instruction does.
#[derive(Clone, Copy, Debug)]
enum What {
    Alu,
    Sfu,
    Load { is_shared: bool },
    Store { is_shared: bool },
    Barrier,
}

/// An instruction: result, sources, lanes, bytes between their addresses.
type Step = (What, u16, Vec<u16>, LaneMask, u64);

fn whats() -> impl Strategy<Value = What> {
    let load = any::<bool>().prop_map(|is_shared| What::Load { is_shared });
    let store = any::<bool>().prop_map(|is_shared| What::Store { is_shared });
    prop_oneof![5 => Just(What::Alu), 1 => Just(What::Sfu), 3 => load, 2 => store, 1 => Just(What::Barrier)]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let register = || 0..REGISTERS;
    let lanes = prop_oneof![4 => Just(!0), 2 => any::<LaneMask>(), 1 => Just(0)];
    let stride = prop::sample::select(vec![0, 4, 8]);
    // A register that is read twice is listed once.
    let sources = btree_set(register(), 1..4).prop_map(|sources| sources.into_iter().collect());
    vec((whats(), register(), sources, lanes, stride), 1..24)
}

/// The kernel of some steps; lanes of `ending` exit in the middle, the others at the end. Every warp has one `relssp`, behind its
/// last access to scratchpad.
fn kernel(steps: &[Step], ending: LaneMask) -> Kernel {
    let is_shared =
        |(what, ..): &Step| matches!(what, What::Load { is_shared: true } | What::Store { is_shared: true });
    let release = steps.iter().rposition(is_shared).map_or(0, |last| last + 1);
    let mut alive = !0;
    let mut kernel = Kernel::new();
    for (at, (what, result, sources, lanes, stride)) in steps.iter().enumerate() {
        if at == release {
            kernel = kernel.op(Operation::Release, &[], &[]).lanes(alive);
        }
        if at == steps.len() / 2 && at > release && ending != 0 && ending != !0 {
            kernel = kernel.op(Operation::Exit, &[], &[]).lanes(ending).guarded();
            alive = !ending;
        }
        let space = |is_shared: bool| if is_shared { shared(4) } else { global(4) };
        kernel = match *what {
            What::Alu => kernel.op(Operation::Alu, &[*result], sources),
            What::Sfu => kernel.op(Operation::Sfu, &[*result], &sources[..1]),
            What::Load { is_shared } => {
                kernel.op(Operation::Load(space(is_shared)), &[*result], &sources[..1])
            }
            What::Store { is_shared } => {
                kernel.op(Operation::Store(space(is_shared)), &[], &sources[..sources.len().min(2)])
            }
            What::Barrier => kernel.op(Operation::Barrier, &[], &[]),
        };
        let lanes = if matches!(what, What::Barrier) { alive } else { lanes & alive };
        kernel = kernel.lanes(lanes).stride(*stride);
        if lanes != alive {
            kernel = kernel.guarded();
        }
    }
    if release == steps.len() {
        kernel = kernel.op(Operation::Release, &[], &[]).lanes(alive);
    }
    let mut kernel = kernel.exit().lanes(alive);
    kernel.program.control = Some(straight(&kernel));
    kernel.program.registers_per_thread = REGISTERS;
    (kernel.launch.shared_bytes, kernel.program.shared_bytes) = (SCRATCHPAD, SCRATCHPAD);
    kernel
}

/// The control flow of straight code in which lanes may exit before the end.
fn straight(kernel: &Kernel) -> ControlFlow {
    let instructions = &kernel.program.instructions;
    let exits = |at: usize| matches!(instructions[at].operation, Operation::Exit);
    let flow = |at: usize| match exits(at) {
        true => Flow::To { targets: (at + 1..instructions.len()).take(1).collect(), exits: true },
        false => Flow::Next,
    };
    ControlFlow {
        flow: (0..instructions.len()).map(flow).collect(),
        may_diverge: (0..instructions.len()).map(exits).collect(),
        switches: Vec::new(),
        seen: None,
    }
}

fn kernels() -> impl Strategy<Value = Kernel> {
    let ending = prop_oneof![2 => Just(0), 1 => any::<LaneMask>()];
    let empty = prop_oneof![4 => Just(0), 1 => 0..16_u32];
    let shape = (1..40_u32, 1..5_u32, 1..3_usize, empty);
    (steps(), ending, shape).prop_map(|(steps, ending, (blocks, warps, launches, empty))| {
        let mut kernel = kernel(&steps, ending).warps(blocks, warps);
        (kernel.launches, kernel.empty) = (launches, empty);
        kernel
    })
}

/// Every SM of a machine, one after the other.
fn run_sms(config: &Config, kernel: &Kernel) -> Result<RunReport, TestCaseError> {
    let one = |(sm, chip)| {
        let options = RunOptions { sm, chip: Some(chip), ..RunOptions::default() };
        run(config, &mut Sequence::from(kernel.clone()), options)
    };
    let reports = (0..).zip(chip_sms(config.chip.simulated_sms)).map(one).collect::<Result<Vec<_>, _>>();
    let reports = reports.map_err(|error| TestCaseError::fail(format!("{}: {error}", config.design)))?;
    Ok(RunReport::together(&reports))
}

/// The blocks and instructions of a run, which no design changes.
fn executed(report: &RunReport) -> (u64, u64, u64) {
    (report.blocks, report.warp_instructions, report.thread_instructions)
}

/// A machine with more blocks than fit.
#[derive(Clone, Debug)]
struct Machine {
    layer: &'static str,
    scheduler: &'static str,
    policy: &'static str,
    private_percent: u64,
    /// Rows of a bank of a scheduler's file, and bytes of scratchpad.
    rows: u64,
    bytes: u64,
    sms: u64,
    issues: u64,
    stall_window: u64,
    probability_steps: u64,
}

fn machines() -> impl Strategy<Value = Machine> {
    let layer = prop::sample::select(vec![
        "reg-share",
        "reg-share",
        "spad-share",
        "spad-share-relssp",
        // So that some of its cases share both.
        "both-share",
        "both-share",
        "warp-level-divergence",
    ]);
    let scheduler = prop::sample::select(vec!["owf", "single-level", "two-level"]);
    let policy = prop::sample::select(vec!["lrr", "gto"]);
    let sizes = (prop::sample::select(vec![5, 6, 7, 9, 11]), prop::sample::select(vec![300, 700, 1000]));
    // Most often so much that some get on a way without a lock, and so little that blocks share.
    let private = prop_oneof![2 => 20..=60_u64, 1 => 1..=100_u64];
    let dynamic = (
        prop::sample::select(vec![1, 2, 2, 3]),
        1..3_u64,
        prop::sample::select(vec![2, 7, 40]),
        prop::sample::select(vec![1, 3, 10]),
    );
    (layer, scheduler, policy, private, sizes, dynamic).prop_map(
        |(
            layer,
            scheduler,
            policy,
            private_percent,
            (rows, bytes),
            (sms, issues, stall_window, probability_steps),
        )| {
            Machine {
                layer,
                scheduler,
                policy,
                private_percent,
                rows,
                bytes,
                sms,
                issues,
                stall_window,
                probability_steps,
            }
        },
    )
}

impl Machine {
    /// Whether registers, and scratchpad, are scarce.
    fn scarce(&self) -> [bool; 2] {
        match self.layer {
            "both-share" => [true, true],
            "spad-share" | "spad-share-relssp" => [false, true],
            _ => [true, false],
        }
    }

    fn config(&self) -> Config {
        let [registers, scratchpad] = self.scarce();
        let machine = if scratchpad { "jatala-ch3" } else { "jatala-ch2" };
        let design = format!("{}+{}", self.scheduler, self.layer);
        let mut config = preset(machine).expect("complete").with_design(&design).expect("a stack");
        apply_overrides(&mut config, &[("scheduler.single_level", self.policy)]).expect("accepted");
        config.edit(|sharing: &mut Parameters| {
            sharing.private_percent = self.private_percent;
            sharing.stall_window = self.stall_window;
            sharing.probability_steps = self.probability_steps;
        });
        if scratchpad {
            config.sm.shared_memory_bytes = self.bytes;
        }
        if registers {
            config.register_file.rows = self.rows;
        }
        (config.chip.simulated_sms, config.sm.watchdog_cycles) = (self.sms, 20_000);
        config.sm.issues_per_scheduler = self.issues;
        config
    }
}

/// What happened in all cases.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    locks: u64,
    lock_waits: u64,
    memory_waits: u64,
    windows: u64,
    /// Waits for registers.
    waits: u64,
    /// Runs in which registers and scratchpad were shared.
    both: u64,
}

impl Seen {
    /// Whether each of them did.
    fn is_all(self) -> bool {
        let Seen { locks, lock_waits, memory_waits, windows, waits, both } = self;
        [locks, lock_waits, memory_waits, windows, waits, both].into_iter().all(|count| count > 0)
    }
}

/// No run deadlocks, every operand is right, and each block runs once.
#[test]
fn more_blocks_than_fit_run_any_program() {
    let seen = Cell::new(Seen::default());
    let case = |(kernel, machine): (Kernel, Machine)| {
        let config = machine.config();
        let report = run_sms(&config, &kernel)?;
        let baseline = run_sms(&config.with_design("baseline").expect("known"), &kernel)?;
        prop_assert_eq!(executed(&report), executed(&baseline));
        prop_assert_eq!(report.operands_checked, baseline.operands_checked);
        let mut all = seen.get();
        if machine.layer == "warp-level-divergence" {
            all.waits += report.counters.get::<Placed>(warp_level_divergence::COUNTERS).waits;
        } else {
            let shared: Shared = report.counters.get(sharing::COUNTERS);
            (all.locks, all.lock_waits) = (all.locks + shared.locks, all.lock_waits + shared.lock_waits);
            all.both += u64::from(shared.register_accesses > 0 && shared.shared_accesses > 0);
            (all.memory_waits, all.windows) =
                (all.memory_waits + shared.memory_waits, all.windows + shared.windows);
        }
        seen.set(all);
        Ok(())
    };
    // Once in some twenty draws of so many cases the rarest of them is not in it.
    let mut runner = TestRunner::new(drawn_config(160));
    for _ in 0..10 {
        runner.run(&(kernels(), machines()), case).unwrap_or_else(|error| panic!("{error}"));
        if seen.get().is_all() {
            return;
        }
        // A runner counts its cases over all of its runs.
        runner = TestRunner::new_with_rng(runner.config().clone(), runner.new_rng());
    }
    panic!("not each of them in ten draws: {:?}", seen.get());
}

proptest! {
    #![proptest_config(drawn_config(4))]
    #[test]
    fn every_design_runs_any_program(kernel in kernels()) {
        for stack in Registry::shipped().stacks() {
            let mut config = preset(stack.preset().expect("there is one")).expect("complete").with_stack(stack);
            config.sm.watchdog_cycles = 20_000;
            let report = run_sms(&config, &kernel)?;
            let baseline = run_sms(&config.with_design("baseline").expect("known"), &kernel)?;
            prop_assert_eq!(executed(&report), executed(&baseline), "{}", config.design);
            // The same with two schedulers in front of one storage, if it serves two.
            (config.sm.schedulers, config.sm.schedulers_per_partition) = (2, 2);
            config.sm.issues_per_scheduler = 1;
            if config.validate().is_ok() {
                let report = run_sms(&config, &kernel)?;
                prop_assert_eq!(executed(&report), executed(&baseline), "{} of two", config.design);
            }
        }
    }
}
