//! Accesses and annotations as regions make them: each is chosen among those that the state of its register allows.

use warpfile_hdl::regless::{Fate, Note};

use super::super::staging_unit_ref::{Access, Tag};
use super::{Driver, REGISTERS};

impl Driver {
    /// Some register of a bank whose warp goes on.
    fn some_register(&mut self, bank: usize) -> Option<Tag> {
        let tag = (
            self.random.below(self.unit.geometry.warps as u32) as usize,
            self.random.below(REGISTERS as u32) as usize,
        );
        (self.reference.bank(tag) == bank && self.exiting != Some(tag.0)).then_some(tag)
    }

    /// Some line of the bank is neither held nor about to be.
    fn a_line_is_left(&self, bank: usize) -> bool {
        let taken = self.uses.iter().filter(|(tag, one)| {
            self.reference.bank(**tag) == bank
                && (self.reference.registers[tag].held || one.stages || one.begins)
        });
        taken.count() < self.unit.geometry.lines
    }

    pub(super) fn choose_access(&mut self, bank: usize) -> Option<Access> {
        if self.random.chance(4) {
            return None;
        }
        let (tag, one) = (0..4).find_map(|_| {
            let tag = self.some_register(bank)?;
            Some((tag, self.uses[&tag]))
        })?;
        let register = &self.reference.registers[&tag];
        let all = u32::MAX >> (32 - self.unit.geometry.lanes);
        let some = 1 + self.random.below(all);
        let fates = [Fate::Keep, Fate::Evict, Fate::Evict, Fate::Erase];
        let fate = fates[self.random.below(4) as usize];
        let place = self.random.number() & ((1 << self.unit.place_bits) - 1);
        let access = Access { tag, reads: false, reserves: true, fate, lanes: some, written: true, place };
        let leaves = self.leaving == Some(tag.0);
        if !register.held && one.is_none() && !leaves {
            // A result that is written as a whole, or in part if the other lanes are 0; or one that is not written.
            let is_zero = register.value.as_ref().is_some_and(|value| value.iter().all(|lane| *lane == 0));
            let lanes = if is_zero && self.random.chance(2) { some } else { all };
            let vanishes = self.random.chance(8) && fate != Fate::Keep;
            return (vanishes || self.a_line_is_left(bank)).then_some(Access {
                lanes,
                written: !vanishes,
                ..access
            });
        }
        let on_a_port = self.ports.iter().flatten().any(|result| result.reserved.tag == tag);
        let is_filling = self.fills.iter().any(|fill| fill.tag == tag);
        if !register.held || !register.readable || one.ends && !one.result || on_a_port || is_filling {
            return None;
        }
        match self.random.below(3) {
            0 if !one.result && !one.ends => {
                // Every other result is of a register that its instruction reads as well.
                let (written, reads) = (!self.random.chance(8), self.random.chance(2));
                Some(Access {
                    lanes: if self.random.chance(2) { all } else { some },
                    written,
                    reads,
                    ..access
                })
            }
            _ => {
                let fate = match (one.result, leaves) {
                    (true, _) => Fate::Keep,
                    (false, true) => Fate::Evict,
                    (false, false) => fate,
                };
                let lanes = [0, some, all, all][self.random.below(4) as usize];
                Some(Access { reads: true, reserves: false, fate, lanes, ..access })
            }
        }
    }

    pub(super) fn push(&mut self, bank: usize, access: Option<Access>) {
        let room = self.reference.accesses[bank].len() < self.unit.queue;
        (self.room[bank][0], self.pushed[bank]) = (room, room && access.is_some());
        self.set(&format!("bank{bank}_push_valid_i"), u64::from(access.is_some()));
        let Some(access) = access else { return };
        for (field, value) in [
            ("reads", u64::from(access.reads)),
            ("reserves", u64::from(access.reserves)),
            ("warp", access.tag.0 as u64),
            ("register", access.tag.1 as u64),
            ("fate", access.fate as u64),
            ("lanes", u64::from(access.lanes)),
            ("written", u64::from(access.written)),
            ("place", access.place),
        ] {
            self.set(&format!("bank{bank}_push_{field}_i"), value);
        }
        if room {
            let held = self.reference.registers[&access.tag].held;
            let one = self.uses.get_mut(&access.tag).unwrap();
            one.accesses += 1;
            one.begins |= access.reserves && access.written && !held;
            one.result |= access.reserves && access.written;
            one.ends |= access.fate != Fate::Keep;
            self.reference.accesses[bank].push_back(access);
        }
    }

    pub(super) fn choose_note(&mut self, bank: usize) -> Option<(Note, Tag)> {
        let tag = self.some_register(bank).filter(|tag| self.uses[tag].is_none())?;
        let register = &self.reference.registers[&tag];
        if register.held || self.leaving == Some(tag.0) {
            return None;
        }
        match self.random.below(8) {
            0 => Some((Note::Invalidation, tag)),
            kind if register.value.is_some() && self.a_line_is_left(bank) => {
                Some((if kind < 3 { Note::InvalidatingPreload } else { Note::Preload }, tag))
            }
            _ => None,
        }
    }

    pub(super) fn annotate(&mut self, bank: usize, note: Option<(Note, Tag)>) {
        let room = self.reference.notes[bank].len() < self.unit.geometry.lines;
        self.room[bank][1] = room;
        self.set(&format!("bank{bank}_note_valid_i"), u64::from(note.is_some()));
        let Some((note, tag)) = note else { return };
        self.set(&format!("bank{bank}_note_kind_i"), note as u64);
        self.set(&format!("bank{bank}_note_warp_i"), tag.0 as u64);
        self.set(&format!("bank{bank}_note_register_i"), tag.1 as u64);
        if room {
            let one = self.uses.get_mut(&tag).unwrap();
            (one.note, one.stages) = (true, note != Note::Invalidation);
            self.reference.notes[bank].push_back((note, tag));
        }
    }
}
