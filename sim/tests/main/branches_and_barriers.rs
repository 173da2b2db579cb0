//! Control flow: when successors become visible, and how the warps of a block wait for each other.

use warpfile_kernels::program::Operation;
use warpfile_sim::sm::SimError;

use crate::kernels::{Kernel, Sequence};
use crate::stand_ins::{Event, gebhart, picks, run_single_level, run_two_level, run_with_access};

#[test]
fn a_branchs_successor_is_visible_when_the_branch_resolves_one_cycle_later_with_a_tag_stage() {
    for (operand_cycles, expected) in [(3, 8), (4, 9)] {
        let kernel = Kernel::new().op(Operation::Branch, &[], &[]).alu(1, &[]);
        let (_, events) = run_with_access(&gebhart(), operand_cycles, kernel).expect("runs");
        assert_eq!(picks(&events)[1] - picks(&events)[0], expected);
    }
}

#[test]
fn warps_leave_a_barrier_only_when_all_of_their_block_are_there() {
    // Warp 0's block is alone in waiting: the last warp to arrive decides.
    let kernel = Kernel::new().alus(3, 1, &[1]).op(Operation::Barrier, &[], &[]).alu(2, &[]);
    let (_, events) = run_single_level(&gebhart(), kernel.warps(1, 4)).expect("runs");
    let picked = picks(&events);
    let (before, after) = picked.split_at(16);
    let last_barrier = before.iter().max().expect("some");
    assert!(after.iter().all(|cycle| *cycle >= last_barrier + 3), "{before:?} {after:?}");
    assert_eq!(after.len(), 4);
}

#[test]
fn blocks_do_not_wait_for_each_others_barriers() {
    let kernel = Kernel::new().op(Operation::Barrier, &[], &[]).alu(2, &[]).warps(2, 1);
    let (report, _) = run_single_level(&gebhart(), kernel).expect("runs");
    assert_eq!(report.blocks, 2);
}

#[test]
fn a_barrier_without_executing_lanes_is_none() {
    let kernel = Kernel::new().op(Operation::Barrier, &[], &[]).lanes(0).alu(2, &[]);
    run_single_level(&gebhart(), kernel.warps(1, 2)).expect("runs");
}

#[test]
fn a_barrier_wait_suspends_the_warp() {
    let mut config = gebhart();
    config.scheduler.active_warps = 1;
    let kernel = Kernel::new().op(Operation::Barrier, &[], &[]).alu(2, &[]).warps(1, 4);
    let (report, events) = run_two_level(&config, 1, &mut Sequence::from(kernel)).expect("runs");
    assert_eq!(report.scheduler.barrier_suspensions, 3, "the last to arrive goes on");
    assert_eq!(events.iter().filter(|(_, event)| matches!(event, Event::Suspended(_))).count(), 3);
}

#[test]
fn a_run_without_progress_ends_with_what_waits() {
    let mut config = gebhart();
    config.sm.watchdog_cycles = 1000;
    let kernel = Kernel::new().op(Operation::Sfu, &[1], &[]).alu(2, &[1]);
    let error = run_with_access(&config, 5000, kernel).expect_err("5000 cycles without operands");
    assert!(matches!(error, SimError::NoProgress { .. }));
    let message = error.to_string();
    assert!(message.contains("no progress for 1000 cycles") && message.contains("Alu [2] [1]"), "{message}");
}

#[test]
fn a_result_that_is_on_its_way_is_awaited_however_long_it_takes() {
    let mut config = gebhart();
    config.sm.watchdog_cycles = 1000;
    config.latency.sfu = 5000;
    let kernel = Kernel::new().op(Operation::Sfu, &[1], &[]).alu(2, &[1]);
    run_single_level(&config, kernel).expect("it comes");
}
