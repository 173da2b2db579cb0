//! Reference of the register file hierarchy: an operand is what its level held when the instruction was taken.
//!
//! Entries and registers change in program order: a copy when the instruction that makes it is taken, a result when it
//! is. Gebhart et al., MICRO 2011: the compiler names the level of each operand, and entries are not tagged. When
//! things happen is that of the banked or the dual-issue register file, and: an instruction leaves when the copies to the entries
//! that it reads have been written, in the cycle in which operands are out; nothing is written to an entry, and no
//! instruction is taken that copies to one, while an earlier instruction has still to read it or to copy to it.

use std::collections::BTreeSet;

use warpfile_hdl::regfile::SOURCES;
use warpfile_hdl::rfh::RegisterFileHierarchy;
use warpfile_testbenches::lockstep::{Pins, Reference};

use crate::regfile::collectors_ref::{Arrival, Collectors, Held};
use crate::regfile::traffic::registers;
use crate::regfile::warp_register::{WarpRegister, pack};

/// Writers with ports to entries: results of short operations. The second is there if two instructions are taken a cycle.
const RESULTS: usize = 2;

/// An entry of a slot.
pub type Place = (usize, usize);

/// An instruction that is offered.
#[derive(Clone, Debug)]
pub struct Instruction {
    pub id: usize,
    pub unit: usize,
    pub active: u32,
    pub slot: usize,
    pub sources: [Option<Operand>; SOURCES],
    /// The operand that is copied, and the entry.
    pub copy: Option<(usize, usize)>,
}

/// An operand: its register, and its entry if it is in one.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub register: usize,
    pub entry: Option<usize>,
}

/// A result that is offered.
#[derive(Clone, Debug)]
pub struct Write {
    pub register: usize,
    pub lanes: u32,
    pub values: Vec<u32>,
    pub main: bool,
    pub place: Option<Place>,
}

/// What happens in a cycle, as far as the contract and earlier offers allow it.
#[derive(Clone, Debug)]
pub struct Intent {
    pub issues: [Option<Instruction>; 2],
    pub writes: [Option<Write>; 3],
    pub ready_units: u32,
}

#[derive(Clone)]
pub struct RegisterFileHierarchyReference {
    /// Instructions taken a cycle at most.
    issues: usize,
    banks: usize,
    lanes: usize,
    orf_entries: usize,
    registers: Vec<WarpRegister>,
    /// By slot and entry.
    entries: Vec<Vec<WarpRegister>>,
    /// One for each instruction a cycle.
    groups: Vec<Group>,
    /// The group that the next instruction goes to.
    turn: usize,
    /// Entries that a copy is on its way to.
    copying: BTreeSet<Place>,
    /// Offers that have not been taken are repeated.
    pending: Offers,
}

/// A group of collectors.
#[derive(Clone)]
struct Group {
    collectors: Collectors,
    /// The instruction in each collector.
    waiting: Vec<Option<Waiting>>,
    /// What was dispatched in the cycle before.
    left: Option<(Held, Waiting)>,
}

/// What is known of an instruction in a collector beside what the main register file is asked for.
#[derive(Clone)]
struct Waiting {
    operands: [WarpRegister; SOURCES],
    /// Entries that it reads.
    reads: Vec<Place>,
    /// Of these, those that it reads when earlier instructions have copied to them.
    awaits: Vec<Place>,
    copies: Option<Place>,
}

/// What is offered in a cycle: instructions in program order, from the first port on.
#[derive(Clone, Debug, Default)]
struct Offers {
    issues: Vec<Instruction>,
    writes: [Option<Write>; 3],
}

impl Instruction {
    fn reads(&self) -> Vec<Place> {
        self.sources.iter().flatten().filter_map(|o| o.entry).map(|entry| (self.slot, entry)).collect()
    }

    fn copies(&self) -> Option<Place> {
        self.copy.map(|(_, entry)| (self.slot, entry))
    }

    fn uses(&self, place: Place) -> bool {
        self.reads().contains(&place) || self.copies() == Some(place)
    }

