//! The reference counts beside sets of references.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use proptest::prelude::*;
use warpfile_hdl::wir::ReferenceCounts;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference as _};

use super::{Random, check, verilog};

/// Who refers to a register: no two have the same number.
type Referrer = u64;

/// A reference that comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reference {
    register: usize,
    by: Referrer,
}

/// What happens in a cycle, by port. Who is given a register holds it.
#[derive(Clone, Debug, Default)]
struct Cycle {
    allocated: Vec<Option<Reference>>,
    increments: Vec<Option<Reference>>,
    decrements: Vec<Option<Reference>>,
    holds: Vec<Option<Reference>>,
    drops: Vec<Option<Reference>>,
    queries: Vec<usize>,
}

/// Who refers to a register: entries that name it, and instructions that hold it.
#[derive(Clone, Debug, Default)]
struct Referrers {
    entries: BTreeSet<Referrer>,
    holds: BTreeSet<Referrer>,
}

impl Referrers {
    fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.holds.is_empty()
    }
}

/// Who refers to each register that has been given away.
#[derive(Clone)]
struct Sets {
    parameters: ReferenceCounts,
    of_registers: BTreeMap<usize, Referrers>,
    /// Registers without a reference since the cycle before last, and since the last.
    unused: [BTreeSet<usize>; 2],
    /// Registers of which something changed in the last cycle.
    changed: BTreeSet<usize>,
    /// Registers that an entry ceased to name in the last cycle, as often.
    gone: Vec<usize>,
    /// Registers that somebody came to refer to in the last cycle.
    gained: BTreeSet<usize>,
}

impl Sets {
    fn new(parameters: &ReferenceCounts) -> Sets {
        Sets {
            parameters: parameters.clone(),
            of_registers: BTreeMap::new(),
            unused: Default::default(),
            changed: BTreeSet::new(),
            gone: Vec::new(),
            gained: BTreeSet::new(),
        }
    }

    fn most(&self) -> usize {
        (1 << self.parameters.count_bits) - 1
    }

    fn of(&mut self, register: usize) -> &mut Referrers {
        self.of_registers.get_mut(&register).expect("it has been given away")
    }
}

