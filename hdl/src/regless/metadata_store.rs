//! What the compiler says of the regions that warps are about to run.

use serde::{Deserialize, Serialize};

use super::geometry::{NOTES, ShardGeometry};
use super::ports::Note;
use crate::rtl::{
    Circuit, Documented, Field, In, Module, Out, ParameterError, Ports, Record, Signal, index_bits,
};

/// Metadata store: for each warp a queue of words of metadata, as decoded.
///
/// The first word of a region says how many lines the region uses in each bank; every word has up to three
/// annotations. A region waits from its first word on until it is begun; the first word of another one of the same
/// warp is not taken before. The words of a region that has begun are taken out one by one.
///
/// Timing: a word can be taken out in the cycle after it came. A full queue takes no word, even if one is taken out.
/// Source: Kloosterman et al., "RegLess", MICRO 2017, §5 (metadata store, filled by decode) and §5.4.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct MetadataStore {
    /// Warps, banks and lines of the shard.
    pub geometry: ShardGeometry,
    /// Words it holds for a warp, a power of two from 2 to 64.
    pub words: usize,
}

/// Ports of a [`MetadataStore`].
#[derive(Ports)]
#[params(MetadataStore)]
pub struct MetadataStoreIo<'m> {
    /// A word comes from decode.
    #[with(p.geometry)]
    pub metadata: MetadataIo<'m>,
    /// Warps with a region that waits to be begun.
    #[bits(p.geometry.warps)]
    pub waits_o: Out<'m>,
    /// The region that begins next.
    pub region: NextRegionIo<'m>,
    /// The words of a region that has begun.
    pub word: NextWordIo<'m>,
}

/// A word of metadata.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct MetadataIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// It is taken.
    pub ready_o: Out<'m>,
    /// The warp.
    #[bits(p.warp_bits())]
    pub warp_i: In<'m>,
    /// The first of its region.
    pub first_i: In<'m>,
    /// The last of its region.
    pub last_i: In<'m>,
    /// With the first: lines the region holds at most in each bank, bank 0 lowest, if the warp's index were 0.
    #[bits(p.banks * p.line_count_bits())]
    pub usage_i: In<'m>,
    /// Annotations.
    #[repeat(NOTES)]
    pub note: Vec<MetadataNoteIo<'m>>,
}

/// An annotation that comes.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct MetadataNoteIo<'m> {
    /// There is one.
    pub valid_i: In<'m>,
    /// Its [`Note`].
    #[bits(Note::BITS)]
    pub kind_i: In<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_i: In<'m>,
}

/// The region that begins next.
#[derive(Ports)]
#[params(MetadataStore)]
pub struct NextRegionIo<'m> {
    /// Of this warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_i: In<'m>,
    /// Lines it uses in each bank, bank 0 lowest, if the warp's index were 0.
    #[bits(p.geometry.banks * p.geometry.line_count_bits())]
    pub usage_o: Out<'m>,
    /// It begins.
    pub begins_i: In<'m>,
}

/// The words of a region that has begun.
#[derive(Ports)]
#[params(MetadataStore)]
pub struct NextWordIo<'m> {
    /// Of this warp.
    #[bits(p.geometry.warp_bits())]
    pub warp_i: In<'m>,
    /// There is a word.
    pub valid_o: Out<'m>,
    /// It is taken out.
    pub ready_i: In<'m>,
    /// The last of its region.
    pub last_o: Out<'m>,
    /// Annotations.
    #[repeat(NOTES)]
    #[with(p.geometry)]
    pub note: Vec<StoredNoteIo<'m>>,
}

/// An annotation of a word.
#[derive(Ports)]
#[params(ShardGeometry)]
pub struct StoredNoteIo<'m> {
    /// There is one.
    pub valid_o: Out<'m>,
    /// Its [`Note`].
    #[bits(Note::BITS)]
    pub kind_o: Out<'m>,
    /// The register.
    #[bits(p.register_bits)]
    pub register_o: Out<'m>,
}

/// A word of annotations, as in [`MetadataIo`].
#[derive(Clone, Copy, Record)]
#[params(MetadataStore)]
struct Word<T = Field> {
    last: T,
    valid: [T; NOTES],
    #[bits(Note::BITS)]
    kind: [T; NOTES],
    #[bits(p.geometry.register_bits)]
    register: [T; NOTES],
}

/// What the region of a warp that is to begin needs.
#[derive(Clone, Copy, Record)]
#[params(MetadataStore)]
struct Usage<T = Field> {
    /// Lines, for each bank.
    #[bits(p.geometry.banks * p.geometry.line_count_bits())]
    lines: T,
}

impl Circuit for MetadataStore {
    type Io<'m> = MetadataStoreIo<'m>;
    const NAME: &'static str = "metadata_store";

    fn validate(&self) -> Result<(), ParameterError> {
        self.geometry.validate::<Self>()?;
        Self::check_range("words", self.words, 2..=64)?;
        Self::check(self.words.is_power_of_two(), "words", self.words, "a power of two")
    }

