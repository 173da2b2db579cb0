//! The reuse buffer beside a map from rows to computations.

use std::collections::BTreeMap;

use proptest::prelude::*;
use warpfile_hdl::wir::{OPERANDS, ReuseBuffer, h3_rows};
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};

use super::{Random, check, verilog};

/// Form, operands with whether they are registers, block and barriers: the columns of Fig. 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag {
    form: usize,
    operands: [(usize, bool); OPERANDS],
    block: usize,
    barrier: usize,
}

#[derive(Clone, Copy, Debug)]
struct Lookup {
    tag: Tag,
    id: usize,
    reserve: bool,
    drop: bool,
}

#[derive(Clone, Copy, Debug)]
struct Fill {
    row: usize,
    id: usize,
    cancel: bool,
    register: usize,
    /// Which of two results it is; of an instruction of one result nothing.
    place: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cycle {
    /// By way.
    lookups: [Option<Lookup>; 2],
    fills: [Option<Fill>; 2],
    sweep: bool,
    /// Rows of this block are swept alone.
    sweep_block: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Result {
    /// The instruction that computes it, and of two results the one that is there: which, and the register that holds it.
    Pending(usize, Option<(usize, usize)>),
    /// The register that holds it, and that of the second result, if there are two.
    Known(usize, Option<usize>),
}

impl Result {
    /// With a result that has come: of one, or the first or second of two.
    fn with(self, register: usize, place: Option<usize>) -> Result {
        match (self, place) {
            (Result::Pending(id, None), Some(place)) => Result::Pending(id, Some((place, register))),
            (Result::Pending(_, Some((0, first))), Some(_)) => Result::Known(first, Some(register)),
            (Result::Pending(_, Some((_, second))), Some(_)) => Result::Known(register, Some(second)),
            (Result::Pending(..) | Result::Known(..), _) => Result::Known(register, None),
        }
    }
}

#[derive(Clone)]
struct Rows {
    parameters: ReuseBuffer,
    /// Masks of a tag's bits, of which each bit of a row's number is the parity.
    masks: Vec<u64>,
    rows: BTreeMap<usize, (Tag, Result)>,
    turn: usize,
}

impl Rows {
    fn new(parameters: &ReuseBuffer) -> Rows {
        let ReuseBuffer { rows, form_bits, register_bits, block_bits, barrier_bits, seed, .. } = *parameters;
        let width = form_bits + OPERANDS * (register_bits + 1) + block_bits + barrier_bits;
        let masks = h3_rows(width, rows.ilog2() as usize, seed);
        Rows {
            parameters: parameters.clone(),
            masks: masks.iter().map(|mask| mask.words()[0]).collect(),
            rows: BTreeMap::new(),
            turn: 0,
        }
    }

    /// The ports of a way: an only one has no number.
    fn port(&self, name: &str, way: usize) -> String {
        if self.parameters.ways > 1 { format!("{name}{way}") } else { name.to_owned() }
    }

    fn row(&self, tag: &Tag) -> usize {
        let ReuseBuffer { form_bits, register_bits, block_bits, .. } = self.parameters;
        let mut packed = tag.form as u64;
        let mut at = form_bits;
        for (value, is_register) in tag.operands {
            packed |= (value as u64 | u64::from(is_register) << register_bits) << at;
            at += register_bits + 1;
        }
        packed |= (tag.block as u64) << at | (tag.barrier as u64) << (at + block_bits);
        let bits = self.masks.iter().map(|mask| (mask & packed).count_ones() as usize % 2);
        bits.enumerate().fold(0, |row, (place, bit)| row | bit << place)
    }
}

/// A register, or that there is none.
fn say_register(outputs: &mut Pins, valid: &str, name: &str, register: Option<usize>) {
    outputs.set(valid, u8::from(register.is_some()));
    outputs.set(name, register.unwrap_or(0));
}

fn say_evicted(outputs: &mut Pins, number: usize, evicted: Option<(Tag, Result)>, results: usize) {
    outputs.set(&format!("evicted{number}_valid_o"), u8::from(evicted.is_some()));
    for place in 0..OPERANDS {
        let register = evicted.map(|(tag, _)| tag.operands[place]).filter(|(_, is_register)| *is_register);
        let register = register.map(|(register, _)| register);
        let port = format!("evicted{number}_operand{place}");
        say_register(outputs, &format!("{port}_is_register_o"), &format!("{port}_register_o"), register);
    }
    let (result, second) = match evicted {
        Some((_, Result::Known(register, second))) => (Some(register), second),
        Some((_, Result::Pending(_, come))) => (None, come.map(|(_, register)| register)),
        None => (None, None),
    };
    let port = format!("evicted{number}");
    say_register(outputs, &format!("{port}_has_result_o"), &format!("{port}_register_o"), result);
    if results == 2 {
        say_register(
            outputs,
            &format!("{port}_second_valid_o"),
            &format!("{port}_second_register_o"),
            second,
        );
    }
}

impl Reference for Rows {
    type Operation = Cycle;

    fn inputs(&self, cycle: &Cycle, inputs: &mut Pins) {
        inputs.set("sweep_i", u8::from(cycle.sweep));
        inputs.set("sweep_one_i", u8::from(cycle.sweep_block.is_some()));
        inputs.set("sweep_block_i", cycle.sweep_block.unwrap_or(0));
        for way in 0..self.parameters.ways {
            self.set_lookup(&self.port("lookup", way), cycle.lookups[way], inputs);
            self.set_fill(&self.port("fill", way), cycle.fills[way], inputs);
        }
    }

    fn cycle(&mut self, cycle: &Cycle, outputs: &mut Pins) {
        let (ways, results) = (self.parameters.ways, self.parameters.results);
        let (lookups, fills) = (&cycle.lookups[..ways], &cycle.fills[..ways]);
        let before = self.rows.clone();
        let mut evicted = vec![None; 2 * ways];
        if cycle.sweep && lookups.iter().all(Option::is_none) && fills.iter().all(Option::is_none) {
            let stays = |(tag, _): &(Tag, Result)| cycle.sweep_block.is_some_and(|block| tag.block != block);
            if !self.rows.get(&self.turn).is_some_and(stays) {
                evicted[0] = self.rows.remove(&self.turn);
            }
            self.turn = (self.turn + 1) % self.parameters.rows;
        }
        // What the first lookup has changed, and what it computes there.
        let (mut changed, mut reserved_for) = (None, None);
        for (way, lookup) in lookups.iter().enumerate() {
            let (mut hit, mut pending, mut reserved) = (None, false, false);
            let port = self.port("lookup", way);
            if let Some(Lookup { tag, id, reserve, drop }) = *lookup {
                let row = self.row(&tag);
                outputs.set(&format!("{port}_row_o"), row);
                pending = reserved_for == Some(tag);
                match before.get(&row) {
                    Some((known, Result::Known(register, second))) if *known == tag => {
                        hit = Some((*register, *second));
                    }
                    Some((known, Result::Pending(..))) if *known == tag => pending = true,
                    Some((_, Result::Pending(..))) => {}
                    _other if changed == Some(row) => {}
                    other => {
                        reserved = reserve;
                        if reserve || drop {
                            evicted[way] = other.copied();
                            self.rows.remove(&row);
                        }
                        if reserve {
                            self.rows.insert(row, (tag, Result::Pending(id, None)));
                            reserved_for = Some(tag);
                        }
                        changed = (reserve || evicted[way].is_some()).then_some(row);
                    }
                }
            }
            let (first, second) = (port.clone() + "_register_o", format!("{port}_second"));
            say_register(outputs, &format!("{port}_hit_o"), &first, hit.map(|(register, _)| register));
            if results == 2 {
                let register = hit.and_then(|(_, second)| second);
                let name = second.clone() + "_register_o";
                say_register(outputs, &format!("{second}_valid_o"), &name, register);
            }
            outputs.set(&format!("{port}_pending_o"), u8::from(pending));
            outputs.set(&format!("{port}_reserved_o"), u8::from(reserved));
        }
        for (way, fill) in fills.iter().enumerate() {
            let mut filled = false;
            if let Some(Fill { row, id, cancel, register, place }) = *fill
                && let Some(&(tag, pending @ Result::Pending(own, _))) = before.get(&row)
                && own == id
            {
                filled = !cancel;
                if cancel {
                    evicted[ways + way] = self.rows.remove(&row);
                } else {
                    self.rows.insert(row, (tag, pending.with(register, place)));
                }
            }
            outputs.set(&format!("{}_filled_o", self.port("fill", way)), u8::from(filled));
        }
        for (number, evicted) in evicted.into_iter().enumerate() {
            say_evicted(outputs, number, evicted, results);
        }
    }
}

impl Rows {
    fn set_lookup(&self, port: &str, lookup: Option<Lookup>, inputs: &mut Pins) {
        let Some(Lookup { tag, id, reserve, drop }) = lookup else { return };
        inputs.set(&format!("{port}_valid_i"), 1_u8);
        inputs.set(&format!("{port}_form_i"), tag.form);
        for (place, (value, is_register)) in tag.operands.into_iter().enumerate() {
            inputs.set(&format!("{port}_operand{place}_is_register_i"), u8::from(is_register));
            inputs.set(&format!("{port}_operand{place}_value_i"), value);
        }
        inputs.set(&format!("{port}_block_i"), tag.block);
        inputs.set(&format!("{port}_barrier_i"), tag.barrier);
        inputs.set(&format!("{port}_id_i"), id);
        inputs.set(&format!("{port}_reserve_i"), u8::from(reserve));
        inputs.set(&format!("{port}_drop_i"), u8::from(drop));
    }

    fn set_fill(&self, port: &str, fill: Option<Fill>, inputs: &mut Pins) {
        let Some(Fill { row, id, cancel, register, place }) = fill else { return };
        inputs.set(&format!("{port}_valid_i"), 1_u8);
        inputs.set(&format!("{port}_row_i"), row);
        inputs.set(&format!("{port}_id_i"), id);
        inputs.set(&format!("{port}_cancel_i"), u8::from(cancel));
        inputs.set(&format!("{port}_register_i"), register);
        if self.parameters.results == 2 {
            inputs.set(&format!("{port}_pair_valid_i"), u8::from(place.is_some()));
            inputs.set(&format!("{port}_pair_second_i"), u8::from(place == Some(1)));
        }
    }
}

/// A few tags that come again and again, fills of rows that are pending, and some of rows that are not or are another's.
fn traffic(parameters: &ReuseBuffer, seed: u64, cycles: usize) -> Vec<Cycle> {
    let (mut random, mut rows) = (Random(seed), Rows::new(parameters));
    let ReuseBuffer { form_bits, register_bits, block_bits, barrier_bits, id_bits, results, .. } =
        *parameters;
    let tags: Vec<Tag> = (0..3 * parameters.rows)
        .map(|_| Tag {
            form: random.below(1 << form_bits),
            operands: [(); OPERANDS].map(|()| (random.below(1 << register_bits), random.percent(60))),
            block: random.below(1 << block_bits),
            barrier: random.below(1 << barrier_bits),
        })
        .collect();
    let one = |_| {
        let sweep_block = random.percent(50).then(|| random.below(1 << block_bits));
        let mut cycle = Cycle { sweep: random.percent(40), sweep_block, ..Cycle::default() };
        // Both lookups of a cycle are often of the same.
        let favourite = random.below(tags.len());
        for way in 0..parameters.ways {
            if random.percent(70) {
                let number = if random.percent(40) { favourite } else { random.below(tags.len()) };
                let (tag, id) = (tags[number], random.below(1 << id_bits));
                let reserve = random.percent(70);
                cycle.lookups[way] = Some(Lookup { tag, id, reserve, drop: random.percent(40) });
            }
            if random.percent(50) {
                let row = random.below(parameters.rows);
                let own = match rows.rows.get(&row) {
                    Some((_, Result::Pending(id, _))) if random.percent(85) => *id,
                    Some(_) | None => random.below(1 << id_bits),
                };
                // An instruction has one result or two, and each of them comes once.
                let place = match rows.rows.get(&row) {
                    Some((_, Result::Pending(_, Some((there, _))))) => Some(1 - there),
                    Some(_) | None => (results == 2 && random.percent(60)).then(|| random.below(2)),
                };
                let register = random.below(1 << register_bits);
                let fill = Fill { row, id: own, cancel: random.percent(25), register, place };
                // The fills of a cycle are of different instructions.
                let is_other = |other: &Fill| (other.row, other.id) != (fill.row, fill.id);
                cycle.fills[way] = Some(fill).filter(|_| cycle.fills.iter().flatten().all(is_other));
            }
        }
        rows.cycle(&cycle, &mut Pins::default());
        cycle
    };
    (0..cycles).map(one).collect()
}

fn buffers() -> impl Strategy<Value = ReuseBuffer> {
    let bits = (1..5_usize, 1..5_usize, 1..4_usize, 1..4_usize, 1..7_usize);
    (1..5_u32, bits, 1..3_usize, 1..3_usize, any::<u64>()).prop_map(
        |(index_bits, (form_bits, register_bits, block_bits, barrier_bits, id_bits), results, ways, seed)| {
            ReuseBuffer {
                rows: 1 << index_bits,
                form_bits,
                register_bits,
                block_bits,
                barrier_bits,
                id_bits,
                results,
                ways,
                seed,
            }
        },
    )
}

proptest! {
    #![proptest_config(config(128))]
    #[test]
    fn a_hit_is_the_result_of_the_same_computation((buffer, seed) in (buffers(), any::<u64>())) {
        check(&buffer, &Rows::new(&buffer), &Lockstep::default(), &traffic(&buffer, seed, 250))?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn the_verilog_does_the_same((buffer, seed) in (buffers(), any::<u64>())) {
        check(&buffer, &Rows::new(&buffer), &Lockstep::with_verilog(), &traffic(&buffer, seed, 80))?;
    }
}

fn of_paper(results: usize) -> ReuseBuffer {
    ReuseBuffer {
        rows: 256,
        form_bits: 8,
        register_bits: 10,
        block_bits: 4,
        barrier_bits: 5,
        id_bits: 9,
        results,
        ways: 1,
        seed: 0,
    }
}

/// The paper's row has 59 bits. Here an operand has a bit more, which tells registers from constants.
#[test]
fn a_row_is_as_wide_as_the_papers_but_for_a_bit_of_each_operand() {
    assert_eq!(of_paper(1).row_bits(), 59 + 3);
}

#[test]
fn a_second_result_is_a_register_and_a_bit() {
    assert_eq!(of_paper(2).row_bits(), of_paper(1).row_bits() + 10 + 1);
}

/// The second result of two comes first: the row is pending until the other is there, and has both in their order.
#[test]
fn results_may_come_in_any_order() {
    let tag = Tag { form: 1, operands: [(3, true), (0, false), (0, false)], block: 0, barrier: 0 };
    let buffer = ReuseBuffer { rows: 4, id_bits: 4, ..of_paper(2) };
    let lookup = Lookup { tag, id: 5, reserve: true, drop: false };
    let row = Rows::new(&buffer).row(&tag);
    let fill = |register, place| Fill { row, id: 5, cancel: false, register, place: Some(place) };
    for order in [[0, 1], [1, 0]] {
        let looked_up = Cycle { lookups: [Some(lookup), None], ..Cycle::default() };
        let filled =
            order.map(|place| Cycle { fills: [Some(fill(20 + place, place)), None], ..Cycle::default() });
        let mut rows = Rows::new(&buffer);
        let cycles = [looked_up, filled[0], looked_up, filled[1], looked_up];
        let said = cycles.map(|cycle| {
            let mut outputs = Pins::default();
            rows.cycle(&cycle, &mut outputs);
            outputs
        });
        let says = |cycle: usize, port: &str, value: u8| said[cycle].get(port) == Some(&value.into());
        assert!(says(2, "lookup_pending_o", 1), "{order:?}");
        assert!(says(4, "lookup_register_o", 20) && says(4, "lookup_second_register_o", 21), "{order:?}");
        check(&buffer, &Rows::new(&buffer), &Lockstep::default(), &cycles).expect("the same");
    }
}

/// Two instructions of one computation in one cycle: the second finds the row that the first has reserved pending.
#[test]
fn the_second_of_two_waits_for_the_first() {
    let tag = Tag { form: 1, operands: [(3, true), (0, false), (0, false)], block: 0, barrier: 0 };
    let buffer = ReuseBuffer { rows: 4, id_bits: 4, ways: 2, ..of_paper(1) };
    let lookup = |id| Some(Lookup { tag, id, reserve: true, drop: false });
    let both = Cycle { lookups: [lookup(5), lookup(6)], ..Cycle::default() };
    let (mut rows, mut outputs) = (Rows::new(&buffer), Pins::default());
    rows.cycle(&both, &mut outputs);
    let says = |port: &str, value: u8| outputs.get(port) == Some(&value.into());
    assert!(says("lookup0_reserved_o", 1) && says("lookup0_pending_o", 0));
    assert!(says("lookup1_reserved_o", 0) && says("lookup1_pending_o", 1));
    check(&buffer, &Rows::new(&buffer), &Lockstep::default(), &[both]).expect("the same");
}

fn small(results: usize, ways: usize) -> ReuseBuffer {
    ReuseBuffer {
        rows: 4,
        form_bits: 2,
        register_bits: 3,
        block_bits: 1,
        barrier_bits: 2,
        id_bits: 4,
        results,
        ways,
        seed: 1,
    }
}

#[test]
fn verilog_text() {
    insta::assert_snapshot!(verilog(&small(1, 1)));
}

#[test]
fn verilog_text_of_two_results() {
    insta::assert_snapshot!(verilog(&small(2, 1)));
}

#[test]
fn verilog_text_of_two_ways() {
    insta::assert_snapshot!(verilog(&small(1, 2)));
}
