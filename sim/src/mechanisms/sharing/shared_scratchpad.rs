//! Scratchpad that blocks share: what warps access of it, which block uses it, and who has released it.

use warpfile_engine::Engine;
use warpfile_kernels::program::{Program, WarpInstruction};

use super::RELEASE_CIRCUIT;
use super::accesses::Accesses;
use super::blocks::{Events, Packed, Warps};
use super::pairs::Pairs;
use super::release::Release;
use super::users::Users;
use crate::sm::design::Admission;

/// Bytes of a block, and those of them that it has for itself.
#[derive(Clone, Copy, Debug)]
struct Bytes {
    of_block: u64,
    private: u64,
}

/// The scratchpad of an SM's blocks.
pub struct SharedScratchpad {
    accesses: Accesses,
    /// `None`: no block of the kernel shares it.
    bytes: Option<Bytes>,
    warps_of_block: usize,
    /// The highest byte that each warp's next instruction accesses, counted from 1, as of now.
    pub highest: Packed,
    pub users: Users,
    /// Threads release what they share before their block ends.
    release: Option<Release>,
    /// Blocks that use the shared part, or have, one bit each.
    have_used: u64,
    /// Warps whose release or exit waits for accesses before it.
    pub waiting: Warps,
}

impl SharedScratchpad {
    /// Of so many warps and block slots; `byte_bits`: those of a byte's number, counted from 1.
    pub fn new(
        (warps, blocks, byte_bits): (usize, usize, usize),
        release: Option<Release>,
    ) -> SharedScratchpad {
        SharedScratchpad {
            accesses: Accesses::default(),
            bytes: None,
            warps_of_block: 0,
            highest: Packed::new(warps, byte_bits),
            users: Users::new(blocks),
            release,
            have_used: 0,
            waiting: 0,
        }
    }

    pub fn start_kernel(&mut self, program: &Program) {
        self.accesses = Accesses::of(program);
        if let Some(release) = &mut self.release {
            release.start_kernel(program);
        }
    }

    /// `private`: bytes that a block has for itself, if blocks share the others.
    pub fn admit(&mut self, admission: &Admission, private: Option<u64>) {
        self.bytes = private.map(|private| Bytes { of_block: admission.scratchpad_bytes, private });
        self.warps_of_block = admission.warps;
        if let Some(release) = &mut self.release {
            release.admit(admission.threads);
        }
    }

    /// Bytes that a block has for itself, if blocks share the others.
    pub fn private(&self) -> Option<u64> {
        self.bytes.map(|bytes| bytes.private)
    }

    /// The release unit, if there is one and blocks share.
    fn releasing(&mut self) -> Option<&mut Release> {
        self.release.as_mut().filter(|_| self.bytes.is_some())
    }

    /// A warp starts; `number`: in its block.
    pub fn start_warp(&mut self, warp: usize, number: usize) {
        let is_last = number + 1 == self.warps_of_block;
        if let Some(release) = self.releasing() {
            release.start_warp(warp, is_last);
        }
    }

    /// What a warp of the block in a slot does next.
    pub fn decode(&mut self, warp: usize, slot: usize, instruction: &WarpInstruction) {
        let Some(Bytes { of_block, private }) = self.bytes else { return };
        let byte = self.accesses.highest_byte(instruction, of_block);
        self.highest.set(warp, byte);
        if let Some(release) = &mut self.release {
            if byte > private && release.has_released(warp, instruction.active) {
                self.users.access_after_release(slot);
            }
            release.decode(warp, instruction.inst.0);
            self.waiting = self.waiting & !(1 << warp) | Warps::from(release.holds(warp)) << warp;
        }
    }

    /// Whether it accesses the shared part, if the block shares.
    pub fn needs(&self, warp: usize) -> bool {
        self.bytes.is_some_and(|bytes| self.highest.get(warp) > bytes.private)
    }

    pub fn issue(&mut self, warp: usize, instruction: &WarpInstruction) {
        let accesses = self.bytes.is_some() && self.accesses.any(instruction.inst);
        if let Some(release) = &mut self.release {
            release.issue(warp, instruction.inst.0, instruction.active);
            if accesses {
                release.access(warp);
            }
        }
    }

    /// Nothing of an instruction is left to do.
    pub fn retire(&mut self, warp: usize, instruction: &WarpInstruction) {
        let accesses = self.accesses.any(instruction.inst);
        let Some(release) = self.releasing() else { return };
        release.retire(warp, instruction.inst.0, instruction.active, accesses);
        if !release.holds(warp) {
            self.waiting &= !(1 << warp);
        }
    }

