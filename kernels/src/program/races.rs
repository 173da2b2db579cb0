//! Which words of memory the warps of a launch race for.
//!
//! Two accesses race if they are of different warps and of one word, one of them at least writes it, not both are atomic, and
//! they are not ordered: accesses to the scratchpad if they are of one block without a barrier between them, accesses to global
//! memory also if they are of different blocks. Which comes first does not matter. A word has [`WORD_BYTES`] bytes, so bytes of
//! one word that different warps access count as one place. Barriers are as an SM has them: the n-th of each warp of a block is
//! one, whatever its number. Fences order nothing, and what an asynchronous copy writes to the scratchpad is not seen: a stream
//! does not say where that is.
//!
//! Found out by going through a launch once more, from barrier to barrier, so of each word only its last block and barrier have
//! to be known: four bytes for each byte of memory that the launch accesses.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::{
    BlockIndex, Instruction, LANES, LaneMask, MemoryAccess, Operation, Space, Stream, StreamError,
    WarpInstruction,
};

/// Bytes of a word.
pub const WORD_BYTES: u64 = 4;
/// Words of a page.
const PAGE_WORDS: usize = 1024;
/// Bits of a set of words.
const SET_BITS: usize = u64::BITS as usize;

/// The words of memory that the warps of a launch race for: those of global memory, and those of the scratchpad that warps of
/// any block race for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Races {
    shared_bytes: u64,
    global: Words,
    scratchpad: Words,
}

impl Races {
    /// Goes through a launch, none of whose blocks has been started.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn of(stream: &mut dyn Stream) -> Result<Races, StreamError> {
        let instructions = stream.program().instructions.clone();
        let (blocks, warps) = (stream.launch().blocks(), stream.launch().warps_per_block());
        let mut checker = Checker::new(u64::from(stream.launch().shared_bytes));
        let mut instruction = WarpInstruction::default();
        for block in 0..blocks {
            stream.start_block(block)?;
            checker.start_block();
            let mut running: Vec<usize> = (0..warps).collect();
            while !running.is_empty() {
                checker.pass_barrier();
                let mut waiting = Vec::with_capacity(running.len());
                for warp in running {
                    let at = (block, warp);
                    if checker.follow_to_barrier(stream, &instructions, at, &mut instruction)? {
                        waiting.push(warp);
                    }
                }
                running = waiting;
            }
            stream.finish_block(block);
        }
        Ok(checker.races())
    }

    /// Whether warps race for a word of an access to `bytes` bytes at an address, as [`WarpInstruction::addresses`] has it.
    pub fn contains(&self, space: Space, address: u64, bytes: u64) -> bool {
        let words = match memory(space, address, self.shared_bytes) {
            Some(Memory::Global) => &self.global,
            Some(Memory::Scratchpad) => &self.scratchpad,
            None => return false,
        };
        words_of(address, bytes).any(|word| words.contains(word))
    }

    /// How many words there are, of global memory and of the scratchpad.
    pub fn words(&self) -> u64 {
        self.global.count() + self.scratchpad.count()
    }
}

/// A memory that several warps access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Memory {
    Global,
    Scratchpad,
}

/// The memory of an access, unless only its thread or nobody writes there. Of accesses of any space those below the end of the
/// scratchpad are to it: no buffer lies there.
fn memory(space: Space, address: u64, shared_bytes: u64) -> Option<Memory> {
    match space {
        Space::Global => Some(Memory::Global),
        Space::Shared => Some(Memory::Scratchpad),
        Space::Generic if address < shared_bytes => Some(Memory::Scratchpad),
        Space::Generic => Some(Memory::Global),
        Space::Local | Space::Constant | Space::Parameter => None,
    }
}

/// The words of an access.
fn words_of(address: u64, bytes: u64) -> impl Iterator<Item = u64> {
    let last = address.saturating_add(bytes.saturating_sub(1));
    address / WORD_BYTES..=last / WORD_BYTES
}

/// A set of words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Words {
    /// One bit a word, by page; a page without any is not there.
    pages: BTreeMap<u64, [u64; PAGE_WORDS / SET_BITS]>,
}

impl Words {
    fn contains(&self, word: u64) -> bool {
        let (page, index) = place(word);
        self.pages.get(&page).is_some_and(|set| set[index / SET_BITS] >> (index % SET_BITS) & 1 == 1)
    }

    fn count(&self) -> u64 {
        self.pages.values().flatten().map(|set| u64::from(set.count_ones())).sum()
    }
}

/// A word's page and its index there.
fn place(word: u64) -> (u64, usize) {
    (word / PAGE_WORDS as u64, (word % PAGE_WORDS as u64) as usize)
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    Atomic,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Load, Kind::Store, Kind::Atomic];

    fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The kinds that it races with, a bit each.
    fn conflicts(self) -> u8 {
        match self {
            Kind::Load => Kind::Store.bit() | Kind::Atomic.bit(),
            Kind::Store => Kind::Load.bit() | Kind::Store.bit() | Kind::Atomic.bit(),
            Kind::Atomic => Kind::Load.bit() | Kind::Store.bit(),
        }
    }
}

/// The warps that have made accesses of a kind: none, one or several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Accessors(u8);

impl Accessors {
    const SEVERAL: Accessors = Accessors(u8::MAX);

    /// A warp of a block. No block has as many warps as there are numbers.
    fn one(warp: usize) -> Accessors {
        u8::try_from(warp + 1).map_or(Accessors::SEVERAL, Accessors)
    }

    fn add(&mut self, warp: usize) {
        let is_first = *self == Accessors::default() || *self == Accessors::one(warp);
        *self = if is_first { Accessors::one(warp) } else { Accessors::SEVERAL };
    }