impl warpfile_testbenches::lockstep::Reference for Sets {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        let mut set = |name: String, register: usize| {
            inputs.set(&format!("{name}_valid_i"), 1_u8);
            inputs.set(&format!("{name}_register_i"), register);
        };
        for (way, register) in cycle.allocated.iter().enumerate() {
            if let Some(Reference { register, .. }) = *register {
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
                if let Some(Reference { register, .. }) = *register {
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
            let asked = cycle.queries.get(port).map(|register| (register, self.of_registers.get(register)));
            let has_room = asked.is_some_and(|(register, referrers)| {
                let gone = self.gone.iter().filter(|gone| *gone == register).count();
                referrers.is_some_and(|referrers| referrers.entries.len() + gone <= room)
            });
            let is_sole = asked.is_some_and(|(register, referrers)| {
                let is_sole = |of: &Referrers| of.entries.len() == 1 && of.holds.is_empty();
                referrers.is_some_and(is_sole) && !self.changed.contains(register)
            });
            outputs.set(&format!("query{port}_has_room_o"), u8::from(has_room));
            outputs.set(&format!("query{port}_is_sole_o"), u8::from(is_sole));
        }
        for register in freed {
            self.of_registers.remove(&register);
        }
        for &Reference { register, by } in cycle.allocated.iter().flatten() {
            let held = Referrers { holds: BTreeSet::from([by]), ..Referrers::default() };
            assert!(self.of_registers.insert(register, held).is_none(), "{register} is given away twice");
        }
        for &Reference { register, by } in cycle.increments.iter().flatten() {
            assert!(self.of(register).entries.insert(by), "{by} comes twice to {register}");
        }
        for &Reference { register, by } in cycle.holds.iter().flatten() {
            assert!(self.of(register).holds.insert(by), "{by} comes twice to {register}");
        }
        for &Reference { register, by } in cycle.decrements.iter().flatten() {
            assert!(self.of(register).entries.remove(&by), "{by} does not name {register}");
        }
        for &Reference { register, by } in cycle.drops.iter().flatten() {
            assert!(self.of(register).holds.remove(&by), "{by} does not hold {register}");
        }
        let registers = |references: &[&Vec<Option<Reference>>]| -> Vec<usize> {
            let all = references.iter().copied().flatten().flatten();
            all.map(|reference| reference.register).collect()
        };
        let lost = registers(&[&cycle.decrements, &cycle.drops]).into_iter();
        let gone = lost.filter(|register| self.of_registers[register].is_empty()).collect();
        self.unused = [unused, gone];
        self.gained = registers(&[&cycle.increments, &cycle.holds]).into_iter().collect();
        self.gone = registers(&[&cycle.decrements]);
        let all = [&cycle.allocated, &cycle.increments, &cycle.decrements, &cycle.holds, &cycle.drops];
        self.changed = registers(&all).into_iter().collect();
    }
}

/// References come only to registers that somebody refers to or did in the last cycle and, entries, only where there is room;
/// they go where they are.
fn traffic(parameters: &ReferenceCounts, seed: u64, cycles: usize) -> Vec<Cycle> {
    let (mut random, mut sets) = (Random(seed), Sets::new(parameters));
    let most_holds = (1 << parameters.hold_bits) - 1 - parameters.holds;
    let mut given_back: BTreeSet<usize> = (0..parameters.registers).collect();
    let mut referrers = 0..;
    let mut refers = |register: usize| Reference { register, by: referrers.next().unwrap_or_default() };
    let mut one = |number: usize| {
        let phase = number / 60 % 4;
        let growing = phase < 2;
        let mut cycle = Cycle::default();
        let freed = &sets.unused[0] - &sets.gained;
        given_back.extend(&freed);
        let mut free: Vec<usize> =
            given_back.iter().copied().filter(|register| !freed.contains(register)).collect();
        for _ in 0..parameters.allocations {
            let takes = !free.is_empty() && random.percent(if growing { 70 } else { 20 });
            let register = takes.then(|| free.swap_remove(random.below(free.len())));
            given_back.retain(|free| Some(*free) != register);
            cycle.allocated.push(register.map(&mut refers));
        }
        // What can go in this cycle: a hold as the register is given away, whatever else from the next cycle on.
        let mut left = sets.of_registers.clone();
        for &Reference { register, by } in cycle.allocated.iter().flatten() {
            left.insert(register, Referrers { holds: BTreeSet::from([by]), ..Referrers::default() });
        }
        let can_be_named =
            |register: &usize, of: &Referrers| !of.is_empty() || sets.unused[1].contains(register);
        let live: Vec<usize> = left
            .iter()
            .filter(|(register, of)| can_be_named(register, of))
            .map(|(register, _)| *register)
            .collect();
        if live.is_empty() {
            cycle.queries = (0..parameters.queries).map(|_| random.below(parameters.registers)).collect();
            sets.cycle(&cycle, &mut Pins::default());
            return cycle;
        }
        // Registers of one cycle are often the same.
        let favourite = live[random.below(live.len())];
        let pick = |random: &mut Random| {
            if random.percent(40) { favourite } else { live[random.below(live.len())] }
        };
        // Somebody often comes to a register as the last reference goes.
        let lost: Vec<usize> = sets.unused[1].iter().copied().collect();
        let pick_gain = |random: &mut Random| match lost.len() {
            0 => pick(random),
            _ if random.percent(60) => pick(random),
            lost_registers => lost[random.below(lost_registers)],
        };
        let room = sets.most() - parameters.increments;
        // In the last phase most changes are alone in their cycle: one that is overlooked shows.
        let (more, less) = match phase {
            0 | 1 => (60, 45),
            2 => (20, 75),
            _ => (5, 7),
        };
        for _ in 0..parameters.increments {
            let register = pick_gain(&mut random);
            let entries = sets.of_registers.get(&register).map_or(0, |of| of.entries.len());
            let comes = random.percent(more) && entries <= room;
            cycle.increments.push(comes.then(|| refers(register)));
        }
        for _ in 0..parameters.holds {
            let register = pick_gain(&mut random);
            let holds = sets.of_registers.get(&register).map_or(1, |of| of.holds.len());
            let comes = random.percent(more) && holds <= most_holds;
            cycle.holds.push(comes.then(|| refers(register)));
        }
        // Any of them goes, not only who came first or last.
        let goes = |random: &mut Random, register: usize, of: &mut BTreeSet<Referrer>| {
            let goes = !of.is_empty() && random.percent(less);
            let by = goes.then(|| *of.iter().nth(random.below(of.len())).expect("so many there are"))?;
            of.remove(&by);
            Some(Reference { register, by })
        };
        for _ in 0..parameters.decrements {
            let register = pick(&mut random);
            let of = left.get_mut(&register).map(|of| &mut of.entries);
            cycle.decrements.push(of.and_then(|of| goes(&mut random, register, of)));
        }
        for _ in 0..parameters.drops {
            let register = pick(&mut random);
            let of = left.get_mut(&register).map(|of| &mut of.holds);
            cycle.drops.push(of.and_then(|of| goes(&mut random, register, of)));
        }
        cycle.queries = (0..parameters.queries)
            .map(|_| if random.percent(70) { pick(&mut random) } else { random.below(parameters.registers) })
            .collect();
        sets.cycle(&cycle, &mut Pins::default());
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
        check(&counts, &Sets::new(&counts), &Lockstep::default(), &traffic(&counts, seed, 300))?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((counts, seed) in (counts(), any::<u64>())) {
        check(&counts, &Sets::new(&counts), &Lockstep::with_verilog(), &traffic(&counts, seed, 80))?;
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
    check(&counts, &Sets::new(&counts), &Lockstep::default(), &traffic(&counts, 1, 16_000)).unwrap();
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
    check(&counts, &Sets::new(&counts), &Lockstep::default(), &traffic(&counts, 1, 8_000)).unwrap();
}

#[test]
#[ignore = "minutes"]
fn millions_of_cycles_with_counts_of_three_bits() {
    for seed in 0..8 {
        let counts = if seed % 2 == 0 { OF_A_SCHEDULER } else { OF_TWO };
        let how = Lockstep { seeds: vec![seed], ..Lockstep::default() };
        check(&counts, &Sets::new(&counts), &how, &traffic(&counts, seed, 500_000)).unwrap();
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