    /// The register if it is read in the main register file.
    fn main_source(&self, k: usize) -> Option<usize> {
        self.sources[k].filter(|operand| operand.entry.is_none()).map(|operand| operand.register)
    }
}

impl RegisterFileHierarchyReference {
    pub fn new(parameters: &RegisterFileHierarchy) -> RegisterFileHierarchyReference {
        let RegisterFileHierarchy { geometry, collectors, access_cycles, slots, orf_entries, issues, .. } =
            *parameters;
        let unknown = WarpRegister::unknown(geometry.lanes);
        let group = Group {
            collectors: Collectors::new(geometry.banks, collectors, access_cycles),
            waiting: vec![None; collectors],
            left: None,
        };
        RegisterFileHierarchyReference {
            issues,
            banks: geometry.banks,
            lanes: geometry.lanes,
            orf_entries,
            registers: vec![unknown.clone(); registers(geometry)],
            entries: vec![vec![unknown; orf_entries + 1]; slots],
            groups: vec![group; issues],
            turn: 0,
            copying: BTreeSet::new(),
            pending: Offers::default(),
        }
    }

    /// The name of what there is one of for each instruction a cycle.
    fn port(&self, name: &str, number: usize) -> String {
        if self.issues == 1 { name.to_string() } else { format!("{name}{number}") }
    }

    /// The writers that there are, with their names.
    fn writers(&self) -> Vec<(usize, String)> {
        let results = (0..self.issues).map(|w| (w, self.port("result", w)));
        results.chain([(RESULTS, "fill".to_string())]).collect()
    }

    /// The intent within what the scoreboard and the compiler allow: of writes to one register or entry one is under
    /// way, and no instruction that uses either is offered beside it.
    fn offers(&self, intent: &Intent) -> Offers {
        let mut offers = self.pending.clone();
        for (w, _) in self.writers() {
            let Some(write) = &intent.writes[w] else { continue };
            let of_issue = |issue: &Instruction| {
                let reads = (0..SOURCES).any(|k| issue.main_source(k) == Some(write.register));
                reads || write.place.is_some_and(|place| issue.uses(place))
            };
            let of_write = |other: &Write| {
                other.register == write.register || (write.place.is_some() && other.place == write.place)
            };
            let hazard = offers.issues.iter().any(of_issue) || offers.writes.iter().flatten().any(of_write);
            let is_somewhere = write.lanes != 0 && (w >= RESULTS || write.main || write.place.is_some());
            if offers.writes[w].is_none() && !hazard && is_somewhere {
                offers.writes[w] = Some(write.clone());
            }
        }
        for wanted in intent.issues.iter().flatten() {
            if offers.issues.len() == self.issues {
                break;
            }
            let mut issue = wanted.clone();
            let places: Vec<Place> = offers.writes.iter().flatten().filter_map(|write| write.place).collect();
            let written = |register| offers.writes.iter().flatten().any(|w| w.register == register);
            for source in &mut issue.sources {
                *source = source.filter(|operand| {
                    let free = match operand.entry {
                        Some(entry) => !places.contains(&(issue.slot, entry)),
                        None => !written(operand.register),
                    };
                    issue.active != 0 && free
                });
            }
            let copied = issue.copy.filter(|&(k, _)| issue.main_source(k).is_some());
            issue.copy = copied.filter(|&(_, entry)| !places.contains(&(issue.slot, entry)));
            offers.issues.push(issue);
        }
        offers
    }

    /// Whether an earlier instruction has still to read an entry or to copy to it.
    fn is_in_use(&self, place: Place) -> bool {
        let mut waiting = self.groups.iter().flat_map(|group| group.waiting.iter().flatten());
        self.copying.contains(&place) || waiting.any(|waiting| waiting.reads.contains(&place))
    }

