//! Reference: a `Vec`. Written from the contract of the stack, not from its circuit.

use proptest::prelude::*;
use warpfile_hdl::regless::WarpStack;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

#[derive(Clone)]
struct Stack {
    warps: usize,
    stacked: Vec<usize>,
}

/// What is wanted; a push to a full stack is left out.
#[derive(Clone, Debug)]
struct Cycle {
    push: bool,
    /// Given whether it is pushed or not.
    warp: usize,
    pop: bool,
}

impl Stack {
    fn pushes(&self, cycle: &Cycle) -> bool {
        cycle.push && (self.stacked.len() < self.warps || cycle.pop)
    }
}

impl Reference for Stack {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        inputs.set("push_valid_i", u8::from(self.pushes(cycle)));
        inputs.set("push_warp_i", cycle.warp % self.warps);
        inputs.set("pop_i", u8::from(cycle.pop));
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        // A warp that is pushed is the top at once.
        if self.pushes(cycle) {
            self.stacked.push(cycle.warp % self.warps);
        }
        outputs.set("top_valid_o", u8::from(!self.stacked.is_empty()));
        if let Some(&top) = self.stacked.last() {
            outputs.set("top_warp_o", top);
        }
        if cycle.pop {
            self.stacked.pop();
        }
    }
}

fn cycle() -> impl Strategy<Value = Cycle> {
    let often = prop::bool::weighted(0.7);
    (often, 0..64_usize, prop::bool::weighted(0.4)).prop_map(|(push, warp, pop)| Cycle { push, warp, pop })
}

proptest! {
    #![proptest_config(config(48))]
    #[test]
    fn the_warp_pushed_last_is_popped_first(
        warps in 1..10_usize,
        cycles in prop::collection::vec(cycle(), 1..120),
    ) {
        let netlist = elaborate(&WarpStack { warps }).unwrap();
        let result = Lockstep::default().run(&netlist, &Stack { warps, stacked: Vec::new() }, &cycles);
        result.map_err(|difference| TestCaseError::fail(difference.to_string()))?;
    }
}
