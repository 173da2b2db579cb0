//! Reference of the register file with register reuse caches.
//!
//! An operand is what its register held when the instruction was taken, for a write waits until earlier instructions have read the
//! register; but one that is taken where it is kept is what was read there, written since or not (Huerta et al., §5.3.1:
//! the compiler sees to it). Two groups of collectors take instructions in turn, each with a cache of its own.

use std::collections::BTreeMap;

use warpfile_hdl::regfile::SOURCES;
use warpfile_hdl::reuse::ReuseRegisterFile;
use warpfile_testbenches::lockstep::{Pins, Reference};

use crate::regfile::collectors_ref::{Collectors, Held, Reuse, Step};
use crate::regfile::offers_ref::{Instruction, Offers, deliver, dispatch};
use crate::regfile::traffic::{Write, registers};
use crate::regfile::warp_register::WarpRegister;

/// Which operands of an instruction are kept: the lowest bits of its number say so.
pub fn keep(instruction: &Instruction) -> [bool; SOURCES] {
    std::array::from_fn(|k| instruction.id >> k & 1 == 1)
}

/// One instruction a cycle has two writers, two have three.
#[derive(Clone)]
pub struct ReuseRegisterFileReference<const WRITERS: usize> {
    parameters: ReuseRegisterFile,
    registers: Vec<WarpRegister>,
    groups: Vec<Group>,
    /// The group that the next instruction goes to.
    turn: usize,
    /// Offers that have not been taken are repeated.
    pending: Offers<WRITERS>,
}

/// A group of collectors with its cache.
#[derive(Clone)]
struct Group {
    collectors: Collectors,
    /// Operands of the instruction in each collector.
    operands: Vec<[WarpRegister; SOURCES]>,
    /// Values that are kept, by position and bank.
    kept: BTreeMap<(usize, usize), WarpRegister>,
    /// What was dispatched in the cycle before.
    left: Option<Held>,
}

/// What happens in a cycle, as far as the contract and earlier offers allow it.
#[derive(Clone, Debug)]
pub struct ReuseIntent<const WRITERS: usize> {
    pub issues: [Option<Instruction>; 2],
    pub writes: [Option<Write>; WRITERS],
    pub ready_units: u32,
}

impl<const WRITERS: usize> ReuseRegisterFileReference<WRITERS> {
    pub fn new(parameters: &ReuseRegisterFile) -> Self {
        let ReuseRegisterFile { geometry, collectors, access_cycles, issues, .. } = *parameters;
        assert_eq!(issues + 1, WRITERS);
        let unknown = WarpRegister::unknown(geometry.lanes);
        let group = Group {
            collectors: Collectors::new(geometry.banks, collectors, access_cycles),
            operands: vec![[(); SOURCES].map(|()| unknown.clone()); collectors],
            kept: BTreeMap::new(),
            left: None,
        };
        ReuseRegisterFileReference {
            parameters: parameters.clone(),
            registers: vec![unknown; registers(geometry)],
            groups: vec![group; issues],
            turn: 0,
            pending: Offers::default(),
        }
    }

    fn offers(&self, intent: &ReuseIntent<WRITERS>) -> Offers<WRITERS> {
        match self.parameters.issues {
            1 => self.pending.with(&[intent.issues[0].clone()], &intent.writes),
            _ => self.pending.with(&intent.issues, &intent.writes),
        }
    }

    /// The ports of a kind, one for each instruction a cycle: an only one has no number.
    fn ports(&self, name: &str) -> Vec<String> {
        match self.parameters.issues {
            1 => vec![name.to_owned()],
            issues => (0..issues).map(|number| format!("{name}{number}")).collect(),
        }
    }

    fn writers(&self) -> [&'static str; WRITERS] {
        let names: &[&str] = if WRITERS == 2 { &["result", "fill"] } else { &["result0", "result1", "fill"] };
        std::array::from_fn(|writer| names[writer])
    }

    /// How many of the offered instructions are taken: each by the group whose turn it is, in order.
    fn issues_taken(&self, offered: usize) -> usize {
        let groups = self.groups.len();
        let has_room = |index: &usize| self.groups[(self.turn + index) % groups].collectors.is_ready();
        (0..offered).take_while(has_room).count()
    }
}

