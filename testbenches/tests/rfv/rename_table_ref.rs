//! Reference of the rename table: maps and sets of names and registers.
//!
//! A register is free or has one name. A name takes a free register of its own bank when something first writes it,
//! keeps it while it lives, and loses it some time after its death.

use std::collections::{BTreeMap, BTreeSet};

use num_bigint::BigUint;
use warpfile_hdl::rfv::RenameTable;
use warpfile_testbenches::lockstep::{Pins, Reference};

/// Names that lose their register in one cycle at most.
const FREED: usize = 2;

#[derive(Clone)]
pub struct RenameReference {
    /// Instructions offered a cycle at most: the first of those of an [`Intent`].
    issues: usize,
    banks: usize,
    mapped: BTreeMap<usize, Mapping>,
    free: BTreeSet<usize>,
    /// Names that are dead and still have a register.
    dying: BTreeSet<usize>,
    /// Instructions that have not been taken are offered again.
    pending: [Option<Instruction>; 2],
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Mapping {
    register: usize,
    warp: usize,
}

/// An instruction: names read, written, and released when it is taken.
#[derive(Clone, Debug, Default)]
pub struct Instruction {
    pub warp: usize,
    pub sources: [Option<usize>; 3],
    pub results: [Option<usize>; 4],
    pub releases: Vec<usize>,
}

/// What happens in a cycle, as far as earlier offers allow it.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    pub issues: [Option<Instruction>; 2],
    /// Instructions that the register file behind the table has room for: the first so many.
    pub room: usize,
    /// Names written, and whether they die with that.
    pub writes: [Option<(usize, bool)>; 3],
    pub retires: Vec<usize>,
}

/// What the instructions of a cycle get.
struct Given {
    ready: [bool; 2],
    taken: [bool; 2],
    /// Names that get a register, by instruction.
    new: [Vec<(usize, Mapping)>; 2],
}

impl RenameReference {
    pub fn new(parameters: &RenameTable) -> RenameReference {
        RenameReference {
            issues: parameters.issues,
            banks: parameters.banks,
            mapped: BTreeMap::new(),
            free: (0..parameters.banks * parameters.rows).collect(),
            dying: BTreeSet::new(),
            pending: [None, None],
        }
    }

    /// Offers of earlier cycles that have not been taken, then new ones.
    fn offers(&self, intent: &Intent) -> [Option<Instruction>; 2] {
        let mut offers = self.pending.clone();
        for wanted in intent.issues.iter().flatten() {
            if let Some(free) = offers[..self.issues].iter_mut().find(|offer| offer.is_none()) {
                *free = Some(wanted.clone());
            }
        }
        offers
    }

    /// The register that a name gets: of each bank the lowest free one is on offer, once a cycle; the bank of the name's
    /// number is asked first, then those behind it.
    fn choose(&self, name: usize, busy: &BTreeSet<usize>) -> Option<usize> {
        (0..self.banks).map(|step| (name + step) % self.banks).find_map(|bank| {
            let register = self.free.iter().find(|register| *register % self.banks == bank);
            register.copied().filter(|_| !busy.contains(&bank))
        })
    }

    fn give(&self, offers: &[Option<Instruction>; 2], room: usize) -> Given {
        let mut given = Given { ready: [true; 2], taken: [false; 2], new: [vec![], vec![]] };
        let mut busy = BTreeSet::new();
        for (way, offer) in offers.iter().enumerate() {
            let Some(offer) = offer else { continue };
            for name in offer.results.into_iter().flatten() {
                let has_one = self.mapped.contains_key(&name)
                    || given.new.iter().flatten().any(|(other, _)| *other == name);
                if has_one {
                    continue;
                }
                let may = way == 0 || given.taken[0];
                match self.choose(name, &busy).filter(|_| may) {
                    Some(register) => {
                        busy.insert(register % self.banks);
                        given.new[way].push((name, Mapping { register, warp: offer.warp }));
                    }
                    None => given.ready[way] = false,
                }
            }
            given.taken[way] = given.ready[way] && way < room && (way == 0 || given.taken[0]);
        }
        given
    }
}

fn set_of(names: &[usize]) -> BigUint {
    let mut set = BigUint::default();
    for &name in names {
        set.set_bit(name as u64, true);
    }
    set
}

