//! Dynamic warp execution beside its rule.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use warpfile_hdl::sharing::DynamicExecution;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::bits;

/// An SM that follows §2.3.3.
#[derive(Clone)]
struct Sm {
    parameters: DynamicExecution,
    is_first: bool,
    /// Of this window, one entry a cycle: whether it stalled.
    window: Vec<bool>,
    /// Stalls of the window that ended last, and whether that was in the cycle before.
    ended: usize,
    has_just_ended: bool,
    /// They have not been compared.
    waits: bool,
    /// Steps of the probability.
    probability: usize,
    random: u16,
}

/// What is wished for in a cycle.
#[derive(Clone, Debug)]
struct Intent {
    /// A kernel begins: on the first SM, with a seed.
    kernel: Option<(bool, u16)>,
    stalls: bool,
    /// The first SM's stalls, if they are told in this cycle.
    reference: Option<usize>,
    memory: BTreeSet<usize>,
    additional: BTreeSet<usize>,
}

impl Sm {
    fn new(parameters: &DynamicExecution) -> Sm {
        Sm {
            parameters: parameters.clone(),
            is_first: false,
            window: Vec::new(),
            ended: 0,
            has_just_ended: false,
            waits: false,
            probability: parameters.steps,
            random: 1,
        }
    }

    /// A number below the same part of 65536 as the probability is of one.
    fn executes(&self) -> bool {
        let DynamicExecution { steps, .. } = self.parameters;
        let share = self.probability as f64 / steps as f64;
        !self.is_first && f64::from(self.random) < (share * 65536.0).round()
    }

    fn compare(&mut self, reference: usize) {
        if !std::mem::replace(&mut self.waits, false) || self.is_first {
            return;
        }
        match self.ended.cmp(&reference) {
            std::cmp::Ordering::Greater => self.probability = self.probability.saturating_sub(1),
            std::cmp::Ordering::Less => self.probability = (self.probability + 1).min(self.parameters.steps),
            std::cmp::Ordering::Equal => {}
        }
    }
}

/// Sixteen shifts of the register of x¹⁶ + x¹⁵ + x¹³ + x⁴ + 1.
fn next_random(mut random: u16) -> u16 {
    for _ in 0..16 {
        let fed = [16, 15, 13, 4].map(|power| random >> (power - 1) & 1).iter().fold(0, |fed, bit| fed ^ bit);
        random = random << 1 | fed;
    }
    random
}

impl Reference for Sm {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        if let Some((is_first, seed)) = intent.kernel {
            inputs.set("configure_valid_i", 1_u8);
            inputs.set("configure_first_i", u8::from(is_first));
            inputs.set("configure_seed_i", seed);
        }
        inputs.set("stall_i", u8::from(intent.stalls));
        if let Some(stalls) = intent.reference {
            inputs.set("reference_valid_i", 1_u8);
            inputs.set("reference_stalls_i", stalls);
        }
        inputs.set("memory_i", bits(intent.memory.iter().copied()));
        inputs.set("additional_i", bits(intent.additional.iter().copied()));
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let waiting = intent.memory.intersection(&intent.additional).copied();
        outputs.set("held_o", bits(waiting.filter(|_| !self.executes())));
        outputs.set("window_valid_o", u8::from(self.has_just_ended));
        outputs.set("window_stalls_o", self.ended);
        outputs.set("probability_o", self.probability);

        if let Some(reference) = intent.reference {
            self.compare(reference);
        }
        self.has_just_ended = false;
        if let Some((is_first, seed)) = intent.kernel {
            (self.is_first, self.random, self.waits) = (is_first, seed, false);
            self.window.clear();
            return;
        }
        self.random = next_random(self.random);
        self.window.push(intent.stalls);
        if self.window.len() == self.parameters.window {
            self.ended = self.window.drain(..).filter(|stalls| *stalls).count();
            (self.has_just_ended, self.waits) = (true, true);
        }
    }
}

fn sizes(cycles: usize) -> impl Strategy<Value = (DynamicExecution, Vec<Intent>)> {
    (1..6_usize, 2..9_usize, 1..17_usize).prop_flat_map(move |(warps, window, steps)| {
        let kernel = prop::option::weighted(0.03, (prop::bool::weighted(0.2), 1..=u16::MAX));
        // From none to all cycles of a window stall, for long enough that the probability gets to its ends.
        let stalls = prop::sample::select(vec![0.05, 0.5, 0.95]).prop_flat_map(prop::bool::weighted);
        let reference = prop::option::weighted(0.5, 0..=window);
        let set = || btree_set(0..warps, 0..=warps);
        let intent = (kernel, stalls, reference, set(), set());
        let intent = intent.prop_map(|(kernel, stalls, reference, memory, additional)| Intent {
            kernel,
            stalls,
            reference,
            memory,
            additional,
        });
        (Just(DynamicExecution { warps, window, steps }), vec(intent, 1..cycles))
    })
}