impl Group {
    /// Operands that are taken where they are kept, and those that are kept from now on: whole rows.
    fn reuse(&mut self, step: &Step, banks: usize, registers: &[WarpRegister]) {
        for read in &step.reads {
            let place = (read.position, read.bank);
            let whole = match self.kept.get(&place) {
                Some(kept) if read.reused => {
                    self.operands[read.collector][read.position] = kept.in_lanes(read.lanes, Some(0));
                    kept.clone()
                }
                _ => registers[read.row * banks + read.bank].clone(),
            };
            if read.keep {
                self.kept.insert(place, whole);
            }
        }
    }
}

impl<const WRITERS: usize> Reference for ReuseRegisterFileReference<WRITERS> {
    type Operation = ReuseIntent<WRITERS>;

    fn inputs(&self, intent: &Self::Operation, inputs: &mut Pins) {
        inputs.set("unit_ready_i", intent.ready_units);
        let offers = self.offers(intent);
        let ports = self.ports("issue");
        let names: Vec<&str> = ports.iter().map(String::as_str).collect();
        offers.set(inputs, &names, self.writers());
        for (issue, port) in offers.issues.iter().zip(&ports) {
            for (k, keep) in keep(issue).into_iter().enumerate() {
                inputs.set(&format!("{port}_source{k}_keep_i"), u8::from(keep));
            }
        }
    }

    fn cycle(&mut self, intent: &Self::Operation, outputs: &mut Pins) {
        let mut offers = self.offers(intent);
        for (group, port) in self.groups.iter().zip(self.ports("operands")) {
            deliver(&port, group.left.as_ref(), &group.operands, outputs);
        }
        let has_still_to_read =
            |register| self.groups.iter().any(|group| group.collectors.has_still_to_read(register));
        let (banks, lanes) = (self.parameters.geometry.banks, self.parameters.geometry.lanes);
        let taken_writes = offers.writes_taken(banks, has_still_to_read, outputs, self.writers());
        let taken = self.issues_taken(offers.issues.len());
        for (number, port) in self.ports("issue").iter().enumerate() {
            let offered = u8::from(number < offers.issues.len() || self.parameters.issues == 1);
            let ready = match self.parameters.issues {
                1 => self.groups[0].collectors.is_ready(),
                _ => number < taken,
            };
            outputs.set_known(&format!("{port}_ready_o"), u8::from(ready), offered);
        }
        let written: Vec<usize> = (offers.writes.iter().zip(taken_writes))
            .filter_map(|(write, taken)| write.as_ref().filter(|_| taken).map(|write| write.register))
            .collect();
        let written = if self.parameters.drops_written { &written[..] } else { &[] };

        let issues: Vec<Instruction> = offers.issues.drain(..taken).collect();
        let (mut busy_banks, mut ready_units) = (Vec::new(), intent.ready_units);
        let count = self.groups.len();
        let dispatches = self.ports("dispatch");
        for (number, group) in self.groups.iter_mut().enumerate() {
            let issue = issues.get((number + count - self.turn) % count);
            let values = issue.map(|issue| issue.values(&self.registers, lanes));
            let arrival = issue.map(Instruction::arrival);
            let reuse = Reuse { keep: issue.map_or([false; SOURCES], keep), written };
            let step = group.collectors.cycle_reusing(arrival.as_ref(), ready_units, &busy_banks, &[], reuse);
            if let (Some(collector), Some(values)) = (step.entered, values) {
                group.operands[collector] = values;
            }
            group.reuse(&step, banks, &self.registers);
            busy_banks.extend(step.reads.iter().filter(|read| !read.reused).map(|read| read.bank));
            dispatch(&dispatches[number], step.dispatched.as_ref(), outputs);
            if let Some(held) = &step.dispatched {
                ready_units &= !(1 << held.unit);
            }
            group.left = step.dispatched;
        }
        self.turn = (self.turn + taken) % count;
        offers.write(taken_writes, &mut self.registers);
        self.pending = offers;
    }
}