impl Reference for RenameReference {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        let offers = self.offers(intent);
        let given = self.give(&offers, intent.room);
        for (way, offer) in offers.iter().enumerate() {
            let Some(offer) = offer else { continue };
            inputs.set(&format!("issue{way}_valid_i"), 1u8);
            inputs.set(&format!("issue{way}_warp_i"), offer.warp);
            inputs.set(&format!("issue{way}_taken_i"), u8::from(given.taken[way]));
            inputs.set(&format!("issue{way}_release_i"), set_of(&offer.releases));
            for (kind, names) in [("source", &offer.sources[..]), ("result", &offer.results[..])] {
                for (k, name) in names.iter().enumerate() {
                    let Some(name) = *name else { continue };
                    inputs.set(&format!("issue{way}_{kind}{k}_valid_i"), 1u8);
                    inputs.set(&format!("issue{way}_{kind}{k}_name_i"), name);
                }
            }
        }
        for (number, write) in intent.writes[..=self.issues].iter().enumerate() {
            let Some((name, dies)) = *write else { continue };
            inputs.set(&format!("write{number}_valid_i"), 1u8);
            inputs.set(&format!("write{number}_name_i"), name);
            inputs.set(&format!("write{number}_dies_i"), u8::from(dies));
        }
        inputs.set("retire_i", set_of(&intent.retires));
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let offers = self.offers(intent);
        let given = self.give(&offers, intent.room);
        let lookup = |outputs: &mut Pins, port: String, name: usize, asked: bool| {
            let mapping = self.mapped.get(&name);
            outputs.set_known(&format!("{port}_mapped_o"), u8::from(mapping.is_some()), u8::from(asked));
            let register = mapping.map_or(0, |mapping| mapping.register);
            let known = if asked { u32::MAX } else { 0 };
            outputs.set_known(&format!("{port}_register_o"), register, known);
        };
        for (way, offer) in offers[..self.issues].iter().enumerate() {
            let offered = u8::from(offer.is_some());
            let sources = offer.as_ref().map_or([None; 3], |offer| offer.sources);
            for (k, source) in sources.iter().enumerate() {
                let (name, asked) = (source.unwrap_or(0), source.is_some());
                lookup(outputs, format!("issue{way}_source{k}"), name, asked);
            }
            outputs.set_known(&format!("issue{way}_ready_o"), u8::from(given.ready[way]), offered);
            outputs.set(&format!("issue{way}_allocated_o"), given.new[way].len());
        }
        for (number, write) in intent.writes[..=self.issues].iter().enumerate() {
            lookup(outputs, format!("write{number}"), write.map_or(0, |(name, _)| name), write.is_some());
        }
        outputs.set("used_o", self.mapped.len());

        // What is offered and has a register is not given up, dead or not.
        let written = offers.iter().flatten().flat_map(|offer| offer.results.into_iter().flatten());
        let kept: BTreeSet<usize> = written.filter(|name| self.mapped.contains_key(name)).collect();
        let lowest: Vec<usize> = self.dying.iter().copied().take(FREED).collect();
        for number in 0..FREED {
            let name = lowest.get(number).copied().filter(|name| !kept.contains(name));
            outputs.set(&format!("freed{number}_valid_o"), u8::from(name.is_some()));
            let warp = name.and_then(|name| self.mapped.get(&name)).map(|mapping| mapping.warp);
            outputs.set_known(
                &format!("freed{number}_warp_o"),
                warp.unwrap_or(0),
                if warp.is_some() { u32::MAX } else { 0 },
            );
        }
        let released = (0..2).filter(|&way| given.taken[way]);
        let released = released.flat_map(|way| offers[way].iter().flat_map(|offer| offer.releases.clone()));
        let written =
            intent.writes[..=self.issues].iter().flatten().filter(|(_, dies)| *dies).map(|(name, _)| *name);
        let dead: Vec<usize> = released.chain(written).chain(intent.retires.iter().copied()).collect();
        self.dying.extend(dead.into_iter().filter(|name| self.mapped.contains_key(name)));
        self.dying.retain(|name| !kept.contains(name));
        for name in lowest.into_iter().filter(|name| !kept.contains(name)) {
            self.dying.remove(&name);
            self.free.extend(self.mapped.remove(&name).map(|mapping| mapping.register));
        }
        for (name, mapping) in given.new.into_iter().flatten() {
            self.free.remove(&mapping.register);
            self.mapped.insert(name, mapping);
        }
        let mut left: Vec<Option<Instruction>> =
            offers.into_iter().zip(given.taken).filter(|(_, taken)| !taken).map(|(offer, _)| offer).collect();
        left.sort_by_key(Option::is_none);
        left.resize(2, None);
        self.pending = [left[0].take(), left[1].take()];
    }
}
