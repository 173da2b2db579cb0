//! Design `rfv`: registers renamed onto half as many physical ones.

use warpfile_kernels::compile::rfv as releases;
use warpfile_kernels::program::{ControlFlow, Flow, Operation};
use warpfile_sim::config::{Config, preset};
use warpfile_sim::mechanisms::rfv::{self, Renaming};
use warpfile_sim::sm::{EngineName, RunOptions, RunReport, run};

use crate::kernels::{Kernel, Sequence, shared};
use crate::tiny::{open, run_tiny};

fn rfv(registers: u64) -> Config {
    let mut config = preset("gtx980-regless").expect("complete");
    config = config.with_design("rfv").expect("known");
    config.edit(|p: &mut rfv::Parameters| p.registers = registers);
    config
}

/// Short ones: loads and stores, barriers, shared memory, lanes that part.
const WORKLOADS: [&str; 7] = ["vectoradd", "hotspot", "bfs", "pathfinder", "hybridsort", "dwt2d", "lud"];

fn renaming(report: &RunReport) -> Renaming {
    report.counters.get(rfv::COUNTERS)
}

#[test]
fn workloads_run_on_half_the_registers() {
    for name in WORKLOADS {
        let renamed = run_tiny(&rfv(1024), name, RunOptions::default());
        let baseline = rfv(1024).with_design("two-level").expect("known");
        let baseline = run_tiny(&baseline, name, RunOptions::default());
        assert_eq!(renamed.operands_checked, baseline.operands_checked, "{name}");
        assert_eq!(renamed.warp_instructions, baseline.warp_instructions, "{name}");
        assert_eq!(renamed.mrf().writes, baseline.mrf().writes, "{name}");
        assert!(renamed.mrf().reads <= baseline.mrf().reads, "{name}");
        assert!(renaming(&renamed).allocations > 0 && renaming(&renamed).most_in_use <= 1024, "{name}");
    }
}

#[test]
fn neither_seed_nor_engine_changes_a_figure() {
    for (name, registers) in [("vectoradd", 512), ("hotspot", 256)] {
        let run = |seed, engine| {
            let options = RunOptions { seed, engine, ..RunOptions::default() };
            run_tiny(&rfv(registers), name, options)
        };
        let first = run(0, EngineName::Compiled);
        assert_eq!(run(7, EngineName::Compiled), first, "{name}");
        assert_eq!(run(0, EngineName::Interpreter), first, "{name}");
    }
}

#[test]
fn however_few_registers_there_are_every_warp_comes_to_its_end() {
    // The least that are not refused: of a scheduler 16, 32, 40 and 40.
    for (name, registers) in [("vectoradd", 64), ("pathfinder", 128), ("hotspot", 160), ("lud", 160)] {
        let few = run_tiny(&rfv(registers), name, RunOptions::default());
        let enough = run_tiny(&rfv(2048), name, RunOptions::default());
        assert_eq!(few.operands_checked, enough.operands_checked, "{name}");
        let most = renaming(&few).most_in_use;
        assert!((registers / 2..=registers).contains(&most), "{name}: {most}");
        assert!(few.scheduler.held_warp_cycles > 0, "{name}");
        assert!(few.cycles > enough.cycles, "{name}: {} and {}", few.cycles, enough.cycles);
        assert_eq!(enough.scheduler.held_warp_cycles, 0, "{name}");
    }
}

#[test]
fn warps_wait_without_a_second_level_of_scheduling_too() {
    let mut config = rfv(160);
    config.scheduler.active_warps = 16;
    let report = run_tiny(&config, "hotspot", RunOptions::default());
    assert!(report.scheduler.held_warp_cycles > 0);
}

#[test]
fn one_instruction_a_cycle_is_renamed_too() {
    let mut config = preset("gebhart2011").expect("complete");
    config = config.with_design("rfv").expect("known");
    for name in ["vectoradd", "scalarprod"] {
        let renamed = run_tiny(&config, name, RunOptions::default());
        assert!(renaming(&renamed).allocations > 0 && renaming(&renamed).most_in_use <= 512, "{name}");
    }
}

#[test]
fn a_block_that_may_need_more_registers_than_there_are_is_refused() {
    let error =
        run(&rfv(96), &mut open("hotspot"), RunOptions::default()).expect_err("24 a scheduler").to_string();
    assert!(error.contains("kernel hotspot") && error.contains("may need 36 physical registers"), "{error}");
    assert!(error.contains("there are 24") && error.contains("rfv.registers"), "{error}");
}

