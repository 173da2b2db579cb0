//! Several schedulers, each with a part of the SM to itself.

use warpfile_kernels::program::Operation;
use warpfile_sim::config::{Config, preset};
use warpfile_sim::mechanisms::Registry;
use warpfile_sim::sm::{ResidencyLimit, RunOptions, run};

use crate::kernels::{Kernel, Sequence, shared};
use crate::stand_ins::{Event, WITH_REGISTER_FILE, gebhart, picks, run_single_level};
use crate::tiny::run_tiny;

/// The preset with four schedulers of eight warps.
fn four_schedulers() -> Config {
    let mut config = gebhart();
    config.sm.schedulers = 4;
    config
}

fn ticks(events: &[(u64, Event)], cycle: u64) -> usize {
    picks(events).iter().filter(|picked| **picked == cycle).count()
}

#[test]
fn warps_are_dealt_to_the_schedulers_in_turn() {
    let kernel = Kernel::new().alu(1, &[]).warps(1, 6);
    let (_, events) = run_single_level(&four_schedulers(), kernel).expect("runs");
    let picked: Vec<_> = (events.iter())
        .filter_map(|(cycle, event)| match event {
            Event::Picked(warp) => Some((*cycle, *warp)),
            _ => None,
        })
        .collect();
    assert_eq!(picked, [(0, 0), (0, 0), (0, 0), (0, 0), (1, 1), (1, 1)]);
}

#[test]
fn schedulers_issue_side_by_side() {
    let kernel = Kernel::new().alus(20, 1, &[1]).warps(1, 32);
    let (one, _) = run_single_level(&gebhart(), kernel.clone()).expect("runs");
    let (four, events) = run_single_level(&four_schedulers(), kernel).expect("runs");
    assert_eq!(four.warp_instructions, one.warp_instructions);
    assert_eq!(ticks(&events, 10), 4);
    // One scheduler needs a cycle for each of 640 instructions, four need a quarter of that; both fill and drain.
    assert!(one.cycles > 640 && four.cycles < 640 / 4 + 20, "{} and {}", one.cycles, four.cycles);
}

#[test]
fn alus_are_a_schedulers_own_and_shared_memory_is_shared() {
    // 32 instructions that occupy their unit for four cycles each, one a warp.
    let mut config = four_schedulers();
    config.throughput.alu_lanes = 8;
    let cycles = |operation| {
        let kernel = Kernel::new().op(operation, &[1], &[]).warps(1, 32);
        run_single_level(&config, kernel).expect("runs").0.cycles
    };
    let (own, shared) = (cycles(Operation::Alu), cycles(Operation::Load(shared(4))));
    assert!((32..50).contains(&own), "eight of four cycles for each scheduler: {own}");
    assert!((128..160).contains(&shared), "32 of four cycles for all: {shared}");
}

#[test]
fn no_scheduler_is_kept_from_a_shared_unit() {
    let kernel = Kernel::new().op(Operation::Load(shared(4)), &[1], &[]).alu(2, &[1]).warps(1, 4);
    let (_, events) = run_single_level(&four_schedulers(), kernel).expect("runs");
    // The fourth to be served waits three times four cycles longer than the first.
    let last = *picks(&events).last().expect("some");
    assert_eq!(picks(&events)[4] + 3 * 4, last);
}

#[test]
fn a_barrier_holds_warps_of_all_schedulers() {
    let kernel = Kernel::new().alus(3, 1, &[1]).op(Operation::Barrier, &[], &[]).alu(2, &[]);
    let (_, events) = run_single_level(&four_schedulers(), kernel.warps(1, 6)).expect("runs");
    let picked = picks(&events);
    let (before, after) = picked.split_at(6 * 4);
    let last_barrier = before.iter().max().expect("some");
    assert!(after.iter().all(|cycle| *cycle >= last_barrier + 3), "{before:?} {after:?}");
    assert_eq!(after.len(), 6);
}

#[test]
fn registers_limit_residency_by_whole_warps_of_each_scheduler() {
    // 100 registers a warp: ten warps fit the 1024 rows of a scheduler, 40 the SM, which has 32 places.
    let mut kernel = Kernel::new().alu(1, &[]).warps(50, 1);
    kernel.program.registers_per_thread = 100;
    let mut config = four_schedulers();
    config.sm.blocks = 64;
    let residency = |config: &Config| {
        let (report, _) = run_single_level(config, kernel.clone()).expect("runs");
        (report.residency[0].resident_warps, report.residency[0].limited_by)
    };
    assert_eq!(residency(&config), (32, ResidencyLimit::Warps));
    config.register_file.rows = 64;
    assert_eq!(residency(&config), (8, ResidencyLimit::Registers), "two of 100 in 256 rows, four times");
}

#[test]
fn a_block_that_no_scheduler_can_hold_its_part_of_is_rejected() {
    // Five warps of 200: one scheduler would have to hold two of them in 256 rows.
    let mut kernel = Kernel::new().alu(1, &[]).warps(1, 5);
    kernel.program.registers_per_thread = 200;
    let mut config = four_schedulers();
    config.register_file.rows = 64;
    let error = run_single_level(&config, kernel).expect_err("too large").to_string();
    assert!(error.contains("needs 1600 warp-wide registers, the SM has 1024"), "{error}");
}

