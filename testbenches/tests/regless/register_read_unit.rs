//! Reference of a register read unit: a queue of instructions, each with what it waits for. Written from §5 and §5.2.2 of
//! Kloosterman et al. and the contract, not from the circuit.

use std::collections::{BTreeSet, VecDeque};

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::prelude::*;
use warpfile_hdl::regless::{ISSUES, RESULTS, RegisterReadUnit, SOURCES, ShardGeometry};
use warpfile_random::Random;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

/// Position of the first result of an instruction: sources come before, and one that is nobody's.
const FIRST_RESULT: usize = 4;

#[derive(Clone)]
struct Instruction {
    entry: usize,
    id: usize,
    lanes: u32,
    sources: Vec<bool>,
    results: Vec<bool>,
    /// Positions whose access has not been served.
    waits: BTreeSet<usize>,
    values: Vec<Vec<u32>>,
    lines: Vec<usize>,
    /// It came in the cycle before.
    is_new: bool,
}

#[derive(Clone)]
struct UnitReference {
    unit: RegisterReadUnit,
    /// The oldest first.
    held: VecDeque<Instruction>,
    next: usize,
    /// For each bank what it read in the cycle before: entry, source, value.
    read: Vec<Option<(usize, usize, Vec<u32>)>>,
    dispatched: Option<Instruction>,
}

/// What a cycle's random number stands for.
struct Cycle {
    enters: Vec<Option<Instruction>>,
    /// What each bank serves.
    served: Vec<Option<Served>>,
    ready: bool,
}

/// An access of an entry: it reads a source, reserves a line for a result, or both.
#[derive(Clone, Copy)]
struct Served {
    entry: usize,
    source: Option<usize>,
    result: Option<usize>,
    line: usize,
}

impl Served {
    fn take(&mut self, position: usize) {
        match position.checked_sub(FIRST_RESULT) {
            Some(result) => self.result = Some(result),
            None => self.source = Some(position),
        }
    }
}

impl UnitReference {
    fn new(unit: &RegisterReadUnit) -> UnitReference {
        UnitReference {
            unit: unit.clone(),
            held: VecDeque::new(),
            next: 0,
            read: vec![None; unit.geometry.banks],
            dispatched: None,
        }
    }

    fn room(&self) -> usize {
        self.unit.entries - self.held.len()
    }

    fn cycle_of(&self, number: u64) -> Cycle {
        let (g, mut random) = (&self.unit.geometry, Random(number));
        let all = u32::MAX >> (32 - g.lanes);
        let mut entry = self.next;
        let mut room = self.room();
        let enters = (0..self.unit.issues).map(|_| {
            let enters = random.below(3) == 0 && room > 0;
            let bits = |random: &mut Random, count: usize| (0..count).map(|_| random.below(2) == 0).collect();
            let (sources, results): (Vec<bool>, Vec<bool>) =
                (bits(&mut random, SOURCES), bits(&mut random, RESULTS));
            let lanes = [all, 0, random.number() as u32 & all][random.below(3) as usize];
            let id = random.below(1 << self.unit.id_bits) as usize;
            let waits = sources.iter().chain([&false]).chain(&results).enumerate();
            let waits = waits.filter(|(_, waits)| **waits).map(|(position, _)| position).collect();
            let (values, lines) = (vec![vec![0; g.lanes]; SOURCES], vec![0; RESULTS]);
            let instruction =
                Instruction { entry, id, lanes, sources, results, waits, values, lines, is_new: true };
            enters.then(|| {
                entry = (entry + 1) % self.unit.entries;
                room -= 1;
                instruction
            })
        });
        let enters = enters.collect();
        let mut open: Vec<(usize, usize)> = self
            .held
            .iter()
            .flat_map(|one| one.waits.iter().map(|position| (one.entry, *position)))
            .collect();
        let served = (0..g.banks).map(|_| {
            let some = !open.is_empty() && random.below(2) == 0;
            let line = random.below(g.lines as u32) as usize;
            some.then(|| {
                let (entry, position) = open.swap_remove(random.below(open.len() as u32) as usize);
                let mut served = Served { entry, source: None, result: None, line };
                served.take(position);
                // The line that is read may be that of a result as well.
                let is_other = |&(of, other): &(usize, usize)| {
                    of == entry && (other < FIRST_RESULT) != (position < FIRST_RESULT)
                };
                if let Some(other) = open.iter().position(is_other).filter(|_| random.below(2) == 0) {
                    served.take(open.swap_remove(other).1);
                }
                served
            })
        });
        Cycle { enters, served: served.collect(), ready: random.below(3) > 0 }
    }
}

impl Reference for UnitReference {
    type Operation = u64;

