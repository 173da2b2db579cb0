//! Operand collectors without the values: 8 collectors, 3 operands each, 4 banks unless said otherwise.

/// Operands of an instruction.
pub(super) const SOURCES: usize = 3;
/// Banks of the register file; register `r` lies in bank `r mod BANKS`.
pub(super) const BANKS: usize = 4;
/// Collectors.
pub(super) const COLLECTORS: usize = 8;
/// Registers of the register file.
pub(super) const REGISTERS: usize = 1024;

/// Instructions that wait for operands from so many registers in so many banks, 8 at most.
pub(super) struct Collectors<const IN_BANKS: usize = BANKS, const OF_REGISTERS: usize = REGISTERS> {
    /// One bit a collector.
    occupied: u8,
    /// Those taken in the cycle before, one bit a collector.
    entered: u8,
    /// Those that must not leave in this cycle, one bit a collector.
    held_back: u8,
    /// The collector that the next instruction gets; from it on they are in the order of age.
    tail: usize,
    id: [u8; COLLECTORS],
    unit: [u8; COLLECTORS],
    /// For each operand position the collectors that still have to read: a byte a bank, a bit a collector.
    waiting: [u64; SOURCES],
    register: [[u16; COLLECTORS]; SOURCES],
    lanes: [[u32; COLLECTORS]; SOURCES],
    /// How many operands have still to be read of each register.
    to_read: [u8; OF_REGISTERS],
}

/// An instruction that arrives.
pub(super) struct Arrival {
    pub id: usize,
    pub unit: usize,
    /// Register and lanes of each operand that there is.
    pub sources: [Option<(usize, u32)>; SOURCES],
}

/// A read of a bank by an operand position.
#[derive(Clone, Copy)]
pub(super) struct Grant {
    pub collector: usize,
    pub register: usize,
    pub lanes: u32,
}

/// An instruction that leaves.
pub(super) struct Leaving {
    pub collector: usize,
    pub id: u8,
    pub unit: u8,
    /// Lanes wanted of each operand.
    pub lanes: [u32; SOURCES],
}

/// What happens in a cycle.
pub(super) struct Step {
    /// What each operand position reads.
    pub grants: [Option<Grant>; SOURCES],
    pub leaving: Option<Leaving>,
}

impl Grant {
    /// A read that nothing comes of, for a collector that there is not.
    pub const NONE: Grant = Grant { collector: COLLECTORS, register: 0, lanes: 0 };
}

/// No bank is busy with reads of others.
pub(super) const ALL_FREE: u64 = u64::MAX;

impl<const IN_BANKS: usize, const OF_REGISTERS: usize> Collectors<IN_BANKS, OF_REGISTERS> {
    pub fn new() -> Self {
        Collectors {
            occupied: 0,
            entered: 0,
            held_back: 0,
            tail: 0,
            id: [0; COLLECTORS],
            unit: [0; COLLECTORS],
            waiting: [0; SOURCES],
            register: [[0; COLLECTORS]; SOURCES],
            lanes: [[0; COLLECTORS]; SOURCES],
            to_read: [0; OF_REGISTERS],
        }
    }

    /// Whether an instruction can arrive.
    #[inline(always)]
    pub fn is_ready(&self) -> bool {
        self.occupied >> self.tail & 1 == 0
    }

    /// The collector that the next instruction gets.
    #[inline(always)]
    pub fn next(&self) -> usize {
        self.tail
    }

    /// Holds instructions back in the next cycle, one bit a collector.
    #[inline(always)]
    pub fn hold_back(&mut self, collectors: u8) {
        self.held_back = collectors;
    }

    /// Whether an operand of this register has still to be read.
    #[inline(always)]
    pub fn is_blocked(&self, register: usize) -> bool {
        self.to_read[register] != 0
    }

