//! Blocks that share registers or scratchpad: `reg-share`, `spad-share`, `both-share`, `owf`.

use warpfile_kernels::compile::CompileOptions;
use warpfile_kernels::compile::operands::Operands;
use warpfile_kernels::compile::sharing::Placement;
use warpfile_kernels::program::{Launches, Operation};
use warpfile_kernels::workloads;
use warpfile_random::slice;
use warpfile_sim::config::{Config, apply_overrides, preset, preset_with};
use warpfile_sim::energy::{EnergyModel, MeasuredRun};
use warpfile_sim::mechanisms::Registry;
use warpfile_sim::mechanisms::sharing::{self, Parameters, Shared};
use warpfile_sim::sm::{EngineName, ResidencyLimit, RunOptions, RunReport, chip_sms, run};

use crate::kernels::{Kernel, Sequence, shared};
use crate::tiny::{open, run_tiny, run_tiny_with};
use crate::toy::Stopper;

fn on(name: &str, design: &str) -> Config {
    preset(name).expect("complete").with_design(design).expect("known")
}

fn of(report: &RunReport) -> Shared {
    report.counters.get(sharing::COUNTERS)
}

fn tiny(config: &Config, name: &str) -> RunReport {
    run_tiny(config, name, RunOptions::default())
}

/// The largest launch of a workload: registers of a warp, warps and bytes of scratchpad of a block.
fn largest(name: &str) -> (u64, u64, u64) {
    let (mut registers, mut warps, mut bytes) = (0, 0, 0);
    let mut open = open(name);
    while let Some(stream) = open.next_launch().expect("readable") {
        registers = registers.max(u64::from(stream.program().registers_per_thread));
        warps = warps.max(stream.launch().warps_per_block() as u64);
        bytes = bytes.max(u64::from(stream.launch().shared_bytes));
    }
    (registers, warps, bytes)
}

/// Room for one and a half blocks of a workload's registers, in each scheduler's file.
pub fn with_few_registers(mut config: Config, name: &str) -> Config {
    let (registers, warps, _) = largest(name);
    let of_partition = warps.div_ceil(config.sm.schedulers) * registers;
    config.register_file.rows = (of_partition * 3 / 2).div_ceil(config.register_file.bank_groups);
    config
}

/// Room for one and a half blocks of its scratchpad; `None` if it uses none.
fn with_little_scratchpad(mut config: Config, name: &str) -> Option<Config> {
    let (_, _, bytes) = largest(name);
    config.sm.shared_memory_bytes = bytes * 3 / 2;
    (bytes > 0).then_some(config)
}

/// As [`run_tiny`], with the code that the design wants.
fn compiled_for(config: &Config, name: &str) -> RunReport {
    run_tiny_with(config, name, CompileOptions::default())
}

/// Workloads of which no block shares registers at their test size, where one block and a half fit.
const KEEP_REGISTERS: [&str; 11] = [
    "binomial",
    "cutcp",
    "dct8x8",
    "fdtd3d",
    "histogram",
    "leukocyte",
    "lib",
    "marching-cubes",
    "montecarlo",
    "nqueens",
    "walsh",
];
/// The same of scratchpad.
const KEEP_SCRATCHPAD: [&str; 5] = ["cutcp", "fdtd3d", "hybridsort", "montecarlo", "nqueens"];

/// Workloads, one in four of them: whether one shares is said of each.
fn some() -> Vec<&'static str> {
    slice(4, workloads::all().iter().map(|workload| workload.name))
}

fn shares_registers(name: &str) -> bool {
    !KEEP_REGISTERS.contains(&name)
}

fn shares_scratchpad(name: &str) -> bool {
    !KEEP_SCRATCHPAD.contains(&name)
}

/// The same where registers are not shared, which leave room for one block of the workload that is taken out here.
fn shares_scratchpad_alone(name: &str) -> bool {
    shares_scratchpad(name) && name != "stencil-512"
}

/// On the machines of the thesis, and where one block and a half fit; every operand is checked in every run.
#[test]
fn workloads_run_with_shared_registers() {
    for name in some() {
        let config = on("jatala-ch2", "reg-share");
        tiny(&config, name);
        let few = with_few_registers(config.clone(), name);
        let report = tiny(&few, name);
        let baseline = tiny(&few.with_design("baseline").expect("known"), name);
        assert_eq!(report.operands, baseline.operands, "{name}");
        assert_eq!(report.operands_checked, baseline.operands_checked, "{name}");
        assert_eq!(of(&report).locks > 0, shares_registers(name), "{name}");
    }
}

