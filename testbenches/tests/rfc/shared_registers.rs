//! What slots hold of registers that warps share, on sequences worked out by hand.

use warpfile_hdl::regfile::ExtraRead;
use warpfile_hdl::rfc::{CachedRegisterFile, Replacement};

use super::bench::Bench;
use super::cached_register_file_ref::{Inputs, Instruction, Write};
use super::register_file_cache::{ALL, SLOT, bench, instruction, parameters, plain, value, write};
use super::register_file_cache_ref::Source;

const OTHER: usize = SLOT + 1;

fn shared(entries: usize) -> Bench {
    bench(&CachedRegisterFile {
        shared: true,
        extra_read: ExtraRead::AfterOperands,
        ..parameters(entries, Replacement::Fifo)
    })
}

impl Bench {
    /// An instruction that comes from a slot: the lanes found there, and its operand.
    fn read_from(&mut self, slot: usize, register: usize) -> (u32, Vec<u32>) {
        let issue = Some(Instruction { slot, ..instruction(ALL, [Some(plain(register)), None, None]) });
        let found =
            self.until(&Inputs { issue, ..Inputs::default() }, |o| o.first.issue_taken).first.found[0];
        let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
        let (_, operands) = self.until(&ready, |o| o.first.operands.is_some()).first.operands.unwrap();
        (found, operands[0].clone())
    }
}

#[test]
fn a_result_is_in_its_slot_and_in_the_main_register_file() {
    let mut bench = shared(2);
    bench.write_as(write(4, ALL));
    bench.step(&Inputs::default());
    assert_eq!(bench.main_register(4), value(4, 0));
    assert_eq!(bench.read_from(SLOT, 4), (ALL, value(4, 0)));
    assert_eq!(bench.read_from(OTHER, 4), (0, value(4, 0)));
    assert_eq!(bench.flush(false), []);
    assert_eq!(bench.read_from(SLOT, 4), (0, value(4, 0)));
}

#[test]
fn a_result_of_another_slot_ends_the_copy() {
    for in_slot in [true, false] {
        let mut bench = shared(2);
        bench.write_as(write(4, ALL));
        bench.write_as(write(5, ALL));
        bench.write_as(Write { slot: OTHER, in_slot, value: value(4, 1), ..write(4, 0b0011) });
        let now = [&value(4, 1)[..2], &value(4, 0)[2..]].concat();
        assert_eq!(bench.read_from(SLOT, 4), (0, now.clone()));
        assert_eq!(bench.read_from(SLOT, 5), (ALL, value(5, 0)));
        assert_eq!(bench.read_from(OTHER, 4), (if in_slot { 0b0011 } else { 0 }, now));
    }
}

#[test]
fn a_fill_ends_all_copies() {
    for in_slot in [true, false] {
        let mut bench = shared(2);
        bench.write_as(write(4, ALL));
        let fill = Some(Write { slot: OTHER, in_slot, value: value(4, 1), ..write(4, ALL) });
        bench.until(&Inputs { fill, ..Inputs::default() }, |o| o.fill_taken);
        assert_eq!(bench.read_from(SLOT, 4), (0, value(4, 1)));
        assert_eq!(bench.read_from(OTHER, 4), (0, value(4, 1)));
    }
}

#[test]
fn a_result_whose_entry_has_still_to_be_read_waits_for_nothing_and_is_in_the_main_register_file_alone() {
    for register in [4, 5] {
        let mut bench = shared(1);
        bench.write_as(write(4, ALL));
        let issue = Some(instruction(ALL, [Some(plain(4)), None, None]));
        bench.until(&Inputs { issue, ..Inputs::default() }, |o| o.first.issue_taken);
        let next = Write { value: value(register, 1), ..write(register, ALL) };
        let outputs = bench.step(&Inputs { result: Some(next), ..Inputs::default() });
        assert!(outputs.first.result_taken && !outputs.first.result_enters);
        let ready = Inputs { units_ready: 0b11, ..Inputs::default() };
        let (_, operands) = bench.until(&ready, |o| o.first.operands.is_some()).first.operands.unwrap();
        assert_eq!(operands[0], value(4, 0));
        assert_eq!(bench.read_from(SLOT, register), (0, value(register, 1)));
    }
}

#[test]
fn what_is_read_for_the_last_time_stays_in_the_main_register_file() {
    let mut bench = shared(2);
    bench.write_as(write(4, ALL));
    assert_eq!(bench.read(ALL, Source { last_read: true, ..plain(4) }), (ALL, value(4, 0)));
    assert_eq!(bench.read_from(SLOT, 4), (0, value(4, 0)));
    assert_eq!(bench.read_from(OTHER, 4), (0, value(4, 0)));
}

#[test]
fn an_operand_may_get_an_entry_in_several_slots() {
    let mut bench = bench(&CachedRegisterFile {
        shared: true,
        allocate_sources: true,
        ..parameters(2, Replacement::Fifo)
    });
    bench.fill(4, ALL);
    for slot in [SLOT, OTHER] {
        assert_eq!(bench.read_from(slot, 4), (0, value(4, 0)));
        bench.step(&Inputs::default());
        assert_eq!(bench.read_from(slot, 4), (ALL, value(4, 0)));
    }
    bench.write_as(Write { slot: OTHER, value: value(4, 1), ..write(4, ALL) });
    assert_eq!(bench.read_from(OTHER, 4), (ALL, value(4, 1)));
    assert_eq!(bench.read_from(SLOT, 4), (0, value(4, 1)));
}

#[test]
fn a_register_is_read_beside_operands() {
    let mut bench = shared(1);
    bench.write_as(write(4, ALL));
    bench.write_as(write(5, ALL));
    for register in [4, 5] {
        let extra_read = Some(register);
        assert!(bench.step(&Inputs { extra_read, ..Inputs::default() }).extra_read_taken);
        assert_eq!(bench.step(&Inputs::default()).extra_value, value(register, 0));
    }
}

/// Cycles in which an instruction whose operand is in the bank of the extra read is dispatched, and the first ones in which an extra
/// read that is offered in every cycle is refused.
fn operand_beside_reads(extra_read: ExtraRead, register: usize) -> (Option<usize>, Vec<usize>) {
    let parameters = parameters(1, Replacement::Fifo);
    let mut bench = bench(&CachedRegisterFile { shared: true, extra_read, ..parameters });
    (4..6).for_each(|register| bench.fill(register, ALL));
    let issue = Some(instruction(ALL, [Some(plain(4)), None, None]));
    let reads = Inputs { extra_read: Some(register), units_ready: 0b11, ..Inputs::default() };
    let offer = Inputs { issue, ..reads.clone() };
    let cycles: Vec<_> = (0..10).map(|c| bench.step(if c == 0 { &offer } else { &reads })).collect();
    assert!(cycles[0].first.issue_taken);
    let refused = (0..10).filter(|&cycle| !cycles[cycle].extra_read_taken);
    (cycles.iter().position(|o| o.first.dispatch.is_some()), refused.collect())
}

#[test]
fn who_reads_a_bank_first_is_chosen() {
    // The operand is read in the cycle in which its instruction gets a collector, behind its tags.
    for (extra_read, dispatched, refused) in [
        (ExtraRead::AfterOperands, Some(3), vec![1]),
        (ExtraRead::InTurn, Some(3), vec![1]),
        (ExtraRead::BeforeOperands, None, vec![]),
    ] {
        assert_eq!(operand_beside_reads(extra_read, 4), (dispatched, refused), "{extra_read:?}");
        assert_eq!(operand_beside_reads(extra_read, 5), (Some(3), vec![]), "{extra_read:?}");
    }
}
