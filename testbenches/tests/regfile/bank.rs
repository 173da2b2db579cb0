use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_gen::emit;
use warpfile_hdl::regfile::RegisterBank;
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::bank_ref::{Bank, BankCycle, RegisterBankReference};
use super::traffic::{all_lanes, masks, writes};

fn banks() -> impl Strategy<Value = RegisterBank> {
    (2..6_usize, prop_oneof![Just((1, 1)), Just((3, 1)), Just((8, 4)), Just((32, 4))], 1..5_usize).prop_map(
        |(rows, (lanes, lanes_per_cluster), writers)| RegisterBank {
            rows,
            lanes,
            lanes_per_cluster,
            writers,
        },
    )
}

fn traffic(bank: RegisterBank, cycles: usize) -> impl Strategy<Value = (RegisterBank, Vec<BankCycle>)> {
    let RegisterBank { rows, lanes, writers, .. } = bank;
    let read = option::of((0..rows, masks(lanes)));
    let cycle = (read, vec(option::weighted(0.4, writes(rows, lanes)), writers))
        .prop_map(|(read, writes)| BankCycle { read, writes });
    (Just(bank), vec(cycle, 1..cycles))
}

fn check(bank: &RegisterBank, how: Lockstep, cycles: &[BankCycle]) -> Result<(), TestCaseError> {
    let reference = RegisterBankReference { bank: Bank::new(bank.lanes) };
    how.run(&elaborate(bank).unwrap(), &reference, cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn a_read_gives_what_was_last_written_to_each_lane(
        (bank, cycles) in banks().prop_flat_map(|bank| traffic(bank, 60)),
    ) {
        check(&bank, Lockstep::default(), &cycles)?;
    }

    #[test]
    fn clusters_without_a_wanted_lane_are_not_accessed(
        (bank, cycles) in banks().prop_flat_map(|bank| traffic(bank, 30)),
    ) {
        let clusters = |mask: u32| {
            let of = |cluster: usize| all_lanes(bank.lanes_per_cluster) << (cluster * bank.lanes_per_cluster);
            (0..bank.lanes / bank.lanes_per_cluster).filter(|&cluster| mask & of(cluster) != 0).count() as u64
        };
        let mut engine = Interpreter::new(&elaborate(&bank).unwrap(), &Options::checked()).unwrap();
        let (mut reads, mut written) = ((0, 0), (0, 0));
        for cycle in &cycles {
            drive(&mut engine, cycle);
            if let Some((_, lanes)) = cycle.read {
                reads = (reads.0 + 1, reads.1 + clusters(lanes));
            }
            if let Some(write) = cycle.writes.iter().flatten().next() {
                written = (written.0 + 1, written.1 + clusters(write.lanes));
            }
        }
        drive(&mut engine, &BankCycle { read: None, writes: vec![None; bank.writers] });
        for (port, expected) in [("registers.operand", reads), ("registers.result", written)] {
            let count = engine.activity_count(engine.activity_handle(port).unwrap());
            prop_assert_eq!((count.cycles, count.arrays), expected, "{}", port);
        }
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((bank, cycles) in banks().prop_flat_map(|bank| traffic(bank, 60))) {
        check(&bank, Lockstep::with_verilog(), &cycles)?;
    }
}

/// Runs a cycle without a look at the outputs.
fn drive(engine: &mut Interpreter, cycle: &BankCycle) {
    let (read_row, read_lanes) = cycle.read.unwrap_or_default();
    let mut set = |port: &str, value: u64| engine.set(engine.input(port).unwrap(), value);
    set("read_valid_i", u64::from(cycle.read.is_some()));
    set("read_row_i", read_row as u64);
    set("read_lanes_i", u64::from(read_lanes));
    for (w, write) in cycle.writes.iter().enumerate() {
        set(&format!("write{w}_valid_i"), u64::from(write.is_some()));
        if let Some(write) = write {
            set(&format!("write{w}_row_i"), write.register as u64);
            set(&format!("write{w}_lanes_i"), u64::from(write.lanes));
        }
    }
    engine.step();
}

#[test]
fn verilog() {
    let bank = RegisterBank { rows: 5, lanes: 4, lanes_per_cluster: 2, writers: 2 };
    insta::assert_snapshot!(emit(&elaborate(&bank).unwrap()).modules[0].text);
}
