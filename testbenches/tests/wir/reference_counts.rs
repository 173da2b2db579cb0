//! The reference counts beside a bag of references.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use proptest::prelude::*;
use warpfile_hdl::wir::ReferenceCounts;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};

use super::{Random, check, verilog};

/// What happens in a cycle: registers, by port.
#[derive(Clone, Debug, Default)]
struct Cycle {
    allocated: Vec<Option<usize>>,
    increments: Vec<Option<usize>>,
    decrements: Vec<Option<usize>>,
    holds: Vec<Option<usize>>,
    drops: Vec<Option<usize>>,
    queries: Vec<usize>,
}

/// Of each register that has been given away, who refers to it: entries and holds.
#[derive(Clone)]
struct Bags {
    parameters: ReferenceCounts,
    bags: BTreeMap<usize, (usize, usize)>,
    /// Registers without a reference since the cycle before last, and since the last.
    unused: [BTreeSet<usize>; 2],
    /// Registers of which something changed in the last cycle.
    changed: BTreeSet<usize>,
    /// Registers that an entry ceased to name in the last cycle, as often.
    gone: Vec<usize>,
    /// Registers that somebody came to refer to in the last cycle.
    gained: BTreeSet<usize>,
}

impl Bags {
    fn new(parameters: &ReferenceCounts) -> Bags {
        Bags {
            parameters: parameters.clone(),
            bags: BTreeMap::new(),
            unused: Default::default(),
            changed: BTreeSet::new(),
            gone: Vec::new(),
            gained: BTreeSet::new(),
        }
    }

    fn most(&self) -> usize {
        (1 << self.parameters.count_bits) - 1
    }

    fn bag(&mut self, register: usize) -> &mut (usize, usize) {
        self.bags.get_mut(&register).expect("it has been given away")
    }
}

impl Reference for Bags {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        let mut set = |name: String, register: usize| {
            inputs.set(&format!("{name}_valid_i"), 1_u8);
            inputs.set(&format!("{name}_register_i"), register);
        };
        for (way, register) in cycle.allocated.iter().enumerate() {
            if let Some(register) = *register {
                let number = if self.parameters.allocations > 1 { way.to_string() } else { String::new() };
                set(format!("allocated{number}"), register);
            }
        }
        for (name, registers) in [
            ("increment", &cycle.increments),
            ("decrement", &cycle.decrements),
            ("hold", &cycle.holds),
            ("drop", &cycle.drops),
        ] {
            for (port, register) in registers.iter().enumerate() {
                if let Some(register) = *register {
                    set(format!("{name}{port}"), register);
                }
            }
        }
        for (port, &register) in cycle.queries.iter().enumerate() {
            set(format!("query{port}"), register);
        }
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        let [lost, unused] = std::mem::take(&mut self.unused);
        let freed = &lost - &std::mem::take(&mut self.gained);
        let mask = freed.iter().fold(BigUint::default(), |mut mask, &register| {
            mask.set_bit(register as u64, true);
            mask
        });
        outputs.set("freed_o", mask);
        let room = self.most() - self.parameters.increments;
        for port in 0..self.parameters.queries {
            let bag = cycle.queries.get(port).map(|register| (register, self.bags.get(register)));
            let has_room = bag.is_some_and(|(register, bag)| {
                let gone = self.gone.iter().filter(|gone| *gone == register).count();
                bag.is_some_and(|(entries, _)| entries + gone <= room)
            });
            let is_sole = matches!(bag, Some((register, Some((1, 0)))) if !self.changed.contains(register));
            outputs.set(&format!("query{port}_has_room_o"), u8::from(has_room));
            outputs.set(&format!("query{port}_is_sole_o"), u8::from(is_sole));
        }
        for register in freed {
            self.bags.remove(&register);
        }
        for register in cycle.allocated.iter().flatten() {
            self.bags.insert(*register, (0, 1));
        }
        for &register in cycle.increments.iter().flatten() {
            self.bag(register).0 += 1;
        }
        for &register in cycle.holds.iter().flatten() {
            self.bag(register).1 += 1;
        }
        for &register in cycle.decrements.iter().flatten() {
            self.bag(register).0 -= 1;
        }
        for &register in cycle.drops.iter().flatten() {
            self.bag(register).1 -= 1;
        }
        let lost = cycle.decrements.iter().chain(&cycle.drops).copied().flatten();
        let gone = lost.filter(|register| self.bags[register] == (0, 0)).collect();
        self.unused = [unused, gone];
        self.gained = cycle.increments.iter().chain(&cycle.holds).copied().flatten().collect();
        self.gone = cycle.decrements.iter().copied().flatten().collect();
        let changes = [&cycle.increments, &cycle.decrements, &cycle.holds, &cycle.drops];
        self.changed = changes.into_iter().flatten().chain(&cycle.allocated).copied().flatten().collect();
    }
}