#[test]
fn workloads_run_with_shared_scratchpad() {
    for name in some() {
        tiny(&on("jatala-ch3", "spad-share"), name);
        let Some(little) = with_little_scratchpad(on("jatala-ch2", "spad-share"), name) else {
            continue;
        };
        let report = tiny(&little, name);
        let baseline = tiny(&little.with_design("baseline").expect("known"), name);
        assert_eq!(report.operands, baseline.operands, "{name}");
        assert_eq!(report.operands_checked, baseline.operands_checked, "{name}");
        let shared = of(&report);
        assert_eq!(shared.locks > 0, shared.shared_accesses > 0, "{name}");
        assert_eq!(shared.locks > 0, shares_scratchpad_alone(name), "{name}");
    }
}

/// Registers are scarce, scratchpad is, or both are.
#[test]
fn workloads_run_with_both_shared() {
    for name in some() {
        compiled_for(&on("jatala-ch3", "both-share"), name);
        let config = on("jatala-ch2", "both-share");
        let few = with_few_registers(config.clone(), name);
        let shared = of(&compiled_for(&few, name));
        assert!(shared.shared_accesses == 0 || few.sm.shared_memory_bytes < 2 * largest(name).2, "{name}");
        assert_eq!(shared.register_accesses > 0, shares_registers(name), "{name}");
        if let Some(little) = with_little_scratchpad(config, name) {
            assert_eq!(
                of(&compiled_for(&little, name)).shared_accesses > 0,
                shares_scratchpad(name),
                "{name}"
            );
        }
        if let Some(neither) = with_little_scratchpad(few, name) {
            let shared = of(&compiled_for(&neither, name));
            assert_eq!(shared.shared_accesses > 0, shares_scratchpad(name), "{name}");
            // Of these two no pair comes to share registers where scratchpad is scarce too.
            let shares_both = shares_registers(name) && !["lavaMD", "nw"].contains(&name);
            assert_eq!(shared.register_accesses > 0, shares_both, "{name}");
        }
    }
}

/// §2.5.2: where nothing is gained, nothing is shared and registers stay where they are.
#[test]
fn without_a_further_block_a_run_is_the_baseline_s() {
    for name in ["vectoradd", "hotspot", "bfs", "pathfinder"] {
        for policy in ["lrr", "gto"] {
            let with = |design: &str| {
                let mut config = on("jatala-ch2", design);
                apply_overrides(&mut config, &[("scheduler.single_level", policy)]).expect("accepted");
                config.register_file.rows = 1024;
                tiny(&config, name)
            };
            let baseline = with("baseline");
            for layer in ["single-level+reg-share", "single-level+spad-share", "single-level+both-share"] {
                let report = with(layer);
                assert_eq!(of(&report), Shared::default(), "{name}, {policy}, {layer}");
                assert_eq!(
                    (report.cycles, report.stalls),
                    (baseline.cycles, baseline.stalls),
                    "{name}, {policy}"
                );
            }
        }
    }
}

/// Blocks that fit are as many as Table 2.6 has of such a kernel, and what limits them is said.
#[test]
fn more_blocks_are_resident_with_shared_registers() {
    // hotspot of Table 2.1: 8 warps of 36 registers.
    let mut kernel = Kernel::new().alu(35, &[1, 2]).alu(3, &[35]).exit().warps(40, 8);
    kernel.program.registers_per_thread = 36;
    let resident = |design: &str, percent: u64| {
        let mut config = on("jatala-ch2", design);
        config.edit(|sharing: &mut Parameters| sharing.private_percent = percent);
        let report = run(&config, &mut Sequence::from(kernel.clone()), RunOptions::default()).expect("runs");
        (report.residency[0].resident_blocks, report.residency[0].limited_by)
    };
    assert_eq!(resident("baseline", 10), (3, ResidencyLimit::Registers));
    assert_eq!(resident("reg-share", 10), (6, ResidencyLimit::Warps));
    assert_eq!(resident("reg-share", 50), (4, ResidencyLimit::Registers));
    assert_eq!(resident("reg-share", 100), (3, ResidencyLimit::Registers));
}

