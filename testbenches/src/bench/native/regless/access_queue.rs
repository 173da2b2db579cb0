//! Loop of a bank's queue of accesses: 4 of them.

use super::super::noise::{Circuit, Event, field, signature};
use super::PLACE_BITS;
use super::bank::Access;
use crate::bench::Activity;

const DEPTH: usize = 4;

/// The oldest access is the one at `popped`.
pub(super) struct Queue {
    accesses: [Access; DEPTH],
    places: [u16; DEPTH],
    /// Accesses that have come, and that have left, since the start.
    pushed: usize,
    popped: usize,
}

impl Queue {
    pub const NEW: Queue = Queue {
        accesses: [Access {
            valid: false,
            reads: false,
            reserves: false,
            warp: 0,
            register: 0,
            fate: 0,
            lanes: 0,
            written: false,
            may_hold: false,
        }; DEPTH],
        places: [0; DEPTH],
        pushed: 0,
        popped: 0,
    };

    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.pushed - self.popped != DEPTH
    }

    /// The oldest access and its place, if there is one.
    #[inline(always)]
    pub fn oldest(&self) -> Option<(&Access, u16)> {
        let row = self.popped % DEPTH;
        (self.pushed != self.popped).then(|| (&self.accesses[row], self.places[row]))
    }

    /// A read of the register waits.
    #[inline(always)]
    pub fn reads(&self, warp: u8, register: u8) -> bool {
        (self.popped..self.pushed).any(|access| {
            let access = &self.accesses[access % DEPTH];
            access.reads && (access.warp, access.register) == (warp, register)
        })
    }

    #[inline(always)]
    pub fn push(&mut self, access: Access, place: u16) {
        let row = self.pushed % DEPTH;
        (self.accesses[row], self.places[row]) = (access, place);
        self.pushed += 1;
    }

    #[inline(always)]
    pub fn pop(&mut self) {
        self.popped += 1;
    }
}

struct Alone {
    active: Event,
    queue: Queue,
}

pub(in super::super) fn run(activity: Activity, cycles: u64) -> u64 {
    signature(Alone { active: Event::active(activity), queue: Queue::NEW }, cycles)
}

impl Circuit<1> for Alone {
    #[inline(always)]
    fn cycle(&mut self, &[a]: &[u64; 1]) -> u64 {
        let queue = &mut self.queue;
        let room = queue.has_room();
        let mut outputs = u64::from(room);
        let leaves = Event::OFTEN.happens(a, 35);
        for (w, (warp, register)) in [(43, 44), (48, 49), (53, 54)].into_iter().enumerate() {
            let blocked = queue.reads(field(a, warp, 1) as u8, field(a, register, 4) as u8);
            outputs |= u64::from(blocked) << (60 + w);
        }
        if let Some((access, place)) = queue.oldest() {
            outputs |= 1 << 1 | u64::from(access.reads) << 2 | u64::from(access.reserves) << 3;
            outputs |= u64::from(access.warp) << 4 | u64::from(access.register) << 8;
            outputs |= u64::from(access.fate) << 16 | u64::from(access.lanes) << 18;
            outputs |= u64::from(access.written) << 50 | u64::from(place) << 51;
            if leaves {
                queue.pop();
            }
        }
        let access = Access::drawn(a, self.active);
        if access.valid && room {
            queue.push(access, field(a, 26, PLACE_BITS) as u16);
        }
        outputs
    }
}
