//! Loop of the wide table: 1024 rows and 32 keys, and more.

use super::noise::{Circuit, Event, Field, Fields, lanes, signature};
use super::row::Row;
use super::tags::Tags;
use crate::bench::Activity;

/// Bits of a key.
const KEY_BITS: u32 = 16;
/// Bits of data that make lanes of few values.
const FEW_VALUES: u64 = 0x0000_0003_0000_0003;

struct Table<const PLACE_BITS: u32> {
    active: Event,
    /// Which place has a key, and the row of each place.
    keys: Tags,
    row_of: Vec<usize>,
    rows: Vec<Row>,
}

/// What drives the inputs.
struct Inputs {
    lookup: Field,
    lookup_key: Field,
    learn: Field,
    learn_place: Field,
    learn_key: Field,
    learn_row: Field,
    write: Field,
    write_row: Field,
    write_lanes: Field,
}

/// For a table whose keys have places with numbers of `PLACE_BITS` bits; `WORDS` words of noise drive it.
pub(super) fn run<const PLACE_BITS: u32, const WORDS: usize>(activity: Activity, cycles: u64) -> u64 {
    let table = Table::<PLACE_BITS> {
        active: Event::active(activity),
        keys: Tags::new(1 << PLACE_BITS, KEY_BITS),
        row_of: vec![0; 1 << PLACE_BITS],
        rows: vec![Row::ZERO; 1 << Table::<PLACE_BITS>::ROW_BITS],
    };
    signature::<WORDS>(table, cycles)
}

impl<const PLACE_BITS: u32> Table<PLACE_BITS> {
    /// Bits of a row's number.
    const ROW_BITS: u32 = PLACE_BITS + 5;

    const INPUTS: Inputs = {
        let mut fields = Fields::NONE;
        Inputs {
            lookup: fields.next(8),
            lookup_key: fields.next(PLACE_BITS + 1),
            learn: fields.next(8),
            learn_place: fields.next(PLACE_BITS),
            learn_key: fields.next(1),
            learn_row: fields.next(Self::ROW_BITS),
            write: fields.next(8),
            write_row: fields.next(Self::ROW_BITS),
            write_lanes: fields.next(2),
        }
    };
}

impl<const PLACE_BITS: u32, const WORDS: usize> Circuit<WORDS> for Table<PLACE_BITS> {
    #[inline(always)]
    fn cycle(&mut self, noise: &[u64; WORDS]) -> u64 {
        let inputs = const { &Self::INPUTS };
        let happens = |event: Field| self.active.happens(noise[event.word], event.low);
        let mut outputs = 0;
        if happens(inputs.lookup) {
            let (hit, place) = self.keys.find(inputs.lookup_key.of(noise));
            if hit {
                let value = Row::repeated(noise[0] & FEW_VALUES);
                let equal = self.rows[self.row_of[place]].equal(&value);
                outputs = 1 | u64::from(equal) << 1;
            }
        }
        if happens(inputs.learn) {
            let place = inputs.learn_place.of(noise);
            self.keys.set(place, inputs.learn_key.of(noise) | place << 1);
            self.row_of[place] = inputs.learn_row.of(noise);
        }
        if happens(inputs.write) {
            let Field { word, low, .. } = inputs.write_lanes;
            let lanes = lanes(noise[word], low, noise[1 % WORDS]);
            let value = Row::repeated(noise[2 % WORDS] & FEW_VALUES);
            self.rows[inputs.write_row.of(noise)].write(lanes, &value);
        }
        outputs
    }
}
