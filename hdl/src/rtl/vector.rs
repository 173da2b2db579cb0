//! Operations on a signal as a vector: of bits, or of lanes of equal width (lane 0 lowest).

use super::bits::Bits;
use super::builder::{POISON, caller};
use super::error::Problem;
use super::netlist::Op;
use super::signal::{Signal, clamp};

impl<'m> Signal<'m> {
    // One bit a request.

    /// Index of the lowest 1 bit, 0 if there is none ([`any`](Signal::any) tells). Wide enough for the
    /// highest index, at least one bit.
    #[track_caller]
    pub fn priority_encode(self) -> Signal<'m> {
        self.emit(Op::PriorityEncode(self.id), clamp(index_bits(self.width())))
    }

    /// Only the lowest 1 bit is kept.
    #[track_caller]
    pub fn lowest_one(self) -> Signal<'m> {
        self.emit(Op::LowestOne(self.id), self.bits())
    }

    /// The index as one hot bit of `n`; no bit if it is `n` or more.
    #[track_caller]
    pub fn decode(self, n: usize) -> Signal<'m> {
        self.emit(Op::Decode(self.id), clamp(n))
    }

    /// Number of 1 bits, in [`count_bits`]`(width)` bits.
    #[track_caller]
    pub fn popcount(self) -> Signal<'m> {
        self.emit(Op::PopCount(self.id), clamp(count_bits(self.width())))
    }

    /// Bit `i` is the or of bits `0 ..= i`.
    #[track_caller]
    pub fn prefix_or(self) -> Signal<'m> {
        self.emit(Op::PrefixOr(self.id), self.bits())
    }

    /// Lane `i`, of `width` bits, is the number of 1 bits below bit `i`, modulo 2^width.
    #[track_caller]
    pub fn prefix_count(self, width: usize) -> Signal<'m> {
        self.emit(Op::PrefixCount(self.id), clamp(self.width().saturating_mul(width)))
    }

    /// Each bit widened to a lane of `width` equal bits.
    #[track_caller]
    pub fn spread(self, width: usize) -> Signal<'m> {
        self.emit(Op::SpreadLanes(self.id), clamp(self.width().saturating_mul(width)))
    }

    /// One bit for each group of `size` bits: the or of the group.
    #[track_caller]
    pub fn group_or(self, size: usize) -> Signal<'m> {
        match self.lanes("group_or", size) {
            Some(groups) => self.emit(Op::GroupOr(self.id), groups),
            None => self.poisoned(),
        }
    }

    /// Bit `i` is the exclusive or of the bits that `rows[i]` selects: a hash given as a matrix. The rows are
    /// as wide as the signal.
    #[track_caller]
    pub fn xor_hash(self, rows: impl IntoIterator<Item = Bits>) -> Signal<'m> {
        let source = caller();
        let rows: Vec<Bits> = rows.into_iter().collect();
        let width = self.bits();
        if let Some(row) = rows.iter().find(|row| row.width() != width) {
            let place = "a row of `xor_hash`".to_string();
            let value = "the mask".to_string();
            let problem = Problem::Width { place, needed: width, value, found: row.width() };
            return self.make(|b| if self.is_poison() { POISON } else { b.error(source, problem) });
        }
        let count = clamp(rows.len());
        self.emit(Op::XorHash { value: self.id, rows }, count)
    }

    // Lanes.

    /// Lane `index` of lanes of `width` bits.
    #[track_caller]
    pub fn lane(self, index: usize, width: usize) -> Signal<'m> {
        self.slice(index.saturating_mul(width), width)
    }

    /// The lane, of `width` bits, that `index` names; 0 beyond the last.
    #[track_caller]
    pub fn lane_select(self, index: Signal<'m>, width: usize) -> Signal<'m> {
        match self.lanes("lane_select", width) {
            Some(_) => self.emit(Op::LaneSelect { vector: self.id, index: index.id }, clamp(width)),
            None => self.poisoned(),
        }
    }

    /// The or of the lanes of `vector` whose bit is 1 here: the lane itself if one bit is 1.
    #[track_caller]
    pub fn one_hot_select(self, vector: Signal<'m>) -> Signal<'m> {
        match vector.lanes_of("one_hot_select", self) {
            Some(width) => self.emit(Op::OneHotSelect { select: self.id, vector: vector.id }, width),
            None => self.poisoned(),
        }
    }

    /// Lane by lane, `then` where the bit here is 1, else `otherwise`. As many lanes as this has bits.
    #[track_caller]
    pub fn lane_mux(self, then: Signal<'m>, otherwise: Signal<'m>) -> Signal<'m> {
        match then.lanes_of("lane_mux", self) {
            Some(_) => then.binary("lane_mux", otherwise, |then, otherwise| Op::LaneMux {
                mask: self.id,
                then,
                otherwise,
            }),
            None => self.poisoned(),
        }
    }

    /// One bit a lane of `width` bits: 1 where both signals have the same lane.
    #[track_caller]
    pub fn lane_eq(self, other: Signal<'m>, width: usize) -> Signal<'m> {
        let other = self.same_width("lane_eq", other);
        match self.lanes("lane_eq", width) {
            Some(lanes) => self.emit(Op::LaneEq(self.id, other.id), lanes),
            None => self.poisoned(),
        }
    }

    /// Lane by lane sum of lanes of `width` bits, each modulo 2^width.
    #[track_caller]
    pub fn lane_add(self, other: Signal<'m>, width: usize) -> Signal<'m> {
        match self.lanes("lane_add", width) {
            Some(lanes) => self.binary("lane_add", other, |a, b| Op::LaneAdd { a, b, lanes }),
            None => self.poisoned(),
        }
    }

    /// How many lanes of `width` bits this has; an error if they do not fill it.
    #[track_caller]
    fn lanes(self, operation: &'static str, width: usize) -> Option<u32> {
        let own = self.width();
        if width > 0 && own.is_multiple_of(width) {
            return Some(clamp(own / width));
        }
        self.lane_error(operation, format!("lanes of {width} bits"))
    }

    /// How wide each lane of this is if there is one for each bit of `mask`.
    #[track_caller]
    fn lanes_of(self, operation: &'static str, mask: Signal<'m>) -> Option<u32> {
        let (own, lanes) = (self.bits(), mask.bits());
        if own.is_multiple_of(lanes) {
            return Some(own / lanes);
        }
        match mask.is_poison() {
            true => None,
            false => self.lane_error(operation, format!("{lanes} lanes")),
        }
    }

    #[track_caller]
    fn lane_error(self, operation: &'static str, parts: String) -> Option<u32> {
        let source = caller();
        self.with(|b| {
            if !self.is_poison() {
                let whole = format!("the {} bits of {}", b.width(self.id), b.describe(self.id));
                b.error(source, Problem::Lanes { operation, whole, parts });
            }
        });
        None
    }

    fn poisoned(self) -> Signal<'m> {
        Signal { m: self.m, id: POISON }
    }
}

/// Bits of an index below `n`: at least 1.
pub const fn index_bits(n: usize) -> usize {
    match n {
        0..=2 => 1,
        _ => (n - 1).ilog2() as usize + 1,
    }
}

/// Bits of a count from 0 to `n`: at least 1.
pub fn count_bits(n: usize) -> usize {
    match n {
        0 | 1 => 1,
        _ => n.ilog2() as usize + 1,
    }
}
