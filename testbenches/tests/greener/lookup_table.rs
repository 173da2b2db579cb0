//! The lookup table beside a list of decoded instructions for each warp.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use warpfile_gen::emit;
use warpfile_hdl::greener::LookupTable;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::packed;

/// An instruction of a warp: its number and registers.
#[derive(Clone, Debug)]
pub struct Instruction {
    pub number: usize,
    pub registers: Vec<usize>,
}

/// What is in the table: for each warp the instructions that have entered and not left.
#[derive(Clone)]
pub struct LookupReference {
    parameters: LookupTable,
    held: Vec<Vec<Instruction>>,
}

/// What happens in a cycle.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// Warp and instruction, of each port.
    pub enters: Vec<Option<(usize, Instruction)>>,
    /// Warp, number and register.
    pub searches: Vec<Option<(usize, usize, usize)>>,
    /// Warp and number.
    pub leaves: Vec<Option<(usize, usize)>>,
    /// Warps that end.
    pub flushes: Vec<usize>,
}

impl LookupReference {
    pub fn new(parameters: &LookupTable) -> LookupReference {
        LookupReference { parameters: parameters.clone(), held: vec![Vec::new(); parameters.warps] }
    }

    /// Whether a younger instruction of the warp accesses a register: it is ahead by less than half the numbers.
    pub fn finds(&self, warp: usize, number: usize, register: usize) -> bool {
        let numbers = 1 << self.parameters.number_bits;
        self.held[warp].iter().any(|held| {
            let ahead = (held.number + numbers - number) % numbers;
            (1..numbers / 2).contains(&ahead) && held.registers.contains(&register)
        })
    }

    /// Takes the cycle's changes; gives which instructions have got an entry.
    pub fn change(&mut self, intent: &Intent) -> Vec<bool> {
        let room: Vec<usize> = self.held.iter().map(|held| self.parameters.entries - held.len()).collect();
        let mut left = room;
        let mut new: Vec<(usize, Instruction)> = Vec::new();
        let entered = (intent.enters.iter())
            .map(|enter| match enter {
                Some((warp, instruction)) if left[*warp] > 0 => {
                    left[*warp] -= 1;
                    new.push((*warp, instruction.clone()));
                    true
                }
                Some(_) | None => false,
            })
            .collect();
        for &(warp, number) in intent.leaves.iter().flatten() {
            self.held[warp].retain(|held| held.number != number);
        }
        for (warp, instruction) in new {
            self.held[warp].push(instruction);
        }
        for &warp in &intent.flushes {
            self.held[warp].clear();
        }
        entered
    }

    /// Sets the ports of what enters, leaves and is flushed; `prefix` and the flush port are the outer circuit's.
    pub fn set_changes(&self, intent: &Intent, flush: &str, inputs: &mut Pins) {
        let LookupTable { operands, register_bits, .. } = self.parameters;
        for (port, enter) in intent.enters.iter().enumerate() {
            let Some((warp, instruction)) = enter else { continue };
            inputs.set(&format!("enter{port}_valid_i"), 1u8);
            inputs.set(&format!("enter{port}_warp_i"), *warp);
            inputs.set(&format!("enter{port}_number_i"), instruction.number);
            let count = instruction.registers.len();
            assert!(count <= operands);
            inputs.set(&format!("enter{port}_used_i"), (1_usize << count) - 1);
            inputs.set(&format!("enter{port}_registers_i"), packed(&instruction.registers, register_bits));
        }
        for (port, leave) in intent.leaves.iter().enumerate() {
            let Some((warp, number)) = *leave else { continue };
            inputs.set(&format!("leave{port}_valid_i"), 1u8);
            inputs.set(&format!("leave{port}_warp_i"), warp);
            inputs.set(&format!("leave{port}_number_i"), number);
        }
        inputs.set(flush, intent.flushes.iter().fold(0_u64, |all, warp| all | 1 << warp));
    }
}

impl Reference for LookupReference {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        self.set_changes(intent, "flush_i", inputs);
        for (port, search) in intent.searches.iter().enumerate() {
            let Some((warp, number, register)) = *search else { continue };
            inputs.set(&format!("search{port}_valid_i"), 1u8);
            inputs.set(&format!("search{port}_warp_i"), warp);
            inputs.set(&format!("search{port}_number_i"), number);
            inputs.set(&format!("search{port}_register_i"), register);
        }
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        for (port, search) in intent.searches.iter().enumerate() {
            let found = search.is_some_and(|(warp, number, register)| self.finds(warp, number, register));
            outputs.set(&format!("search{port}_found_o"), u8::from(found));
        }
        for (port, entered) in self.change(intent).into_iter().enumerate() {
            outputs.set(&format!("enter{port}_entered_o"), u8::from(entered));
        }
    }
}

