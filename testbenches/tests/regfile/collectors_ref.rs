//! What operand collectors do with instructions, without the values.
//!
//! Fig. 3(a): register access takes three cycles "to account for fetching and delivering multiple operands". §2.1:
//! "Instructions that require more than one register operand from the same bank perform their reads over multiple
//! cycles"; operands "may be fetched from the MRF on different cycles" and are buffered until all are there.

use std::collections::VecDeque;

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
}

/// A read of a bank.
#[derive(Clone, Copy, Debug)]
pub struct BankRead {
    pub collector: usize,
    pub position: usize,
    pub bank: usize,
    pub row: usize,
    pub lanes: u32,
}

/// What happens in a cycle.
pub struct Step {
    /// The collector that the arriving instruction gets.
    pub entered: Option<usize>,
    pub reads: Vec<BankRead>,
    pub dispatched: Option<Held>,
}

impl Collectors {
    pub fn new(banks: usize, collectors: usize, access_cycles: usize) -> Collectors {
        Collectors { banks, collectors, access_cycles, held: VecDeque::new(), next: 0 }
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

    /// One cycle.
    pub fn cycle(&mut self, offered: Option<&Arrival>, ready_units: u32) -> Step {
        self.cycle_beside(offered, ready_units, &[])
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
        let entered = offered.filter(|_| self.is_ready()).map(|arrival| self.enter(arrival));
        let reads = self.arbitrate(busy_banks);
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

    fn enter(&mut self, arrival: &Arrival) -> usize {
        let collector = self.next;
        let operand = |(register, lanes)| Operand { register, lanes, read: false };
        self.held.push_back(Held {
            id: arrival.id,
            unit: arrival.unit,
            collector,
            sources: arrival.sources.map(|source| source.map(operand)),
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
                    let busy = busy_banks.contains(&bank) || reads.iter().any(|read| read.bank == bank);
                    if operand.read || busy {
                        continue;
                    }
                    operand.read = true;
                    let (row, lanes) = (operand.register / self.banks, operand.lanes);
                    reads.push(BankRead { collector: held.collector, position, bank, row, lanes });
                    break;
                }
            }
        }
        reads
    }
}
