//! What the whole SM has a cycle, and how long each class of arithmetic takes.

use warpfile_kernels::program::Operation;
use warpfile_sim::config::{ArithmeticUnit, Config, preset};
use warpfile_sim::sm::{RunOptions, RunReport, run};

use crate::kernels::{Kernel, Sequence};
use crate::stand_ins::{gebhart, picks, run_single_level};

/// Four schedulers of one instruction a cycle, whose warps wait for nothing.
fn four_schedulers() -> Config {
    let mut config = preset("gtx980").expect("complete").with_design("baseline").expect("known");
    config.sm.issues_per_scheduler = 1;
    config
}

fn run_on(config: &Config, kernel: Kernel) -> RunReport {
    let config = config.with_design("baseline").expect("known");
    run(&config, &mut Sequence::from(kernel), RunOptions::default()).expect("every operand right")
}

/// Instructions a cycle of 32 warps that do one operation again and again.
fn ipc(config: &Config, operation: Operation) -> f64 {
    let kernel = |length: u16| {
        (0..length).fold(Kernel::new().warps(4, 8), |kernel, step| kernel.op(operation, &[step % 16], &[]))
    };
    let (short, long) = (run_on(config, kernel(64)), run_on(config, kernel(192)));
    (long.warp_instructions - short.warp_instructions) as f64 / (long.cycles - short.cycles) as f64
}

#[test]
fn without_limits_each_scheduler_issues_every_cycle() {
    assert!(ipc(&four_schedulers(), Operation::Alu) > 3.5);
}

#[test]
fn the_sm_issues_dispatches_and_writes_back_what_it_has_slots_for() {
    let changes: [fn(&mut Config); 4] = [
        |config| config.slots.issue_alu = 2,
        |config| config.slots.dispatch_alu = 2,
        |config| config.slots.write_back = 2,
        |config| config.units.alu = 2,
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut config = four_schedulers();
        change(&mut config);
        let ipc = ipc(&config, Operation::Alu);
        assert!((1.8..=2.0).contains(&ipc), "limit {number}: {ipc}");
    }
}

#[test]
fn the_sm_fetches_for_one_warp_a_cycle() {
    for fetched in [1, 2, 3] {
        let mut config = four_schedulers();
        config.slots.fetch = fetched;
        // Warps that begin or end together make a little difference to the two runs.
        let of_limit = ipc(&config, Operation::Alu) / fetched as f64;
        assert!((0.95..1.03).contains(&of_limit), "{fetched} at once: {of_limit}");
    }
}

#[test]
fn a_warp_alone_waits_for_each_fetch() {
    // The cycle in which its last instruction is issued, and that in which the next are decoded.
    for (fetched, cycles) in [(1, 2.0), (2, 1.5), (4, 1.25)] {
        let mut config = gebhart();
        config.slots.fetch = fetched;
        let of = |length: u16| {
            let kernel = (0..length).fold(Kernel::new(), |kernel, step| kernel.alu(step % 16, &[]));
            run_single_level(&config, kernel).expect("runs").0.cycles
        };
        assert_eq!((of(168) - of(40)) as f64 / 128.0, cycles, "{fetched} at once");
    }
}

#[test]
fn a_limit_is_of_its_class_alone() {
    let mut config = four_schedulers();
    (config.slots.issue_sfu, config.slots.dispatch_sfu) = (1, 1);
    assert!(ipc(&config, Operation::Alu) > 3.5);
    config.throughput.sfu_lanes = 32;
    assert!((0.9..=1.0).contains(&ipc(&config, Operation::Sfu)));
}

#[test]
fn a_warp_without_a_slot_lets_another_issue() {
    let mut config = four_schedulers();
    (config.slots.issue_alu, config.slots.issue_sfu) = (1, 1);
    config.throughput.sfu_lanes = 32;
    let kernel = |length: u16| {
        let operation = |step| if step % 2 == 0 { Operation::Alu } else { Operation::Sfu };
        (0..length)
            .fold(Kernel::new().warps(4, 8), |kernel, step| kernel.op(operation(step), &[step % 16], &[]))
    };
    let (short, long) = (run_on(&config, kernel(64)), run_on(&config, kernel(192)));
    let ipc = (long.warp_instructions - short.warp_instructions) as f64 / (long.cycles - short.cycles) as f64;
    assert!((1.7..=2.0).contains(&ipc), "{ipc} with a slot for each of two classes");
    assert!(long.stalls.issue_blocked > 0);
}

/// Cycles between the picks of two instructions of the same name, the second of which waits for the first or not.
fn gap(config: &Config, name: &str, waits: bool) -> u64 {
    let mut kernel = Kernel::new().alu(1, &[]).alu(2, if waits { &[1] } else { &[] });
    kernel.program.instructions.iter_mut().for_each(|instruction| instruction.text = name.to_owned());
    let (_, events) = run_single_level(config, kernel).expect("runs");
    let picks = picks(&events);
    picks[1] - picks[0]
}

#[test]
fn each_class_of_arithmetic_takes_its_time() {
    let mut config = gebhart();
    (config.latency.int_mad, config.latency.fp_add) = (15, 11);
    (config.initiation.int_mul, config.initiation.fp_max) = (5, 3);
    let after = |name| gap(&config, name, true);
    assert_eq!((after("mad.lo.s32"), after("add.f32"), after("add.s32"), after("mov.u32")), (15, 11, 8, 8));
    let behind = |name| gap(&config, name, false);
    // The unit is busy, and the second waits in operand access: its pick is not held back, what follows is.
    assert_eq!((behind("add.s32"), behind("mul.lo.s32")), (1, 1));
    let long = |name: &str| {
        let mut kernel = (0..40).fold(Kernel::new().warps(1, 4), |kernel, step| kernel.alu(step % 16, &[]));
        kernel.program.instructions.iter_mut().for_each(|instruction| instruction.text = name.to_owned());
        run_single_level(&config, kernel).expect("runs").0.cycles
    };
    let per_instruction = |name| (long(name) + 80) / 160;
    assert_eq!((per_instruction("mul.lo.s32"), per_instruction("max.f32")), (5, 3));
}

#[test]
fn integer_multiplication_may_be_the_special_function_units() {
    let cycles = |unit| {
        let mut config = gebhart();
        config.units.int_multiply_on = unit;
        let mut kernel = (0..40).fold(Kernel::new().warps(1, 4), |kernel, step| kernel.alu(step % 16, &[]));
        for instruction in kernel.program.instructions.iter_mut().step_by(2) {
            instruction.text = "mul.lo.s32".to_owned();
        }
        config.initiation.int_mul = 2;
        run_single_level(&config, kernel).expect("runs").0.cycles
    };
    let (alu, sfu) = (cycles(ArithmeticUnit::Alu), cycles(ArithmeticUnit::Sfu));
    assert!(alu > sfu + 40, "{alu} on the ALU with additions, {sfu} beside them");
}
