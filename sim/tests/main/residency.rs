//! Blocks on the SM: limits, order, reuse of slots, several launches, bad programs.

use warpfile_kernels::program::Operation;
use warpfile_sim::sm::{ResidencyLimit, SimError};

use crate::kernels::Kernel;
use crate::stand_ins::{gebhart, run_single_level};

#[test]
fn no_more_blocks_are_resident_than_fit() {
    // 24 registers × 8 warps a block: five blocks fit the register file, four the 32 warp slots.
    let mut kernel = Kernel::new().alus(10, 1, &[1]).exit().warps(11, 8);
    kernel.program.registers_per_thread = 24;
    let (report, _) = run_single_level(&gebhart(), kernel.clone()).expect("runs");
    let residency = &report.residency[0];
    assert_eq!((residency.resident_blocks, residency.resident_warps), (4, 32));
    assert_eq!(residency.limited_by, ResidencyLimit::Warps);
    assert_eq!((report.blocks, report.warp_instructions), (11, 11 * 8 * 11));

    kernel.program.registers_per_thread = 64;
    let (report, _) = run_single_level(&gebhart(), kernel).expect("runs");
    assert_eq!(report.residency[0].limited_by, ResidencyLimit::Registers);
    assert_eq!(report.residency[0].resident_blocks, 2);
    assert_eq!(report.blocks, 11);
}

#[test]
fn shared_memory_limits_residency() {
    let mut kernel = Kernel::new().alu(1, &[]).warps(8, 1);
    kernel.launch.shared_bytes = 10_000;
    let (report, _) = run_single_level(&gebhart(), kernel).expect("runs");
    assert_eq!(report.residency[0].limited_by, ResidencyLimit::SharedMemory);
    assert_eq!(report.residency[0].resident_blocks, 3);
}

#[test]
fn launches_follow_each_other() {
    let one = Kernel::new().alus(10, 1, &[1]).exit().warps(3, 2);
    let mut three = one.clone();
    three.launches = 3;
    let (one, _) = run_single_level(&gebhart(), one).expect("runs");
    let (three, _) = run_single_level(&gebhart(), three).expect("runs");
    assert_eq!(three.launches, 3);
    assert_eq!(three.warp_instructions, 3 * one.warp_instructions);
    assert_eq!(three.cycles, 3 * one.cycles);
    assert_eq!(three.residency.len(), 1, "equal launches are reported once");
}

#[test]
fn a_dead_load_keeps_its_blocks_registers_until_it_lands() {
    // The load's result is never read: its warp ends long before it, and the next warp reuses the rows.
    let mut kernel = Kernel::new().alu(0, &[]).load(1, 0).exit().warps(40, 8);
    kernel.program.registers_per_thread = 16;
    let (report, _) = run_single_level(&gebhart(), kernel).expect("no operand is disturbed");
    assert_eq!(report.blocks, 40);
    assert!(report.stalls.drained > 0);
}

#[test]
fn a_block_that_does_not_fit_is_an_error() {
    let mut kernel = Kernel::new().alu(1, &[]).warps(1, 8);
    kernel.program.registers_per_thread = 200;
    let error = run_single_level(&gebhart(), kernel).expect_err("1600 of 1024");
    assert!(matches!(error, SimError::BlockDoesNotFit { .. }), "{error}");
    assert!(error.to_string().contains("needs 1600 warp-wide registers, the SM has 1024"), "{error}");
}

#[test]
fn a_program_that_breaks_its_contract_is_an_error_not_a_panic() {
    let kernel = Kernel::new().alu(16, &[]);
    let error = run_single_level(&gebhart(), kernel).expect_err("R16 of 16");
    assert!(error.to_string().contains("register R16, but the kernel declares 16"), "{error}");
    let kernel = Kernel::new().op(Operation::Branch, &[1], &[]);
    let error = run_single_level(&gebhart(), kernel).expect_err("a branch writes nothing");
    assert!(matches!(error, SimError::BadInstruction { .. }), "{error}");
}

#[test]
fn an_empty_kernel_ends() {
    let (report, _) = run_single_level(&gebhart(), Kernel::new().warps(20, 3)).expect("runs");
    assert_eq!((report.blocks, report.warp_instructions), (20, 0));
}
