//! The memory unit: coalesces the lanes of a warp into transactions and sends them to what lies behind.

mod bandwidth;
mod cache;
mod caches;
mod coalesce;
mod fixed;
mod queued;
mod register_lines;
mod scratchpad;
mod set_index;

use std::collections::VecDeque;

use warpfile_kernels::program::WarpInstruction;

use crate::config::{Config, MemoryModel};

use super::design::{FetchedLine, FilledLine, LineRequest};
use super::in_flight::CAPACITY;
use super::kernel::MemoryKind;
use super::report::{CacheStatistics, MemoryStatistics, RegisterLineStatistics};
use coalesce::{MAX_TRANSACTIONS, Transaction};

pub(super) use scratchpad::{WordAccess, constant_access, shared_access};

/// What lies behind the memory unit.
trait MemorySystem {
    /// Bytes of the aligned block that one transaction may span.
    fn transaction_bytes(&self) -> u64;

    /// Sends a transaction in cycle `now`, for an instruction that `waiter` names if its data comes later. `None` if it
    /// cannot be taken in this cycle. Cycles of successive calls do not decrease.
    fn access(&mut self, now: u64, access: Access, waiter: u16) -> Option<Answer>;

    /// Whether it is advanced cycle by cycle, and data of loads comes later.
    fn answers_later(&self) -> bool {
        false
    }

    /// Cycle `now`, before anything is asked for in it.
    fn cycle(&mut self, _now: u64) {}

    /// Something that has come back, each once.
    fn pop_returned(&mut self) -> Option<Returned> {
        None
    }

    /// Whether something is on its way in cycle `now`: what is not taken may be taken when that has ended.
    fn is_busy(&self, now: u64) -> bool;

    /// Adds the traffic so far.
    fn report(&self, into: &mut MemoryStatistics);

    /// The memory of register lines, if there is one.
    fn lines(&mut self) -> Option<&mut dyn LineMemory> {
        None
    }
}

/// Memory that keeps register lines with their contents.
trait LineMemory {
    /// Performs a request in cycle `now`, or gives `None` if it cannot be taken in this cycle.
    fn request(&mut self, now: u64, request: &LineRequest<'_>) -> Option<LineAnswer>;
}

/// When the data of a transaction is back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// In this cycle.
    At(u64),
    /// It will be among [`MemorySystem::pop_returned`].
    Later,
}

/// What becomes of a request for a register line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineAnswer {
    /// Nothing comes back.
    Done,
    /// The line, and when it is there.
    Fetched(FetchedLine),
    /// It will be among what has come back.
    Later,
}

/// What has come back.
#[derive(Clone, Copy, Debug)]
enum Returned {
    /// The data of a transaction of a waiter.
    Data(u16),
    /// A register line.
    Line(FilledLine),
}

/// What has come back to the SM.
pub(super) enum Arrived {
    /// An instruction all of whose data is here.
    Instruction(Sent),
    /// A register line.
    Line(FilledLine),
}

/// One transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    /// Byte address, a multiple of [`MemorySystem::transaction_bytes`].
    pub address: u64,
    /// Bytes moved: whole sectors.
    pub bytes: u64,
    /// Kind.
    pub kind: MemoryKind,
}

/// Warp instructions in the memory unit.
pub(super) struct MemoryUnit {
    system: Box<dyn MemorySystem>,
    /// Places for instructions: they are too large to be cleared and moved.
    places: Vec<Queued>,
    free: Vec<usize>,
    /// Places of the instructions that wait, in the order in which they came.
    queue: VecDeque<usize>,
    capacity: usize,
    /// Instructions whose data comes later, by the number of their waiter.
    waiting: Vec<Waiting>,
    free_waiters: Vec<u16>,
    sector_bytes: u64,
    statistics: MemoryStatistics,
}

/// An instruction whose data comes later.
#[derive(Clone, Copy, Default)]
struct Waiting {
    partition: usize,
    id: u16,
    /// Transactions whose data has not come.
    outstanding: usize,
    /// All have been sent.
    is_sent: bool,
}

/// A warp instruction all of whose transactions have been sent.
pub(super) struct Sent {
    pub partition: usize,
    /// Its number among the partition's instructions in flight.
    pub id: u16,
    pub kind: MemoryKind,
    /// The cycle in which its data is back.
    pub back: u64,
}

/// What the memory unit has done in a cycle.
#[derive(Default)]
pub(super) struct Step {
    /// The memory system has taken a transaction.
    pub has_sent: bool,
    /// An instruction all of whose transactions have been sent.
    pub done: Option<Sent>,
}

/// A warp instruction whose transactions are being sent.
struct Queued {
    partition: usize,
    id: u16,
    kind: MemoryKind,
    transactions: [Transaction; MAX_TRANSACTIONS],
    /// Names the instruction if its data comes later.
    waiter: u16,
    count: usize,
    sent: usize,
    /// When the data of the transactions sent so far is back.
    back: u64,
}

impl Default for Queued {
    fn default() -> Queued {
        Queued {
            partition: 0,
            id: 0,
            kind: MemoryKind::Load,
            transactions: [Transaction::default(); MAX_TRANSACTIONS],
            waiter: 0,
            count: 0,
            sent: 0,
            back: 0,
        }
    }
}

