//! The compiled engine beside the interpreter on every circuit there is, under random inputs.

use serde_json::json;
use warpfile_hdl::library::library;
use warpfile_hdl::rtl::elaborate;
use warpfile_hdl::rtl::netlist::Netlist;
use warpfile_random::{Beside, Unequal, option_sets, random_cycles};
use warpfile_testbenches::miniature::{OperandStagingBank, ReferenceCounters};

/// Bits of state beyond which a circuit is run for a few cycles only: all of it is compared in every cycle.
const LARGE: u64 = 100_000;

fn state_bits(netlist: &Netlist) -> u64 {
    let tables = netlist.modules.iter().flat_map(|module| &module.tables);
    let bits = |table: &warpfile_hdl::rtl::netlist::Table| {
        table.fields.iter().map(|field| u64::from(field.width) * u64::from(table.depth)).sum::<u64>()
    };
    tables.map(bits).sum()
}

/// One cycle at a time, then many at once.
fn equal_under_random_inputs(netlist: &Netlist, seed: u64) -> Result<(), Unequal> {
    let count = if state_bits(netlist) > LARGE { 20 } else { 300 };
    for options in option_sets(seed) {
        let mut engines = Beside::new(netlist, &options).expect("a sound netlist");
        for cycle in random_cycles(netlist, seed, count) {
            engines.apply(&cycle);
            engines.step();
            engines.compare()?;
        }
        for cycle in random_cycles(netlist, !seed, count / 10) {
            engines.apply(&cycle);
            engines.run(cycle.times);
            engines.compare()?;
        }
        engines.compare_activity()?;
    }
    Ok(())
}

#[test]
fn every_circuit_of_the_library_is_equal_when_compiled() {
    for entry in library() {
        let default = json!({});
        for (seed, overrides) in (1..).zip([&default].into_iter().chain(&entry.odd)) {
            let netlist = entry.elaborate_with(overrides).unwrap();
            if let Err(unequal) = equal_under_random_inputs(&netlist, seed) {
                panic!("{} with {overrides}: {unequal}", entry.name);
            }
        }
    }
}

#[test]
fn the_miniatures_are_equal_when_compiled() {
    for lines in [1, 5, 16] {
        let bank = OperandStagingBank { lines, warps: 3, registers: 5, lane_bits: 32 };
        equal_under_random_inputs(&elaborate(&bank).unwrap(), 1).unwrap();
    }
    for (registers, updates) in [(1, 1), (5, 2), (64, 12)] {
        let counters = ReferenceCounters { registers, counter_bits: 10, updates };
        equal_under_random_inputs(&elaborate(&counters).unwrap(), 2).unwrap();
    }
}