/// Two files of 512 rows: each has room for two warps of 200 registers, or for two pairs of them; the SM in one piece would have it
/// for five warps, and none beside them.
#[test]
fn pairs_of_one_warp_blocks_have_room_in_the_files_of_two_schedulers() {
    let mut kernel = Kernel::new().alu(199, &[1, 2]).alu(3, &[199]).exit().warps(40, 1);
    kernel.program.registers_per_thread = 200;
    let resident = |design: &str, percent: u64| {
        let mut config = on("jatala-ch2", design);
        config.edit(|sharing: &mut Parameters| {
            (sharing.private_percent, sharing.reorder_registers) = (percent, false);
        });
        let report = run(&config, &mut Sequence::from(kernel.clone()), RunOptions::default()).expect("runs");
        (report.residency[0].resident_blocks, of(&report).locks > 0)
    };
    assert_eq!(resident("baseline", 10), (4, false));
    for design in ["reg-share", "both-share"] {
        assert_eq!(
            [10, 50, 100].map(|percent| resident(design, percent)),
            [(8, true), (6, true), (4, false)]
        );
    }
}

/// The other storage that does not say where registers lie.
#[test]
fn both_are_shared_with_a_register_reuse_cache() {
    let few = with_few_registers(on("jatala-ch2", "reuse+both-share"), "hotspot");
    let config = with_little_scratchpad(few, "hotspot").expect("it uses some");
    let report = compiled_for(&config, "hotspot");
    let shared = of(&report);
    assert!(shared.register_accesses > 0 && shared.shared_accesses > 0, "{shared:?}");
    let baseline = compiled_for(&config.with_design("reuse").expect("known"), "hotspot");
    assert_eq!(report.operands_checked, baseline.operands_checked);
    assert!(report.residency[0].resident_blocks > baseline.residency[0].resident_blocks);
}

#[test]
fn more_blocks_are_resident_with_shared_scratchpad() {
    // SRAD1 of Table 2.2: 8 warps, 6144 bytes. Equation 2.4 as it stands would give six blocks.
    let mut kernel =
        Kernel::new().op(Operation::Load(shared(4)), &[1], &[2]).alu(3, &[1]).exit().warps(40, 8);
    (kernel.launch.shared_bytes, kernel.program.shared_bytes) = (6144, 6144);
    for (percent, blocks) in [(100, 2), (50, 3), (30, 4), (10, 4)] {
        let mut config = on("jatala-ch2", "spad-share");
        config.sm.shared_memory_bytes = 16 * 1024;
        config.edit(|sharing: &mut Parameters| sharing.private_percent = percent);
        let report = run(&config, &mut Sequence::from(kernel.clone()), RunOptions::default()).expect("runs");
        assert_eq!(report.residency[0].resident_blocks, blocks, "{percent}");
    }
}

/// SRAD1's scratchpad and hotspot's registers: either alone gains nothing where the other fits two or three blocks only.
#[test]
fn more_blocks_are_resident_with_both_shared() {
    let mut kernel = Kernel::new()
        .op(Operation::Load(shared(4)), &[1], &[2])
        .stride(190)
        .alu(35, &[1])
        .exit()
        .warps(40, 8);
    kernel.program.registers_per_thread = 36;
    (kernel.launch.shared_bytes, kernel.program.shared_bytes) = (6144, 6144);
    let resident = |design: &str, bytes: u64, percent: u64| {
        let mut config = on("jatala-ch2", design);
        config.sm.shared_memory_bytes = bytes;
        config.edit(|sharing: &mut Parameters| sharing.private_percent = percent);
        let report = run(&config, &mut Sequence::from(kernel.clone()), RunOptions::default()).expect("runs");
        (report.residency[0].resident_blocks, of(&report))
    };
    let blocks = |design, bytes, percent| resident(design, bytes, percent).0;
    // Registers for three blocks and a half, scratchpad for three and a bit.
    let bytes = 3 * 6144 + 1900;
    assert_eq!(["baseline", "reg-share", "spad-share"].map(|design| blocks(design, bytes, 10)), [3, 3, 3]);
    assert_eq!(blocks("both-share", bytes, 10), 6);
    assert_eq!(blocks("both-share", bytes, 30), 4);
    assert_eq!(blocks("both-share", bytes, 100), 3);
    // With scratchpad for two, there are registers for four of two pairs.
    let (blocks, shared) = resident("both-share", 16 * 1024, 10);
    assert_eq!(blocks, 4);
    assert!(shared.shared_accesses > 0 && shared.locks > 0, "{shared:?}");
}