    /// A warp has ended, and with its last warp the block.
    pub fn end_warp(&mut self, warp: usize, pairs: &mut Pairs) {
        self.highest.set(warp, 0);
        let slot = pairs.slots[warp];
        // Of a block that the access unit does not know the release unit knows nothing either.
        let is_known = pairs.blocks.known() >> slot & 1 == 1;
        let is_last = pairs.end_warp(warp);
        if let Some(release) = self.releasing().filter(|_| is_known) {
            release.end_warp(warp);
            if is_last {
                release.end_block(slot);
            }
        }
        if is_last {
            self.users.end(slot);
        }
    }

    /// Counts a cycle in which these blocks use the shared part, one bit each.
    pub fn begin_cycle(&mut self, using: u64, pairs: &mut Pairs) {
        if self.bytes.is_some() {
            self.have_used |= using;
            let sharing = pairs.blocks.known() & pairs.sharing();
            pairs.counted.count_scratchpad(sharing, using, self.have_used | self.users.released());
        }
    }

    /// Ends a cycle in which these blocks used the shared part, one bit each. Gives what has happened, and the blocks that have
    /// released the shared part.
    pub fn end_cycle(&mut self, using: u64, pairs: &mut Pairs) -> (Events, u64) {
        let known = pairs.blocks.known();
        // A block comes once the release unit knows all that has happened.
        let events = pairs.events(self.release.as_ref().is_none_or(Release::is_told));
        let unreleased = known & !events.blocks_ended & !self.users.released();
        let released = self.releasing().map_or(0, |release| release.released() & unreleased);
        let launch = events.launch.filter(|_| self.bytes.is_some());
        if let Some(release) = &mut self.release {
            release.end_cycle(launch);
            pairs.counted.relssp = release.executed;
        }
        pairs.counted.releases += u64::from((released & using).count_ones());
        self.users.release(released);
        self.have_used &= !launch.map_or(0, |launch| 1 << launch.slot);
        (events, released)
    }

    /// What a warp waits for that its release holds.
    pub fn waits_for(&self, warp: usize) -> Option<String> {
        let waits = self.waiting >> warp & 1 == 1;
        waits.then(|| "its own accesses to scratchpad before relssp or the end".to_owned())
    }

    /// The release unit.
    pub fn circuit(&self) -> Option<(String, &dyn Engine)> {
        self.release.as_ref().map(|release| (RELEASE_CIRCUIT.to_owned(), release.circuit()))
    }
}

#[cfg(test)]
mod tests {
    use warpfile_kernels::compile::sharing::Residents;
    use warpfile_kernels::program::{Operation, Space};

    use super::super::accesses::tests::{access, at, program};
    use super::super::release;
    use super::*;
    use crate::config::preset;
    use crate::mechanisms::Build;
    use crate::sm::RunOptions;

    const STORE: u32 = 0;
    const RELEASE: u32 = 1;
    const EXIT: u32 = 2;
    /// Of what nobody reads.
    const DEAD_LOAD: u32 = 3;
    /// Warps of a block, and bytes of it; half of them are its own.
    const WARPS: usize = 2;
    const BYTES: u64 = 64;

    /// A pair of blocks of two warps, of which the access unit knows.
    struct Sm {
        pairs: Pairs,
        scratchpad: SharedScratchpad,
    }

    impl Sm {
        fn new(has_release: bool, private: Option<u64>) -> Sm {
            let config = preset("jatala-ch3").and_then(|config| config.with_design("spad-share-relssp"));
            let config = config.expect("known");
            let build = || release::build(&Build::new(&config, &RunOptions::default())).expect("built");
            let mut sm = Sm {
                pairs: Pairs::new(&config),
                scratchpad: SharedScratchpad::new((48, 8, 16), has_release.then(build)),
            };
            let [store, load] = [Operation::Store, Operation::Load].map(|of| of(access(Space::Shared, 4)));
            sm.scratchpad.start_kernel(&program(&[store, Operation::Release, Operation::Exit, load]));
            let (threads, warps) = (32 * WARPS as u32, WARPS);
            let admission = Admission { warps, threads, scratchpad_bytes: BYTES, ..Admission::default() };
            sm.scratchpad.admit(&admission, private);
            sm.pairs.admit(Some(Residents { unshared: 0, pairs: 1 }), &admission);
            for warp in 0..2 * WARPS {
                let number = sm.pairs.start_warp(warp, (warp / WARPS) as u64, None);
                sm.scratchpad.start_warp(warp, number);
            }
            sm.cycles(2);
            sm
        }

        /// Runs cycles in which nothing issues: gives the blocks that have released.
        fn cycles(&mut self, count: usize) -> u64 {
            (0..count).fold(0, |all, _| {
                let using = self.scratchpad.users.using();
                let (_, released) = self.scratchpad.end_cycle(using, &mut self.pairs);
                self.pairs.end_cycle(0, None, "").expect("nothing is held");
                all | released
            })
        }