/// References come only to registers that somebody refers to or did in the last cycle and, entries, only where there is room;
/// they go where they are.
fn traffic(parameters: &ReferenceCounts, seed: u64, cycles: usize) -> Vec<Cycle> {
    let (mut random, mut bags) = (Random(seed), Bags::new(parameters));
    let most_holds = (1 << parameters.hold_bits) - 1 - parameters.holds;
    let mut given_back: BTreeSet<usize> = (0..parameters.registers).collect();
    let mut one = |number: usize| {
        let growing = number / 60 % 3 != 2;
        let mut cycle = Cycle::default();
        let freed = &bags.unused[0] - &bags.gained;
        given_back.extend(&freed);
        let mut free: Vec<usize> =
            given_back.iter().copied().filter(|register| !freed.contains(register)).collect();
        for _ in 0..parameters.allocations {
            let takes = !free.is_empty() && random.percent(if growing { 70 } else { 20 });
            let register = takes.then(|| free.swap_remove(random.below(free.len())));
            given_back.retain(|free| Some(*free) != register);
            cycle.allocated.push(register);
        }
        let live: Vec<usize> = bags
            .bags
            .iter()
            .filter(|(register, bag)| **bag != (0, 0) || bags.unused[1].contains(register))
            .map(|(register, _)| *register)
            .chain(cycle.allocated.iter().copied().flatten())
            .collect();
        let (more, less) = if growing { (60, 45) } else { (20, 75) };
        let mut left = bags.bags.clone();
        for register in cycle.allocated.iter().flatten() {
            left.insert(*register, (0, 1));
        }
        if live.is_empty() {
            cycle.queries = (0..parameters.queries).map(|_| random.below(parameters.registers)).collect();
            bags.cycle(&cycle, &mut Pins::default());
            return cycle;
        }
        // Registers of one cycle are often the same.
        let favourite = live[random.below(live.len())];
        let pick = |random: &mut Random| {
            if random.percent(40) { favourite } else { live[random.below(live.len())] }
        };
        // Somebody often comes to a register as the last reference goes.
        let lost: Vec<usize> = bags.unused[1].iter().copied().collect();
        let pick_gain = |random: &mut Random| match lost.len() {
            0 => pick(random),
            _ if random.percent(60) => pick(random),
            lost_registers => lost[random.below(lost_registers)],
        };
        let room = bags.most() - parameters.increments;
        for _ in 0..parameters.increments {
            let register = pick_gain(&mut random);
            let entries = bags.bags.get(&register).map_or(0, |(entries, _)| *entries);
            cycle.increments.push(Some(register).filter(|_| random.percent(more) && entries <= room));
        }
        for _ in 0..parameters.holds {
            let register = pick_gain(&mut random);
            let holds = bags.bags.get(&register).map_or(1, |(_, holds)| *holds);
            cycle.holds.push(Some(register).filter(|_| random.percent(more) && holds <= most_holds));
        }
        for _ in 0..parameters.decrements {
            let register = pick(&mut random);
            let goes = |(entries, _): &mut (usize, usize)| {
                let goes = *entries > 0 && random.percent(less);
                *entries -= usize::from(goes);
                goes
            };
            cycle.decrements.push(left.get_mut(&register).is_some_and(goes).then_some(register));
        }
        for _ in 0..parameters.drops {
            let register = pick(&mut random);
            let goes = |(_, holds): &mut (usize, usize)| {
                let goes = *holds > 0 && random.percent(less);
                *holds -= usize::from(goes);
                goes
            };
            cycle.drops.push(left.get_mut(&register).is_some_and(goes).then_some(register));
        }
        cycle.queries = (0..parameters.queries)
            .map(|_| if random.percent(70) { pick(&mut random) } else { random.below(parameters.registers) })
            .collect();
        bags.cycle(&cycle, &mut Pins::default());
        cycle
    };
    (0..cycles).map(&mut one).collect()
}

