//! The function being built: memory, values by place, blocks that run under a condition.

use std::collections::BTreeMap;

use cranelift_codegen::ir::{
    AbiParam, Block, ExternalName, GlobalValue, GlobalValueData, InstBuilder, MemFlagsData, SigRef,
    Signature, Type, Value, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::FunctionBuilder;

use super::super::code::symbol;
use super::super::kernels::{self, Kernel};
use crate::plan::Plan;

/// Words copied in line; more are copied by a call.
const COPIED_IN_LINE: u32 = 40;

/// Words somewhere in memory.
#[derive(Clone, Copy, Debug)]
pub struct Pointer {
    pub base: Value,
    /// In bytes.
    pub offset: i32,
}

impl Pointer {
    pub fn words(self, words: u32) -> Pointer {
        self.bytes(8 * words)
    }

    pub fn bytes(self, bytes: u32) -> Pointer {
        Pointer { base: self.base, offset: self.offset + bytes as i32 }
    }
}

/// What is known in one block and the blocks inside it.
#[derive(Default)]
struct Known {
    words: BTreeMap<u32, Value>,
    /// By place of the result.
    pointers: BTreeMap<u32, Pointer>,
    vectors: BTreeMap<u32, Vec<Value>>,
    /// Places whose word is in the arena.
    in_memory: BTreeMap<u32, ()>,
    /// Where the code goes on after this block.
    join: Option<Block>,
}

pub struct Frame<'f> {
    pub builder: FunctionBuilder<'f>,
    pub arena: Value,
    /// Bytes of the arena.
    bytes: u64,
    /// Bases besides the arena, of words whose number is known.
    bases: Vec<Value>,
    known: Vec<Known>,
    convention: CallConv,
    signatures: BTreeMap<usize, SigRef>,
    /// What the code refers to outside of it, each once, and its symbol.
    outside: Vec<(*const u8, GlobalValue)>,
}