    /// Whether each offered write is taken: by each level that it goes to.
    fn writes_taken(&self, writes: &[Option<Write>; 3]) -> [bool; 3] {
        let mut ports = vec![true; self.banks];
        let mut taken = [false; 3];
        for (w, write) in writes.iter().enumerate() {
            let Some(write) = write else { continue };
            let above = write.place.filter(|_| w < RESULTS).is_none_or(|place| {
                let in_lrf = place.1 == self.orf_entries;
                let copies = w < RESULTS
                    && self.groups[w].left.as_ref().is_some_and(|(_, waiting)| waiting.copies.is_some());
                !self.is_in_use(place) && (in_lrf || !copies)
            });
            let bank = write.register % self.banks;
            let read_later =
                self.groups.iter().any(|group| group.collectors.has_still_to_read(write.register));
            let goes_to_main = write.main || w >= RESULTS;
            taken[w] = above && (!goes_to_main || (ports[bank] && !read_later));
            ports[bank] &= !(taken[w] && goes_to_main);
        }
        taken
    }

    /// How many of the offered instructions are taken.
    fn issues_taken(&self, issues: &[Instruction]) -> usize {
        let may_enter = |(index, issue): &(usize, &Instruction)| {
            let room = self.groups[(self.turn + index) % self.issues].collectors.is_ready();
            let before = &issues[..*index];
            let in_use = |place| self.is_in_use(place) || before.iter().any(|earlier| earlier.uses(place));
            room && !issue.copies().is_some_and(in_use)
        };
        issues.iter().enumerate().take_while(may_enter).count()
    }

    /// An instruction is taken: its operands are known, and its copy is on its way.
    fn take(&mut self, issue: &Instruction) -> Waiting {
        let operands = issue.sources.map(|source| match source {
            Some(Operand { entry: Some(entry), .. }) => {
                self.entries[issue.slot][entry].in_lanes(issue.active, Some(0))
            }
            Some(Operand { register, entry: None }) => {
                self.registers[register].in_lanes(issue.active, Some(0))
            }
            None => WarpRegister::zero(self.lanes),
        });
        let (reads, copies) = (issue.reads(), issue.copies());
        let awaits = reads.iter().copied().filter(|place| self.copying.contains(place)).collect();
        if let Some((k, entry)) = issue.copy {
            self.copying.insert((issue.slot, entry));
            self.entries[issue.slot][entry].copy(issue.active, &operands[k]);
        }
        Waiting { operands, reads, awaits, copies }
    }
}

impl Group {
    fn deliver(&self, port: &str, outputs: &mut Pins) {
        outputs.set(&format!("{port}_valid_o"), u8::from(self.left.is_some()));
        let Some((left, waiting)) = &self.left else { return };
        outputs.set(&format!("{port}_id_o"), left.id);
        for (k, value) in waiting.operands.iter().enumerate() {
            value.expect(outputs, &format!("{port}_source{k}_o"));
        }
    }

    /// Collectors whose instruction waits for a copy that is on its way.
    fn held_back(&self, copying: &BTreeSet<Place>) -> Vec<usize> {
        let waits = |waiting: &Waiting| waiting.awaits.iter().any(|place| copying.contains(place));
        let waiting = self.waiting.iter().enumerate();
        waiting.filter(|(_, waiting)| waiting.as_ref().is_some_and(waits)).map(|(index, _)| index).collect()
    }
}

impl Reference for RegisterFileHierarchyReference {
    type Operation = Intent;

