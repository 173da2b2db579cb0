//! The operand oracle inside a run.

use std::io::Cursor;

use warpfile_engine::waveform::{Fst, PERIOD_NS};
use warpfile_sim::sm::{RunOptions, SimError, Waveform, run};

use crate::kernels::{Kernel, Sequence};
use crate::stand_ins::{gebhart, run_single_level};

#[test]
fn operands_are_counted_where_their_value_is_known() {
    // R1 is defined by the first instruction, R5 by none.
    let kernel = Kernel::new().alu(1, &[]).alu(2, &[1, 5]).lanes(0xff).warps(2, 1);
    let (report, _) = run_single_level(&gebhart(), kernel).expect("runs");
    assert_eq!((report.operands_checked, report.lane_operands_checked), (2, 16));
    assert_eq!(report.operands.reads, 4);
    assert_eq!(report.operands.cluster_reads, 4 * 2);
    assert_eq!(report.operands.cluster_writes, 2 * (8 + 2));
}

#[test]
fn one_wrong_bit_ends_the_run_and_is_named() {
    let mut kernel = Kernel::new().alu(1, &[]).alu(2, &[]).alu(3, &[1, 2]).warps(2, 2);
    kernel.corrupt = Some((1, 1, 2, 1, 17));
    let error = run_single_level(&gebhart(), kernel).expect_err("corrupted");
    let SimError::WrongOperand(wrong) = &error else { panic!("{error}") };
    assert_eq!((wrong.block, wrong.warp, wrong.pc, wrong.register, wrong.lane), (1, 1, 16, 2, 17));
    assert_eq!(wrong.expected ^ wrong.found, 1);
    let message = error.to_string();
    for part in [
        "wrong operand in cycle ",
        "kernel by_hand",
        "block 1, warp 1",
        "0x10",
        "Alu [3] [1, 2]",
        "R2",
        "lane 17",
    ] {
        assert!(message.contains(part), "{message} lacks {part}");
    }
}

#[test]
fn a_run_that_fails_leaves_a_whole_waveform_up_to_there() {
    let mut kernel = Kernel::new().alu(1, &[]).alu(2, &[]).alu(3, &[1, 2]).warps(2, 2);
    kernel.corrupt = Some((1, 1, 2, 1, 17));
    let config = gebhart().with_design("rfc").expect("a design");
    let mut trace = Cursor::new(Vec::new());
    let waveform = Waveform { format: Box::new(Fst::new(&mut trace)), scope: None, cycles: None };
    let options = RunOptions { waveform: Some(waveform), ..RunOptions::default() };
    let error = run(&config, &mut Sequence::from(kernel), options).expect_err("corrupted");
    let SimError::WrongOperand(wrong) = &error else { panic!("{error}") };
    let waves = wellen::simple::read_from_reader(Cursor::new(trace.into_inner())).expect("a waveform");
    // Operands are compared before the cycle is recorded.
    assert_eq!(waves.time_table().last(), Some(&(wrong.cycle * PERIOD_NS)));
}
