//! Random regions under a capacity manager, with banks that serve what they are given after a while.

use std::collections::VecDeque;

use num_bigint::BigUint;
use proptest::collection::vec;
use proptest::prelude::*;
use warpfile_hdl::regless::{CapacityManager, NOTES, Note, RESULTS, ShardGeometry};
use warpfile_random::Random;
use warpfile_random::config;
use warpfile_testbenches::lockstep::{Lockstep, Pins, Reference};
use warpfile_testbenches::mutation::elaborate;

use super::capacity_manager_ref::{Around, BankAround, CapacityManagerReference, State, Word};
use crate::library::clean;

/// Registers that annotations name.
const REGISTERS: usize = 16;
/// Accesses of an instruction at most.
const ACCESSES: usize = 7;

/// What an access does to the lines that its warp holds in its bank.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Effect {
    None,
    Releases,
    /// A result is to come; it releases the line, or the region holds it on.
    Reserves {
        released_by_write: bool,
    },
}

/// An instruction: its warp, whether it is the last of its region, and bank and effect of each access.
type Issued = (usize, bool, Vec<(usize, Effect)>);

/// What regions a manager is given.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Regions {
    /// Any that fit.
    Random,
    /// Such as stage no line and have one instruction, which accesses nothing. They end as many in a cycle as
    /// instructions are issued in one.
    EndTogether,
}

/// A manager with its surroundings: decode, a scheduler, banks and memory.
#[derive(Clone)]
pub struct Surrounded {
    manager: CapacityManager,
    regions: Regions,
    reference: CapacityManagerReference,
    /// Words on their way to the manager, of each warp.
    words: Vec<VecDeque<Word>>,
    /// The region's last instruction has been issued.
    ended: Vec<bool>,
    /// For each bank the annotations and the accesses that wait.
    notes: Vec<VecDeque<(usize, Note)>>,
    accesses: Vec<VecDeque<(usize, Effect)>>,
    /// Warps whose lines are fetched.
    fetching: Vec<usize>,
    /// Results on their way: warp, bank, and whether it releases the line.
    results: Vec<(usize, usize, bool)>,
    /// For each warp and bank the lines held that no access or result on its way releases, and those that will be held by
    /// accesses on their way.
    loose: Vec<Vec<usize>>,
    planned: Vec<Vec<usize>>,
    /// Of each warp the results to come whose lines are held on.
    kept: Vec<usize>,
}

impl Surrounded {
    pub fn new(manager: &CapacityManager) -> Surrounded {
        let (warps, banks) = (manager.geometry.warps, manager.geometry.banks);
        Surrounded {
            reference: CapacityManagerReference::new(manager),
            regions: Regions::Random,
            words: vec![VecDeque::new(); warps],
            ended: vec![true; warps],
            notes: vec![VecDeque::new(); banks],
            accesses: vec![VecDeque::new(); banks],
            fetching: Vec::new(),
            results: Vec::new(),
            loose: vec![vec![0; banks]; warps],
            planned: vec![vec![0; banks]; warps],
            kept: vec![0; warps],
            manager: manager.clone(),
        }
    }

    /// Words of a random region that fits.
    fn region(&self, random: &mut Random) -> VecDeque<Word> {
        let (banks, lines) = (self.manager.geometry.banks, self.manager.geometry.lines);
        // Small regions run beside many others, large ones beside one.
        let most = lines as u32 >> (1 + random.below(3));
        let mut usage: Vec<usize> = (0..banks).map(|_| random.below(most + 1) as usize).collect();
        let mut preloads = vec![0; banks];
        let mut notes = Vec::new();
        // In any order, so that annotations of one bank meet in a word.
        let mut registers: Vec<usize> = (0..REGISTERS).collect();
        registers.sort_by_cached_key(|_| random.number());
        for register in registers {
            let kinds = match self.regions {
                Regions::Random => [Note::Preload, Note::InvalidatingPreload, Note::Invalidation],
                Regions::EndTogether => [Note::Invalidation; 3],
            };
            let kind = kinds[random.below(3) as usize];
            let bank = register % banks;
            let stages = kind != Note::Invalidation;
            if random.chance(4) && (!stages || preloads[bank] < lines) {
                notes.push((kind, register));
                preloads[bank] += usize::from(stages);
            }
        }
        usage.iter_mut().zip(&preloads).for_each(|(usage, preloads)| *usage = (*usage).max(*preloads));
        let mut words: Vec<Vec<_>> = notes.chunks(NOTES).map(<[_]>::to_vec).collect();
        if words.is_empty() {
            words.push(Vec::new());
        }
        let count = words.len();
        let word = |(k, notes)| Word { first: k == 0, last: k + 1 == count, notes, usage: usage.clone() };
        words.into_iter().enumerate().map(word).collect()
    }