    /// One cycle. Only to be called with an instruction if one [can arrive](Self::is_ready). `free` is all ones in the
    /// byte of each bank that nobody else reads from.
    #[inline(always)]
    pub fn cycle(&mut self, arrival: Option<Arrival>, unit_ready: usize, mut free: u64) -> Step {
        if self.occupied == 0 && arrival.is_none() {
            self.entered = 0;
            return Step { grants: [None; SOURCES], leaving: None };
        }
        let mut grants = [None; SOURCES];
        for (k, grant) in grants.iter_mut().enumerate() {
            *grant = self.read_oldest(k, &mut free);
        }
        let leaving = self.leave(unit_ready);
        self.entered = 0;
        if let Some(arrival) = arrival {
            self.enter(&arrival, &mut grants, free);
        }
        Step { grants, leaving }
    }

    /// Operand position `k` reads for the oldest instruction whose bank is free.
    #[inline(always)]
    fn read_oldest(&mut self, k: usize, free: &mut u64) -> Option<Grant> {
        let waiting = any_bank::<IN_BANKS>(self.waiting[k] & *free);
        if waiting == 0 {
            return None;
        }
        let collector = self.oldest(waiting);
        let register = usize::from(self.register[k][collector]);
        let bank = 8 * (register % IN_BANKS);
        self.waiting[k] &= !(1 << (bank + collector));
        *free &= !(0xff << bank);
        self.to_read[register] -= 1;
        Some(Grant { collector, register, lanes: self.lanes[k][collector] })
    }

    /// The oldest instruction that has its operands and whose unit is ready leaves.
    #[inline(always)]
    fn leave(&mut self, unit_ready: usize) -> Option<Leaving> {
        let [a, b, c] = self.waiting;
        let mut complete = self.occupied & !self.entered & !self.held_back & !any_bank::<IN_BANKS>(a | b | c);
        while complete != 0 {
            let collector = self.oldest(complete);
            let unit = self.unit[collector];
            if unit_ready >> unit & 1 == 1 {
                self.occupied &= !(1 << collector);
                let lanes = self.lanes.map(|lanes| lanes[collector]);
                return Some(Leaving { collector, id: self.id[collector], unit, lanes });
            }
            complete &= !(1 << collector);
        }
        None
    }

    /// An instruction arrives; it reads with the positions and banks that are left over.
    #[inline(always)]
    fn enter(&mut self, arrival: &Arrival, grants: &mut [Option<Grant>; SOURCES], mut free: u64) {
        let collector = self.tail;
        self.occupied |= 1 << collector;
        self.entered = 1 << collector;
        self.tail = (collector + 1) % COLLECTORS;
        self.id[collector] = arrival.id as u8;
        self.unit[collector] = arrival.unit as u8;
        for (k, grant) in grants.iter_mut().enumerate() {
            // Which operands there are and which are read at once is hard to foretell: no branches.
            let (register, lanes) = arrival.sources[k].unwrap_or((0, 0));
            let bank = 8 * (register % IN_BANKS);
            let at_once = grant.is_none() & (free >> bank & 1 == 1) & arrival.sources[k].is_some();
            let waits = !at_once & arrival.sources[k].is_some();
            free &= !((u64::from(at_once) * 0xff) << bank);
            *grant = if at_once { Some(Grant { collector, register, lanes }) } else { *grant };
            self.lanes[k][collector] = lanes;
            self.register[k][collector] = register as u16;
            self.waiting[k] |= u64::from(waits) << (bank + collector);
            self.to_read[register] += u8::from(waits);
        }
    }

    /// The oldest of some collectors, one bit each, at least one.
    #[inline(always)]
    fn oldest(&self, candidates: u8) -> usize {
        let from_tail = candidates.rotate_right(self.tail as u32).trailing_zeros() as usize;
        (self.tail + from_tail) % COLLECTORS
    }
}

/// From a byte a bank to what is in any of them.
#[inline(always)]
fn any_bank<const IN_BANKS: usize>(banks: u64) -> u8 {
    let four = if IN_BANKS > 4 { banks | banks >> 32 } else { banks };
    let pairs = four | four >> 16;
    (pairs | pairs >> 8) as u8
}
