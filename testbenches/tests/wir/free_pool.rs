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
    /// By way.
    takes: Vec<bool>,
    freed: BTreeSet<usize>,
}

#[derive(Clone)]
struct Free {
    registers: BTreeSet<usize>,
    ways: usize,
}

impl Free {
    fn new(pool: &FreePool) -> Free {
        Free { registers: (0..pool.registers).collect(), ways: pool.ways }
    }
}

/// The ports of a way: an only one has no number.
fn port(way: usize, ways: usize) -> String {
    if ways > 1 { format!("offer{way}") } else { "offer".to_owned() }
}

impl Reference for Free {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        for (way, &take) in cycle.takes.iter().enumerate() {
            inputs.set(&format!("{}_take_i", port(way, self.ways)), u8::from(take));
        }
        let freed = cycle.freed.iter().fold(BigUint::default(), |mut freed, &register| {
            freed.set_bit(register as u64, true);
            freed
        });
        inputs.set("freed_i", freed);
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        outputs.set("count_o", self.registers.len());
        let lowest: Vec<usize> = self.registers.iter().copied().take(self.ways).collect();
        for (way, take) in cycle.takes.iter().enumerate() {
            let port = port(way, self.ways);
            outputs.set(&format!("{port}_valid_o"), u8::from(way < lowest.len()));
            outputs.set(&format!("{port}_register_o"), lowest.get(way).copied().unwrap_or(0));
            if let Some(register) = lowest.get(way).filter(|_| *take) {
                self.registers.remove(register);
            }
        }
        self.registers.extend(&cycle.freed);
    }
}

/// Registers come back that have been taken, in bursts; for a while more are taken, then more come back.
fn traffic(pool: &FreePool, seed: u64, cycles: usize) -> Vec<Cycle> {
    let (mut random, mut free) = (Random(seed), Free::new(pool));
    let one = |cycle: usize| {
        let eager = (cycle / 40).is_multiple_of(2);
        let back = if eager { 5 } else { 30 };
        let freed: BTreeSet<usize> = (0..pool.registers)
            .filter(|register| !free.registers.contains(register) && random.percent(back))
            .collect();
        let takes = (0..pool.ways).map(|_| random.percent(if eager { 95 } else { 40 })).collect();
        let cycle = Cycle { takes, freed };
        free.cycle(&cycle, &mut Pins::default());
        cycle
    };
    (0..cycles).map(one).collect()
}

proptest! {
    #![proptest_config(config(64))]
    #[test]
    fn it_gives_away_what_has_come_back((registers, ways, seed) in (2..70_usize, 1..4_usize, any::<u64>())) {
        let pool = FreePool { registers, ways };
        check(&pool, &Free::new(&pool), &Lockstep::default(), &traffic(&pool, seed, 200))?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((registers, ways, seed) in (2..20_usize, 1..4_usize, any::<u64>())) {
        let pool = FreePool { registers, ways };
        check(&pool, &Free::new(&pool), &Lockstep::with_verilog(), &traffic(&pool, seed, 80))?;
    }
}

#[test]
fn verilog_text() {
    insta::assert_snapshot!(verilog(&FreePool { registers: 6, ways: 2 }));
}
