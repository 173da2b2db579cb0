//! A program as a shard is told of it: accesses with their fates, and the words of metadata of each region.

use warpfile_hdl::regless::{Fate as FateBits, NOTES, Note};
use warpfile_kernels::compile::regless::{Fate, Marks, Region, Regions};
use warpfile_kernels::program::{InstId, Instruction, MAX_RESULTS, MAX_SOURCES, PhysReg, Program};

/// A program for a shard.
#[derive(Default)]
pub(super) struct Code {
    instructions: Vec<ShardInstruction>,
    /// Words of metadata of each region, never none.
    words: Vec<Vec<Word>>,
}

/// What a shard is told of an instruction.
#[derive(Clone, Copy)]
pub(super) struct ShardInstruction {
    pub sources: [Option<RegisterAccess>; MAX_SOURCES],
    pub results: [Option<RegisterAccess>; MAX_RESULTS],
    /// Number of its region.
    pub region: usize,
    /// It is the first of its region.
    pub first: bool,
    /// It is the last of its region.
    pub last: bool,
    /// Metadata instructions before it (§5.4).
    pub metadata_before: u16,
}

/// A register that an instruction reads or writes, and what becomes of its line then; both as the ports have them.
#[derive(Clone, Copy)]
pub(super) struct RegisterAccess {
    pub register: u64,
    pub fate: u64,
}

/// A word of metadata, as the ports have it.
#[derive(Clone, Copy, Default)]
pub(super) struct Word {
    pub first: bool,
    pub last: bool,
    pub usage: u64,
    /// Kind and register.
    pub notes: [Option<(u64, u64)>; NOTES],
}

impl Code {
    /// `count_bits`: bits of a number of lines of a bank.
    pub fn new(program: &Program, regions: &Regions, count_bits: usize) -> Code {
        let instructions = (program.instructions.iter().zip(&regions.marks).enumerate())
            .map(|(index, (instruction, marks))| {
                let region = regions.region_of[index].index();
                let run = &regions.regions[region].instructions;
                let (first, last) = (run.start as usize == index, run.end as usize == index + 1);
                ShardInstruction { region, first, last, ..accesses(instruction, marks) }
            })
            .collect();
        let words = regions.regions.iter().map(|region| words(region, count_bits)).collect();
        Code { instructions, words }
    }

    pub fn instruction(&self, inst: InstId) -> &ShardInstruction {
        &self.instructions[inst.0 as usize]
    }

    pub fn words(&self, region: usize) -> &[Word] {
        &self.words[region]
    }
}

fn accesses(instruction: &Instruction, marks: &Marks) -> ShardInstruction {
    let access = |register: PhysReg, fate: Fate| {
        Some(RegisterAccess { register: u64::from(register.0), fate: fate_bits(fate).code() })
    };
    let mut shard = ShardInstruction {
        sources: [None; MAX_SOURCES],
        results: [None; MAX_RESULTS],
        region: 0,
        first: false,
        last: false,
        metadata_before: marks.metadata_before,
    };
    for (index, source) in instruction.sources.iter().enumerate() {
        shard.sources[index] = access(source.register, marks.sources[index]);
    }
    for (index, result) in instruction.results.iter().enumerate() {
        shard.results[index] = access(result.register, marks.results[index]);
    }
    shard
}

fn fate_bits(fate: Fate) -> FateBits {
    match fate {
        Fate::Keep => FateBits::Keep,
        Fate::Evict => FateBits::Evict,
        Fate::Erase => FateBits::Erase,
    }
}

/// The annotations of a region, as many a word as fit; a region without any has one word.
fn words(region: &Region, count_bits: usize) -> Vec<Word> {
    let usage =
        (region.bank_lines.iter().rev()).fold(0, |usage, &lines| usage << count_bits | u64::from(lines));
    let preloads = region.preloads.iter().map(|preload| {
        let kind = if preload.invalidates { Note::InvalidatingPreload } else { Note::Preload };
        (kind.code(), u64::from(preload.register.0))
    });
    let invalidations =
        region.cache_invalidations.iter().map(|register| (Note::Invalidation.code(), u64::from(register.0)));
    let notes: Vec<(u64, u64)> = preloads.chain(invalidations).collect();
    let count = notes.len().div_ceil(NOTES).max(1);
    (0..count)
        .map(|word| Word {
            first: word == 0,
            last: word + 1 == count,
            usage: if word == 0 { usage } else { 0 },
            notes: std::array::from_fn(|note| notes.get(word * NOTES + note).copied()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use warpfile_kernels::compile::regless::Preload;

    use super::*;

    fn region(preloads: u16, invalidations: u16) -> Region {
        Region {
            instructions: 0..1,
            preloads: (0..preloads)
                .map(|register| Preload { register: PhysReg(register), invalidates: register == 1 })
                .collect(),
            cache_invalidations: (0..invalidations).map(|register| PhysReg(100 + register)).collect(),
            bank_lines: [1, 2, 3, 4, 5, 6, 7, 16],
            live: 20,
        }
    }

    #[test]
    fn a_region_without_annotations_has_one_word_with_its_usage() {
        let words = words(&region(0, 0), 5);
        assert_eq!(words.len(), 1);
        assert!(words[0].first && words[0].last && words[0].notes == [None; NOTES]);
        let bank = |number: usize| words[0].usage >> (5 * number) & 0x1f;
        assert_eq!((bank(0), bank(1), bank(7)), (1, 2, 16));
    }

    #[test]
    fn annotations_fill_words_preloads_first() {
        let words = words(&region(2, 2), 5);
        assert_eq!(words.len(), 2);
        assert_eq!(words[0].notes, [Some((0, 0)), Some((1, 1)), Some((2, 100))]);
        assert_eq!(words[1].notes, [Some((2, 101)), None, None]);
        assert_eq!(
            (words[0].first, words[0].last, words[1].first, words[1].last),
            (true, false, false, true)
        );
        assert_eq!(words[1].usage, 0);
    }
}
