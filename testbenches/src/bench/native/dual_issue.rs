//! A register file of 8 banks behind two groups of collectors, without its stimulus.

use super::collectors::{ALL_FREE, Arrival, COLLECTORS, Collectors, SOURCES, Step};
use super::row::Row;

/// Groups of collectors, and instructions taken a cycle at most.
pub(super) const WAYS: usize = 2;
/// Banks; register `r` lies in bank `r mod 8`.
const BANKS: usize = 8;
/// Writers: two results, a fill.
pub(super) const WRITERS: usize = 3;

pub(super) struct DualIssue<const REGISTERS: usize> {
    groups: [Group<REGISTERS>; WAYS],
    registers: Box<[Row; REGISTERS]>,
    /// The group that the next instruction goes to.
    turn: usize,
    /// What the signature takes in of the operands that left in the cycle before.
    pub operands: u64,
}

/// Instructions that wait, with the operands that they have.
struct Group<const REGISTERS: usize> {
    collectors: Collectors<BANKS, REGISTERS>,
    /// Operands read, by position and collector.
    collected: [[Row; COLLECTORS]; SOURCES],
}

/// A register that is offered to be written.
pub(super) struct Write {
    pub valid: bool,
    pub register: usize,
    pub lanes: u32,
    /// The word that the value repeats.
    pub value: u64,
}

impl<const REGISTERS: usize> DualIssue<REGISTERS> {
    pub fn new() -> Self {
        let group = || Group { collectors: Collectors::new(), collected: [[Row::ZERO; COLLECTORS]; SOURCES] };
        DualIssue {
            groups: [group(), group()],
            registers: Box::new([Row::ZERO; REGISTERS]),
            turn: 0,
            operands: 0,
        }
    }

    /// Which writes there is room for. One is taken unless its register has still to be read or an earlier one is for
    /// its bank.
    #[inline(always)]
    pub fn writable(&self, writes: &[Write; WRITERS]) -> [bool; WRITERS] {
        let mut room = [false; WRITERS];
        let mut busy = 0_u8;
        for (room, write) in room.iter_mut().zip(writes) {
            let [first, second] = &self.groups;
            let blocked =
                first.collectors.is_blocked(write.register) | second.collectors.is_blocked(write.register);
            let bank = 1 << (write.register % BANKS);
            *room = !blocked & (busy & bank == 0);
            busy |= if *room & write.valid { bank } else { 0 };
        }
        room
    }

    /// Whether the groups of the first and of the second instruction have room.
    #[inline(always)]
    pub fn room(&self) -> [bool; WAYS] {
        [self.turn, 1 - self.turn].map(|group| self.groups[group].collectors.is_ready())
    }

    /// One cycle: deals the instructions that are taken to the groups in turn, then writes. What the signature takes in
    /// of what leaves.
    #[inline(always)]
    pub fn cycle(
        &mut self,
        [first, second]: [Option<Arrival>; WAYS],
        mut unit_ready: usize,
        writes: &[Write; WRITERS],
        room: [bool; WRITERS],
    ) -> u64 {
        let turn = self.turn;
        self.turn ^= usize::from(first.is_some() != second.is_some());
        let arrivals = if turn == 0 { [first, second] } else { [second, first] };
        let mut free = ALL_FREE;
        let mut outputs = 0;
        self.operands = 0;
        for (number, (group, arrival)) in self.groups.iter_mut().zip(arrivals).enumerate() {
            let step = group.collectors.cycle(arrival, unit_ready, free);
            if let Some(leaving) = &step.leaving {
                let dispatch = 1 | u64::from(leaving.id) << 1 | u64::from(leaving.unit) << 7;
                outputs ^= dispatch << (2 + 10 * number);
                unit_ready &= !(1 << leaving.unit);
            }
            for grant in step.grants.iter().flatten() {
                free &= !(0xff << (8 * (grant.register % BANKS)));
            }
            self.operands ^= group.collect(number, &step, &self.registers);
        }
        for (write, room) in writes.iter().zip(room) {
            if room & write.valid {
                self.registers[write.register].write(write.lanes, &Row::repeated(write.value));
            }
        }
        outputs
    }
}

impl<const REGISTERS: usize> Group<REGISTERS> {
    /// Keeps operands that have been read, but for those of the instruction that leaves, which go out: what the
    /// signature takes in of them in the cycle to come, as those of group `number`.
    #[inline(always)]
    fn collect(&mut self, number: usize, step: &Step, registers: &[Row; REGISTERS]) -> u64 {
        let leaving = step.leaving.as_ref();
        let id = leaving.map_or(0, |leaving| 1 | u64::from(leaving.id) << 1);
        let mut outputs = id << (22 + 7 * number);
        for (k, collected) in self.collected.iter_mut().enumerate() {
            let rotation = 7 * (SOURCES * number + k) as u32;
            match (step.grants[k], leaving) {
                (Some(grant), Some(leaving)) if grant.collector == leaving.collector => {
                    outputs ^= registers[grant.register].sum_of(leaving.lanes[k]).rotate_left(rotation);
                    continue;
                }
                (Some(grant), _) => collected[grant.collector] = registers[grant.register],
                (None, _) => {}
            }
            if let Some(leaving) = leaving {
                outputs ^= collected[leaving.collector].sum_of(leaving.lanes[k]).rotate_left(rotation);
            }
        }
        outputs
    }
}
