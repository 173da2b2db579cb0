//! Suspension at marked instructions (RFC §3.2, §3.3), flushes, reuse of slots.

use warpfile_kernels::program::Operation;
use warpfile_sim::config::Config;

use crate::kernels::{Kernel, Sequence};
use crate::stand_ins::{Event, gebhart, run_two_level};

fn with_active(active_warps: u64) -> Config {
    let mut config = gebhart();
    config.scheduler.active_warps = active_warps;
    config
}

/// Loads, computes beside it, and consumes the loaded value at a marked instruction.
fn load_and_use() -> Kernel {
    Kernel::new().alu(0, &[]).load(1, 0).alu(2, &[0]).alu(3, &[1]).marked().alu(4, &[3]).exit()
}

fn cycle_of(events: &[(u64, Event)], wanted: Event) -> u64 {
    events.iter().find(|(_, event)| *event == wanted).unwrap_or_else(|| panic!("{wanted:?} in {events:?}")).0
}

#[test]
fn a_marked_instruction_suspends_its_warp_once() {
    let (report, events) =
        run_two_level(&with_active(2), 5, &mut Sequence::from(load_and_use().warps(1, 4))).expect("runs");
    assert_eq!(report.scheduler.suspensions, 4, "every warp once");
    assert_eq!(report.scheduler.activations, 8, "every warp at its start and after its load");
    assert_eq!(report.warp_instructions, 4 * 6);
    let suspended = cycle_of(&events, Event::Suspended(0));
    let fill = events.iter().find(|(_, event)| matches!(event, Event::Fill { warp: 0, .. })).expect("one");
    let resumed = events.iter().rfind(|(_, event)| *event == Event::Activated(0)).expect("one");
    assert!(suspended < fill.0 && fill.0 <= resumed.0, "{events:?}");
}

#[test]
fn with_as_many_active_warps_as_warps_none_is_suspended() {
    let (report, events) =
        run_two_level(&with_active(32), 5, &mut Sequence::from(load_and_use().warps(1, 4))).expect("runs");
    assert_eq!(report.scheduler.suspensions, 0);
    let kept = |event: &Event| !matches!(event, Event::Flushed { discard: false, .. });
    assert!(events.iter().all(|(_, event)| kept(event)), "{events:?}");
}

#[test]
fn a_slot_is_reused_only_after_its_flush() {
    let flush_cycles = 50;
    let (_, events) =
        run_two_level(&with_active(1), flush_cycles, &mut Sequence::from(load_and_use().warps(1, 2)))
            .expect("runs");
    let suspended = cycle_of(&events, Event::Suspended(0));
    let flushed = cycle_of(&events, Event::Flushed { slot: 0, discard: false });
    let next = cycle_of(&events, Event::Activated(1));
    assert_eq!(flushed, suspended + 1);
    assert!(next >= flushed + flush_cycles, "flush in {flushed}, slot reused in {next}");
    assert!(next <= flushed + flush_cycles + 1, "flush in {flushed}, slot idle until {next}");
}

#[test]
fn the_end_of_a_warp_discards_its_slot() {
    let (_, events) =
        run_two_level(&with_active(1), 5, &mut Sequence::from(Kernel::new().alu(0, &[]).exit()))
            .expect("runs");
    let retired = cycle_of(&events, Event::Retired(0));
    assert_eq!(cycle_of(&events, Event::Flushed { slot: 0, discard: true }), retired + 1);
}

#[test]
fn a_short_result_that_lands_after_suspension_bypasses_the_cache() {
    // R2 is computed just before the marked instruction suspends the warp.
    let (report, events) =
        run_two_level(&with_active(2), 5, &mut Sequence::from(load_and_use())).expect("runs");
    assert_eq!(report.scheduler.results_after_suspension, 1);
    let suspended = cycle_of(&events, Event::Suspended(0));
    let late: Vec<_> = events
        .iter()
        .filter_map(|(cycle, event)| match event {
            Event::Result { cached: false, .. } => Some(*cycle),
            _ => None,
        })
        .collect();
    assert_eq!(late.len(), 1);
    assert!(late[0] > suspended);
}

#[test]
fn a_fill_names_the_slot_only_while_the_warp_holds_it() {
    let fill_slot = |active, flush_cycles| {
        let (_, events) =
            run_two_level(&with_active(active), flush_cycles, &mut Sequence::from(load_and_use()))
                .expect("runs");
        events.into_iter().find_map(|(_, event)| match event {
            Event::Fill { slot, .. } => Some(slot),
            _ => None,
        })
    };
    assert_eq!(fill_slot(32, 5), Some(Some(0)), "active throughout");
    assert_eq!(fill_slot(2, 5), Some(None), "suspended and flushed");
    assert_eq!(fill_slot(2, 1000), Some(Some(0)), "suspended, the flush is not done");
}

#[test]
fn a_value_that_is_ready_suspends_only_if_asked_to() {
    let far = || {
        let kernel = Kernel::new().alu(0, &[]).load(1, 0);
        (0..60).fold(kernel, |kernel, _| kernel.alu(2, &[2])).alu(3, &[1]).marked()
    };
    let suspensions = |suspend_when_ready| {
        let mut config = with_active(2);
        config.scheduler.suspend_when_ready = suspend_when_ready;
        run_two_level(&config, 5, &mut Sequence::from(far())).expect("runs").0.scheduler.suspensions
    };
    assert_eq!((suspensions(true), suspensions(false)), (1, 0));
}

#[test]
fn few_active_warps_run_every_kernel_to_its_end() {
    let kernel = (0..4).fold(Kernel::new(), |kernel, _| {
        kernel.alu(0, &[]).load(1, 0).alu(2, &[0]).alu(3, &[1]).marked().alu(4, &[3])
    });
    for active in [1, 3, 8] {
        let (report, _) =
            run_two_level(&with_active(active), 7, &mut Sequence::from(kernel.clone().warps(9, 5)))
                .expect("runs");
        assert_eq!(report.warp_instructions, 9 * 5 * 20);
        assert_eq!(report.scheduler.suspensions, 9 * 5 * 4);
    }
}

#[test]
fn a_warp_at_a_barrier_keeps_its_slot_while_no_other_wants_it_if_asked_to() {
    let kernel = Kernel::new().alu(0, &[]).op(Operation::Barrier, &[], &[]).alu(1, &[0]).exit();
    let suspensions = |active, suspend_at_barriers| {
        let mut config = with_active(active);
        config.scheduler.suspend_at_barriers = suspend_at_barriers;
        let mut kernels = Sequence::from(kernel.clone().warps(1, 8));
        let (report, _) = run_two_level(&config, 5, &mut kernels).expect("no warp waits forever");
        assert_eq!(report.warp_instructions, 8 * 4);
        report.scheduler.barrier_suspensions
    };
    assert_eq!(suspensions(8, false), 0, "all have a slot");
    assert!(suspensions(8, true) > 0);
    assert!((6..8).contains(&suspensions(2, false)), "six give their slot to a warp before the barrier");
}