#[test]
fn warps_that_the_schedulers_cannot_share_equally_are_refused() {
    let mut config = four_schedulers();
    config.sm.warps = 30;
    let error = config.validate().expect_err("30 of 4").to_string();
    assert!(error.contains("sm.warps = 30") && error.contains("multiple of sm.schedulers = 4"), "{error}");
    config.sm.warps = 16;
    let error = config.validate().expect_err("8 of 4").to_string();
    assert!(error.contains("scheduler.active_warps = 8") && error.contains("at most 4"), "{error}");
}

#[test]
fn every_design_delivers_every_operand_with_four_schedulers() {
    let kernel = || {
        let kernel = (0..4).fold(Kernel::new().warps(6, 7), |kernel, step| {
            kernel.alu(1, &[1, 2, 3]).load(2, 1).alu(3, &[1, 2]).marked().lanes(0x1 << step | 0xf0).op(
                Operation::Barrier,
                &[],
                &[],
            )
        });
        Sequence::from(kernel.exit())
    };
    let mut reports = Vec::new();
    for design in WITH_REGISTER_FILE {
        let mut config = four_schedulers().with_design(design).expect("known");
        config.scheduler.active_warps = 2;
        let report = run(&config, &mut kernel(), RunOptions::default()).expect("every operand right");
        assert!(report.activity.iter().any(|port| port.port.starts_with("partition3.") && port.cycles > 0));
        reports.push(report);
    }
    for report in &reports {
        assert_eq!(report.operands, reports[0].operands);
        assert_eq!(report.operands_checked, reports[0].operands_checked);
    }
}

/// The preset's baseline with one scheduler that issues two instructions a cycle.
fn two_issues() -> Config {
    let mut config = gebhart().with_design("baseline").expect("known");
    config.sm.issues_per_scheduler = 2;
    config
}

/// Cycles in which instructions were picked, and how many instructions were issued.
fn picks_and_issues(config: &Config, kernel: Kernel) -> (usize, u64) {
    let (report, events) = run_single_level(config, kernel).expect("runs");
    (picks(&events).len(), report.warp_instructions)
}

#[test]
fn two_independent_instructions_for_different_units_issue_together() {
    let sfu = |kernel: Kernel, result, sources: &[u16]| kernel.op(Operation::Sfu, &[result], sources);
    let picks = |kernel| picks_and_issues(&two_issues(), kernel);
    assert_eq!(picks(sfu(Kernel::new().alu(1, &[]), 2, &[])), (1, 2));
    assert_eq!(picks(Kernel::new().alu(1, &[]).alu(2, &[])), (2, 2), "one unit");
    assert_eq!(picks(sfu(Kernel::new().alu(1, &[]), 2, &[1])), (2, 2), "the second reads the first's result");
    assert_eq!(picks(sfu(Kernel::new().alu(1, &[]), 1, &[])), (2, 2), "both write one register");
    assert_eq!(picks(Kernel::new().op(Operation::Branch, &[], &[]).alu(1, &[])), (2, 2), "behind a branch");
    assert_eq!(picks(Kernel::new().op(Operation::Barrier, &[], &[]).alu(1, &[])), (2, 2), "behind a barrier");
    assert_eq!(
        picks(Kernel::new().alu(1, &[]).op(Operation::Branch, &[], &[])),
        (1, 2),
        "a branch as the second"
    );
    let mut one = two_issues();
    one.sm = gebhart().sm;
    assert_eq!(picks_and_issues(&one, sfu(Kernel::new().alu(1, &[]), 2, &[])), (2, 2));
}

#[test]
fn a_predicate_of_the_first_instruction_keeps_the_second_back() {
    let kernel = |read: u16| {
        let first = Kernel::new().op(Operation::Alu, &[], &[]).predicates(&[3], &[]);
        first.op(Operation::Sfu, &[1], &[]).predicates(&[], &[read])
    };
    assert_eq!(picks_and_issues(&two_issues(), kernel(3)), (2, 2));
    assert_eq!(picks_and_issues(&two_issues(), kernel(2)), (1, 2));
}