        fn decode(&mut self, warp: usize, inst: u32, address: u64) {
            let slot = self.pairs.slots[warp];
            self.scratchpad.decode(warp, slot, &at(inst, u32::MAX, [address; 2]));
        }

        /// An instruction from its decoding to its end.
        fn execute(&mut self, warp: usize, inst: u32) {
            self.decode(warp, inst, 0);
            self.scratchpad.issue(warp, &at(inst, u32::MAX, [0; 2]));
            self.scratchpad.retire(warp, &at(inst, u32::MAX, [0; 2]));
        }
    }

    #[test]
    fn bytes_behind_a_block_s_own_are_shared() {
        let mut sm = Sm::new(false, Some(BYTES / 2));
        for (address, needs) in [(0, false), (28, false), (29, true), (60, true)] {
            sm.decode(1, STORE, address);
            assert_eq!(sm.scratchpad.needs(1), needs, "{address}");
        }
        sm.scratchpad.end_warp(1, &mut sm.pairs);
        assert!(!sm.scratchpad.needs(1));
    }

    #[test]
    fn nothing_is_shared_where_scratchpad_is_enough() {
        let mut sm = Sm::new(true, None);
        sm.decode(1, STORE, 60);
        assert!(!sm.scratchpad.needs(1) && sm.scratchpad.private().is_none());
        (0..2 * WARPS).for_each(|warp| sm.execute(warp, RELEASE));
        assert_eq!(sm.cycles(8), 0);
    }

    #[test]
    fn a_release_waits_for_its_warp_s_accesses() {
        for (inst, ending) in [(STORE, RELEASE), (STORE, EXIT), (DEAD_LOAD, RELEASE), (DEAD_LOAD, EXIT)] {
            let mut sm = Sm::new(true, Some(0));
            let access = at(inst, u32::MAX, [0; 2]);
            sm.decode(1, inst, 0);
            sm.scratchpad.issue(1, &access);
            sm.decode(1, ending, 0);
            assert_eq!(sm.scratchpad.waiting, 0b10, "{inst}, {ending}");
            assert!(sm.scratchpad.waits_for(1).is_some() && sm.scratchpad.waits_for(0).is_none());
            sm.scratchpad.retire(1, &access);
            assert_eq!(sm.scratchpad.waiting, 0, "{inst}, {ending}");
        }
    }

    #[test]
    fn a_block_has_released_once_its_last_thread_has() {
        let mut sm = Sm::new(true, Some(0));
        assert!(sm.scratchpad.users.access(0));
        sm.execute(0, RELEASE);
        assert_eq!(sm.cycles(4), 0);
        sm.execute(1, EXIT);
        assert_eq!(sm.cycles(4), 0b01);
        // The other block of the pair is the user now.
        assert!(sm.scratchpad.users.access(1));
        assert_eq!((sm.scratchpad.users.using(), sm.pairs.counted.releases), (0b10, 1));
        assert_eq!(sm.pairs.counted.relssp, 32);
        assert!(sm.scratchpad.users.take_fault().is_none());
    }

    #[test]
    fn an_access_behind_its_release_is_a_fault() {
        let mut sm = Sm::new(true, Some(BYTES / 2));
        sm.execute(0, RELEASE);
        sm.decode(0, STORE, 0);
        assert!(sm.scratchpad.users.take_fault().is_none());
        sm.decode(0, STORE, BYTES / 2);
        assert!(sm.scratchpad.users.take_fault().is_some());
    }

    #[test]
    fn cycles_are_counted_by_who_has_had_the_shared_part() {
        let mut sm = Sm::new(true, Some(0));
        let count = |sm: &mut Sm| {
            let using = sm.scratchpad.users.using();
            sm.scratchpad.begin_cycle(using, &mut sm.pairs);
            let counted = &sm.pairs.counted;
            (counted.before_lock, counted.with_lock, counted.after_lock)
        };
        assert_eq!(count(&mut sm), (2, 0, 0));
        sm.scratchpad.users.access(0);
        assert_eq!(count(&mut sm), (3, 1, 0));
        (0..WARPS).for_each(|warp| sm.execute(warp, RELEASE));
        sm.cycles(4);
        assert_eq!(count(&mut sm), (4, 1, 1));
        // A block that comes into the slot of one that has ended has not had it.
        (0..WARPS).for_each(|warp| sm.scratchpad.end_warp(warp, &mut sm.pairs));
        sm.cycles(4);
        for warp in 0..WARPS {
            let number = sm.pairs.start_warp(warp, 2, None);
            sm.scratchpad.start_warp(warp, number);
        }
        sm.cycles(4);
        assert_eq!(count(&mut sm), (6, 1, 1));
    }
}
