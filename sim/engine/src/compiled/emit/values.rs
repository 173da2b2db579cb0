//! Where values are: in registers, behind pointers, at their place in the arena.

use cranelift_codegen::ir::{InstBuilder, Opcode, Value, types};
use cranelift_frontend::FuncInstBuilder;

use super::super::segments::ROOT;
use super::Emitter;
use super::frame::Pointer;
use super::slots::is_pointer;
use crate::ops::mask;
use crate::plan::inst::Inst;

impl<'f> Emitter<'_, 'f> {
    /// Where the next instruction goes.
    pub fn ins(&mut self) -> FuncInstBuilder<'_, 'f> {
        self.frame.builder.ins()
    }

    /// The word at a place.
    pub fn word(&mut self, place: u32) -> Value {
        if let Some(value) = self.frame.known_word(place) {
            return value;
        }
        let value = match self.plan.constants.get(place as usize) {
            Some(&constant) => self.frame.constant(constant),
            None => {
                self.loaded += 1 + u32::from(self.is_of_wide(place));
                let at = self.pointer(place);
                self.frame.load(at)
            }
        };
        self.frame.know_word(place, value);
        value
    }

    /// Whether the word at a place is not 0, for a branch or a selection. The code generator compares a word with 0 by
    /// naming it twice, and loads one that waits in memory twice; in long code a single bit is asked for by itself.
    pub fn condition(&mut self, place: u32) -> Value {
        if self.is_without_flags()
            && let Some(flags) = self.flags_at(place)
        {
            return flags;
        }
        let word = self.word(place);
        if !self.is_long() || self.largest(place) != 1 || self.is_asked_again(word) {
            return word;
        }
        let byte = self.ins().ireduce(types::I8, word);
        self.ins().band_imm_u(byte, 1)
    }

    /// Whether the code generator works a value out again, as part of the branch or selection that asks.
    fn is_asked_again(&self, value: Value) -> bool {
        let function = &self.frame.builder.func.dfg;
        let defined = function.value_def(value).inst();
        defined.is_some_and(|inst| {
            matches!(function.insts[inst].opcode(), Opcode::Icmp | Opcode::Uextend | Opcode::Band)
        })
    }

    /// Bits `low .. low + width`, at most 64, of the value at a place.
    pub fn bits(&mut self, place: u32, low: u32, width: u32) -> Value {
        let (place, low) = (place + low / 64, low % 64);
        if let Some((part, low)) = self.part(place, low, width) {
            return self.bits(part, low, width);
        }
        let word = self.word(place);
        let mut value = if low == 0 { word } else { self.ins().ushr_imm_u(word, i64::from(low)) };
        if low + width > 64 {
            let next = self.word(place + 1);
            let next = self.ins().ishl_imm_u(next, i64::from(64 - low));
            value = self.ins().bor(value, next);
        }
        let has_more =
            if low + width > 64 { low + width < 128 } else { self.largest(place) >> low > mask(width) };
        if has_more { self.masked(value, width) } else { value }
    }

    /// The largest value of the word at a place.
    pub fn largest(&self, place: u32) -> u64 {
        self.ranges.largest(self.graph, place)
    }

    /// The part of a concatenation that holds all the bits asked for, and where they begin in it.
    pub fn part(&self, place: u32, low: u32, width: u32) -> Option<(u32, u32)> {
        let Inst::Concat { d, parts, count, .. } = self.seen(place)? else { return None };
        let low = (place - d) * 64 + low;
        let parts = &self.plan.parts[parts as usize..(parts + count) as usize];
        let part = parts.iter().find(|part| part.low <= low && low + width <= part.low + part.width)?;
        let inside = low - part.low;
        let is_near = (inside / 64..=(inside + width - 1) / 64).all(|word| self.is_near(part.a + word));
        is_near.then_some((part.a, inside))
    }

    /// What works out the value at a place, where its operands may be used in place of its result. What another part works out
    /// may not be seen through: of its result this part is told, of the operands it is not, and where a condition keeps the result
    /// from being worked out they are not what it was made of.
    pub fn seen(&self, place: u32) -> Option<Inst> {
        let id = self.graph.producer(place)?;
        let is_here = self.here.is_none() || self.parts.and_then(|parts| parts.of(id)) == self.here;
        is_here.then(|| self.plan.program[id])
    }

    /// Whether the value at a place can be had in this block, though it is no operand of what is emitted.
    pub fn is_near(&self, place: u32) -> bool {
        let Some(id) = self.graph.producer(place) else { return true };
        let start = self.plan.program[id].result(self.plan);
        self.frame.known_word(place).is_some()
            || self.frame.known_pointer(start).is_some()
            || self.frame.is_in_memory(start)
    }

    /// Where the words at a place are.
    pub fn pointer(&mut self, place: u32) -> Pointer {
        let Some(id) = self.graph.producer(place) else { return self.frame.place(place) };
        let inst = self.plan.program[id];
        let start = inst.result(self.plan);
        if is_pointer(&inst) {
            return self.pointer_of(id).words(place - start);
        }
        if self.frame.known_word(start).is_some() && !self.frame.is_in_memory(start) {
            self.keep(id);
        }
        self.frame.place(place)
    }

    /// Stores an instruction's result, held in registers, at its place.
    fn keep(&mut self, id: usize) {
        let inst = self.plan.program[id];
        let start = inst.result(self.plan);
        let readers = self.readers(id);
        let words = start..start + inst.result_words(self.plan);
        let known: Vec<(u32, Value)> =
            words.filter_map(|place| Some((place, self.frame.known_word(place)?))).collect();
        if !readers.is_empty() {
            let different = self.differences(&known);
            self.mark(readers, different);
        }
        for (place, value) in known {
            let at = self.frame.place(place);
            self.frame.store(at, value);
        }
        self.frame.note_in_memory(start);
    }

    /// A word that is not 0 where one of the words is not what is at its place.
    fn differences(&mut self, words: &[(u32, Value)]) -> Value {
        let bits = words.iter().map(|&(place, value)| {
            let old = self.frame.stored(place);
            self.ins().bxor(old, value)
        });
        let bits: Vec<Value> = bits.collect();
        self.join(&bits)
    }

    /// Where the result of a pointer instruction is.
    fn pointer_of(&mut self, id: usize) -> Pointer {
        let result = self.plan.program[id].result(self.plan);
        if let Some(pointer) = self.frame.known_pointer(result) {
            return pointer;
        }
        let pointer = match self.slots.get(id) {
            Some(slot) => {
                let distance = self.frame.stored(slot);
                let base = self.frame.builder.ins().iadd(self.frame.arena, distance);
                Pointer { base, offset: 0 }
            }
            None => self.frame.place(result),
        };
        self.frame.know_pointer(result, pointer);
        pointer
    }

    /// Notes an instruction's result, held in registers.
    pub fn define(&mut self, id: usize, words: &[Value]) {
        let start = self.plan.program[id].result(self.plan);
        for (place, &value) in (start..).zip(words) {
            self.frame.know_word(place, value);
        }
        let is_kept_now = self.segments.kept[id] && self.frame.is_conditional();
        if is_kept_now || self.segments.exported[id] || self.segments.scattered[id] {
            self.keep(id);
        }
    }

    /// Puts into the arena what is read after the last cycle and still elsewhere.
    pub fn keep_pending(&mut self) {
        for &(id, segment) in &self.segments.order {
            if segment != ROOT || !self.segments.kept[id] {
                continue;
            }
            let start = self.plan.program[id].result(self.plan);
            if self.frame.is_in_memory(start) {
                continue;
            }
            match self.frame.known_pointer(start) {
                Some(pointer) => self.copy_to_place(id, pointer),
                None => self.keep(id),
            }
        }
    }

    fn copy_to_place(&mut self, id: usize, pointer: Pointer) {
        let inst = self.plan.program[id];
        let start = inst.result(self.plan);
        let to = self.frame.place(start);
        self.frame.copy(to, pointer, inst.result_words(self.plan));
        self.frame.note_in_memory(start);
    }

    /// Where the words at a place are during the clock edge: rows and registers that a pointer refers to may
    /// have changed by then, so what could be there has been copied.
    pub fn pointer_at_edge(&mut self, place: u32) -> Pointer {
        match self.graph.producer(place) {
            Some(id) if self.is_copied(id) => self.frame.place(place),
            Some(_) | None => self.pointer(place),
        }
    }

    /// Whether a pointer's words have been copied to its place, as the edge may change them before they are read.
    fn is_copied(&self, id: usize) -> bool {
        let is_state = is_pointer(&self.plan.program[id]) && self.slots.refers_to_state(id);
        is_state && !self.slots.is_captured_only(id)
    }

    /// The word at a place during the clock edge; see [`pointer_at_edge`](Emitter::pointer_at_edge).
    pub fn word_at_edge(&mut self, place: u32) -> Value {
        let is_constant = (place as usize) < self.plan.constants.len();
        if is_constant || self.frame.known_word(place).is_some() {
            return self.word(place);
        }
        let at = self.pointer_at_edge(place);
        let value = self.frame.load(at);
        self.frame.know_word(place, value);
        value
    }

    /// As [`materialise`](Emitter::materialise), during the clock edge.
    pub fn materialise_at_edge(&mut self, place: u32) {
        match self.graph.producer(place) {
            Some(id) if self.is_copied(id) => {}
            Some(_) | None => self.materialise(place),
        }
    }

    /// Has an instruction's one-word result worked out here, and loaded again where it is needed.
    pub fn set_aside(&mut self, id: usize) {
        let start = self.plan.program[id].result(self.plan);
        if self.frame.known_word(start).is_some() {
            if !self.frame.is_in_memory(start) {
                self.keep(id);
            }
            self.frame.forget_word(start);
        }
    }

    /// Whether the word at a place is one of several of a value.
    fn is_of_wide(&self, place: u32) -> bool {
        match self.graph.producer(place) {
            Some(id) => self.plan.program[id].result_words(self.plan) > 1,
            None => {
                let mut edges = self.plan.registers.iter().chain(&self.plan.captures);
                edges.any(|edge| edge.n > 1 && (edge.q..edge.q + edge.n).contains(&place))
            }
        }
    }

    /// Notes that an instruction's result has been stored at its place.
    pub fn define_in_memory(&mut self, id: usize) {
        let start = self.plan.program[id].result(self.plan);
        self.frame.note_in_memory(start);
        self.mark_always(self.readers(id));
    }

    /// Notes where an instruction's result is; copies it to its place if it is read after settling.
    pub fn define_pointer(&mut self, id: usize, pointer: Pointer) {
        self.frame.know_pointer(self.plan.program[id].result(self.plan), pointer);
        self.mark_always(self.readers(id));
        let is_safe = self.slots.is_captured_only(id) || !self.slots.refers_to_state(id);
        let can_wait = is_safe && !self.frame.is_conditional();
        if self.segments.kept[id] && !can_wait {
            self.copy_to_place(id, pointer);
        }
        if let Some(slot) = self.slots.get(id) {
            let address = self.frame.flatten(pointer);
            let distance = self.frame.builder.ins().isub(address, self.frame.arena);
            let at = self.frame.place(slot);
            self.frame.store(at, distance);
        }
    }

    /// Puts an operand into its place in the arena.
    pub fn materialise(&mut self, place: u32) {
        let at = self.pointer(place);
        let Some(id) = self.graph.producer(place) else { return };
        let inst = self.plan.program[id];
        let start = inst.result(self.plan);
        if is_pointer(&inst) && !self.frame.is_in_memory(start) {
            let whole = Pointer { base: at.base, offset: at.offset - 8 * (place - start) as i32 };
            self.copy_to_place(id, whole);
        }
    }
}