    /// What happens in a cycle, by its random number; and what becomes of the surroundings.
    fn go_on(&mut self, number: u64) -> Around {
        let mut random = Random(number);
        let warps = self.manager.geometry.warps;
        for warp in 0..warps {
            if self.words[warp].is_empty() && random.chance(3) {
                self.words[warp] = self.region(&mut random);
            }
        }
        let sender = random.below(warps as u32) as usize;
        let metadata = self.words[sender].front().map(|word| (sender, word.clone()));
        let waiting = (0..warps).map(|_| random.chance(12)).collect();
        let writes = self.write(&mut random);
        let fill = (!self.fetching.is_empty() && random.chance(3))
            .then(|| self.fetching.swap_remove(random.below(self.fetching.len() as u32) as usize));
        let issued: Vec<_> = match self.regions {
            Regions::Random => (0..self.manager.issues).map(|_| self.issue(&mut random)).collect(),
            Regions::EndTogether => self.issue_last_ones(),
        };
        let banks = (0..self.notes.len()).map(|bank| self.serve(bank, &mut random)).collect();
        // What is issued can be served from the next cycle on.
        let issues = issued.into_iter().map(|issue| {
            let (warp, last, effects) = issue?;
            let results = effects.iter().filter(|(_, effect)| effect.reserves()).count();
            let accesses = effects.len();
            effects.into_iter().for_each(|(bank, effect)| self.accesses[bank].push_back((warp, effect)));
            Some((warp, last, accesses, results))
        });
        Around { metadata, waiting, issues: issues.collect(), banks, fill, writes }
    }

    fn write(&mut self, random: &mut Random) -> Vec<Option<(usize, Option<usize>)>> {
        let mut writes = vec![None; self.manager.writes];
        // Of each bank one result a cycle is taken.
        let mut used = vec![false; self.notes.len()];
        for write in &mut writes {
            if self.results.is_empty() || !random.chance(3) {
                continue;
            }
            let place = random.below(self.results.len() as u32) as usize;
            let (warp, bank, releases) = self.results[place];
            if !std::mem::replace(&mut used[bank], true) {
                self.results.swap_remove(place);
                *write = Some((warp, releases.then_some(bank)));
                self.loose[warp][bank] += usize::from(!releases);
                self.kept[warp] -= usize::from(!releases);
            }
        }
        writes
    }

    /// A bank serves an access, or else an annotation.
    fn serve(&mut self, bank: usize, random: &mut Random) -> BankAround {
        let mut around = BankAround { takes_note: !random.chance(3), ..BankAround::default() };
        if !self.accesses[bank].is_empty() && !random.chance(3) {
            let (warp, effect) = self.accesses[bank].pop_front().unwrap();
            around.served = Some(warp);
            match effect {
                Effect::None => {}
                Effect::Releases => around.less = Some(warp),
                Effect::Reserves { released_by_write } => {
                    around.more = Some(warp);
                    self.planned[warp][bank] -= 1;
                    self.results.push((warp, bank, released_by_write));
                }
            }
        } else if !self.notes[bank].is_empty() && !random.chance(3) {
            let (warp, note) = self.notes[bank].pop_front().unwrap();
            let stages = note != Note::Invalidation;
            if stages {
                around.more = Some(warp);
                self.loose[warp][bank] += 1;
            }
            match stages && random.chance(3) {
                true => self.fetching.push(warp),
                false => around.staged = Some(warp),
            }
        }
        around
    }

    /// The only instructions of regions, once as many are active as are issued in a cycle.
    fn issue_last_ones(&mut self) -> Vec<Option<Issued>> {
        let is_active = |w: &usize| self.reference.warps[*w].state == State::Active && !self.ended[*w];
        let active: Vec<usize> = (0..self.ended.len()).filter(is_active).take(self.manager.issues).collect();
        if active.len() < self.manager.issues {
            return vec![None; self.manager.issues];
        }
        active.iter().for_each(|&w| self.ended[w] = true);
        active.into_iter().map(|w| Some((w, true, Vec::new()))).collect()
    }

