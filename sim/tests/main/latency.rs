//! Latencies and throughputs of Table 4, as differences between picks.

use std::path::Path;

use warpfile_kernels::program::Operation;
use warpfile_kernels::workloads::OpenWorkload;
use warpfile_sim::config::preset;
use warpfile_sim::sm::{RunOptions, run};

use crate::kernels::{Kernel, global, shared};
use crate::stand_ins::{gebhart, picks, run_single_level, run_with_access};

/// Cycles between successive picks of a kernel run alone.
fn gaps(kernel: Kernel) -> Vec<u64> {
    let (_, events) = run_single_level(&gebhart(), kernel).expect("runs");
    picks(&events).windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn a_dependent_instruction_follows_after_the_latency_of_its_producer() {
    let after = |operation| gaps(Kernel::new().alu(1, &[]).op(operation, &[2], &[]).alu(3, &[2]))[1];
    assert_eq!(after(Operation::Alu), 8);
    assert_eq!(after(Operation::Sfu), 20);
    assert_eq!(after(Operation::Texture), 400);
    // One word a warp: 32 bytes a cycle move a full warp's 128 in four, the last three cycles after the first.
    assert_eq!(after(Operation::Load(shared(4))), 20 + 3);
    assert_eq!(after(Operation::Load(global(4))), 400 + 3);
}

#[test]
fn a_chain_of_dependent_instructions_issues_every_eight_cycles_with_and_without_a_tag_stage() {
    let chain = || Kernel::new().alus(5, 1, &[1]);
    for operand_cycles in [3, 4] {
        let (_, events) = run_with_access(&gebhart(), operand_cycles, chain()).expect("runs");
        let gaps: Vec<_> = picks(&events).windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [8, 8, 8, 8]);
    }
}

/// Four cycles from an addition to one that depends on it (Huerta et al., MICRO 2025, §5.3), on a scheduler of its own; and an
/// instruction a cycle where nothing depends.
#[test]
fn on_machines_of_today_an_addition_takes_four_cycles() {
    for name in ["volta", "ampere", "hopper"] {
        let config = preset(name).expect("complete");
        let picked = |kernel: Kernel| {
            let (_, events) = run_single_level(&config, kernel).expect("runs");
            picks(&events).windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<u64>>()
        };
        assert_eq!(picked(Kernel::new().alus(5, 1, &[1])), [4; 4], "{name}");
        let independent = (0..8).fold(Kernel::new(), |kernel, register| kernel.alu(register, &[]));
        assert_eq!(picked(independent), [1; 7], "{name}");
    }
}

#[test]
fn a_latency_shorter_than_operand_access_counts_as_access_and_one_cycle() {
    let mut config = gebhart();
    config.latency.alu = 4;
    for (operand_cycles, expected) in [(3, 4), (4, 5)] {
        let kernel = Kernel::new().alus(3, 1, &[1]);
        let (_, events) = run_with_access(&config, operand_cycles, kernel).expect("runs");
        assert_eq!(picks(&events)[2] - picks(&events)[1], expected);
    }
}

#[test]
fn a_branch_shorter_than_operand_access_counts_as_access_and_one_cycle() {
    for branch in 1..=4 {
        let mut config = gebhart();
        config.latency.branch = branch;
        let kernel = Kernel::new().op(Operation::Branch, &[], &[]).alu(1, &[]);
        let (_, events) = run_single_level(&config, kernel).expect("runs");
        assert_eq!(picks(&events)[1] - picks(&events)[0], 4, "{branch}");
    }
}

#[test]
fn independent_instructions_issue_every_cycle() {
    let kernel = (0..10).fold(Kernel::new(), |kernel, register| kernel.alu(register, &[]));
    assert_eq!(gaps(kernel), [1; 9]);
}

#[test]
fn two_writes_of_one_register_stay_in_order() {
    assert_eq!(gaps(Kernel::new().alu(1, &[]).alu(1, &[])), [8]);
}

#[test]
fn a_predicate_is_awaited_like_a_register() {
    let kernel = Kernel::new().op(Operation::Alu, &[], &[]).predicates(&[3], &[]);
    assert_eq!(gaps(kernel.clone().alu(1, &[]).predicates(&[], &[3])), [8]);
    assert_eq!(gaps(kernel.alu(1, &[]).predicates(&[], &[2])), [1]);
}

#[test]
fn warps_fill_each_others_latency() {
    let kernel = Kernel::new().alus(20, 1, &[1]).warps(1, 8);
    let (report, _) = run_single_level(&gebhart(), kernel).expect("runs");
    assert_eq!(report.warp_instructions, 160);
    assert!(report.ipc > 0.9, "{}", report.ipc);
}

#[test]
fn units_narrower_than_a_warp_limit_throughput() {
    // Many warps of one operation each: in the steady state a unit of n lanes takes 32 / n cycles for each.
    let busy = |operation| {
        let kernel = |count| {
            let kernel = Kernel::new().warps(1, 4);
            (0..count).fold(kernel, |kernel, index| kernel.op(operation, &[index % 16], &[]))
        };
        let cycles = |count| run_single_level(&gebhart(), kernel(count)).expect("runs").0.cycles;
        (cycles(48) - cycles(32)) / 64
    };
    assert_eq!(busy(Operation::Alu), 1);
    assert_eq!(busy(Operation::Sfu), 4);
    assert_eq!(busy(Operation::Load(shared(4))), 4);
}

#[test]
fn an_instruction_without_executing_lanes_takes_its_time_and_touches_no_register() {
    let kernel = Kernel::new().alu(1, &[]).lanes(0).alu(2, &[1]);
    let (report, events) = run_single_level(&gebhart(), kernel).expect("runs");
    assert_eq!(picks(&events)[1] - picks(&events)[0], 8);
    assert_eq!((report.operands.writes, report.mrf().writes), (1, 1));
    assert_eq!(report.thread_instructions, 32);
}

#[test]
fn a_wide_load_writes_one_register_a_cycle() {
    let wide = |results: &[u16]| {
        let kernel = Kernel::new().op(Operation::Load(global(4)), results, &[]);
        gaps(kernel.alu(9, &[*results.last().expect("one")]))[0]
    };
    assert_eq!(wide(&[1, 2, 3, 4]) - wide(&[1]), 3);
}

/// Kim & Ro, Table II: 200 cycles to the L2, 440 to DRAM. Both from loads of which each waits for the address that the one
/// before gives; 384 lines of 128 bytes are more than the L1's 256, 16,384 more than an SM's part of the L2.
#[test]
fn on_the_machine_of_wir_a_load_takes_200_cycles_in_the_l2_and_440_in_dram() {
    let config = preset("fermi-wir").expect("complete").with_design("baseline").expect("known");
    let chain = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/chain.ptx");
    let cycles = |size: &str| {
        let mut open = OpenWorkload::from_ptx(&chain, size).expect("complete");
        run(&config, &mut open, RunOptions::default()).expect("runs").cycles
    };
    // 64 iterations of 16 loads more; the first 64 have filled the L2.
    let of_a_load = |once, twice| (cycles(twice) - cycles(once)) as f64 / (64.0 * 16.0);
    let (l2, dram) = (of_a_load("l2", "l2_twice"), of_a_load("dram", "dram_twice"));
    assert!((199.0..201.0).contains(&l2), "L2: {l2}");
    assert!((438.0..442.0).contains(&dram), "DRAM: {dram}");
}