/// Scratchpad is shared in one launch, registers in the next, neither in another, and so on: nothing is left of the one before.
#[test]
fn every_launch_shares_what_it_needs() {
    let kernel = |registers: u16, bytes: u32| {
        let mut kernel = Kernel::new()
            .op(Operation::Load(shared(4)), &[1], &[2])
            .stride(u64::from(bytes) / 32)
            .op(Operation::Release, &[], &[])
            .alu(registers - 1, &[1])
            .exit()
            .warps(17, 2);
        kernel.program.registers_per_thread = registers;
        (kernel.launch.shared_bytes, kernel.program.shared_bytes) = (bytes, bytes);
        kernel
    };
    let [scratchpad, registers, neither, both] =
        [kernel(4, 640), kernel(32, 96), kernel(4, 96), kernel(32, 640)];
    let mut config = on("jatala-ch2", "both-share");
    // Of either one block and a half, with 32 registers and 640 bytes.
    (config.register_file.rows, config.sm.shared_memory_bytes) = (6, 960);
    config.edit(|sharing: &mut Parameters| sharing.reorder_registers = false);
    let order = [&scratchpad, &registers, &neither, &both, &registers, &scratchpad, &neither];
    let kernels: Vec<Kernel> = order.into_iter().cloned().collect();
    let report = run(&config, &mut Sequence::from(kernels), RunOptions::default()).expect("runs");
    let resident: Vec<u64> = report.residency.iter().map(|launch| launch.resident_blocks).collect();
    // Launches with the same residency are listed once: registers alone, and both.
    assert_eq!(resident, [2, 2, 8]);
    let alone = |kernel: &Kernel| {
        of(&run(&config, &mut Sequence::from(kernel.clone()), RunOptions::default()).expect("runs"))
    };
    let runs = [alone(&scratchpad), alone(&registers), alone(&neither), alone(&both)];
    let uses = |of: &Shared| (of.register_accesses > 0, of.shared_accesses > 0);
    assert_eq!(runs.each_ref().map(uses), [(false, true), (true, false), (false, false), (true, true)]);
    let sum = |count: fn(&Shared) -> u64| order.iter().map(|kernel| count(&alone(kernel))).sum::<u64>();
    let all = of(&report);
    assert_eq!(all.register_accesses, sum(|of| of.register_accesses));
    assert_eq!((all.shared_accesses, all.releases), (sum(|of| of.shared_accesses), sum(|of| of.releases)));
}

/// Every warp needs shared registers and shared scratchpad, in both orders, with barriers between. (That two units side by side
/// would wait for each other is shown beside the unit's reference model.)
#[test]
fn barriers_between_accesses_to_both_do_not_deadlock() {
    let load = |kernel: Kernel| kernel.op(Operation::Load(shared(4)), &[3], &[1]).stride(8);
    let step = |kernel: Kernel| kernel.op(Operation::Barrier, &[], &[]).alu(4, &[3]);
    let registers = |kernel: Kernel| kernel.alu(15, &[1, 14]);
    let first = |kernel| step(load(step(registers(kernel))));
    let second = |kernel| step(registers(step(load(kernel))));
    for orders in [[true, false], [false, true]] {
        let start = Kernel::new().alu(1, &[2]);
        let kernel = orders.iter().fold(start, |kernel, is_first| match is_first {
            true => first(kernel),
            false => second(kernel),
        });
        let mut kernel = kernel.exit().warps(30, 4);
        kernel.program.registers_per_thread = 16;
        (kernel.launch.shared_bytes, kernel.program.shared_bytes) = (256, 256);
        for scheduler in ["owf", "single-level", "two-level"] {
            let mut config = on("jatala-ch2", &format!("{scheduler}+both-share"));
            config.register_file.rows = 6;
            config.sm.shared_memory_bytes = 256 + 128;
            config.sm.watchdog_cycles = 2000;
            config.edit(|sharing: &mut Parameters| {
                (sharing.private_percent, sharing.reorder_registers) = (50, false);
            });
            let report = run(&config, &mut Sequence::from(kernel.clone()), RunOptions::default());
            let report = report.unwrap_or_else(|error| panic!("{scheduler}: {error}"));
            assert_eq!((report.blocks, report.residency[0].resident_blocks), (30, 2));
            assert!(of(&report).lock_waits > 0 && of(&report).shared_accesses > 0, "{:?}", of(&report));
        }
    }
}