#[test]
fn what_the_circuits_cannot_do_is_refused() {
    let error = |change: fn(&mut Config)| {
        let mut config = rfv(1024);
        change(&mut config);
        config.validate().expect_err("refused").to_string()
    };
    assert!(
        error(|config| config.edit(|p: &mut rfv::Parameters| p.registers = 1000))
            .contains("rfv.registers = 1000")
    );
    assert!(
        error(|config| config.edit(|p: &mut rfv::Parameters| p.registers = 32))
            .contains("2 to 1024 registers")
    );
    assert!(error(|config| config.register_file.rows = 1024).contains("register_file.rows = 1024"));
}

/// Draws numbers, the same for a seed every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ value >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ value >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ value >> 31) % limit
    }

    fn take(&mut self, from: &mut Vec<u16>) -> Option<u16> {
        let count = from.len() as u64;
        (count > 0).then(|| from.swap_remove(self.below(count) as usize))
    }
}

/// A kernel that fills many registers, empties most of them and comes to a barrier, several times.
fn crowded(draw: &mut Draw) -> Kernel {
    let registers = 6 + draw.below(35) as u16;
    let barriers = draw.below(5);
    let mut kernel = Kernel::new().warps(1 + draw.below(32) as u32, 1 + draw.below(12) as u32);
    kernel.program.registers_per_thread = registers;
    let (mut free, mut alive): (Vec<u16>, Vec<u16>) = ((0..registers).collect(), Vec::new());
    for segment in 0..=barriers {
        let most = 1 + draw.below(u64::from(registers)) as usize;
        while alive.len() < most {
            let Some(result) = draw.take(&mut free) else { break };
            let sources: Vec<u16> = alive.iter().rev().take(draw.below(3) as usize).copied().collect();
            kernel = match (draw.below(8), sources.first()) {
                (0, Some(&address)) => kernel.load(result, address),
                (1, Some(&address)) => kernel.op(Operation::Load(shared(4)), &[result], &[address]),
                (2, _) => kernel.op(Operation::Sfu, &[result], &sources),
                (_, _) => kernel.alu(result, &sources),
            };
            alive.push(result);
        }
        let kept = draw.below(most as u64 + 1) as usize;
        while alive.len() > kept.max(1) {
            let Some(read) = draw.take(&mut alive) else { break };
            kernel = kernel.alu(alive[0], &[alive[0], read]);
            free.push(read);
        }
        if segment < barriers {
            kernel = kernel.op(Operation::Barrier, &[], &[]);
        }
    }
    let kernel = kernel.store(alive[0], alive[0]).exit();
    with_control(kernel)
}

/// Says that control goes from one instruction to the next.
fn with_control(mut kernel: Kernel) -> Kernel {
    let count = kernel.program.instructions.len();
    let mut flow = vec![Flow::Next; count];
    flow[count - 1] = Flow::To { targets: Vec::new(), exits: true };
    kernel.program.control =
        Some(ControlFlow { flow, may_diverge: vec![false; count], switches: Vec::new(), seen: None });
    kernel
}

#[test]
fn no_kernel_blocks_itself_with_hardly_any_registers_to_spare() {
    let mut crowds = 0;
    for seed in 0..32 {
        let mut draw = Draw(seed);
        let kernel = crowded(&mut draw);
        let compiled = releases::compile(&kernel.program).expect("straight");
        let warps = kernel.launch.warps_per_block().div_ceil(4) as u64;
        let needed = u64::from(compiled.most_held) + (warps - 1) * u64::from(compiled.most_held_at_barrier);
        // Of a scheduler, in eight banks of two rows at least.
        let registers = (needed.next_multiple_of(8) + 8 * draw.below(3)).max(16);
        let mut config = rfv(4 * registers);
        config.sm.watchdog_cycles = 10_000;
        config.scheduler.active_warps = 1 + draw.below(16);
        let name = format!("seed {seed}, {registers} registers, {needed} needed");
        let report = run(&config, &mut Sequence::from(kernel), RunOptions::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(renaming(&report).most_in_use <= 4 * registers, "{name}");
        crowds += usize::from(report.scheduler.held_warp_cycles > 0);
    }
    assert!(crowds >= 16, "warps waited for registers in {crowds} of 32 runs");
}

#[test]
fn warps_that_wait_for_registers_do_not_keep_the_others_from_running() {
    // Warps of a scheduler that are admitted, and those that are resident: 4 of 8, 4 of 8, 2 of 4.
    for (name, registers, most) in [("sgemm", 512, 1.4), ("hotspot", 352, 2.2), ("heartwall", 256, 2.2)] {
        let cycles = |registers| run_tiny(&rfv(registers), name, RunOptions::default()).cycles as f64;
        let slowdown = cycles(registers) / cycles(2048);
        assert!(slowdown < most, "{name}: {slowdown}");
    }
}