fn check(circuit: &DynamicExecution, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    how.run(&elaborate(circuit).unwrap(), &Sm::new(circuit), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn the_probability_follows_the_stalls((circuit, cycles) in sizes(300)) {
        check(&circuit, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((circuit, cycles) in sizes(60)) {
        check(&circuit, Lockstep::with_verilog(), &cycles)?;
    }
}

/// An SM that stalls more than the first in every window ends at zero, one that stalls less at one; each tenth of the way
/// executes in a tenth of the cycles.
#[test]
fn the_probability_saturates_and_is_kept() {
    let circuit = DynamicExecution { warps: 2, window: 1000, steps: 10 };
    let cycle = |stalls, reference| Intent {
        kernel: None,
        stalls,
        reference,
        memory: BTreeSet::from([0, 1]),
        additional: BTreeSet::from([1]),
    };
    let kernel = Intent { kernel: Some((false, 7)), ..cycle(false, None) };
    let mut cycles = vec![kernel.clone()];
    for (stalls, reference) in [(true, 999), (false, 1)] {
        cycles.extend((0..12 * 1000).map(|at| cycle(stalls, (at % 1000 == 0).then_some(reference))));
    }
    // Another kernel begins at zero, and is there for too short a time to change anything.
    cycles[12 * 1000] = kernel.clone();
    check(&circuit, Lockstep::default(), &cycles).unwrap();

    let mut reference = Sm::new(&circuit);
    let mut probabilities = Vec::new();
    let mut executed = [0; 25];
    for (at, intent) in cycles.iter().enumerate() {
        let mut outputs = Pins::default();
        executed[at / 1000] += u32::from(reference.executes());
        reference.cycle(intent, &mut outputs);
        if at % 1000 == 500 {
            probabilities.push(reference.probability);
        }
    }
    let down = (0..=10).rev().chain([0]);
    // The first window of those that stall less follows one that stalled more.
    let up = std::iter::once(0).chain(1..=10).chain([10]);
    assert_eq!(probabilities, down.chain(up).collect::<Vec<usize>>());
    for (window, (executed, probability)) in executed.iter().zip(&probabilities).enumerate() {
        let expected = 100.0 * *probability as f64;
        assert!((f64::from(*executed) - expected).abs() < 60.0, "window {window}: {executed}, {expected}");
    }
}

/// The highest random number with which an instruction is executed, and the lowest with which it is not, for every probability.
#[test]
fn the_probability_is_a_part_of_all_random_numbers() {
    let nothing = Intent {
        kernel: None,
        stalls: false,
        reference: None,
        memory: BTreeSet::new(),
        additional: BTreeSet::new(),
    };
    let asks = Intent { memory: BTreeSet::from([0]), additional: BTreeSet::from([0]), ..nothing.clone() };
    let seeded = |seed| Intent { kernel: Some((false, seed)), ..nothing.clone() };
    for steps in 2..=16_usize {
        let circuit = DynamicExecution { warps: 1, window: 2, steps };
        let mut cycles = Vec::new();
        let mut expected = Vec::new();
        for probability in (1..steps).rev() {
            let stalled = Intent { stalls: true, ..nothing.clone() };
            let told = Intent { reference: Some(0), ..nothing.clone() };
            cycles.extend([seeded(1), stalled.clone(), stalled, told]);
            let first_above = (probability as f64 / steps as f64 * 65536.0).round() as u16;
            cycles.extend([seeded(first_above - 1), asks.clone(), seeded(first_above), asks.clone()]);
            expected.extend([true, false]);
        }
        check(&circuit, Lockstep::default(), &cycles).unwrap();
        let mut reference = Sm::new(&circuit);
        let executed = cycles.iter().filter_map(|intent| {
            let executes = reference.executes();
            reference.cycle(intent, &mut Pins::default());
            (!intent.memory.is_empty()).then_some(executes)
        });
        assert_eq!(executed.collect::<Vec<bool>>(), expected, "{steps} steps");
    }
}

#[test]
fn the_random_number_takes_every_value_but_zero() {
    let mut random = 1;
    let mut seen = BTreeSet::new();
    while seen.insert(random) {
        random = next_random(random);
    }
    assert_eq!((random, seen.len(), seen.contains(&0)), (1, 65535, false));
}