impl<'f> Frame<'f> {
    pub fn new(builder: FunctionBuilder<'f>, plan: &Plan, arena: Value, bases: Vec<Value>) -> Frame<'f> {
        let convention = builder.func.signature.call_conv;
        let bytes = u64::from(plan.arena_words) * 8;
        Frame {
            builder,
            arena,
            bytes,
            bases,
            known: vec![Known::default()],
            convention,
            signatures: BTreeMap::new(),
            outside: Vec::new(),
        }
    }

    /// Ends the function; what it refers to, by number of the symbol.
    pub fn finalize(self, frontend: TargetFrontendConfig) -> Vec<*const u8> {
        let Frame { mut builder, outside, .. } = self;
        builder.seal_all_blocks();
        builder.finalize(frontend);
        outside.into_iter().map(|(address, _)| address).collect()
    }

    pub fn place(&self, place: u32) -> Pointer {
        Pointer { base: self.arena, offset: 0 }.words(place)
    }

    pub fn constant(&mut self, value: u64) -> Value {
        self.builder.ins().iconst(types::I64, value as i64)
    }

    /// The address of something that outlives the code.
    pub fn address<T>(&mut self, thing: &T) -> Value {
        self.outside(std::ptr::from_ref(thing).cast())
    }

    /// An address outside of the code, as a symbol.
    fn outside(&mut self, address: *const u8) -> Value {
        let known = self.outside.iter().find(|(known, _)| *known == address);
        let symbol = known.map(|(_, symbol)| *symbol).unwrap_or_else(|| {
            let name = self.builder.func.declare_imported_user_function(symbol(self.outside.len()));
            let symbol = self.builder.create_global_value(GlobalValueData::Symbol {
                name: ExternalName::user(name),
                offset: 0.into(),
                colocated: false,
                tls: false,
            });
            self.outside.push((address, symbol));
            symbol
        });
        self.builder.ins().symbol_value(types::I64, symbol)
    }

    pub fn load(&mut self, from: Pointer) -> Value {
        self.check(from, 8);
        self.builder.ins().load(types::I64, flags(), from.base, from.offset)
    }

    pub fn load_as(&mut self, kind: Type, from: Pointer) -> Value {
        self.check(from, kind.bytes());
        self.builder.ins().load(kind, flags(), from.base, from.offset)
    }

    /// Loads so many bytes, at most 8, as a word. As one instruction: an extension by itself would be done again
    /// wherever the word is used.
    pub fn load_bytes(&mut self, from: Pointer, bytes: u32) -> Value {
        self.check(from, bytes);
        let Pointer { base, offset } = from;
        match bytes {
            1 => self.builder.ins().uload8(types::I64, flags(), base, offset),
            2 => self.builder.ins().uload16(types::I64, flags(), base, offset),
            4 => self.builder.ins().uload32(flags(), base, offset),
            _ => self.builder.ins().load(types::I64, flags(), base, offset),
        }
    }

    pub fn store(&mut self, to: Pointer, value: Value) {
        let bytes = self.builder.func.dfg.value_type(value).bytes();
        self.check(to, bytes);
        self.builder.ins().store(flags(), value, to.base, to.offset);
    }

    /// A debug build refuses any access outside the arena: at compile time where the address is known then,
    /// else in the code.
    fn check(&mut self, at: Pointer, bytes: u32) {
        if !cfg!(debug_assertions) || self.bases.contains(&at.base) {
            return;
        }
        if at.base == self.arena {
            let end = i64::from(at.offset) + i64::from(bytes);
            assert!(at.offset >= 0 && end as u64 <= self.bytes, "an access outside the arena");
            return;
        }
        let address = self.builder.ins().iadd_imm_s(at.base, i64::from(at.offset));
        let (arena, limit) = (self.arena, self.constant(self.bytes));
        let bytes = self.constant(u64::from(bytes));
        let check = kernels::check_access as Kernel;
        self.call_kernel(check, &[arena, limit, address, bytes]);
    }

    /// Copies words; if they overlap, they are the same.
    pub fn copy(&mut self, to: Pointer, from: Pointer, n: u32) {
        if n > COPIED_IN_LINE {
            let [to, from] = [to, from].map(|pointer| self.flatten(pointer));
            let n = self.constant(u64::from(n));
            self.call_kernel(kernels::copy as Kernel, &[to, from, n]);
            return;
        }
        self.map(to, &[from], n, |_, operands| operands[0]);
    }

    /// Computes words one or two at a time.
    pub fn map(
        &mut self,
        to: Pointer,
        from: &[Pointer],
        n: u32,
        mut op: impl FnMut(&mut FunctionBuilder<'f>, &[Value]) -> Value,
    ) {
        let mut word = 0;
        while word < n {
            let kind = if word + 1 < n { types::I64X2 } else { types::I64 };
            let operands: Vec<Value> = from.iter().map(|from| self.load_as(kind, from.words(word))).collect();
            let result = op(&mut self.builder, &operands);
            self.store(to.words(word), result);
            word += if kind == types::I64 { 1 } else { 2 };
        }
    }

    /// A pointer as one value.
    pub fn flatten(&mut self, pointer: Pointer) -> Value {
        match pointer.offset {
            0 => pointer.base,
            offset => self.builder.ins().iadd_imm_s(pointer.base, i64::from(offset)),
        }
    }

    /// Calls a native function that takes 64-bit values and returns nothing.
    pub fn call_kernel(&mut self, kernel: Kernel, arguments: &[Value]) {
        let signature = self.signature(arguments.len(), false);
        let kernel = self.outside(kernel);
        self.builder.ins().call_indirect(signature, kernel, arguments);
    }

    /// Calls a native function that takes 64-bit values and returns one.
    pub fn call_kernel_for(&mut self, kernel: Kernel, arguments: &[Value]) -> Value {
        let signature = self.signature(arguments.len(), true);
        let kernel = self.outside(kernel);
        let call = self.builder.ins().call_indirect(signature, kernel, arguments);
        self.builder.inst_results(call)[0]
    }

    fn signature(&mut self, parameters: usize, returns: bool) -> SigRef {
        let key = 2 * parameters + usize::from(returns);
        if let Some(&signature) = self.signatures.get(&key) {
            return signature;
        }
        let mut signature = Signature::new(self.convention);
        signature.params = vec![AbiParam::new(types::I64); parameters];
        signature.returns = vec![AbiParam::new(types::I64); usize::from(returns)];
        let signature = self.builder.import_signature(signature);
        self.signatures.insert(key, signature);
        signature
    }

    /// Forgets what was known before the circuit settles.
    pub fn begin_settling(&mut self) {
        self.known = vec![Known::default()];
    }

    /// Begins a block that runs where `word` is not 0, or is 0.
    pub fn open(&mut self, word: Value, holds: bool) {
        let [inside, join] = [(); 2].map(|()| self.builder.create_block());
        let (taken, not_taken) = if holds { (inside, join) } else { (join, inside) };
        self.builder.ins().brif(word, taken, &[], not_taken, &[]);
        self.builder.switch_to_block(inside);
        self.known.push(Known { join: Some(join), ..Known::default() });
    }

    /// What becomes known from here on is forgotten by `leave`.
    pub fn enter(&mut self) {
        self.known.push(Known::default());
    }

    /// See [`enter`](Frame::enter).
    pub fn leave(&mut self) {
        self.known.pop();
    }

    /// Sets a trigger where a word is not 0. At once: until it is done, both what the word says and what it says it of would
    /// have to be kept.
    pub fn mark(&mut self, trigger: u32, word: Value) {
        let at = self.place(trigger);
        let set = self.load(at);
        let set = self.builder.ins().bor(set, word);
        self.store(at, set);
    }

    /// Whether the code is in a block that runs under a condition.
    pub fn is_conditional(&self) -> bool {
        self.known.len() > 1
    }

    /// Ends the block opened last.
    pub fn close(&mut self) {
        if let Some(join) = self.known.pop().and_then(|known| known.join) {
            self.builder.ins().jump(join, &[]);
            self.builder.switch_to_block(join);
        }
    }

    /// The blocks in which something can have become known, innermost first.
    fn blocks(&self) -> impl Iterator<Item = &Known> {
        self.known.iter().rev()
    }

    pub fn known_word(&self, place: u32) -> Option<Value> {
        self.blocks().find_map(|known| known.words.get(&place).copied())
    }

    /// The word at a place, if it has become known in this block.
    pub fn known_here(&self, place: u32) -> Option<Value> {
        self.known.last().and_then(|known| known.words.get(&place).copied())
    }

    pub fn know_word(&mut self, place: u32, value: Value) {
        self.innermost().words.insert(place, value);
    }

    pub fn forget_word(&mut self, place: u32) {
        self.innermost().words.remove(&place);
    }

    /// Where the result is that has the place.
    pub fn known_pointer(&self, place: u32) -> Option<Pointer> {
        self.blocks().find_map(|known| known.pointers.get(&place).copied())
    }

    pub fn know_pointer(&mut self, place: u32, pointer: Pointer) {
        self.innermost().pointers.insert(place, pointer);
    }

    pub fn known_vectors(&self, place: u32) -> Option<Vec<Value>> {
        self.blocks().find_map(|known| known.vectors.get(&place).cloned())
    }

    pub fn know_vectors(&mut self, place: u32, vectors: Vec<Value>) {
        self.innermost().vectors.insert(place, vectors);
    }

    pub fn is_in_memory(&self, place: u32) -> bool {
        self.blocks().any(|known| known.in_memory.contains_key(&place))
    }

    pub fn note_in_memory(&mut self, place: u32) {
        self.innermost().in_memory.insert(place, ());
    }

    fn innermost(&mut self) -> &mut Known {
        self.known.last_mut().expect("the outermost block is never closed")
    }
}

/// Accesses never fault: they stay inside the arena or the call's inputs and counters.
fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}
