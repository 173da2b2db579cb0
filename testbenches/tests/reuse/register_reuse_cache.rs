//! The cache beside a list of what is kept.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_hdl::regfile::SOURCES;
use warpfile_hdl::reuse::RegisterReuseCache;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use crate::regfile::traffic::{geometries, masks, registers};
use crate::regfile::warp_register::{WarpRegister, pack};

/// A read of a position.
#[derive(Clone, Debug)]
struct Read {
    register: usize,
    lanes: u32,
    keep: bool,
}

/// What happens in a cycle: a read in each position, what the banks give for those of the cycle before, registers written.
#[derive(Clone, Debug)]
struct Cycle {
    reads: [Option<Read>; SOURCES],
    values: Vec<Vec<u32>>,
    written: Vec<Option<usize>>,
}

/// An operand that is kept; its value is there once the bank has given it.
#[derive(Clone)]
struct KeptValue {
    register: usize,
    value: WarpRegister,
}

#[derive(Clone)]
struct Cache {
    banks: usize,
    lanes: usize,
    kept: BTreeMap<(usize, usize), KeptValue>,
    /// For each position what the value of this cycle is of: the operand that a bank gives, or the one that is taken.
    given: [Option<(usize, usize)>; SOURCES],
    taken: [Option<WarpRegister>; SOURCES],
}

impl Cache {
    fn is_kept(&self, position: usize, register: usize) -> bool {
        let kept = self.kept.get(&(position, register % self.banks));
        kept.is_some_and(|kept| kept.register == register)
    }
}

impl Reference for Cache {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        for (k, (read, value)) in cycle.reads.iter().zip(&cycle.values).enumerate() {
            inputs.set(&format!("position{k}_value_i"), pack(value));
            let Some(Read { register, lanes, keep }) = read else { continue };
            let port = |name: &str| format!("position{k}_read_{name}_i");
            inputs.set(&port("valid"), 1u8);
            inputs.set(&port("reuse"), u8::from(self.is_kept(k, *register)));
            inputs.set(&port("keep"), u8::from(*keep));
            inputs.set(&port("bank"), 1u32 << (register % self.banks));
            inputs.set(&port("row"), register / self.banks);
            inputs.set(&port("lanes"), *lanes);
        }
        for (w, register) in cycle.written.iter().enumerate() {
            let Some(register) = register else { continue };
            inputs.set(&format!("written{w}_valid_i"), 1u8);
            inputs.set(&format!("written{w}_register_i"), *register);
        }
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        for (k, value) in cycle.values.iter().enumerate() {
            if let Some(place) = self.given[k].take()
                && let Some(kept) = self.kept.get_mut(&place)
            {
                kept.value.write(u32::MAX, value);
            }
            if let Some(value) = self.taken[k].take() {
                value.expect(outputs, &format!("position{k}_value_o"));
                outputs.must_be_meaningful(&format!("position{k}_value_o"));
            }
            let mut banks = 0u32;
            for bank in 0..self.banks {
                let kept = self.kept.get(&(k, bank));
                banks |= u32::from(kept.is_some()) << bank;
                let (row, known) = kept.map_or((0, 0), |kept| (kept.register / self.banks, u32::MAX));
                outputs.set_known(&format!("position{k}_row{bank}_o"), row, known);
            }
            outputs.set(&format!("position{k}_kept_o"), banks);
        }
        let reused: Vec<bool> = (0..SOURCES)
            .map(|k| cycle.reads[k].as_ref().is_some_and(|read| self.is_kept(k, read.register)))
            .collect();
        let before = self.kept.clone();
        self.kept.retain(|_, kept| !cycle.written.contains(&Some(kept.register)));
        for (k, read) in cycle.reads.iter().enumerate() {
            let Some(Read { register, keep, .. }) = read else { continue };
            let place = (k, register % self.banks);
            self.kept.remove(&place);
            let value = match before.get(&place) {
                Some(kept) if reused[k] => kept.value.clone(),
                _ => WarpRegister::unknown(self.lanes),
            };
            if reused[k] {
                self.taken[k] = Some(value.clone());
            } else if *keep {
                self.given[k] = Some(place);
            }
            if *keep {
                self.kept.insert(place, KeptValue { register: *register, value });
            }
        }
    }
}

fn traffic(cycles: usize) -> impl Strategy<Value = (RegisterReuseCache, Vec<Cycle>)> {
    (geometries(), 0..4_usize, any::<bool>()).prop_flat_map(move |(geometry, writers, few)| {
        // Few registers meet often: two banks of three rows.
        let all = registers(geometry);
        let near = move |number: usize| (number / 2 * geometry.banks + number % 2) % all;
        let any_register =
            move || (0..all).prop_map(move |number| if few { near(number % 6) } else { number });
        let read = || {
            let read = (any_register(), masks(geometry.lanes), prop::bool::weighted(0.7))
                .prop_map(|(register, lanes, keep)| Read { register, lanes, keep });
            option::weighted(0.7, read)
        };
        let values = vec(vec(any::<u32>(), geometry.lanes), SOURCES);
        let written = vec(option::weighted(0.2, any_register()), writers);
        let cycle = ([read(), read(), read()], values, written).prop_map(|(reads, values, written)| Cycle {
            reads,
            values,
            written,
        });
        (Just(RegisterReuseCache { geometry, writers }), vec(cycle, 1..cycles))
    })
}

fn check(circuit: &RegisterReuseCache, how: Lockstep, cycles: &[Cycle]) -> Result<(), TestCaseError> {
    let reference = Cache {
        banks: circuit.geometry.banks,
        lanes: circuit.geometry.lanes,
        kept: BTreeMap::new(),
        given: [None; SOURCES],
        taken: [const { None }; SOURCES],
    };
    how.run(&elaborate(circuit).unwrap(), &reference, cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(96))]
    #[test]
    fn an_operand_is_kept_until_the_next_read_of_its_position_and_bank((circuit, cycles) in traffic(80)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, cycles) in traffic(60)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }
}