/// Fig. 2.8 as a kernel: every warp takes its lock, waits at a barrier for the others of its block, and again.
#[test]
fn barriers_between_shared_accesses_do_not_deadlock() {
    for scheduler in ["owf", "single-level", "two-level"] {
        for (percent, warp_locks) in [(10, false), (10, true), (50, false), (50, true), (90, false)] {
            let mut kernel = Kernel::new().alu(1, &[2]);
            for _ in 0..3 {
                kernel = kernel.alu(15, &[1, 14]).op(Operation::Barrier, &[], &[]).alu(13, &[15]);
            }
            let mut kernel = kernel.exit().warps(30, 4);
            kernel.program.registers_per_thread = 16;
            let mut config = on("jatala-ch2", &format!("{scheduler}+reg-share"));
            config.register_file.rows = 6;
            config.sm.watchdog_cycles = 2000;
            config.edit(|sharing: &mut Parameters| {
                (sharing.private_percent, sharing.reorder_registers) = (percent, false);
                sharing.warp_locks = warp_locks;
            });
            let report = run(&config, &mut Sequence::from(kernel), RunOptions::default());
            let report = report.unwrap_or_else(|error| panic!("{scheduler} at {percent}: {error}"));
            assert_eq!(report.blocks, 30);
            assert!(percent == 90 || of(&report).locks > 0, "{scheduler} at {percent}");
        }
    }
}

#[test]
fn barriers_between_shared_accesses_of_scratchpad_do_not_deadlock() {
    let mut kernel = Kernel::new().alu(1, &[2]);
    for stride in [8, 4, 8] {
        kernel = kernel
            .op(Operation::Load(shared(4)), &[3], &[1])
            .stride(stride)
            .op(Operation::Barrier, &[], &[])
            .alu(4, &[3]);
    }
    let mut kernel = kernel.exit().warps(30, 4);
    (kernel.launch.shared_bytes, kernel.program.shared_bytes) = (256, 256);
    for scheduler in ["owf", "single-level", "two-level"] {
        let mut config = on("jatala-ch2", &format!("{scheduler}+spad-share"));
        config.sm.shared_memory_bytes = 1024 + 128;
        config.sm.watchdog_cycles = 2000;
        config.edit(|sharing: &mut Parameters| sharing.private_percent = 50);
        let report = run(&config, &mut Sequence::from(kernel.clone()), RunOptions::default()).expect("runs");
        assert_eq!(report.blocks, 30);
        assert!(of(&report).locks > 0 && of(&report).lock_waits > 0, "{scheduler}: {:?}", of(&report));
    }
}

/// pathfinder's blocks share half of their registers on two SMs that compare their stalls in short windows.
fn compared() -> Config {
    let mut config = on("jatala-ch2", "reg-share");
    config.register_file.rows = 12;
    config.chip.simulated_sms = 2;
    config.edit(|sharing: &mut Parameters| (sharing.private_percent, sharing.stall_window) = (50, 20));
    config
}

/// Both SMs, at once or one after the other.
fn both(config: &Config, at_once: bool) -> Vec<RunReport> {
    both_with(config, at_once, 0, EngineName::default())
}

/// The same with a seed, on an engine.
fn both_with(config: &Config, at_once: bool, seed: u64, engine: EngineName) -> Vec<RunReport> {
    let one = |(sm, chip)| {
        let options = RunOptions { sm, chip: Some(chip), seed, engine, ..RunOptions::default() };
        run_tiny(config, "pathfinder", options)
    };
    let sms = (0..).zip(chip_sms(2));
    if !at_once {
        return sms.map(one).collect();
    }
    // The one that waits begins first.
    let sms: Vec<_> = sms.collect();
    std::thread::scope(|scope| {
        let runs: Vec<_> = sms.into_iter().rev().map(|sm| scope.spawn(move || one(sm))).collect();
        let mut reports: Vec<_> = runs.into_iter().map(|run| run.join().expect("no panic")).collect();
        reports.reverse();
        reports
    })
}

/// §2.3.3.
#[test]
fn memory_instructions_of_additional_warps_follow_the_stalls_of_the_first_sm() {
    let config = compared();
    let reports = both(&config, false);
    let [first, second] = [of(&reports[0]), of(&reports[1])];
    assert_eq!((first.additional_memory, first.windows), (0, 0), "{first:?}");
    assert!(first.memory_waits > 0 && first.locks > 0, "{first:?}");
    assert!(second.additional_memory > 0 && second.memory_waits > 0, "{second:?}");
    assert!(second.windows > 0 && second.probability < 10 * second.windows, "{second:?}");

    let mut off = config;
    off.edit(|sharing: &mut Parameters| sharing.dynamic_execution = false);
    for report in both(&off, false) {
        assert!(of(&report).additional_memory > 0, "{:?}", of(&report));
        assert_eq!((of(&report).memory_waits, of(&report).windows), (0, 0));
    }
}