    fn has_another_than(self, warp: usize) -> bool {
        self != Accessors::default() && self != Accessors::one(warp)
    }
}

/// What is known of a word.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// The stretch between barriers in which it was accessed last.
    stretch: u64,
    /// Who has accessed it there, by kind.
    accessors: [Accessors; Kind::ALL.len()],
    /// Kinds of accesses of the block that accessed it last, a bit each.
    of_block: u8,
    /// Those of blocks before.
    of_others: u8,
    is_raced: bool,
}

/// When an access is made.
#[derive(Clone, Copy, Debug, Default)]
struct Time {
    /// Stretches between barriers, through all blocks.
    stretch: u64,
    /// The first of the block.
    first_of_block: u64,
}

impl Word {
    /// An access of a warp. `is_shared`: blocks have it together.
    fn access(&mut self, kind: Kind, warp: usize, now: Time, is_shared: bool) {
        if self.stretch < now.first_of_block {
            self.of_others |= if is_shared { self.of_block } else { 0 };
            self.of_block = 0;
        }
        if self.stretch != now.stretch {
            self.accessors = Default::default();
            self.stretch = now.stretch;
        }
        let conflicts = kind.conflicts();
        let conflicts_with = |other: Kind| {
            conflicts & other.bit() != 0 && self.accessors[other as usize].has_another_than(warp)
        };
        self.is_raced |= conflicts & self.of_others != 0 || Kind::ALL.into_iter().any(conflicts_with);
        self.accessors[kind as usize].add(warp);
        self.of_block |= kind.bit();
    }
}

/// A memory whose words are followed.
#[derive(Debug)]
struct Followed {
    /// Blocks have it together.
    is_shared: bool,
    pages: BTreeMap<u64, Box<[Word; PAGE_WORDS]>>,
}

impl Followed {
    fn new(is_shared: bool) -> Followed {
        Followed { is_shared, pages: BTreeMap::new() }
    }

    fn access(&mut self, word: u64, kind: Kind, warp: usize, now: Time) {
        let (page, index) = place(word);
        let words = self.pages.entry(page).or_insert_with(|| Box::new([Word::default(); PAGE_WORDS]));
        words[index].access(kind, warp, now, self.is_shared);
    }

    fn raced(self) -> Words {
        let mut pages = BTreeMap::new();
        for (page, words) in self.pages {
            let mut set = [0; PAGE_WORDS / SET_BITS];
            for (index, _) in words.iter().enumerate().filter(|(_, word)| word.is_raced) {
                set[index / SET_BITS] |= 1 << (index % SET_BITS);
            }
            if set.iter().any(|bits| *bits != 0) {
                pages.insert(page, set);
            }
        }
        Words { pages }
    }
}

/// What is known of a launch so far.
#[derive(Debug)]
struct Checker {
    shared_bytes: u64,
    now: Time,
    global: Followed,
    scratchpad: Followed,
}

impl Checker {
    fn new(shared_bytes: u64) -> Checker {
        let (global, scratchpad) = (Followed::new(true), Followed::new(false));
        Checker { shared_bytes, now: Time::default(), global, scratchpad }
    }

    /// A block begins, which has been told of no access.
    fn start_block(&mut self) {
        self.now.first_of_block = self.now.stretch + 1;
    }

    /// All warps of the block begin or have passed a barrier.
    fn pass_barrier(&mut self) {
        self.now.stretch += 1;
    }

    /// Goes on with a warp until it waits at a barrier; `false` if it ends.
    fn follow_to_barrier(
        &mut self,
        stream: &mut dyn Stream,
        instructions: &[Instruction],
        (block, warp): (BlockIndex, usize),
        instruction: &mut WarpInstruction,
    ) -> Result<bool, StreamError> {
        while stream.next(block, warp, instruction)? {
            let Some(Instruction { operation, operand, .. }) = instructions.get(instruction.inst.0 as usize)
            else {
                let (inst, count) = (instruction.inst.0, instructions.len());
                let problem = format!("block {block}, warp {warp}: instruction {inst} of {count}");
                return Err(StreamError(problem));
            };
            if let Some(access) = operand {
                self.access(Kind::Load, *access, warp, instruction);
            }
            match operation {
                // One that the guard switches off in every lane is none.
                Operation::Barrier if instruction.active != 0 => return Ok(true),
                Operation::Load(access) => self.access(Kind::Load, *access, warp, instruction),
                Operation::Store(access) => self.access(Kind::Store, *access, warp, instruction),
                Operation::Atomic(access) => self.access(Kind::Atomic, *access, warp, instruction),
                Operation::Barrier
                | Operation::Alu
                | Operation::Sfu
                | Operation::Double
                | Operation::Texture
                | Operation::Fence
                | Operation::Release
                | Operation::Branch
                | Operation::Exit => {}
            }
        }
        Ok(false)
    }

    fn access(&mut self, kind: Kind, access: MemoryAccess, warp: usize, instruction: &WarpInstruction) {
        let WarpInstruction { active, addresses, .. } = instruction;
        for &address in lanes(*active).map(|lane| &addresses[lane]) {
            let followed = match memory(access.space, address, self.shared_bytes) {
                Some(Memory::Global) => &mut self.global,
                Some(Memory::Scratchpad) => &mut self.scratchpad,
                None => continue,
            };
            for word in words_of(address, u64::from(access.bytes)) {
                followed.access(word, kind, warp, self.now);
            }
        }
    }

    fn races(self) -> Races {
        let Checker { shared_bytes, global, scratchpad, .. } = self;
        Races { shared_bytes, global: global.raced(), scratchpad: scratchpad.raced() }
    }
}

fn lanes(active: LaneMask) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| active >> lane & 1 == 1)
}