    fn inputs(&self, number: &u64, inputs: &mut Pins) {
        let Cycle { enters, served, ready } = self.cycle_of(*number);
        for (i, instruction) in enters.iter().enumerate() {
            let Some(instruction) = instruction else { continue };
            inputs.set(&format!("enter{i}_valid_i"), 1u8);
            inputs.set(&format!("enter{i}_id_i"), instruction.id);
            inputs.set(&format!("enter{i}_lanes_i"), instruction.lanes);
            inputs.set(&format!("enter{i}_sources_i"), mask(&instruction.sources));
            inputs.set(&format!("enter{i}_results_i"), mask(&instruction.results));
        }
        for (b, access) in served.iter().enumerate() {
            let Some(Served { entry, source, result, line }) = *access else { continue };
            inputs.set(&format!("served{b}_valid_i"), 1u8);
            inputs.set(&format!("served{b}_entry_i"), entry);
            inputs.set(&format!("served{b}_reads_i"), u8::from(source.is_some()));
            inputs.set(&format!("served{b}_source_i"), source.unwrap_or(0));
            inputs.set(&format!("served{b}_reserves_i"), u8::from(result.is_some()));
            inputs.set(&format!("served{b}_result_i"), result.unwrap_or(0));
            inputs.set(&format!("served{b}_line_i"), line);
        }
        for (b, read) in self.read.iter().enumerate() {
            let Some((entry, source, value)) = read else { continue };
            inputs.set(&format!("value{b}_valid_i"), 1u8);
            inputs.set(&format!("value{b}_entry_i"), *entry);
            inputs.set(&format!("value{b}_source_i"), *source);
            inputs.set(&format!("value{b}_value_i"), BigUint::from_slice(value));
        }
        inputs.set("ready_i", u8::from(ready));
    }

    fn cycle(&mut self, number: &u64, outputs: &mut Pins) {
        let Cycle { enters, served, ready } = self.cycle_of(*number);
        outputs.set("room_o", u8::from(self.room() > 0));
        if self.unit.issues > 1 {
            outputs.set("room_for_two_o", u8::from(self.room() > 1));
        }
        outputs.set("next_o", self.next);
        self.show_operands(outputs);

        // It goes in the second cycle after it came, and in the one after its last access was served.
        let goes = self.held.front().is_some_and(|one| one.waits.is_empty() && !one.is_new) && ready;
        outputs.set("dispatch_valid_o", u8::from(goes));
        outputs.set("dispatch_id_o", self.held.front().map_or(0, |one| one.id));
        for (entry, source, value) in std::mem::take(&mut self.read).into_iter().flatten() {
            self.entry(entry).values[source] = value;
        }
        self.dispatched = if goes { self.held.pop_front() } else { None };
        self.held.iter_mut().for_each(|one| one.is_new = false);
        let mut random = Random(!*number);
        for access in served {
            let read = access.map(|Served { entry, source, result, line }| {
                let lanes = self.unit.geometry.lanes;
                let one = self.entry(entry);
                if let Some(result) = result {
                    one.waits.remove(&(FIRST_RESULT + result));
                    one.lines[result] = line;
                }
                let source = source?;
                one.waits.remove(&source);
                // Nothing is read for an instruction without lanes.
                let value = (0..lanes).map(|_| random.number() as u32).collect();
                (one.lanes != 0).then_some((entry, source, value))
            });
            self.read.push(read.flatten());
        }
        for instruction in enters.into_iter().flatten() {
            self.next = (instruction.entry + 1) % self.unit.entries;
            self.held.push_back(instruction);
        }
    }
}

impl UnitReference {
    /// The instruction of an entry; one that is dispatched is still there for a cycle.
    fn entry(&mut self, entry: usize) -> &mut Instruction {
        let held = self.held.iter_mut().find(|one| one.entry == entry);
        held.expect("an entry with an instruction")
    }

    fn show_operands(&self, outputs: &mut Pins) {
        outputs.set("operands_valid_o", u8::from(self.dispatched.is_some()));
        let Some(one) = &self.dispatched else {
            (0..RESULTS).for_each(|k| outputs.set(&format!("operands_result{k}_reserved_o"), 0u8));
            return;
        };
        outputs.set("operands_id_o", one.id);
        for (k, value) in one.values.iter().enumerate() {
            let executes = |lane: usize| one.sources[k] && one.lanes >> lane & 1 == 1;
            let lanes = value.iter().enumerate().map(|(lane, value)| if executes(lane) { *value } else { 0 });
            outputs.set(&format!("operands_source{k}_o"), BigUint::new(lanes.collect()));
        }
        for (k, line) in one.lines.iter().enumerate() {
            outputs.set(&format!("operands_result{k}_reserved_o"), u8::from(one.results[k]));
            outputs.set(&format!("operands_result{k}_line_o"), *line);
        }
    }
}

fn mask(bits: &[bool]) -> u32 {
    bits.iter().enumerate().fold(0, |mask, (place, bit)| mask | u32::from(*bit) << place)
}

fn units() -> impl Strategy<Value = RegisterReadUnit> {
    let lines = prop_oneof![2..6_usize, Just(6), Just(12)];
    (0..4_u32, lines, 1..5_u32, 1..6_usize, 1..7_usize, 1..=ISSUES).prop_map(
        |(banks, lines, entries, id_bits, lanes, issues)| {
            let geometry = ShardGeometry {
                warps: 4,
                banks: 1 << banks,
                lines,
                lanes,
                lanes_per_slice: 1,
                register_bits: 4,
            };
            RegisterReadUnit { geometry, entries: 1 << entries, id_bits, issues }
        },
    )
}

fn check(unit: &RegisterReadUnit, how: &Lockstep, numbers: &[u64]) -> Result<(), TestCaseError> {
    how.run(&elaborate(unit).unwrap(), &UnitReference::new(unit), numbers)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(48))]
    #[test]
    fn instructions_leave_in_order_with_their_operands((unit, numbers) in (units(), vec(any::<u64>(), 1..300))) {
        check(&unit, &Lockstep::default(), &numbers)?;
    }
}

proptest! {
    #![proptest_config(config(2))]
    #[test]
    fn the_verilog_of_a_read_unit_does_the_same((unit, numbers) in (units(), vec(any::<u64>(), 40..80))) {
        check(&unit, &Lockstep::with_verilog(), &numbers)?;
    }
}
