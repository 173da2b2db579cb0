//! A netlist with what drives it, as a test takes it and prints it when it fails.

use std::fmt;

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::prelude::*;
use warpfile_hdl::rtl::netlist::{Direction, Netlist};

use crate::numbers::Random;
use crate::recipe::{Recipe, Size, Style};
use crate::shrink::{Cases, Ingredients};
use crate::text::describe;

/// A netlist, the seed of its unreset state, and its inputs. Its `Debug` form is what a person wants to read
/// of a failing one: the netlist and the cycles.
#[derive(Clone)]
pub struct Case {
    /// The netlist.
    pub netlist: Netlist,
    /// Seed of unreset state.
    pub seed: u64,
    /// What drives it.
    pub cycles: Vec<Cycle>,
}

/// What drives a circuit in one cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Whether the cycle is under reset.
    pub reset: bool,
    /// Inputs in the order of the ports.
    pub inputs: Vec<BigUint>,
    /// How often the cycle is repeated, for tests of running many cycles at once; others take it once.
    pub times: u64,
}

impl Case {
    /// A case with a cycle a number.
    pub(crate) fn new(netlist: Netlist, seed: u64, numbers: Vec<u32>) -> Case {
        let cycles = cycles_from(&netlist, numbers);
        Case { netlist, seed, cycles }
    }
}

/// Random netlists of up to a size, each with one to `cycles` cycles.
pub fn cases(size: Size, style: Style, cycles: usize) -> impl Strategy<Value = Case> {
    let ingredients = (Recipe::any(size), 0..1000u64, vec(any::<u32>(), 1..=cycles))
        .prop_map(|(recipe, seed, cycles)| Ingredients { recipe, seed, cycles });
    Cases { ingredients, style }
}

/// Names and widths of a netlist's inputs, in the order of the ports.
pub fn inputs_of(netlist: &Netlist) -> impl Iterator<Item = (&str, u32)> {
    let ports = netlist.modules[netlist.top.index()].ports.iter();
    ports.filter(|port| port.direction == Direction::Input).map(|port| (port.name.as_str(), port.width))
}

/// `count` cycles for any netlist.
pub fn random_cycles(netlist: &Netlist, seed: u64, count: usize) -> Vec<Cycle> {
    let mut random = Random(seed);
    cycles_from(netlist, (0..count).map(|_| random.number() as u32))
}

/// Cycles from a number each. A third of the inputs keeps its value from cycle to cycle, in quiet cycles all but one in eight; all are
/// 0 before the first.
fn cycles_from(netlist: &Netlist, numbers: impl IntoIterator<Item = u32>) -> Vec<Cycle> {
    let mut inputs = vec![BigUint::ZERO; inputs_of(netlist).count()];
    let cycle = |number: u32| {
        let mut random = Random(number.into());
        let is_quiet = random.chance(2);
        for (input, (_, width)) in inputs.iter_mut().zip(inputs_of(netlist)) {
            let value = random.bits(width).to_biguint();
            let changes = if is_quiet { random.chance(8) } else { !random.chance(3) };
            if changes {
                *input = value;
            }
        }
        let times = if number / 11 % 4 == 3 { u64::from(number / 44 % 40) } else { 1 };
        Cycle { reset: number % 11 == 10, inputs: inputs.clone(), times }
    };
    numbers.into_iter().map(cycle).collect()
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}seed {}", describe(&self.netlist), self.seed)?;
        for (number, cycle) in self.cycles.iter().enumerate() {
            let times = if cycle.times == 1 { String::new() } else { format!(" (x {})", cycle.times) };
            write!(f, "cycle {number}{times}:{}", if cycle.reset { " reset" } else { "" })?;
            for ((name, _), value) in inputs_of(&self.netlist).zip(&cycle.inputs) {
                write!(f, " {name}={value:#x}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::test_runner::{RngSeed, TestRunner};

    use super::*;
    use crate::config::config;
    use crate::recipe::{Constants, Names};

    const SIZE: Size = Size { nodes: 20, widest: 70, deepest: 5, modules: 2 };

    const STYLE: Style = Style {
        constants: Constants::Extreme,
        names: Names::Few,
        unused_to_outputs: true,
        all_fields_written: false,
    };

    /// What a test of so many cases sees of them.
    fn seen(config: ProptestConfig) -> Vec<String> {
        let seen = std::cell::RefCell::new(Vec::new());
        let note = |case: Case| {
            seen.borrow_mut().push(format!("{case:?}"));
            Ok(())
        };
        TestRunner::new(config).run(&cases(SIZE, STYLE, 4), note).expect("nothing is asked of them");
        seen.into_inner()
    }

    #[test]
    fn the_printed_seed_makes_the_same_cases_and_another_makes_others() {
        let config = config(5);
        let RngSeed::Fixed(seed) = config.rng_seed else { panic!("a seed that nobody knows") };
        let with_seed = |seed| ProptestConfig { rng_seed: RngSeed::Fixed(seed), ..config.clone() };
        assert_eq!(seen(with_seed(seed)), seen(config.clone()));
        assert_ne!(seen(with_seed(seed.wrapping_add(1))), seen(config.clone()));
    }
}
