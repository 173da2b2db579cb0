//! What operand collectors do with instructions, without the values.
//!
//! Fig. 3(a): register access takes three cycles "to account for fetching and delivering multiple operands". §2.1:
//! "Instructions that require more than one register operand from the same bank perform their reads over multiple
//! cycles"; operands "may be fetched from the MRF on different cycles" and are buffered until all are there.

use std::collections::{BTreeMap, VecDeque};

use warpfile_hdl::regfile::SOURCES;

/// An instruction and its register operands: register and lanes wanted.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub id: usize,
    pub unit: usize,
    pub sources: [Option<(usize, u32)>; SOURCES],
}

/// The collectors, oldest instruction first.
#[derive(Clone)]
pub struct Collectors {
    banks: usize,
    collectors: usize,
    access_cycles: usize,
    held: VecDeque<Held>,
    /// The collector whose turn it is.
    next: usize,
    /// With a register reuse cache the register that is kept of each position and bank.
    kept: BTreeMap<(usize, usize), usize>,
}

/// An instruction in a collector.
#[derive(Clone, Debug)]
pub struct Held {
    pub id: usize,
    pub unit: usize,
    pub collector: usize,
    pub sources: [Option<Operand>; SOURCES],
    /// Cycles it has spent here, this one included.
    cycles: usize,
}

/// An operand of an instruction in a collector.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    pub register: usize,
    pub lanes: u32,
    read: bool,
    /// It is kept once it is read.
    keep: bool,
}

/// A read of a bank.
#[derive(Clone, Copy, Debug)]
pub struct BankRead {
    pub collector: usize,
    pub position: usize,
    pub bank: usize,
    pub row: usize,
    pub lanes: u32,
    /// The operand is kept.
    pub keep: bool,
    /// It is taken where it is kept: the bank is not read.
    pub reused: bool,
}

/// What a register reuse cache is told of a cycle.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reuse<'a> {
    /// Whether each operand of the instruction that is offered is kept.
    pub keep: [bool; SOURCES],
    /// Registers that are written, if the cache notices.
    pub written: &'a [usize],
}

/// What happens in a cycle.
pub struct Step {
    /// The collector that the arriving instruction gets.
    pub entered: Option<usize>,
    /// One operand of each position at most, whether its bank is read or not.
    pub reads: Vec<BankRead>,
    pub dispatched: Option<Held>,
}

impl Collectors {
    pub fn new(banks: usize, collectors: usize, access_cycles: usize) -> Collectors {
        let (held, kept) = (VecDeque::new(), BTreeMap::new());
        Collectors { banks, collectors, access_cycles, held, next: 0, kept }
    }

    /// The collector that the next instruction gets. They are taken in turn.
    pub fn next(&self) -> usize {
        self.next
    }

    /// Whether the collector whose turn it is is free.
    pub fn is_ready(&self) -> bool {
        self.held.iter().all(|held| held.collector != self.next)
    }

    /// Whether an earlier instruction has still to read the register; a read in this cycle counts.
    pub fn has_still_to_read(&self, register: usize) -> bool {
        let mut operands = self.held.iter().flat_map(|held| held.sources.iter().flatten());
        operands.any(|operand| !operand.read && operand.register == register)
    }

    /// One cycle in which some banks are read by others.
    pub fn cycle_beside(
        &mut self,
        offered: Option<&Arrival>,
        ready_units: u32,
        busy_banks: &[usize],
    ) -> Step {
        self.cycle_held(offered, ready_units, busy_banks, &[])
    }

    /// One cycle in which the instructions of some collectors are held back, too.
    pub fn cycle_held(
        &mut self,
        offered: Option<&Arrival>,
        ready_units: u32,
        busy_banks: &[usize],
        held_back: &[usize],
    ) -> Step {
        self.cycle_reusing(offered, ready_units, busy_banks, held_back, Reuse::default())
    }

    /// One cycle in which operands may be kept, too.
    pub fn cycle_reusing(
        &mut self,
        offered: Option<&Arrival>,
        ready_units: u32,
        busy_banks: &[usize],
        held_back: &[usize],
        reuse: Reuse<'_>,
    ) -> Step {
        let entered = offered.filter(|_| self.is_ready()).map(|arrival| self.enter(arrival, reuse.keep));
        let reads = self.arbitrate(busy_banks);
        self.keep(&reads, reuse.written);
        self.held.iter_mut().for_each(|held| held.cycles += 1);
        let leaves = |held: &Held| {
            held.cycles >= self.access_cycles
                && held.sources.iter().flatten().all(|operand| operand.read)
                && ready_units >> held.unit & 1 == 1
                && !held_back.contains(&held.collector)
        };
        let dispatched = self.held.iter().position(leaves).and_then(|oldest| self.held.remove(oldest));
        Step { entered, reads, dispatched }
    }

    fn enter(&mut self, arrival: &Arrival, keep: [bool; SOURCES]) -> usize {
        let collector = self.next;
        let operand = |k: usize| {
            arrival.sources[k].map(|(register, lanes)| Operand {
                register,
                lanes,
                read: false,
                keep: keep[k],
            })
        };
        self.held.push_back(Held {
            id: arrival.id,
            unit: arrival.unit,
            collector,
            sources: std::array::from_fn(operand),
            cycles: 0,
        });
        self.next = (collector + 1) % self.collectors;
        collector
    }

    /// Every position reads one operand at most and every bank gives one row: first the operands of instructions
    /// that wait, in each position the oldest; then those of the instruction that just arrives.
    fn arbitrate(&mut self, busy_banks: &[usize]) -> Vec<BankRead> {
        let mut reads: Vec<BankRead> = Vec::new();
        for arriving in [false, true] {
            for position in 0..SOURCES {
                if reads.iter().any(|read| read.position == position) {
                    continue;
                }
                for held in self.held.iter_mut().filter(|held| (held.cycles == 0) == arriving) {
                    let Some(operand) = held.sources[position].as_mut() else { continue };
                    let bank = operand.register % self.banks;
                    let is_read = |read: &BankRead| read.bank == bank && !read.reused;
                    let busy = busy_banks.contains(&bank) || reads.iter().any(is_read);
                    let reused = self.kept.get(&(position, bank)) == Some(&operand.register);
                    if operand.read || (busy && !reused) {
                        continue;
                    }
                    operand.read = true;
                    let (row, Operand { lanes, keep, .. }) = (operand.register / self.banks, *operand);
                    let collector = held.collector;
                    reads.push(BankRead { collector, position, bank, row, lanes, keep, reused });
                    break;
                }
            }
        }
        reads
    }

    /// Huerta et al., §5.3.1: a read ends what is kept of its position and bank, "regardless of whether it hits", and its own
    /// operand is kept if it says so.
    fn keep(&mut self, reads: &[BankRead], written: &[usize]) {
        self.kept.retain(|_, register| !written.contains(register));
        for read in reads {
            self.kept.remove(&(read.position, read.bank));
            if read.keep {
                self.kept.insert((read.position, read.bank), read.row * self.banks + read.bank);
            }
        }
    }
}
