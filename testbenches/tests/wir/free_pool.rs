//! The free pool beside a set.

use std::collections::BTreeSet;

use num_bigint::BigUint;
use proptest::prelude::*;
use warpfile_hdl::wir::FreePool;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};

use super::{Random, check, verilog};

#[derive(Clone, Debug)]
struct Cycle {
    take: bool,
    freed: BTreeSet<usize>,
}

#[derive(Clone)]
struct Free(BTreeSet<usize>);

impl Free {
    fn new(pool: &FreePool) -> Free {
        Free((0..pool.registers).collect())
    }
}

impl Reference for Free {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        inputs.set("take_i", u8::from(cycle.take));
        let freed = cycle.freed.iter().fold(BigUint::default(), |mut freed, &register| {
            freed.set_bit(register as u64, true);
            freed
        });
        inputs.set("freed_i", freed);
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        let lowest = self.0.first().copied();
        outputs.set("valid_o", u8::from(lowest.is_some()));
        outputs.set("register_o", lowest.unwrap_or(0));
        outputs.set("count_o", self.0.len());
        if cycle.take
            && let Some(lowest) = lowest
        {
            self.0.remove(&lowest);
        }
        self.0.extend(&cycle.freed);
    }
}

/// Registers come back that have been taken, in bursts; for a while more are taken, then more come back.
fn traffic(pool: &FreePool, seed: u64, cycles: usize) -> Vec<Cycle> {
    let (mut random, mut free) = (Random(seed), Free::new(pool));
    let one = |cycle: usize| {
        let eager = (cycle / 40).is_multiple_of(2);
        let back = if eager { 5 } else { 30 };
        let freed: BTreeSet<usize> = (0..pool.registers)
            .filter(|register| !free.0.contains(register) && random.percent(back))
            .collect();
        let cycle = Cycle { take: random.percent(if eager { 95 } else { 40 }), freed };
        free.cycle(&cycle, &mut Pins::default());
        cycle
    };
    (0..cycles).map(one).collect()
}

proptest! {
    #![proptest_config(config(64))]
    #[test]
    fn it_gives_away_what_has_come_back((registers, seed) in (2..70_usize, any::<u64>())) {
        let pool = FreePool { registers };
        check(&pool, &Free::new(&pool), &Lockstep::default(), &traffic(&pool, seed, 200))?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((registers, seed) in (2..20_usize, any::<u64>())) {
        let pool = FreePool { registers };
        check(&pool, &Free::new(&pool), &Lockstep::with_verilog(), &traffic(&pool, seed, 80))?;
    }
}

#[test]
fn verilog_text() {
    insta::assert_snapshot!(verilog(&FreePool { registers: 6 }));
}
