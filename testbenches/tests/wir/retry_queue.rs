//! The retry queue beside a list.

use std::collections::VecDeque;

use proptest::prelude::*;
use warpfile_hdl::wir::RetryQueue;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};

use super::{Random, check, verilog};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Front {
    Stays,
    Leaves,
    GoesToTheEnd,
}

/// The number of an instruction that comes, and what becomes of the one in front.
type Cycle = (Option<usize>, Front);

#[derive(Clone)]
struct List {
    parameters: RetryQueue,
    waiting: VecDeque<usize>,
    /// Cycles for which the one in front has been there.
    age: usize,
}

impl List {
    fn new(queue: &RetryQueue) -> List {
        List { parameters: queue.clone(), waiting: VecDeque::new(), age: 0 }
    }
}

impl Reference for List {
    type Operation = Cycle;

    fn inputs(&self, (comes, front): &Cycle, inputs: &mut Pins) {
        inputs.set("push_i", u8::from(comes.is_some()));
        inputs.set("id_i", comes.unwrap_or(0));
        inputs.set("pop_i", u8::from(*front == Front::Leaves));
        inputs.set("rotate_i", u8::from(*front == Front::GoesToTheEnd));
    }

    fn cycle(&mut self, (comes, front): &Cycle, outputs: &mut Pins) {
        let has_room = self.waiting.len() < self.parameters.depth;
        outputs.set("ready_o", u8::from(has_room));
        outputs.set("valid_o", u8::from(!self.waiting.is_empty()));
        outputs.set("id_o", self.waiting.front().copied().unwrap_or(0));
        outputs.set("urgent_o", u8::from(!self.waiting.is_empty() && self.age >= self.parameters.patience));
        outputs.set("count_o", self.waiting.len());
        self.age = if self.waiting.is_empty() || *front != Front::Stays { 0 } else { self.age + 1 };
        match (front, self.waiting.front().copied()) {
            (Front::Stays, _) | (_, None) => {}
            (Front::Leaves, Some(_)) => drop(self.waiting.pop_front()),
            (Front::GoesToTheEnd, Some(_)) => self.waiting.rotate_left(1),
        }
        self.waiting.extend(comes.filter(|_| has_room));
    }
}

/// The one in front stays for long now and then, and the queue is full for a while.
fn traffic(queue: &RetryQueue, seed: u64, cycles: usize) -> Vec<Cycle> {
    let mut random = Random(seed);
    let one = |cycle: usize| {
        let (comes, goes) = [(70, 20), (10, 60), (30, 2), (50, 50)][cycle / 25 % 4];
        let comes = random.percent(comes).then(|| random.below(1 << queue.id_bits));
        let front = match () {
            () if random.percent(100 - goes) => Front::Stays,
            () if comes.is_none() && random.percent(60) => Front::GoesToTheEnd,
            () => Front::Leaves,
        };
        (comes, front)
    };
    (0..cycles).map(one).collect()
}

fn queues() -> impl Strategy<Value = RetryQueue> {
    (1..9_usize, 1..7_usize, 1..12_usize).prop_map(|(depth, id_bits, patience)| RetryQueue {
        depth,
        id_bits,
        patience,
    })
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn instructions_are_in_front_in_turn((queue, seed) in (queues(), any::<u64>())) {
        check(&queue, &List::new(&queue), &Lockstep::default(), &traffic(&queue, seed, 250))?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((queue, seed) in (queues(), any::<u64>())) {
        check(&queue, &List::new(&queue), &Lockstep::with_verilog(), &traffic(&queue, seed, 100))?;
    }
}

#[test]
fn verilog_text() {
    insta::assert_snapshot!(verilog(&RetryQueue { depth: 3, id_bits: 4, patience: 5 }));
}