    fn build<'m>(&self, m: &Module<'m>, io: &MetadataStoreIo<'m>) {
        let g = &self.geometry;
        let words = m.table::<Word>("words", g.warps * self.words, self).ports(1, 1);
        let usage = m.table::<Usage>("usage", g.warps, self).ports(1, 1);
        let waits = m.register("waits", g.warps).reset(0);
        // A lane a warp: its oldest word, and where its next one goes; whether it has any.
        let index = index_bits(self.words);
        let oldest = m.register("oldest", g.warps * index).reset(0);
        let next = m.register("next", g.warps * index).reset(0);
        let some = m.register("some", g.warps).reset(0);
        let of_warp =
            |warp: Signal<'m>, happens: Signal<'m>| warp.decode(g.warps) & happens.replicate(g.warps);

        let metadata = &io.metadata;
        let tail = next.lane_select(metadata.warp_i, index);
        let is_full =
            some.lane_select(metadata.warp_i, 1) & oldest.lane_select(metadata.warp_i, index).eq(tail);
        let another_waits = metadata.first_i & waits.lane_select(metadata.warp_i, 1);
        metadata.ready_o.set(!is_full.named("is_full") & !another_waits.named("another_waits"));
        let comes = (metadata.valid_i & metadata.ready_o).named("comes");
        m.when(comes, || {
            words.write("decode", self.row(tail, metadata.warp_i), Word::of(metadata));
        });
        m.when(comes & metadata.first_i, || {
            usage.write("first", metadata.warp_i, Usage { lines: metadata.usage_i });
        });

        let region = &io.region;
        region.usage_o.set(usage.read("region", region.warp_i, region.begins_i).lines);
        let begun = of_warp(region.warp_i, region.begins_i);
        waits.set((waits & !begun) | of_warp(metadata.warp_i, comes & metadata.first_i));
        io.waits_o.set(waits);

        let word = &io.word;
        word.valid_o.set(some.lane_select(word.warp_i, 1));
        let leaves = (word.valid_o & word.ready_i).named("leaves");
        let head = oldest.lane_select(word.warp_i, index);
        let stored = words.read("word", self.row(head, word.warp_i), leaves);
        word.last_o.set(stored.last).valid_when(word.valid_o);
        for (k, note) in word.note.iter().enumerate() {
            note.valid_o.set(stored.valid[k]).valid_when(word.valid_o);
            note.kind_o.set(stored.kind[k]).valid_when(word.valid_o);
            note.register_o.set(stored.register[k]).valid_when(word.valid_o);
        }
        let step = |pointers: Signal<'m>, warps: Signal<'m>| {
            let one = m.lit(index, 1).replicate(g.warps);
            pointers.lane_add(warps.spread(index) & one, index)
        };
        let (arrived, left) = (of_warp(metadata.warp_i, comes), of_warp(word.warp_i, leaves));
        m.when(comes, || {
            next.set(step(next, arrived));
        });
        m.when(leaves, || {
            oldest.set(step(oldest, left));
        });
        let was_last = (head + 1).eq(next.lane_select(word.warp_i, index));
        some.set((some & !(left & was_last.replicate(g.warps))) | arrived);
        m.assumption("a_region_that_begins_was_waiting", !(begun & !waits).any());

        let has_room = !some.lane_select(metadata.warp_i, 1) & !waits.lane_select(metadata.warp_i, 1);
        m.invariant("a_warp_without_words_has_room", has_room.implies(metadata.ready_o));
        let apart = !oldest.lane_eq(next, index);
        m.invariant("a_warp_without_words_reads_next_what_comes_next", !(apart & !some).any());
        let of_one_warp = comes & word.valid_o & metadata.warp_i.eq(word.warp_i);
        m.invariant("a_word_that_comes_spares_the_oldest", of_one_warp.implies(tail.ne(head)));
        let begins = metadata.valid_i & metadata.ready_o & metadata.first_i;
        let waits_already = (metadata.warp_i.decode(g.warps) & io.waits_o).any();
        m.invariant("a_warp_has_one_region_that_waits", begins.implies(!waits_already));
    }
}

impl MetadataStore {
    /// The row of a warp's word.
    fn row<'m>(&self, word: Signal<'m>, warp: Signal<'m>) -> Signal<'m> {
        match self.geometry.warps {
            1 => word,
            _ => word.concat(warp),
        }
    }
}

impl<'m> Word<Signal<'m>> {
    /// The word that comes.
    fn of(metadata: &MetadataIo<'m>) -> Word<Signal<'m>> {
        Word {
            last: metadata.last_i,
            valid: std::array::from_fn(|k| metadata.note[k].valid_i),
            kind: std::array::from_fn(|k| metadata.note[k].kind_i),
            register: std::array::from_fn(|k| metadata.note[k].register_i),
        }
    }
}