fn tables() -> impl Strategy<Value = LookupTable> {
    let sizes = (1..6_usize, 1..5_usize, 1..5_usize, 1..4_usize, 2..6_usize);
    (sizes, 1..3_usize, 1..4_usize, 1..4_usize).prop_map(
        |((warps, entries, operands, register_bits, number_bits), enters, leaves, searches)| LookupTable {
            warps,
            entries,
            operands,
            register_bits,
            number_bits,
            enters,
            leaves,
            searches,
        },
    )
}

/// Numbers and registers as they come: also those that have gone around, and that leave without having entered.
fn traffic(
    tables: impl Strategy<Value = LookupTable>,
    cycles: usize,
) -> impl Strategy<Value = (LookupTable, Vec<Intent>)> {
    tables.prop_flat_map(move |table| {
        let (numbers, registers) = (1_usize << table.number_bits, 1_usize << table.register_bits);
        let warps = table.warps;
        let instruction = (0..numbers, vec(0..registers, 0..=table.operands))
            .prop_map(|(number, registers)| Instruction { number, registers });
        let enters = vec(option::weighted(0.6, (0..warps, instruction)), table.enters);
        let searches = vec(option::weighted(0.8, (0..warps, 0..numbers, 0..registers)), table.searches);
        let leaves = vec(option::weighted(0.5, (0..warps, 0..numbers)), table.leaves);
        let flushes = prop_oneof![9 => Just(vec![]), 1 => vec(0..warps, 1..=warps)];
        let intent =
            (enters, searches, leaves, flushes).prop_map(|(mut enters, searches, leaves, flushes)| {
                for enter in &mut enters {
                    *enter = enter.take().filter(|(warp, _)| !flushes.contains(warp));
                }
                Intent { enters, searches, leaves, flushes }
            });
        (Just(table), vec(intent, 1..cycles))
    })
}

fn check(table: &LookupTable, how: Lockstep, cycles: &[Intent]) -> Result<(), TestCaseError> {
    how.run(&elaborate(table).unwrap(), &LookupReference::new(table), cycles)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn it_finds_the_younger_instructions_that_have_entered_and_not_left((table, cycles) in traffic(tables(), 60)) {
        check(&table, Lockstep::default(), &cycles)?;
    }
}

/// All fields of an entry are as wide as each other, so that one taken for another is no matter of width; with two operands of
/// two bits, numbers and registers are.
const EQUAL_FIELDS: LookupTable = LookupTable {
    warps: 2,
    entries: 4,
    operands: 4,
    register_bits: 1,
    number_bits: 4,
    enters: 2,
    leaves: 3,
    searches: 3,
};

fn equal_fields() -> impl Strategy<Value = LookupTable> {
    prop_oneof![Just(EQUAL_FIELDS), Just(LookupTable { operands: 2, register_bits: 2, ..EQUAL_FIELDS })]
}

proptest! {
    #![proptest_config(config(32))]
    #[test]
    fn no_field_of_an_entry_is_taken_for_another((table, cycles) in traffic(equal_fields(), 100)) {
        check(&table, Lockstep::default(), &cycles)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((table, cycles) in traffic(tables(), 40)) {
        check(&table, Lockstep::with_verilog(), &cycles)?;
    }
}

const SMALL: LookupTable = LookupTable {
    warps: 2,
    entries: 2,
    operands: 2,
    register_bits: 2,
    number_bits: 3,
    enters: 1,
    leaves: 1,
    searches: 1,
};

/// Example 4.2.3: a decoded instruction keeps the register of one before it ON, and not its own.
#[test]
fn a_decoded_instruction_is_found_by_those_before_it_until_it_leaves() {
    let nothing = Intent { enters: vec![None], searches: vec![None], leaves: vec![None], flushes: vec![] };
    let instruction = Instruction { number: 5, registers: vec![1, 3] };
    let search = |number, register| Intent { searches: vec![Some((1, number, register))], ..nothing.clone() };
    let cycles = [
        Intent { enters: vec![Some((1, instruction))], ..nothing.clone() },
        search(4, 3),
        search(5, 3),
        search(6, 3),
        search(4, 2),
        Intent { leaves: vec![Some((1, 5))], ..search(4, 1) },
        search(4, 1),
    ];
    let mut reference = LookupReference::new(&SMALL);
    let found: Vec<bool> = (cycles.iter())
        .map(|intent| {
            let found = intent.searches[0]
                .is_some_and(|(warp, number, register)| reference.finds(warp, number, register));
            reference.change(intent);
            found
        })
        .collect();
    assert_eq!(found, [false, true, false, false, false, true, false]);
    check(&SMALL, Lockstep::default(), &cycles).unwrap();
}

#[test]
fn verilog() {
    let files = emit(&elaborate(&SMALL).unwrap()).modules;
    let text: Vec<String> = files.into_iter().map(|file| file.text).collect();
    insta::assert_snapshot!(text.join("\n"));
}