    fn inputs(&self, intent: &Intent, inputs: &mut Pins) {
        let offers = self.offers(intent);
        inputs.set("unit_ready_i", intent.ready_units);
        for (port, issue) in offers.issues.iter().enumerate() {
            let group = self.port("issue", port);
            let mut set = |name: &str, value: usize| inputs.set(&format!("{group}_{name}_i"), value);
            set("valid", 1);
            set("id", issue.id);
            set("unit", issue.unit);
            set("active", issue.active as usize);
            set("slot", issue.slot);
            for (k, source) in issue.sources.iter().enumerate() {
                let Some(operand) = *source else { continue };
                set(&format!("source{k}_valid"), 1);
                set(&format!("source{k}_register"), operand.register);
                set(&format!("source{k}_entry_valid"), usize::from(operand.entry.is_some()));
                set(&format!("source{k}_entry"), operand.entry.unwrap_or_default());
            }
            if let Some((source, entry)) = issue.copy {
                set("copy_valid", 1);
                set("copy_source", source);
                set("copy_entry", entry);
            }
        }
        for (w, name) in self.writers() {
            let Some(write) = &offers.writes[w] else { continue };
            inputs.set(&format!("{name}_valid_i"), 1u8);
            inputs.set(&format!("{name}_register_i"), write.register);
            inputs.set(&format!("{name}_lanes_i"), write.lanes);
            inputs.set(&format!("{name}_value_i"), pack(&write.values));
            if w < RESULTS {
                let (slot, entry) = write.place.unwrap_or_default();
                inputs.set(&format!("{name}_main_i"), u8::from(write.main));
                inputs.set(&format!("{name}_entry_valid_i"), u8::from(write.place.is_some()));
                inputs.set(&format!("{name}_slot_i"), slot);
                inputs.set(&format!("{name}_entry_i"), entry);
            }
        }
    }

    fn cycle(&mut self, intent: &Intent, outputs: &mut Pins) {
        let mut offers = self.offers(intent);
        for (port, group) in self.groups.iter().enumerate() {
            group.deliver(&self.port("operands", port), outputs);
        }
        let writes_taken = self.writes_taken(&offers.writes);
        for (w, name) in self.writers() {
            let offered = u8::from(offers.writes[w].is_some());
            outputs.set_known(&format!("{name}_ready_o"), u8::from(writes_taken[w]), offered);
        }
        let taken = self.issues_taken(&offers.issues);
        for port in 0..self.issues {
            let offered = u8::from(port < offers.issues.len());
            let ready = format!("{}_ready_o", self.port("issue", port));
            outputs.set_known(&ready, u8::from(port < taken), offered);
        }
        let arrived: Vec<Place> = (self.groups.iter())
            .filter_map(|group| group.left.as_ref().and_then(|(_, waiting)| waiting.copies))
            .collect();

        let issues: Vec<Instruction> = offers.issues.drain(..taken).collect();
        let waiting: Vec<Waiting> = issues.iter().map(|issue| self.take(issue)).collect();
        let (mut busy_banks, mut ready_units) = (Vec::new(), intent.ready_units);
        for number in 0..self.issues {
            let index = (number + self.issues - self.turn) % self.issues;
            let port = self.port("dispatch", number);
            let arrival = issues.get(index).map(|issue| Arrival {
                id: issue.id,
                unit: issue.unit,
                sources: [0, 1, 2].map(|k| issue.main_source(k).map(|register| (register, issue.active))),
            });
            let group = &mut self.groups[number];
            let held_back = group.held_back(&self.copying);
            let step = group.collectors.cycle_held(arrival.as_ref(), ready_units, &busy_banks, &held_back);
            busy_banks.extend(step.reads.iter().map(|read| read.bank));
            outputs.set(&format!("{port}_valid_o"), u8::from(step.dispatched.is_some()));
            if let Some(held) = &step.dispatched {
                ready_units &= !(1 << held.unit);
                outputs.set(&format!("{port}_id_o"), held.id);
                outputs.set(&format!("{port}_unit_o"), held.unit);
            }
            group.left = step.dispatched.map(|held| {
                let waiting = group.waiting[held.collector].take();
                (held, waiting.expect("what leaves has entered"))
            });
            if let Some(collector) = step.entered {
                group.waiting[collector] = waiting.get(index).cloned();
            }
        }
        self.turn = (self.turn + taken) % self.issues;
        arrived.iter().for_each(|place| {
            self.copying.remove(place);
        });
        for (w, (write, taken)) in offers.writes.iter_mut().zip(writes_taken).enumerate() {
            let Some(write) = write.take_if(|_| taken) else { continue };
            if write.main || w >= RESULTS {
                self.registers[write.register].write(write.lanes, &write.values);
            }
            if let Some((slot, entry)) = write.place.filter(|_| w < RESULTS) {
                self.entries[slot][entry].write(write.lanes, &write.values);
            }
        }
        self.pending = offers;
    }
}
