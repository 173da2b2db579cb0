//! The two-level scheduler beside its reference, and what must hold whatever the reference says.

use proptest::prelude::*;
use warpfile_engine::waves::waves;
use warpfile_engine::{Engine, InPort, Interpreter, Options, OutPort};
use warpfile_gen::emit;
use warpfile_hdl::rfc::{InnerPolicy, TwoLevelScheduler};
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::two_level_scheduler_ref::{Cycle, Decision, SchedulerReference};

const ALL: u64 = u64::MAX;

/// Most warps are resident and few ask to be suspended, so that the active set fills.
fn traffic(cycles: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Cycle>> {
    let cycle = (any::<[u64; 9]>(), 0..8u8).prop_map(|(m, enable)| Cycle {
        resident: m[0] | m[1] | m[2] | m[8],
        ready: m[3],
        suspend: m[4] & m[5] & m[6],
        eligible: m[6] | m[7],
        busy: m[5] | m[7],
        enable: enable > 0,
    });
    prop::collection::vec(cycle, cycles)
}

/// Few warps leave their slots, in few cycles, so that even 64 slots fill and any of them may be the one that is left.
fn calm_traffic(cycles: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Cycle>> {
    let calm = |(cycles, leaves): (Vec<Cycle>, Vec<(u8, [u64; 3])>)| {
        let calm = |(cycle, (leaves, some)): (Cycle, (u8, [u64; 3]))| {
            let few = if leaves == 0 { some[0] & some[1] & some[2] } else { 0 };
            Cycle { resident: cycle.resident | !few, suspend: cycle.suspend & few, ..cycle }
        };
        cycles.into_iter().zip(leaves).map(calm).collect()
    };
    let leaves = prop::collection::vec((0..4u8, any::<[u64; 3]>()), cycles.end);
    (traffic(cycles), leaves).prop_map(calm)
}

fn policy() -> impl Strategy<Value = InnerPolicy> {
    prop_oneof![Just(InnerPolicy::Greedy), Just(InnerPolicy::RoundRobin)]
}

/// Warps, and slots of which there are no more than warps.
fn sizes(warps: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = (usize, usize)> {
    warps.prop_flat_map(|warps| (Just(warps), 1..=warps))
}

fn check(
    (warps, slots): (usize, usize),
    policy: InnerPolicy,
    how: Lockstep,
    cycles: &[Cycle],
) -> Result<(), TestCaseError> {
    let netlist = elaborate(&TwoLevelScheduler { warps, slots, policy }).unwrap();
    let result = how.run(&netlist, &SchedulerReference::new(policy, warps, slots), cycles);
    result.map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(48))]
    #[test]
    fn warps_issue_and_change_places_as_in_the_reference(
        sizes in sizes(1..=9),
        policy in policy(),
        cycles in traffic(1..200),
    ) {
        check(sizes, policy, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same(sizes in sizes(1..=9), policy in policy(), cycles in traffic(100..200)) {
        check(sizes, policy, Lockstep::with_verilog(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(64))]
    #[test]
    fn so_it_is_with_as_many_warps_as_there_may_be(
        slots in prop_oneof![Just(64), 1usize..=64],
        policy in policy(),
        cycles in prop_oneof![traffic(200..201), calm_traffic(300..301)],
    ) {
        check((64, slots), policy, Lockstep::default(), &cycles)?;
    }
}

/// The scheduler alone, seen from outside.
struct Scheduler {
    engine: Interpreter,
    inputs: [InPort; 6],
    decisions: [[OutPort; 3]; 4],
}

impl Scheduler {
    fn new(parameters: &TwoLevelScheduler) -> Scheduler {
        let engine = Interpreter::new(&elaborate(parameters).unwrap(), &Options::checked()).unwrap();
        let names = ["resident_i", "ready_i", "suspend_i", "eligible_i", "slot_busy_i", "issue_enable_i"];
        let inputs = names.map(|name| engine.input(name).unwrap());
        let decisions = ["issue", "suspend", "retire", "activate"].map(|group| {
            ["valid", "warp", "slot"].map(|field| engine.output(&format!("{group}_{field}_o")).unwrap())
        });
        Scheduler { engine, inputs, decisions }
    }

    /// Issue, suspension, retirement, activation.
    fn step(&mut self, cycle: &Cycle) -> [Option<Decision>; 4] {
        let values =
            [cycle.resident, cycle.ready, cycle.suspend, cycle.eligible, cycle.busy, u64::from(cycle.enable)];
        for (port, value) in self.inputs.into_iter().zip(values) {
            let mask = ALL >> (64 - port.width());
            self.engine.set(port, value & mask);
        }
        self.engine.step();
        self.decisions.map(|[valid, warp, slot]| {
            let [valid, warp, slot] = [valid, warp, slot].map(|port| self.engine.get(port) as usize);
            (valid == 1).then_some(Decision { warp, slot })
        })
    }
}

proptest! {
    #![proptest_config(config(32))]
    #[test]
    fn a_warp_holds_at_most_one_slot_and_none_while_the_slot_it_left_is_busy(
        (warps, slots) in sizes(2..=8),
        policy in policy(),
        cycles in traffic(1..200),
    ) {
        let mut scheduler = Scheduler::new(&TwoLevelScheduler { warps, slots, policy });
        let mut holder = vec![None; slots];
        let mut written_back = vec![None; slots];
        for mut cycle in cycles {
            for (slot, warp) in written_back.iter_mut().enumerate() {
                *warp = warp.filter(|_| cycle.busy >> slot & 1 == 1);
                if warp.is_none() {
                    cycle.busy &= !(1 << slot);
                }
            }
            let [issue, suspend, retire, activate] = scheduler.step(&cycle);
            prop_assert!(suspend.is_none() || retire.is_none());
            for Decision { warp, slot } in [issue, suspend, retire].into_iter().flatten() {
                prop_assert_eq!(holder[slot], Some(warp));
            }
            if let Some(Decision { warp, slot }) = activate {
                prop_assert!(!holder.contains(&Some(warp)), "warp {} holds a slot", warp);
                prop_assert!(!written_back.contains(&Some(warp)), "warp {} is written back", warp);
                prop_assert_eq!((holder[slot], written_back[slot]), (None, None));
                holder[slot] = Some(warp);
            }
            for Decision { warp, slot } in [suspend, retire].into_iter().flatten() {
                holder[slot] = None;
                written_back[slot] = Some(warp);
            }
        }
    }
}

proptest! {
    #![proptest_config(config(32))]
    #[test]
    fn round_robin_lets_no_ready_warp_starve(
        (warps, slots) in sizes(2..=8),
        watched in any::<prop::sample::Index>(),
        cycles in traffic(100..200),
    ) {
        let policy = InnerPolicy::RoundRobin;
        let mut scheduler = Scheduler::new(&TwoLevelScheduler { warps, slots, policy });
        let watched = watched.index(warps);
        let (mut activations, mut issues, mut is_active) = (0, 0, false);
        for cycle in cycles {
            let it = 1 << watched;
            let cycle = Cycle {
                resident: cycle.resident | it,
                ready: cycle.ready | it,
                suspend: cycle.suspend & !it,
                eligible: cycle.eligible | it,
                busy: 0,
                ..cycle
            };
            let [issue, _, _, activate] = scheduler.step(&cycle);
            if let (true, Some(issue)) = (is_active, issue) {
                issues = if issue.warp == watched { 0 } else { issues + 1 };
                prop_assert!(issues < slots, "{} instructions of other warps in a row", issues);
            }
            if let Some(activate) = activate {
                activations += 1;
                is_active |= activate.warp == watched;
            }
            prop_assert!(is_active || activations < warps, "waits for a slot");
        }
    }
}

fn filled(policy: InnerPolicy, slots: usize) -> Scheduler {
    let mut scheduler = Scheduler::new(&TwoLevelScheduler { warps: 4, slots, policy });
    let fill = Cycle { resident: ALL, ready: 0, suspend: 0, eligible: ALL, busy: 0, enable: true };
    let entered: Vec<usize> = (0..slots).filter_map(|_| scheduler.step(&fill)[3]).map(|d| d.warp).collect();
    assert_eq!(entered, [1, 2, 3, 0][..slots]);
    scheduler
}

fn issued(scheduler: &mut Scheduler, ready: &[u64]) -> Vec<Option<usize>> {
    let cycle = Cycle { resident: ALL, ready: 0, suspend: 0, eligible: 0, busy: 0, enable: true };
    ready.iter().map(|&ready| scheduler.step(&Cycle { ready, ..cycle })[0].map(|d| d.warp)).collect()
}

#[test]
fn greedy_stays_with_a_warp_until_it_stalls() {
    let ready = [0b1111, 0b1111, 0b1101, 0b1111, 0b0000, 0b1001, 0b1111];
    let issues = issued(&mut filled(InnerPolicy::Greedy, 3), &ready);
    assert_eq!(issues, [Some(1), Some(1), Some(2), Some(2), None, Some(3), Some(3)]);
}

#[test]
fn round_robin_takes_the_next_ready_warp_every_cycle() {
    let ready = [0b1111, 0b1111, 0b1111, 0b1010, 0b1010, 0b0010, 0b0001];
    let issues = issued(&mut filled(InnerPolicy::RoundRobin, 3), &ready);
    assert_eq!(issues, [Some(2), Some(3), Some(1), Some(3), Some(1), Some(1), None]);
}

#[test]
fn nothing_issues_when_issue_is_not_enabled() {
    let mut scheduler = filled(InnerPolicy::Greedy, 3);
    let cycle = Cycle { resident: ALL, ready: ALL, suspend: 0, eligible: 0, busy: 0, enable: false };
    assert_eq!(scheduler.step(&cycle)[0], None);
}

#[test]
fn waveform_of_suspension_and_reactivation() {
    let netlist = elaborate(&TwoLevelScheduler { warps: 3, slots: 2, policy: InnerPolicy::Greedy }).unwrap();
    let mut engine = Interpreter::new(&netlist, &Options::checked()).unwrap();
    let names = [
        "suspend_i",
        "eligible_i",
        "slot_busy_i",
        "issue_valid_o",
        "issue_warp_o",
        "suspend_valid_o",
        "suspend_warp_o",
        "activate_valid_o",
        "activate_warp_o",
        "activate_slot_o",
    ];
    let cycle = |suspend, eligible, busy| {
        [
            ("resident_i", 0b111),
            ("ready_i", 0b111),
            ("suspend_i", suspend),
            ("eligible_i", eligible),
            ("slot_busy_i", busy),
            ("issue_enable_i", 1),
        ]
    };
    let cycles = [
        cycle(0, 0b111, 0),
        cycle(0, 0b111, 0),
        cycle(0, 0b001, 0),
        cycle(0b010, 0b001, 0),
        cycle(0, 0b011, 0b01),
        cycle(0, 0b011, 0b01),
        cycle(0, 0b010, 0),
        cycle(0, 0, 0),
    ];
    let cycles: Vec<&[(&str, u64)]> = cycles.iter().map(|cycle| &cycle[..]).collect();
    insta::assert_snapshot!(waves(&mut engine, &names, &cycles).unwrap());
}

#[test]
fn verilog() {
    let scheduler = TwoLevelScheduler { warps: 3, slots: 2, policy: InnerPolicy::Greedy };
    let text: Vec<String> =
        emit(&elaborate(&scheduler).unwrap()).modules.into_iter().map(|f| f.text).collect();
    insta::assert_snapshot!(text.join("\n"));
}
