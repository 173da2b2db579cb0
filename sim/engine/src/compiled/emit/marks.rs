//! Telling parts that something they read has changed.

use cranelift_codegen::ir::{InstBuilder, Value};

use super::Emitter;
use super::frame::Pointer;
use crate::compiled::parts::PartId;

/// Most triggers that are set without asking whether they have to be.
const SET_WITHOUT_ASKING: usize = 3;

impl<'a> Emitter<'a, '_> {
    /// Sets triggers where a word is not 0.
    pub fn mark(&mut self, triggers: &[u32], word: Value) {
        if triggers.len() <= SET_WITHOUT_ASKING {
            return triggers.iter().for_each(|&trigger| self.frame.mark(trigger, word));
        }
        self.frame.open(word, true);
        self.mark_always(triggers);
        self.frame.close();
    }

    /// Sets triggers.
    pub fn mark_always(&mut self, triggers: &[u32]) {
        let set = self.frame.constant(1);
        for &trigger in triggers {
            let at = self.frame.place(trigger);
            self.frame.store(at, set);
        }
    }

    /// The triggers of other parts that read an instruction's result.
    pub fn readers(&self, id: usize) -> &'a [u32] {
        self.parts.map_or(&[], |parts| parts.readers(id))
    }

    /// The triggers of parts that read the input or the state at a place.
    pub fn readers_of_source(&self, place: u32) -> &'a [u32] {
        self.parts.map_or(&[], |parts| parts.readers_of_source(place))
    }

    /// Sets triggers where words are different from what they are to become.
    pub fn mark_if_different(&mut self, triggers: &[u32], old: Pointer, new: Pointer, words: u32) {
        if triggers.is_empty() {
            return;
        }
        let mut different = None;
        for word in 0..words {
            let (old, new) = (self.frame.load(old.words(word)), self.frame.load(new.words(word)));
            let bits = self.ins().bxor(old, new);
            different = Some(different.map_or(bits, |others| self.ins().bor(others, bits)));
        }
        if let Some(different) = different {
            self.mark(triggers, different);
        }
    }

    /// Sets triggers where a word is not what is in the arena.
    pub fn mark_if_different_word(&mut self, triggers: &[u32], old: Pointer, new: Value) {
        if !triggers.is_empty() {
            let old = self.frame.load(old);
            let different = self.ins().bxor(old, new);
            self.mark(triggers, different);
        }
    }

    /// Ends a part that has been run: it waits for its trigger again, and the edge and counters know whether it has
    /// something for them.
    pub fn end_part(&mut self, part: PartId) {
        let Some(parts) = self.parts else { return };
        let mut due = parts.feeds_registers(part).then(|| self.frame.constant(2));
        for &enable in parts.enables(part) {
            let word = self.word(enable);
            due = Some(due.map_or(word, |others| self.ins().bor(others, word)));
        }
        if let Some(due) = due {
            let at = self.frame.place(parts.due(part));
            self.frame.store(at, due);
        }
        let none = self.frame.constant(0);
        let trigger = self.frame.place(parts.trigger(part).place);
        self.frame.store(trigger, none);
    }
}
