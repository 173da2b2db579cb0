//! The tuple table beside a set of registers.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::affine::TupleTable;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::check;

#[derive(Clone, Copy, Debug)]
struct Write {
    register: usize,
    whole: bool,
    affine: bool,
}

#[derive(Clone, Debug)]
struct Cycle {
    reads: Vec<Option<usize>>,
    writes: Vec<Option<Write>>,
}

/// Registers that are held as tuples.
#[derive(Clone, Default)]
struct Tuples(BTreeSet<usize>);

impl Reference for Tuples {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        // Of a port that asks for nothing the other inputs are noise.
        for (k, read) in cycle.reads.iter().enumerate() {
            inputs.set(&format!("read{k}_valid_i"), u8::from(read.is_some()));
            inputs.set(&format!("read{k}_register_i"), read.unwrap_or(1));
        }
        for (k, write) in cycle.writes.iter().enumerate() {
            inputs.set(&format!("write{k}_valid_i"), u8::from(write.is_some()));
            let Write { register, whole, affine } =
                write.unwrap_or(Write { register: 1, whole: k % 2 == 0, affine: true });
            inputs.set(&format!("write{k}_register_i"), register);
            inputs.set(&format!("write{k}_whole_i"), u8::from(whole));
            inputs.set(&format!("write{k}_affine_i"), u8::from(affine));
        }
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        for (k, read) in cycle.reads.iter().enumerate() {
            let is_tuple = read.is_some_and(|register| self.0.contains(&register));
            outputs.set(&format!("read{k}_tuple_o"), u8::from(is_tuple));
        }
        let before = self.0.clone();
        for (k, write) in cycle.writes.iter().enumerate() {
            let is_tuple = write.is_some_and(|write| write.whole && write.affine);
            let expands = write.is_some_and(|write| !write.whole && before.contains(&write.register));
            outputs.set(&format!("write{k}_tuple_o"), u8::from(is_tuple));
            outputs.set(&format!("write{k}_expands_o"), u8::from(expands));
            match write {
                Some(write) if is_tuple => drop(self.0.insert(write.register)),
                Some(write) => drop(self.0.remove(&write.register)),
                None => {}
            }
        }
    }
}

fn traffic(cycles: usize) -> impl Strategy<Value = (TupleTable, Vec<Cycle>)> {
    (2..14_usize, 1..4_usize, 1..4_usize).prop_flat_map(move |(registers, reads, writes)| {
        let write = (0..registers, any::<bool>(), any::<bool>());
        let write = write.prop_map(|(register, whole, affine)| Write { register, whole, affine });
        let cycle =
            (vec(option::weighted(0.8, 0..registers), reads), vec(option::weighted(0.6, write), writes));
        let cycle = cycle.prop_map(|(reads, writes)| Cycle { reads, writes });
        (Just(TupleTable { registers, reads, writes }), vec(cycle, 1..cycles))
    })
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn a_register_is_held_as_it_was_written_last((table, cycles) in traffic(120)) {
        check(&table, &Tuples::default(), &Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((table, cycles) in traffic(60)) {
        check(&table, &Tuples::default(), &Lockstep::with_verilog(), &cycles)?;
    }
}

#[test]
fn verilog_text() {
    let netlist = elaborate(&TupleTable { registers: 3, reads: 1, writes: 2 }).unwrap();
    insta::assert_snapshot!(emit(&netlist).modules[0].text);
}
