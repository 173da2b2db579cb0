//! Reference: a `VecDeque`. Written from the contract of the queue, not from its circuit.

use std::collections::VecDeque;

use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::parts::Fifo;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

#[derive(Clone)]
struct Queue {
    depth: usize,
    words: VecDeque<u32>,
}

#[derive(Clone, Debug)]
struct Cycle {
    offered: Option<u32>,
    taken: bool,
}

impl Reference for Queue {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        inputs.set("in_valid_i", u8::from(cycle.offered.is_some()));
        inputs.set("in_data_i", cycle.offered.unwrap_or(0));
        inputs.set("out_ready_i", u8::from(cycle.taken));
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        let has_room = self.words.len() < self.depth;
        outputs.set("in_ready_o", u8::from(has_room));
        outputs.set("count_o", self.words.len());
        outputs.set("out_valid_o", u8::from(!self.words.is_empty()));
        if let Some(&word) = self.words.front() {
            outputs.set("out_data_o", word);
        }
        if cycle.taken {
            self.words.pop_front();
        }
        if let (Some(word), true) = (cycle.offered, has_room) {
            self.words.push_back(word);
        }
    }
}

fn traffic(cycles: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Cycle>> {
    let cycle = (proptest::option::of(0u32..1 << 9), any::<bool>());
    proptest::collection::vec(cycle.prop_map(|(offered, taken)| Cycle { offered, taken }), cycles)
}

fn check(depth: usize, how: Lockstep, cycles: &[Cycle]) -> Result<(), TestCaseError> {
    let netlist = elaborate(&Fifo { depth, width: 9 }).unwrap();
    let result = how.run(&netlist, &Queue { depth, words: VecDeque::new() }, cycles);
    result.map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(64))]
    #[test]
    fn words_leave_in_the_order_they_came(depth in 1usize..9, cycles in traffic(1..100)) {
        check(depth, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same(depth in 1usize..6, cycles in traffic(50..100)) {
        check(depth, Lockstep::with_verilog(), &cycles)?;
    }
}

#[test]
fn verilog() {
    let files = emit(&elaborate(&Fifo { depth: 5, width: 8 }).unwrap());
    insta::assert_snapshot!(files.modules[0].text);
}
