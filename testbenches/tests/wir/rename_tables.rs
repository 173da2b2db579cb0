//! The rename tables beside a map for each warp.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warpfile_hdl::wir::RenameTables;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};

use super::{Random, check, verilog};

/// A physical register, and whether it is pinned.
type Mapping = (usize, bool);

#[derive(Clone, Debug, Default)]
struct Cycle {
    warp: usize,
    sources: [Option<usize>; 3],
    destination: Option<(usize, usize)>,
    /// Warp, register, and the physical register with its pin; without one the mapping is cleared.
    write: Option<(usize, usize, Option<Mapping>)>,
    end: Vec<usize>,
}

#[derive(Clone)]
struct Maps {
    warps: Vec<BTreeMap<usize, (usize, bool)>>,
    ending: Vec<bool>,
}

impl Maps {
    fn new(tables: &RenameTables) -> Maps {
        Maps { warps: vec![BTreeMap::new(); tables.warps], ending: vec![false; tables.warps] }
    }
}

fn bits(set: impl Iterator<Item = usize>) -> u64 {
    set.fold(0, |bits, index| bits | 1 << index)
}

impl Reference for Maps {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        inputs.set("warp_i", cycle.warp);
        for (k, register) in cycle.sources.iter().enumerate() {
            inputs.set(&format!("source{k}_valid_i"), u8::from(register.is_some()));
            inputs.set(&format!("source{k}_register_i"), register.unwrap_or(0));
        }
        if let Some((warp, register)) = cycle.destination {
            inputs.set("destination_valid_i", 1_u8);
            inputs.set("destination_warp_i", warp);
            inputs.set("destination_register_i", register);
        }
        if let Some((warp, register, mapping)) = cycle.write {
            inputs.set("write_valid_i", 1_u8);
            inputs.set("write_warp_i", warp);
            inputs.set("write_register_i", register);
            inputs.set("write_clear_i", u8::from(mapping.is_none()));
            let (physical, pinned) = mapping.unwrap_or_default();
            inputs.set("write_physical_i", physical);
            inputs.set("write_pinned_i", u8::from(pinned));
        }
        inputs.set("end_i", bits(cycle.end.iter().copied()));
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        let mut say = |port: &str, mapping: Option<(usize, bool)>| {
            outputs.set(&format!("{port}_mapped_o"), u8::from(mapping.is_some()));
            outputs.set(&format!("{port}_physical_o"), mapping.map_or(0, |(physical, _)| physical));
            outputs.set(&format!("{port}_pinned_o"), u8::from(mapping.is_some_and(|(_, pinned)| pinned)));
        };
        for (k, register) in cycle.sources.iter().enumerate() {
            let mapping = register.and_then(|register| self.warps[cycle.warp].get(&register).copied());
            say(&format!("source{k}"), mapping);
        }
        let mapping = cycle.destination.and_then(|(warp, register)| self.warps[warp].get(&register).copied());
        say("destination", mapping);
        let ending = (0..self.ending.len()).filter(|warp| self.ending[*warp]);
        outputs.set("ending_o", bits(ending.clone()));

        let mut released = None;
        let first = ending.clone().next();
        if let Some(warp) = first {
            match self.warps[warp].first_key_value() {
                None => self.ending[warp] = false,
                Some((&register, &(physical, _))) if cycle.destination.is_none() => {
                    released = Some(physical);
                    self.warps[warp].remove(&register);
                }
                Some(_) => {}
            }
        }
        outputs.set("released_valid_o", u8::from(released.is_some()));
        outputs.set("released_physical_o", released.unwrap_or(0));
        if let Some((warp, register, mapping)) = cycle.write {
            match mapping {
                Some(mapping) => drop(self.warps[warp].insert(register, mapping)),
                None => drop(self.warps[warp].remove(&register)),
            }
        }
        for &warp in &cycle.end {
            self.ending[warp] = true;
        }
    }
}

/// Warps that have not ended write; now and then some end.
fn traffic(tables: &RenameTables, seed: u64, cycles: usize) -> Vec<Cycle> {
    let (mut random, mut maps) = (Random(seed), Maps::new(tables));
    let one = |_| {
        let (warps, registers) = (tables.warps, tables.registers);
        let warp = random.below(warps);
        let mut cycle = Cycle { warp, ..Cycle::default() };
        cycle.sources = [(); 3].map(|()| random.percent(70).then(|| random.below(registers)));
        cycle.destination = random.percent(50).then(|| (random.below(warps), random.below(registers)));
        let writer = random.below(warps);
        if random.percent(60) && !maps.ending[writer] {
            let mapping = (random.below(1 << tables.register_bits), random.percent(30));
            cycle.write = Some((writer, random.below(registers), random.percent(90).then_some(mapping)));
        }
        if random.percent(5) {
            cycle.end = (0..warps).filter(|_| random.percent(50)).collect();
        }
        maps.cycle(&cycle, &mut Pins::default());
        cycle
    };
    (0..cycles).map(one).collect()
}

fn tables() -> impl Strategy<Value = RenameTables> {
    (1..6_usize, 2..10_usize, 1..6_usize).prop_map(|(warps, registers, register_bits)| RenameTables {
        warps,
        registers,
        register_bits,
    })
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn a_register_has_its_last_mapping_until_its_warp_has_ended((tables, seed) in (tables(), any::<u64>())) {
        check(&tables, &Maps::new(&tables), &Lockstep::default(), &traffic(&tables, seed, 200))?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((tables, seed) in (tables(), any::<u64>())) {
        check(&tables, &Maps::new(&tables), &Lockstep::with_verilog(), &traffic(&tables, seed, 80))?;
    }
}

#[test]
fn verilog_text() {
    insta::assert_snapshot!(verilog(&RenameTables { warps: 2, registers: 3, register_bits: 4 }));
}
