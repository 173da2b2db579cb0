//! Loop of the two-level warp scheduler: 32 warps, 8 slots, greedy.

use super::noise::{Circuit, Event, signature};
use crate::bench::Activity;

const SLOTS: usize = 8;

struct Scheduler {
    active: Event,
    /// Slots that a warp holds, one bit each.
    occupied: u8,
    /// The warps that hold them, one bit each.
    held: u32,
    /// For each slot the bit of the warp that holds it, or held it last.
    warps: [u32; SLOTS],
    last_issued: u32,
    last_entered: u32,
}

/// What a cycle's inputs say; one bit a warp or slot.
struct Inputs {
    resident: u32,
    ready: u32,
    suspend: u32,
    eligible: u32,
    slot_busy: u8,
    issue_enable: bool,
}

pub(super) fn run(activity: Activity, cycles: u64) -> u64 {
    let scheduler = Scheduler {
        active: Event::active(activity),
        occupied: 0,
        held: 0,
        warps: [1; SLOTS],
        last_issued: 0,
        last_entered: 0,
    };
    signature(scheduler, cycles)
}

impl Inputs {
    #[inline(always)]
    fn new(noise: u64, active: Event) -> Inputs {
        let data = (noise >> 32) as u32;
        Inputs {
            resident: if Event::OFTEN.happens(noise, 0) { u32::MAX } else { data },
            ready: if active.happens(noise, 8) { data } else { 0 },
            suspend: if Event::RARELY.happens(noise, 16) { data } else { 0 },
            eligible: if Event::OFTEN.happens(noise, 24) { u32::MAX } else { data },
            slot_busy: if Event::RARELY.happens(noise, 32) { (noise >> 56) as u8 } else { 0 },
            issue_enable: Event::OFTEN.happens(noise, 40),
        }
    }
}

impl Scheduler {
    /// Occupied slots whose warp is one of `warps`.
    #[inline(always)]
    fn of_slots(&self, warps: u32) -> u8 {
        let bit = |(slot, &warp): (usize, &u32)| u8::from(warp & warps != 0) << slot;
        self.warps.iter().enumerate().map(bit).fold(0, |all, bit| all | bit) & self.occupied
    }

    /// A decision as the outputs show it: valid, warp, slot.
    #[inline(always)]
    fn decision(&self, slot: u32) -> u64 {
        u64::from(1 | self.warps[slot as usize].trailing_zeros() << 1 | slot << 6)
    }

    #[inline(always)]
    fn issue(&mut self, inputs: &Inputs) -> u64 {
        let ready = inputs.ready & !inputs.suspend & inputs.resident & self.held;
        if ready == 0 || !inputs.issue_enable {
            return 0;
        }
        let ready = self.of_slots(ready);
        // The last one first, then the next.
        let after = ready.rotate_right(self.last_issued).trailing_zeros();
        self.last_issued = (self.last_issued + after) % SLOTS as u32;
        self.decision(self.last_issued)
    }

    /// What the signature takes in of one warp that gives up its slot, and that slot.
    #[inline(always)]
    fn leave(&self, inputs: &Inputs) -> (u64, u8) {
        let suspended = inputs.suspend & inputs.resident & self.held;
        let ended = self.held & !inputs.resident;
        if suspended | ended == 0 {
            return (0, 0);
        }
        let (leaving, low) = if suspended != 0 { (suspended, 9) } else { (ended, 18) };
        let slot = self.of_slots(leaving).trailing_zeros();
        (self.decision(slot) << low, 1 << slot)
    }

    /// What the signature takes in of a warp that gets a slot, that slot and the warp.
    #[inline(always)]
    fn enter(&mut self, inputs: &Inputs) -> (u64, Option<(u32, u32)>) {
        let free = !self.occupied & !inputs.slot_busy;
        if free == 0 {
            return (0, None);
        }
        let mut settled = self.held;
        if inputs.slot_busy != 0 {
            for (slot, warp) in self.warps.iter().enumerate() {
                settled |= if inputs.slot_busy >> slot & 1 != 0 { *warp } else { 0 };
            }
        }
        let waiting = inputs.resident & inputs.eligible & !settled;
        if waiting == 0 {
            return (0, None);
        }
        let from = (self.last_entered + 1) % 32;
        let warp = (from + waiting.rotate_right(from).trailing_zeros()) % 32;
        let slot = free.trailing_zeros();
        self.last_entered = warp;
        (u64::from(1 | warp << 1 | slot << 6) << 27, Some((slot, warp)))
    }
}

impl Circuit<1> for Scheduler {
    #[inline(always)]
    fn cycle(&mut self, &[noise]: &[u64; 1]) -> u64 {
        let inputs = Inputs::new(noise, self.active);
        let issued = self.issue(&inputs);
        let (left, leaving) = self.leave(&inputs);
        let (entered, entering) = self.enter(&inputs);
        if leaving != 0 {
            self.occupied &= !leaving;
            self.held &= !self.warps[leaving.trailing_zeros() as usize];
        }
        if let Some((slot, warp)) = entering {
            self.occupied |= 1 << slot;
            self.warps[slot as usize] = 1 << warp;
            self.held |= 1 << warp;
        }
        issued | left | entered
    }
}