#[test]
fn it_does_not_matter_when_the_first_sm_runs() {
    let config = compared();
    assert_eq!(both(&config, true), both(&config, false));
}

/// One SM has no other, and one that is run alone hears of none.
#[test]
fn an_sm_that_is_alone_holds_no_memory_instruction_back() {
    let mut config = compared();
    let alone = |config: &Config| {
        let report = tiny(config, "pathfinder");
        assert_eq!((of(&report).memory_waits, of(&report).windows), (0, 0));
        report
    };
    alone(&config);
    config.chip.simulated_sms = 1;
    let on = alone(&config);
    config.edit(|sharing: &mut Parameters| sharing.dynamic_execution = false);
    assert_eq!(alone(&config), on);
}

/// The report of several SMs has the cycles of each, and its energy is the sum of theirs.
#[test]
fn the_energy_of_several_sms_is_the_sum_of_theirs() {
    let config = compared();
    let reports = both(&config, false);
    let together = RunReport::together(&reports);
    let cycles: Vec<u64> = reports.iter().map(|report| report.cycles).collect();
    let of_sms: Vec<u64> = together.sms.iter().map(|sm| sm.launch_cycles.iter().sum()).collect();
    assert_eq!((of_sms, together.sm_cycles()), (cycles.clone(), cycles.iter().sum()));
    let model = EnergyModel::named(&config.energy.technology).expect("complete");
    let of = |report: &RunReport| {
        model.registers(MeasuredRun { config: &config, report }).expect("priced").total_pj()
    };
    let sum: f64 = reports.iter().map(of).sum();
    assert!((of(&together) / sum - 1.0).abs() < 1e-12, "{} {sum}", of(&together));
}

#[test]
fn neither_seed_nor_engine_changes_a_figure_of_sharing() {
    for (config, name) in [
        (with_few_registers(on("jatala-ch2", "reg-share"), "hotspot"), "hotspot"),
        (with_little_scratchpad(on("jatala-ch2", "spad-share"), "pathfinder").expect("some"), "pathfinder"),
        (
            with_little_scratchpad(with_few_registers(on("jatala-ch2", "both-share"), "hotspot"), "hotspot")
                .expect("some"),
            "hotspot",
        ),
    ] {
        let run =
            |seed, engine| run_tiny(&config, name, RunOptions { seed, engine, ..RunOptions::default() });
        let first = run(0, EngineName::Compiled);
        assert!(of(&first).locks > 0, "{name}");
        assert_eq!(run(7, EngineName::Compiled), first);
        assert_eq!(run(0, EngineName::Interpreter), first);
    }
    let config = compared();
    let first = both(&config, false);
    assert_eq!(both_with(&config, false, 7, EngineName::Compiled), first);
    assert_eq!(both_with(&config, false, 0, EngineName::Interpreter), first);
}

#[test]
fn what_sharing_does_not_go_with_is_refused_with_a_reason() {
    let refused = |preset: &str, design: &str| on(preset, design).validate().expect_err(design).to_string();
    let error = refused("jatala-ch2", "reg-share+spad-share");
    assert!(
        error.contains("reg-share and spad-share each have owners of their own; nearest: both-share"),
        "{error}"
    );
    let error = refused("jatala-ch3", "both-share+spad-share-relssp");
    assert!(error.contains("each have owners of their own; nearest: both-share"), "{error}");
    let error = refused("jatala-ch3", "spad-share+spad-share-relssp");
    assert!(error.contains("nearest: spad-share-relssp"), "{error}");
    let error = refused("jatala-ch2", "both-share+greener");
    assert!(error.contains("greener takes a row to be one warp's; nearest: both-share"), "{error}");
    let error = refused("jatala-ch2", "wir-r+both-share");
    assert!(error.contains("wir-r does not go with both-share"), "{error}");
    let error = refused("jatala-ch2", "rfc+both-share");
    assert!(error.contains("both-share moves registers, which rfc does not follow"), "{error}");
    let error = refused("jatala-ch2", "rfc+reg-share");
    assert!(
        error.contains("reg-share moves registers, which rfc does not follow; nearest: reg-share"),
        "{error}"
    );
    let error = refused("jatala-ch2", "wir-r+reg-share");
    assert!(error.contains("wir-r does not go with reg-share"), "{error}");
    let error = refused("jatala-ch2", "reg-share+greener");
    assert!(error.contains("greener takes a row to be one warp's"), "{error}");
    let mut config = on("jatala-ch2", "reg-share");
    config.sm.warps = 46;
    config.scheduler.active_warps = 8;
    let error = config.validate().expect_err("23 warps").to_string();
    assert!(error.contains("an even number of warps for each scheduler"), "{error}");
}