impl MemoryUnit {
    pub fn new(config: &Config) -> MemoryUnit {
        let system: Box<dyn MemorySystem> = match config.memory.model {
            MemoryModel::Fixed => Box::new(fixed::FixedLatency::new(config)),
            MemoryModel::Caches => Box::new(caches::CacheHierarchy::new(config)),
            MemoryModel::Queued => Box::new(queued::QueuedMemory::new(config)),
        };
        let capacity = config.memory.queue as usize;
        let in_flight = if system.answers_later() { CAPACITY * config.partitions() as usize } else { 0 };
        MemoryUnit {
            system,
            queue: VecDeque::with_capacity(capacity),
            places: (0..capacity).map(|_| Queued::default()).collect(),
            free: (0..capacity).collect(),
            capacity,
            waiting: vec![Waiting::default(); in_flight],
            free_waiters: (0..in_flight as u16).rev().collect(),
            sector_bytes: config.memory.sector_bytes,
            statistics: MemoryStatistics::default(),
        }
    }

    /// Whether another instruction fits.
    pub fn is_ready(&self) -> bool {
        self.queue.len() < self.capacity
    }

    /// Takes an instruction, named by its partition and number, that accesses `bytes` a lane.
    pub fn push(
        &mut self,
        (partition, id): (usize, u16),
        kind: MemoryKind,
        bytes: u8,
        instruction: &WarpInstruction,
    ) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Queued::default());
            self.places.len() - 1
        });
        let queued = &mut self.places[place];
        (queued.partition, queued.id, queued.kind, queued.sent, queued.back) = (partition, id, kind, 0, 0);
        queued.count = coalesce::coalesce(
            instruction,
            u64::from(bytes),
            self.sector_bytes,
            self.system.transaction_bytes(),
            &mut queued.transactions,
        );
        // As many waiters as instructions in flight: there is one.
        if let Some(waiter) = self.free_waiters.pop() {
            queued.waiter = waiter;
            self.waiting[usize::from(waiter)] = Waiting { partition, id, outstanding: 0, is_sent: false };
        }
        self.statistics.instructions += 1;
        self.queue.push_back(place);
    }

    /// Whether there is a transaction to send.
    pub fn has_transaction(&self) -> bool {
        self.queue.front().is_some_and(|&place| self.places[place].sent < self.places[place].count)
    }

    /// Whether a transaction waits for others to end, or data for its time to come.
    pub fn is_waiting(&self, now: u64) -> bool {
        (self.has_transaction() || self.system.answers_later()) && self.system.is_busy(now)
    }

    /// Whether [`MemoryUnit::advance`] is to be called.
    pub fn answers_later(&self) -> bool {
        self.system.answers_later()
    }

    /// The system's cycle, before anything is asked for in it.
    pub fn advance(&mut self, now: u64) {
        self.system.cycle(now);
    }

    /// What has come back in cycle `now`, each once.
    pub fn pop_arrived(&mut self, now: u64) -> Option<Arrived> {
        loop {
            let waiter = match self.system.pop_returned()? {
                Returned::Line(line) => return Some(Arrived::Line(line)),
                Returned::Data(waiter) => waiter,
            };
            let waiting = &mut self.waiting[usize::from(waiter)];
            waiting.outstanding -= 1;
            if waiting.outstanding == 0 && waiting.is_sent {
                let Waiting { partition, id, .. } = *waiting;
                self.free_waiters.push(waiter);
                return Some(Arrived::Instruction(Sent { partition, id, kind: MemoryKind::Load, back: now }));
            }
        }
    }

    /// One cycle: sends what the memory system takes. If an instruction's transactions have all been sent, the memory
    /// system is asked no further.
    pub fn cycle(&mut self, now: u64) -> Step {
        let mut step = Step::default();
        let Some(&place) = self.queue.front() else { return step };
        let front = &mut self.places[place];
        while front.sent < front.count {
            let transaction = front.transactions[front.sent];
            let bytes = u64::from(transaction.sectors.count_ones()) * self.sector_bytes;
            let access = Access { address: transaction.address, bytes, kind: front.kind };
            match self.system.access(now, access, front.waiter) {
                Some(Answer::At(back)) => front.back = front.back.max(back),
                Some(Answer::Later) => self.waiting[usize::from(front.waiter)].outstanding += 1,
                None => return step,
            }
            step.has_sent = true;
            front.sent += 1;
            self.statistics.transactions += 1;
            self.statistics.bytes += bytes;
        }
        let Queued { partition, id, kind, back, waiter, .. } = *front;
        self.free.extend(self.queue.pop_front());
        if let Some(waiting) = self.waiting.get_mut(usize::from(waiter)) {
            waiting.is_sent = true;
            if waiting.outstanding > 0 {
                return step;
            }
            self.free_waiters.push(waiter);
        }
        step.done = Some(Sent { partition, id, kind, back: back.max(now) });
        step
    }

    /// Performs a request for a register line in cycle `now`: `None` if it cannot be taken in this cycle. Only memory with
    /// caches takes such requests.
    pub fn request_line(&mut self, now: u64, request: &LineRequest<'_>) -> Option<LineAnswer> {
        self.system.lines()?.request(now, request)
    }

    /// Counts an access to `words` of shared memory that keeps it busy for `cycles`.
    pub fn count_shared(&mut self, words: u64, cycles: u64) {
        self.statistics.shared_instructions += 1;
        self.statistics.shared_words += words;
        self.statistics.shared_cycles += cycles;
    }

    /// Counts an access to `words` of constant memory.
    pub fn count_constant(&mut self, words: u64) {
        self.statistics.constant_words += words;
    }

    /// Traffic so far.
    pub fn statistics(&self) -> MemoryStatistics {
        let mut statistics = self.statistics;
        self.system.report(&mut statistics);
        statistics
    }
}
