use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_engine::{Engine, Interpreter, Options};
use warpfile_hdl::regfile::{Geometry, MainRegisterFile};
use warpfile_random::config;
use warpfile_testbenches::lockstep::Lockstep;
use warpfile_testbenches::mutation::elaborate;

use super::main_register_file_ref::{FileCycle, MainRegisterFileReference};
use super::traffic::{geometries, masks, registers, writes};

fn traffic(cycles: usize) -> impl Strategy<Value = (MainRegisterFile, Vec<FileCycle>)> {
    (geometries(), 1..4_usize).prop_flat_map(move |(geometry, writers)| {
        let Geometry { banks, rows, lanes, .. } = geometry;
        let reads = vec(option::weighted(0.7, (0..rows, masks(lanes))), banks);
        let writes = vec(option::weighted(0.6, writes(registers(geometry), lanes)), writers);
        let cycle = (reads, writes).prop_map(|(reads, writes)| FileCycle { reads, writes });
        (Just(MainRegisterFile { geometry, writers }), vec(cycle, 1..cycles))
    })
}

fn check(file: &MainRegisterFile, how: Lockstep, cycles: &[FileCycle]) -> Result<(), TestCaseError> {
    how.run(&elaborate(file).unwrap(), &MainRegisterFileReference::new(file.geometry), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn banks_work_side_by_side_and_take_one_write_each((file, cycles) in traffic(60)) {
        check(&file, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((file, cycles) in traffic(50)) {
        check(&file, Lockstep::with_verilog(), &cycles)?;
    }
}

#[test]
fn a_full_warp_is_eight_cluster_accesses_of_its_bank_and_none_of_the_others() {
    let file = MainRegisterFile { geometry: Geometry { rows: 4, ..Geometry::GEBHART_2011 }, writers: 1 };
    let mut engine = Interpreter::new(&elaborate(&file).unwrap(), &Options::checked()).unwrap();
    let writes = [("write0_valid_i", 1), ("write0_register_i", 6), ("write0_lanes_i", 0xffff_ffff)];
    let reads = [("read2_valid_i", 1), ("read2_row_i", 1), ("read2_lanes_i", 0x0001_00f0)];
    for (port, value) in writes.into_iter().chain(reads) {
        engine.set(engine.input(port).unwrap(), value);
    }
    engine.step();
    engine.set(engine.input("write0_valid_i").unwrap(), 0);
    engine.set(engine.input("read2_valid_i").unwrap(), 0);
    engine.step();
    let used: Vec<_> = (engine.activity().ports.into_iter())
        .filter(|port| port.cycles > 0)
        .map(|port| (port.path, port.cycles, port.arrays))
        .collect();
    let expected = [("bank2.registers.operand", 1, 2), ("bank2.registers.result", 1, 8)];
    assert_eq!(used, expected.map(|(path, cycles, arrays)| (path.to_owned(), cycles, arrays)));
}