fn counts() -> impl Strategy<Value = ReferenceCounts> {
    let ports = (1..3_usize, 1..5_usize, 1..5_usize, 1..4_usize, 1..5_usize, 1..4_usize);
    (2..9_usize, 3..6_usize, 3..5_usize, ports).prop_map(|(registers, count_bits, hold_bits, ports)| {
        let (allocations, increments, decrements, holds, drops, queries) = ports;
        ReferenceCounts {
            registers,
            count_bits,
            hold_bits,
            allocations,
            increments,
            decrements,
            holds,
            drops,
            queries,
        }
    })
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn a_register_is_freed_when_the_last_reference_has_gone((counts, seed) in (counts(), any::<u64>())) {
        check(&counts, &Bags::new(&counts), &Lockstep::default(), &traffic(&counts, seed, 300))?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((counts, seed) in (counts(), any::<u64>())) {
        check(&counts, &Bags::new(&counts), &Lockstep::with_verilog(), &traffic(&counts, seed, 80))?;
    }
}

/// The ports of a scheduler. Counts of three bits are full soon.
const OF_A_SCHEDULER: ReferenceCounts = ReferenceCounts {
    registers: 16,
    count_bits: 3,
    hold_bits: 4,
    allocations: 1,
    increments: 6,
    decrements: 6,
    holds: 5,
    drops: 6,
    queries: 5,
};

#[test]
fn every_port_of_a_scheduler_counts() {
    let counts = OF_A_SCHEDULER;
    check(&counts, &Bags::new(&counts), &Lockstep::default(), &traffic(&counts, 1, 16_000)).unwrap();
}

/// Those of two (§VII-E: 12 increments and 12 decrements), with counts that are as soon full beside as many increments.
const OF_TWO: ReferenceCounts = ReferenceCounts {
    registers: 24,
    count_bits: 4,
    hold_bits: 5,
    allocations: 2,
    increments: 12,
    decrements: 12,
    holds: 10,
    drops: 12,
    queries: 12,
};

#[test]
fn every_port_of_two_schedulers_counts() {
    let counts = OF_TWO;
    check(&counts, &Bags::new(&counts), &Lockstep::default(), &traffic(&counts, 1, 8_000)).unwrap();
}

#[test]
#[ignore = "minutes"]
fn millions_of_cycles_with_counts_of_three_bits() {
    for seed in 0..8 {
        let counts = if seed % 2 == 0 { OF_A_SCHEDULER } else { OF_TWO };
        let how = Lockstep { seeds: vec![seed], ..Lockstep::default() };
        check(&counts, &Bags::new(&counts), &how, &traffic(&counts, seed, 500_000)).unwrap();
    }
}

#[test]
fn verilog_text() {
    insta::assert_snapshot!(verilog(&ReferenceCounts {
        registers: 4,
        count_bits: 3,
        hold_bits: 2,
        allocations: 2,
        increments: 2,
        decrements: 1,
        holds: 1,
        drops: 1,
        queries: 1,
    }));
}