/// The order of first use (§2.3.2) lets non-owners go on for longer: hotspot takes its locks later.
#[test]
fn registers_in_the_order_of_first_use_are_shared_later() {
    let run = |reorder| {
        let mut config = with_few_registers(on("jatala-ch2", "reg-share"), "hotspot");
        config.edit(|sharing: &mut Parameters| {
            (sharing.private_percent, sharing.reorder_registers) = (50, reorder);
        });
        tiny(&config, "hotspot")
    };
    let (ordered, declared) = (run(true), run(false));
    assert!(of(&ordered).locks > 0 && of(&declared).locks > 0);
    assert_ne!(ordered.cycles, declared.cycles);
}

/// With operands in scratchpad a block waits for the same locks that it waits for with loads, and every operand is right.
#[test]
fn operands_in_scratchpad_are_accesses_to_what_is_shared() {
    for name in ["convolution", "lud", "pathfinder", "scan", "sgemm-128"] {
        for design in ["spad-share", "spad-share-relssp"] {
            let config = with_little_scratchpad(on("jatala-ch2", design), name).expect("uses some");
            let [loads, operands] = [Operands::Constants, Operands::Scratchpad].map(|operands| {
                let options = CompileOptions { operands, ..CompileOptions::default() };
                run_tiny_with(&config, name, options)
            });
            assert!(operands.warp_instructions < loads.warp_instructions, "{name}: nothing is folded");
            assert_eq!(of(&operands).locks, of(&loads).locks, "{name}, {design}");
            assert_eq!(of(&operands).shared_accesses, of(&loads).shared_accesses, "{name}, {design}");
            assert_eq!(operands.memory.shared_words, loads.memory.shared_words, "{name}, {design}");
        }
    }
}

/// An operand in the part that is shared waits for its lock, and one in the part that is not does not.
#[test]
fn an_operand_in_shared_scratchpad_waits_for_the_lock() {
    let with_stride = |stride| {
        let kernel = Kernel::new().alu(1, &[2]).with_operand().stride(stride).alus(50, 3, &[3]).exit();
        let mut kernel = kernel.warps(12, 2);
        (kernel.launch.shared_bytes, kernel.program.shared_bytes) = (256, 256);
        let mut config = on("jatala-ch2", "spad-share");
        config.sm.shared_memory_bytes = 256 + 128;
        of(&run(&config, &mut Sequence::from(kernel), RunOptions::default()).expect("runs"))
    };
    let (shared, private) = (with_stride(8), with_stride(0));
    assert!(shared.locks > 0 && shared.lock_waits > 0 && shared.shared_accesses > 0, "{shared:?}");
    assert_eq!((private.locks, private.lock_waits, private.shared_accesses), (0, 0, 0));
}

/// Every thread executes one `relssp`, each lock is released by one, and everything computes what it did. The layer ends a run
/// in which a block accesses what it has released.
#[test]
fn workloads_run_with_released_scratchpad() {
    for name in some() {
        compiled_for(&on("jatala-ch3", "spad-share-relssp"), name);
        let Some(little) = with_little_scratchpad(on("jatala-ch2", "spad-share-relssp"), name) else {
            continue;
        };
        let run = |relssp| {
            let mut config = little.clone();
            config.edit(|sharing: &mut Parameters| sharing.relssp = relssp);
            of(&compiled_for(&config, name))
        };
        let (optimal, postdominator) = (run(Placement::Optimal), run(Placement::Postdominator));
        assert_eq!(optimal.relssp, postdominator.relssp, "{name}");
        for placed in [&optimal, &postdominator] {
            assert_eq!(placed.releases, placed.locks, "{name}");
        }
        assert_eq!(optimal.locks > 0, shares_scratchpad_alone(name), "{name}");
        let laid_out = run(Placement::None);
        assert_eq!((laid_out.relssp, laid_out.locks > 0), (0, optimal.locks > 0), "{name}");
    }
}