    /// An instruction of an active warp. The last one of a region leaves nothing that is not released.
    fn issue(&mut self, random: &mut Random) -> Option<Issued> {
        let w = random.below(self.manager.geometry.warps as u32) as usize;
        if self.reference.warps[w].state != State::Active || self.ended[w] || random.chance(4) {
            return None;
        }
        let mut effects: Vec<(usize, Effect)> = Vec::new();
        for _ in 0..random.below(ACCESSES as u32 + 1) {
            let bank = random.below(self.notes.len() as u32) as usize;
            let waiting = self.accesses[bank].len() + effects.iter().filter(|(of, _)| *of == bank).count();
            let warp = &self.reference.warps[w];
            let is_left = warp.held[bank] + self.planned[w][bank] < warp.allowed[bank];
            let results = effects.iter().filter(|(_, effect)| effect.reserves()).count();
            let effect = match random.below(3) {
                _ if waiting >= self.manager.queue => continue,
                0 if self.loose[w][bank] > 0 => {
                    self.loose[w][bank] -= 1;
                    Effect::Releases
                }
                1 if is_left && results < RESULTS => {
                    self.planned[w][bank] += 1;
                    Effect::Reserves { released_by_write: !random.chance(3) }
                }
                _ => Effect::None,
            };
            effects.push((bank, effect));
        }
        self.kept[w] += effects.iter().filter(|(_, effect)| effect.keeps()).count();
        let something_is_kept = self.kept[w] > 0 || self.loose[w].iter().any(|lines| *lines > 0);
        let last = !something_is_kept && random.chance(2);
        self.ended[w] = last;
        Some((w, last, effects))
    }
}

impl Effect {
    fn reserves(self) -> bool {
        matches!(self, Effect::Reserves { .. })
    }

    /// The region holds the line on when its result is written.
    fn keeps(self) -> bool {
        self == Effect::Reserves { released_by_write: false }
    }
}

/// The random number of a cycle.
type Number = u64;

impl Reference for Surrounded {
    type Operation = Number;

    fn inputs(&self, number: &Number, inputs: &mut Pins) {
        let around = self.clone().go_on(*number);
        let g = self.manager.geometry;
        if let Some((warp, word)) = &around.metadata {
            inputs.set("metadata_valid_i", 1u8);
            inputs.set("metadata_warp_i", *warp);
            inputs.set("metadata_first_i", u8::from(word.first));
            inputs.set("metadata_last_i", u8::from(word.last));
            let usage = word.usage.iter().rev();
            let packed = usage
                .fold(BigUint::ZERO, |packed, lines| (packed << g.line_count_bits()) | BigUint::from(*lines));
            inputs.set("metadata_usage_i", packed);
            for (k, (note, register)) in word.notes.iter().enumerate() {
                inputs.set(&format!("metadata_note{k}_valid_i"), 1u8);
                inputs.set(&format!("metadata_note{k}_kind_i"), *note as u8);
                inputs.set(&format!("metadata_note{k}_register_i"), *register);
            }
        }
        inputs.set("waiting_i", mask(around.waiting.iter().copied()));
        for (i, issue) in around.issues.iter().enumerate() {
            let Some((warp, last, accesses, results)) = issue else { continue };
            inputs.set(&format!("issue{i}_taken_i"), 1u8);
            inputs.set(&format!("issue{i}_warp_i"), *warp);
            inputs.set(&format!("issue{i}_last_i"), u8::from(*last));
            inputs.set(&format!("issue{i}_accesses_i"), *accesses);
            inputs.set(&format!("issue{i}_writes_i"), *results);
        }
        for (b, bank) in around.banks.iter().enumerate() {
            let mut set = |name: &str, value: usize| inputs.set(&format!("bank{b}_{name}_i"), value);
            set("note_ready", usize::from(bank.takes_note));
            set("staged_done", usize::from(bank.staged.is_some()));
            set("staged_warp", bank.staged.unwrap_or(0));
            set("served_valid", usize::from(bank.served.is_some()));
            set("served_warp", bank.served.unwrap_or(0));
            set("held_more", usize::from(bank.more.is_some()));
            set("held_less", usize::from(bank.less.is_some()));
            set("held_warp", bank.more.or(bank.less).unwrap_or(0));
            let written = around.writes.iter().flatten().find(|(_, released)| *released == Some(b));
            set("held_written_less", usize::from(written.is_some()));
            set("held_written_warp", written.map_or(0, |(warp, _)| *warp));
            set("held_listed", self.reference.listed(b));
        }
        inputs.set("fill_valid_i", u8::from(around.fill.is_some()));
        inputs.set("fill_warp_i", around.fill.unwrap_or(0));
        for (p, write) in around.writes.iter().enumerate() {
            inputs.set(&format!("write{p}_taken_i"), u8::from(write.is_some()));
            inputs.set(&format!("write{p}_warp_i"), write.map_or(0, |(warp, _)| warp));
        }
    }

