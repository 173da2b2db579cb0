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

/// Bytes between places that are numbered.
const APART: u32 = 1 << 20;

/// Most places that are numbered: offsets have 31 bits.
const MOST_NUMBERED: usize = 2000;

/// How code names the words of the arena.
enum Places {
    /// By where the plan has them.
    OfPlan,
    /// By numbers, in the order in which they are asked for; by place its number.
    Numbered(BTreeMap<u32, u32>),
    /// By how far they are from where the plan has them: by place a column of the table that `row` points into, if it is moved,
    /// and by column the least and the most that it has.
    Moved { columns: BTreeMap<u32, Option<u32>>, row: Value, reach: Vec<(i64, i64)> },
}

/// What is known in one block and the blocks inside it.
#[derive(Default)]
struct Known {
    /// Whether nothing of what is known around the block holds in it.
    is_alone: bool,
    /// By column, the start of an arena that is moved by what is in it.
    moved: BTreeMap<u32, Value>,
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
    places: Places,
    known: Vec<Known>,
    convention: CallConv,
    signatures: BTreeMap<usize, SigRef>,
    /// What the code refers to outside of it, each once, and its symbol.
    outside: Vec<(*const u8, GlobalValue)>,
    /// Tables that the code refers to.
    tables: Vec<Box<[u64]>>,
}

/// What a function refers to.
pub struct Outside {
    /// Addresses, by the number of their symbol.
    pub addresses: Vec<*const u8>,
    /// What is at some of them, and lives as long as the code.
    pub tables: Vec<Box<[u64]>>,
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
            places: Places::OfPlan,
            known: vec![Known::default()],
            convention,
            signatures: BTreeMap::new(),
            outside: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// Ends the function.
    pub fn finalize(self, frontend: TargetFrontendConfig) -> Outside {
        let Frame { mut builder, outside, tables, .. } = self;
        builder.seal_all_blocks();
        builder.finalize(frontend);
        Outside { addresses: outside.into_iter().map(|(address, _)| address).collect(), tables }
    }

    /// Ends a sketch: what it refers to, and the places it names, by number; none if they are more than there are numbers.
    pub fn finalize_sketch(mut self, frontend: TargetFrontendConfig) -> (Outside, Option<Vec<u32>>) {
        let numbers = match std::mem::replace(&mut self.places, Places::OfPlan) {
            Places::Numbered(numbers) => numbers,
            Places::OfPlan | Places::Moved { .. } => BTreeMap::new(),
        };
        let mut places: Vec<(u32, u32)> =
            numbers.into_iter().map(|(place, number)| (number, place)).collect();
        places.sort_unstable();
        let places =
            (places.len() <= MOST_NUMBERED).then(|| places.into_iter().map(|(_, place)| place).collect());
        self.builder.ins().return_(&[]);
        (self.finalize(frontend), places)
    }

    /// From here on the function is a sketch: places are numbered as they are asked for.
    pub fn begin_sketch(&mut self) {
        self.places = Places::Numbered(BTreeMap::new());
        self.known.push(Known { is_alone: true, ..Known::default() });
    }

    /// Begins code that is run for several members: places are moved by what a table's row, to which `row` points, has in
    /// their column.
    pub fn begin_members(&mut self, columns: BTreeMap<u32, Option<u32>>, rows: &[Vec<u64>], row: Value) {
        let column = |column| rows.iter().map(move |row: &Vec<u64>| row[column] as i64);
        let reach = |at| (column(at).min().unwrap_or(0), column(at).max().unwrap_or(0));
        let reach = (0..rows[0].len()).map(reach).collect();
        self.places = Places::Moved { columns, row, reach };
        self.known.push(Known { is_alone: true, ..Known::default() });
    }

    /// See [`begin_members`](Frame::begin_members).
    pub fn end_members(&mut self) {
        self.known.pop();
        self.places = Places::OfPlan;
    }

    /// Where the word at a place of the plan is.
    pub fn place(&mut self, place: u32) -> Pointer {
        match &mut self.places {
            Places::OfPlan => Pointer { base: self.arena, offset: 0 }.words(place),
            Places::Numbered(numbers) => {
                let next = (numbers.len() + 1).min(MOST_NUMBERED + 1) as u32;
                let number = *numbers.entry(place).or_insert(next);
                Pointer { base: self.arena, offset: 0 }.bytes(APART * number)
            }
            Places::Moved { columns, row, .. } => {
                let (column, row) = (columns[&place], *row);
                let base = column.map_or(self.arena, |column| self.moved(column, row));
                Pointer { base, offset: 0 }.words(place)
            }
        }
    }

    /// The word that the arena has at a place now.
    pub fn stored(&mut self, place: u32) -> Value {
        let at = self.place(place);
        self.load(at)
    }

    /// The start of an arena that is moved by what a row has in a column.
    fn moved(&mut self, column: u32, row: Value) -> Value {
        if let Some(base) = self.blocks().find_map(|known| known.moved.get(&column).copied()) {
            return base;
        }
        let distance = self.builder.ins().load(types::I64, flags(), row, 8 * column as i32);
        let base = self.builder.ins().iadd(self.arena, distance);
        self.innermost().moved.insert(column, base);
        base
    }

    /// The address of a table, which lives as long as the code.
    pub fn table(&mut self, words: Vec<u64>) -> Value {
        let words = words.into_boxed_slice();
        let address = self.outside(words.as_ptr().cast());
        self.tables.push(words);
        address
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
        let is_sketch = matches!(self.places, Places::Numbered(_));
        if !cfg!(debug_assertions) || is_sketch || self.bases.contains(&at.base) {
            return;
        }
        if let Some((least, most)) = self.reach(at.base) {
            let (start, end) = (i64::from(at.offset) + least, i64::from(at.offset) + most + i64::from(bytes));
            assert!(start >= 0 && end as u64 <= self.bytes, "an access outside the arena");
            return;
        }
        let address = self.builder.ins().iadd_imm_s(at.base, i64::from(at.offset));
        let (arena, limit) = (self.arena, self.constant(self.bytes));
        let bytes = self.constant(u64::from(bytes));
        let check = kernels::check_access as Kernel;
        self.call_kernel(check, &[arena, limit, address, bytes]);
    }

    /// How far at least and at most a base is from the start of the arena, if that is known.
    fn reach(&self, base: Value) -> Option<(i64, i64)> {
        if base == self.arena {
            return Some((0, 0));
        }
        let Places::Moved { reach, .. } = &self.places else { return None };
        let mut moved = self.blocks().flat_map(|known| &known.moved);
        moved.find(|(_, moved)| **moved == base).map(|(&column, _)| reach[column as usize])
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
        let first = self.known.iter().rposition(|known| known.is_alone).unwrap_or(0);
        self.known[first..].iter().rev()
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