/// The shared part is needed at the beginning only: with `relssp` the partner gets it long before the block ends.
#[test]
fn a_partner_gets_released_scratchpad_before_the_block_ends() {
    let kernel = |release: bool| {
        let mut kernel = Kernel::new().op(Operation::Load(shared(4)), &[1], &[2]).stride(8);
        if release {
            kernel = kernel.op(Operation::Release, &[], &[]);
        }
        let mut kernel = kernel.alus(200, 3, &[3]).exit().warps(12, 2);
        (kernel.launch.shared_bytes, kernel.program.shared_bytes) = (256, 256);
        kernel
    };
    let run = |design: &str, release: bool| {
        let mut config = on("jatala-ch2", design);
        config.sm.shared_memory_bytes = 256 + 128;
        let report = run(&config, &mut Sequence::from(kernel(release)), RunOptions::default()).expect("runs");
        assert_eq!(report.blocks, 12);
        (report.cycles, of(&report))
    };
    // The owner's scratchpad, released, is the partner's where it has an owner for registers as well.
    let (both, of_both) = run("both-share", true);
    let (kept, of_kept) = run("spad-share", false);
    let (released, of_released) = run("spad-share-relssp", true);
    assert_eq!((of_released.relssp, of_released.releases), (12 * 64, 12));
    assert_eq!((of_kept.relssp, of_kept.releases), (0, 0));
    // A block that keeps its lock has it to its end; one that releases it lives on for most of its time.
    assert!(of_kept.after_lock == 0 && of_kept.with_lock > of_kept.before_lock / 2, "{of_kept:?}");
    assert!(of_released.after_lock > of_released.with_lock, "{of_released:?}");
    assert!(of_kept.additional_waits > of_kept.additional / 2, "{of_kept:?}");
    assert!(of_released.additional_waits < of_released.additional, "{of_released:?}");
    assert!(3 * released < 2 * kept, "{released} and {kept} cycles");
    assert_eq!((of_both.relssp, of_both.releases), (12 * 64, 12));
    assert!(3 * both < 2 * kept && of_both.after_lock > of_both.with_lock, "{both}, {of_both:?}");
    // Without the unit, `relssp` is an instruction that does nothing.
    let (ignored, _) = run("spad-share", true);
    assert!(ignored > kept, "{ignored} and {kept}");
}

#[test]
fn an_access_after_the_release_ends_the_run() {
    let mut kernel = Kernel::new()
        .op(Operation::Load(shared(4)), &[1], &[2])
        .stride(8)
        .op(Operation::Release, &[], &[])
        .alus(30, 3, &[3])
        .op(Operation::Load(shared(4)), &[1], &[3])
        .stride(8)
        .exit()
        .warps(4, 1);
    (kernel.launch.shared_bytes, kernel.program.shared_bytes) = (256, 256);
    for design in ["spad-share-relssp", "both-share"] {
        let mut config = on("jatala-ch2", design);
        config.sm.shared_memory_bytes = 256 + 128;
        let report = run(&config, &mut Sequence::from(kernel.clone()), RunOptions::default());
        let error = report.expect_err("accessed").to_string();
        assert!(error.contains("accesses shared scratchpad in threads that have released it"), "{error}");
    }
}

/// Nothing issues from cycle 3000 on, when some warps of a pair wait for the others.
#[test]
fn a_run_without_progress_says_who_has_the_lock() {
    let registry = Registry::shipped().with(&[&Stopper]);
    let stopped = |design: &str| {
        let config = preset_with(&registry, "jatala-ch2").expect("complete");
        let mut config = config.with_design(&format!("stopper+{design}")).expect("a stack");
        config.sm.watchdog_cycles = 1000;
        config
    };
    for (config, name, words) in [
        (with_few_registers(stopped("reg-share"), "hotspot"), "hotspot", "registers that block slot"),
        (
            with_little_scratchpad(stopped("spad-share"), "pathfinder").expect("some"),
            "pathfinder",
            "scratchpad that block slot",
        ),
        (with_few_registers(stopped("both-share"), "hotspot"), "hotspot", "registers that block slot"),
        (
            with_little_scratchpad(stopped("both-share"), "pathfinder").expect("some"),
            "pathfinder",
            "scratchpad that block slot",
        ),
    ] {
        let error =
            run(&config, &mut open(name), RunOptions::default()).expect_err("nothing issues").to_string();
        assert!(error.contains("no progress") && error.contains("waits for nothing that comes"), "{error}");
        assert!(error.contains(words), "{error}");
    }
}