#[test]
fn two_issues_a_cycle_are_delivered_by_the_circuits() {
    let kernel = || {
        let kernel = (0..6).fold(Kernel::new().warps(6, 8), |kernel, step| {
            kernel
                .alu(1, &[1, 2, 3])
                .op(Operation::Sfu, &[4], &[3, 9, 11])
                .load(2, 1)
                .alu(5, &[4, 9, 1])
                .lanes(0x1 << step | 0xf0)
                .op(Operation::Load(shared(4)), &[6, 7], &[1])
                .alu(3, &[1, 2])
                .store(7, 6)
                .op(Operation::Barrier, &[], &[])
        });
        Sequence::from(kernel.exit())
    };
    let run =
        |config: &Config| run(config, &mut kernel(), RunOptions::default()).expect("every operand right");
    for design in ["two-level", "rfc"] {
        let mut config = gebhart().with_design(design).expect("known");
        let one = run(&config);
        config.sm.issues_per_scheduler = 2;
        let two = run(&config);
        assert_eq!(one.operands_checked, two.operands_checked);
        assert!(two.cycles < one.cycles, "{design}: {} and {}", two.cycles, one.cycles);
    }
    let mut config = gebhart().with_design("baseline").expect("known");
    let one = run(&config);
    config.sm.issues_per_scheduler = 2;
    let two = run(&config);
    assert_eq!((one.operands, one.mrf()), (two.operands, two.mrf()));
    assert_eq!(one.operands_checked, two.operands_checked);
    assert!(two.cycles < one.cycles, "{} and {}", two.cycles, one.cycles);
    let gtx980 = preset("gtx980-regless").expect("complete").with_design("baseline").expect("known");
    let whole = run(&gtx980);
    assert_eq!(one.operands, whole.operands);
    assert_eq!(one.operands_checked, whole.operands_checked);
    let two_level = gtx980.with_design("two-level").expect("known");
    assert_eq!(one.operands_checked, run(&two_level).operands_checked);
}

/// The preset with two schedulers of 16 warps each in front of one register file.
fn two_at_one_file() -> Config {
    let mut config = gebhart().with_design("baseline").expect("known");
    (config.sm.schedulers, config.sm.schedulers_per_partition) = (2, 2);
    config
}

fn cycles_of(config: &Config, kernel: &Kernel) -> u64 {
    let mut kernel = Sequence::from(kernel.clone());
    run(config, &mut kernel, RunOptions::default()).expect("every operand right").cycles
}

#[test]
fn two_schedulers_issue_side_by_side_from_one_register_file() {
    let one = gebhart().with_design("baseline").expect("known");
    let all = Kernel::new().alus(20, 1, &[1]).warps(1, 32);
    let (single, both) = (cycles_of(&one, &all), cycles_of(&two_at_one_file(), &all));
    assert!(single > 640 && both < 640 / 2 + 20, "{single} and {both}");
    // A warp alone is one scheduler's: it is neither faster nor slower.
    let alone = Kernel::new().alus(20, 1, &[1]).warps(1, 1);
    assert_eq!(cycles_of(&two_at_one_file(), &alone), cycles_of(&one, &alone));
}

#[test]
fn a_warps_registers_may_lie_anywhere_in_a_file_that_schedulers_share() {
    // 160 registers a warp: three warps fit 512 rows, and one fits each half of them.
    let mut kernel = Kernel::new().alu(1, &[]).warps(50, 1);
    kernel.program.registers_per_thread = 160;
    let resident = |config: &Config| {
        let mut kernel = Sequence::from(kernel.clone());
        let report = run(config, &mut kernel, RunOptions::default()).expect("runs");
        report.residency[0].resident_warps
    };
    let mut shared = two_at_one_file();
    shared.register_file.rows = 512 / shared.register_file.bank_groups;
    let mut halves = shared.clone();
    (halves.sm.schedulers_per_partition, halves.register_file.rows) = (1, shared.register_file.rows / 2);
    assert_eq!((resident(&shared), resident(&halves)), (3, 2));
}

#[test]
fn designs_that_serve_two_schedulers_deliver_every_operand() {
    for workload in ["hotspot", "hybridsort"] {
        let run = |config: &Config| run_tiny(config, workload, RunOptions::default());
        let expected = run(&gebhart().with_design("baseline").expect("known"));
        let mut served = Vec::new();
        for stack in Registry::shipped().stacks() {
            let config = two_at_one_file().with_stack(stack);
            if config.validate().is_err() {
                continue;
            }
            let report = run(&config);
            assert_eq!(report.warp_instructions, expected.warp_instructions, "{}", config.design);
            let checked = report.operands_checked;
            assert!(
                checked == expected.operands_checked || report.answered_instructions > 0,
                "{}",
                config.design
            );
            served.push(config.design.to_string());
        }
        for design in
            ["baseline", "two-level", "affine", "greener", "sleep-reg", "warp-level-divergence", "wir-rlpv"]
        {
            assert!(served.iter().any(|name| name == design), "{design} of {served:?}");
        }
    }
}

#[test]
fn schedulers_that_share_a_file_have_numbers() {
    let config = two_at_one_file().with_design("two-level").expect("known");
    let names: Vec<String> =
        config.design.circuits(&config).expect("circuits").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["register_file", "scheduler0"]);
}

#[test]
fn what_cannot_share_a_file_is_refused() {
    let refused = |config: Config| config.validate().expect_err("refused").to_string();
    let error = refused(two_at_one_file().with_design("rfc").expect("known"));
    assert!(error.contains("sm.schedulers_per_partition = 2") && error.contains("rfc serves one"), "{error}");
    let mut config = two_at_one_file();
    config.sm.schedulers = 1;
    let error = refused(config);
    assert!(error.contains("sm.schedulers = 1 are in equal partitions"), "{error}");
    let mut config = two_at_one_file();
    config.sm.issues_per_scheduler = 2;
    assert!(refused(config).contains("a partition takes 2 a cycle"));
}