    fn cycle(&mut self, number: &Number, outputs: &mut Pins) {
        let around = self.go_on(*number);
        let said = self.reference.say(&around);
        let offered = around.metadata.is_some();
        // Without a word, ready is that for a word of warp 0 that is not the first of its region.
        let ready = if offered { said.metadata_ready } else { self.reference.may_take(0, false) };
        outputs.set("metadata_ready_o", u8::from(ready));
        let in_state = |state| mask(self.reference.warps.iter().map(|warp| warp.state == state));
        outputs.set("active_o", in_state(State::Active));
        outputs.set("inactive_o", in_state(State::Inactive));
        for (b, note) in said.notes.iter().enumerate() {
            let (kind, warp, register) =
                note.map_or((0, 0, 0), |(kind, warp, register)| (kind as usize, warp, register));
            outputs.set(&format!("bank{b}_note_valid_o"), u8::from(note.is_some()));
            outputs.set(&format!("bank{b}_note_kind_o"), kind);
            outputs.set(&format!("bank{b}_note_warp_o"), warp);
            outputs.set(&format!("bank{b}_note_register_o"), register);
            let may_hold = self.reference.warps.iter().map(|warp| warp.held[b] < warp.allowed[b]);
            outputs.set(&format!("bank{b}_may_hold_o"), mask(may_hold));
            if let Some((note, warp, _)) = note.filter(|_| around.banks[b].takes_note) {
                self.notes[b].push_back((warp, note));
            }
        }
        if said.metadata_ready {
            let (warp, _) = around.metadata.as_ref().expect("what is taken is offered");
            self.words[*warp].pop_front();
        }
        let before: Vec<State> = self.reference.warps.iter().map(|warp| warp.state).collect();
        self.reference.step(&around);
        for (w, before) in before.into_iter().enumerate() {
            // A region without annotations is active in the cycle in which it begins.
            if before != State::Active && self.reference.warps[w].state == State::Active {
                self.ended[w] = false;
            }
        }
    }
}

/// Bits in the order of their numbers.
fn mask(bits: impl Iterator<Item = bool>) -> BigUint {
    bits.enumerate().fold(BigUint::ZERO, |mask, (place, bit)| mask | BigUint::from(u8::from(bit)) << place)
}

pub fn manager(warps: usize, banks: usize, lines: usize) -> CapacityManager {
    let geometry = ShardGeometry { warps, banks, lines, lanes: 4, lanes_per_slice: 2, register_bits: 4 };
    CapacityManager { geometry, metadata_words: 4, queue: 16, writes: 2, issues: 2 }
}

fn managers() -> impl Strategy<Value = CapacityManager> {
    let lines = prop_oneof![2..6_usize, Just(6), Just(12)];
    let powers = |most: u32| (0..=most).prop_map(|power| 1_usize << power);
    (powers(4), powers(3), lines, 1..4_u32, 1..4_usize, 1..3_usize).prop_map(
        |(warps, banks, lines, words, writes, issues)| CapacityManager {
            metadata_words: 1 << words,
            writes,
            issues,
            ..manager(warps, banks, lines)
        },
    )
}

fn check(manager: &CapacityManager, how: &Lockstep, numbers: &[Number]) -> Result<(), TestCaseError> {
    how.run(&elaborate(manager).unwrap(), &Surrounded::new(manager), numbers)
        .map_err(|difference| TestCaseError::fail(difference.to_string()))
}

proptest! {
    #![proptest_config(config(32))]
    #[test]
    fn warps_run_as_the_stack_and_the_counts_of_lines_say(
        (manager, numbers) in (managers(), vec(any::<Number>(), 100..500)),
    ) {
        check(&manager, &Lockstep::default(), &numbers)?;
    }
}

proptest! {
    #![proptest_config(config(4))]
    #[test]
    fn of_warps_whose_regions_end_in_one_cycle_the_lowest_gives_lines_back_first(
        power in 1..5_u32,
        numbers in vec(any::<Number>(), 200),
    ) {
        let manager = manager(1 << power, 2, 12);
        let netlist = elaborate(&manager).unwrap();
        let surrounded = Surrounded { regions: Regions::EndTogether, ..Surrounded::new(&manager) };
        Lockstep::default()
            .run(&netlist, &surrounded, &numbers)
            .map_err(|difference| TestCaseError::fail(difference.to_string()))?;
    }
}

proptest! {
    #![proptest_config(config(2))]
    #[test]
    fn the_verilog_of_a_manager_does_the_same(numbers in vec(any::<Number>(), 60..120)) {
        check(&manager(4, 4, 6), &Lockstep::with_verilog(), &numbers)?;
    }
}

#[test]
fn every_state_is_reached_and_left_again() {
    let manager = manager(4, 4, 6);
    let mut model = Surrounded::new(&manager);
    let mut random = Random(3);
    let mut seen = [0; 4];
    for _ in 0..2000 {
        model.cycle(&random.number(), &mut Pins::default());
        model.reference.warps.iter().for_each(|warp| seen[warp.state as usize] += 1);
    }
    assert!(seen.iter().all(|&count| count > 200), "{seen:?}");
}

#[test]
fn managers_are_clean_for_the_three_tools() {
    clean(&elaborate(&manager(2, 2, 5)).unwrap());
}
