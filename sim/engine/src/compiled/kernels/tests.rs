//! Every native function beside a plain model, at every length and from every place its vectors can meet.
//!
//! Operands end where their allocation ends, so that Miri and the address sanitizer see each access beyond; see
//! `scripts/sanitize`. Where there are several versions of a function, the portable one is checked and the one that is
//! chosen on this machine.

use std::mem::transmute;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::plan::UpdateEdge;
use crate::plan::inst::Inst;

type Blend<T> = unsafe extern "C" fn(*mut T, *const T, u64, u64, u64);
type LaneMux<T> = unsafe extern "C" fn(*mut T, *const T, *const T, u64, u64, u64);
type EqualRows<T> = unsafe extern "C" fn(*const T, u64, u64, *mut u64);

/// What a result holds before it is written.
const STALE: u64 = 0xdead_beef_dead_beef;

/// Few cases, as each tries every length; fewer where Miri interprets them.
fn config() -> ProptestConfig {
    let cases = if cfg!(miri) { 2 } else { 64 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Elements at the end of an allocation, some distance from its start.
struct Placed<T> {
    all: Box<[T]>,
    start: usize,
}

impl<T: Copy + Default + PartialEq> Placed<T> {
    fn new(start: usize, elements: &[T]) -> Placed<T> {
        let all = vec![T::default(); start].into_iter().chain(elements.iter().copied()).collect();
        Placed { all, start }
    }

    fn pointer(&self) -> *const T {
        self.all[self.start..].as_ptr()
    }

    fn pointer_mut(&mut self) -> *mut T {
        self.all[self.start..].as_mut_ptr()
    }

    /// The elements, if what is in front of them has not changed.
    fn elements(&self) -> &[T] {
        assert!(self.all[..self.start].iter().all(|&element| element == T::default()), "written in front");
        &self.all[self.start..]
    }
}

fn bit(words: &[u64], index: usize) -> bool {
    words[index / 64] >> (index % 64) & 1 == 1
}

/// Words with these bits, lowest first, and 0 above them.
fn words_of(bits: impl Iterator<Item = bool>) -> Vec<u64> {
    let mut words = Vec::new();
    for (index, bit) in bits.enumerate() {
        if index % 64 == 0 {
            words.push(0);
        }
        words[index / 64] |= u64::from(bit) << (index % 64);
    }
    words
}

/// The first `bits` bits of words.
fn cut(words: &[u64], bits: usize) -> Vec<u64> {
    words_of((0..bits).map(|index| bit(words, index)))
}

/// Lanes of `lane` bits, each from `then` where its bit in the mask is 1, else from `otherwise`.
fn merged(then: &[u64], otherwise: &[u64], mask: &[u64], lanes: usize, lane: usize) -> Vec<u64> {
    let from = |index: usize| if bit(mask, index / lane) { then } else { otherwise };
    words_of((0..lanes * lane).map(|index| bit(from(index), index)))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_blend_of_32_bit_lanes_takes_those_in_the_mask(
        [old, new] in [vec(any::<u32>(), 64), vec(any::<u32>(), 64)],
        mask: u64,
        starts in [0..8usize, 0..8],
    ) {
        // SAFETY: what is chosen for lanes of 32 bits has this signature.
        let chosen = unsafe { transmute::<Kernel, Blend<u32>>(blend(64, 32)) };
        for lanes in 0..=64 {
            let blended: Vec<u32> =
                (0..lanes).map(|lane| if mask >> lane & 1 == 1 { new[lane] } else { old[lane] }).collect();
            for function in [blend_32 as Blend<u32>, chosen] {
                let (mut target, source) =
                    (Placed::new(starts[0], &old[..lanes]), Placed::new(starts[1], &new[..lanes]));
                // SAFETY: both have `lanes` lanes.
                unsafe { function(target.pointer_mut(), source.pointer(), mask, lanes as u64, 32) };
                prop_assert_eq!(target.elements(), &blended);
            }
        }
    }

    #[test]
    fn a_mux_of_32_bit_lanes_takes_one_of_two_by_the_mask(
        [then, otherwise] in [vec(any::<u32>(), 64), vec(any::<u32>(), 64)],
        mask: u64,
        starts in [0..8usize, 0..8, 0..8],
    ) {
        // SAFETY: what is chosen for lanes of 32 bits has this signature.
        let chosen = unsafe { transmute::<Kernel, LaneMux<u32>>(lane_mux(64, 32)) };
        for lanes in 0..=64 {
            let taken: Vec<u32> =
                (0..lanes).map(|lane| if mask >> lane & 1 == 1 { then[lane] } else { otherwise[lane] }).collect();
            for function in [lane_mux_32 as LaneMux<u32>, chosen] {
                let mut result = Placed::new(starts[0], &vec![STALE as u32; lanes]);
                let (then, otherwise) =
                    (Placed::new(starts[1], &then[..lanes]), Placed::new(starts[2], &otherwise[..lanes]));
                let (to, then, otherwise) = (result.pointer_mut(), then.pointer(), otherwise.pointer());
                // SAFETY: all have `lanes` lanes.
                unsafe { function(to, then, otherwise, mask, lanes as u64, 32) };
                prop_assert_eq!(result.elements(), &taken);
            }
        }
    }

    #[test]
    fn lanes_of_any_width_are_taken_by_the_mask(
        lanes in 1..=64usize,
        lane in prop_oneof![1..=70usize, select(vec![8, 16, 64, 128])],
        [new, old] in [vec(any::<u64>(), 128), vec(any::<u64>(), 128)],
        mask: u64,
        starts in [0..4usize, 0..4, 0..4],
    ) {
        let bits = lanes * lane;
        let (new, old) = (cut(&new, bits), cut(&old, bits));
        let model = merged(&new, &old, &[mask], lanes, lane);
        let source = Placed::new(starts[0], &new);
        let (count, width) = (lanes as u64, lane as u64);

        let mut target = Placed::new(starts[1], &old);
        // SAFETY: both have `lanes` lanes of `lane` bits.
        unsafe { blend_any(target.pointer_mut(), source.pointer(), mask, count, width) };
        prop_assert_eq!(target.elements(), &model);

        let (mut result, other) =
            (Placed::new(starts[1], &vec![STALE; old.len()]), Placed::new(starts[2], &old));
        let (to, then, otherwise) = (result.pointer_mut(), source.pointer(), other.pointer());
        // SAFETY: as above.
        unsafe { lane_mux_any(to, then, otherwise, mask, count, width) };
        prop_assert_eq!(result.elements(), &model);
    }

    #[test]
    fn many_lanes_are_blended_by_a_mask_of_several_words(
        lanes in 65..=300usize,
        lane in 1..=40usize,
        [new, old] in [vec(any::<u64>(), 188), vec(any::<u64>(), 188)],
        mask in vec(any::<u64>(), 5),
        starts in [0..4usize, 0..4, 0..4],
    ) {
        let bits = lanes * lane;
        let (new, old, mask) = (cut(&new, bits), cut(&old, bits), cut(&mask, lanes));
        let model = merged(&new, &old, &mask, lanes, lane);
        let mut target = Placed::new(starts[0], &old);
        let (source, mask) = (Placed::new(starts[1], &new), Placed::new(starts[2], &mask));
        let (to, from, mask) = (target.pointer_mut(), source.pointer(), mask.pointer());
        // SAFETY: both have `lanes` lanes of `lane` bits, the mask has a bit a lane.
        unsafe { blend_many(to, from, mask, lanes as u64, lane as u64) };
        prop_assert_eq!(target.elements(), &model);
    }

    #[test]
    fn a_copy_is_the_same(words in vec(any::<u64>(), 130), starts in [0..4usize, 0..4]) {
        for n in 0..=words.len() {
            let (mut to, from) = (Placed::new(starts[0], &vec![STALE; n]), Placed::new(starts[1], &words[..n]));
            // SAFETY: both have `n` words.
            unsafe { copy(to.pointer_mut(), from.pointer(), n as u64) };
            prop_assert_eq!(to.elements(), &words[..n]);
        }
    }

    #[test]
    fn a_select_is_the_or_of_the_selected_lanes(
        all in vec(any::<u64>(), 64 * 9),
        choice in prop_oneof![any::<u64>(), (0..64u32).prop_map(|lane| 1 << lane), Just(0)],
        starts in [0..4usize, 0..4],
    ) {
        let lanes = (64 - choice.leading_zeros()) as usize;
        for words in 1..=9 {
            let vector = Placed::new(starts[0], &all[..lanes * words]);
            let mut result = Placed::new(starts[1], &vec![STALE; words]);
            // SAFETY: the result has the words of a lane, the vector all lanes up to the highest selected.
            unsafe { one_hot_select(result.pointer_mut(), choice, vector.pointer(), words as u64) };
            let chosen = |word: usize| {
                let lanes = (0..lanes).filter(|lane| choice >> lane & 1 == 1);
                lanes.fold(0, |or, lane| or | all[lane * words + word])
            };
            prop_assert_eq!(result.elements(), &(0..words).map(chosen).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn rows_are_equal_where_their_value_is(
        column in vec(row(), 200),
        value in row(),
        starts in [0..64usize, 0..4],
    ) {
        equal_where_the_value_is(&column, value, starts, |row| row as u8)?;
        equal_where_the_value_is(&column, value, starts, |row| row as u16)?;
        equal_where_the_value_is(&column, value, starts, |row| row as u32)?;
        equal_where_the_value_is(&column, value, starts, |row| row)?;
    }

    #[test]
    fn groups_are_touched_that_have_a_lane_in_the_mask(
        groups in 1..=40usize,
        size in 1..=70usize,
        mask in vec(select(vec![0, 1, 1 << 63, u64::MAX]), 44),
        start in 0..4usize,
    ) {
        let lanes = groups * size;
        let mask = cut(&mask, lanes);
        let placed = Placed::new(start, &mask);
        // SAFETY: the mask has a bit a lane.
        let count = unsafe { touched(placed.pointer(), lanes as u64, size as u64) };
        let is_touched = |group: &usize| (group * size..(group + 1) * size).any(|lane| bit(&mask, lane));
        prop_assert_eq!(count, (0..groups).filter(is_touched).count() as u64);
    }
}

/// Values that are often equal, and differ in the bits that signed comparisons mistake.
fn row() -> impl Strategy<Value = u64> {
    select(vec![0, 1, 0x7f7f_7f7f_7f7f_7f7f, 0x8080_8080_8080_8080, u64::MAX])
}

/// Compares every number of rows of a column, cut to the width of its elements.
fn equal_where_the_value_is<T: Copy + Default + PartialEq + Into<u64>>(
    column: &[u64],
    value: u64,
    starts: [usize; 2],
    cut: impl Fn(u64) -> T,
) -> Result<(), TestCaseError> {
    // SAFETY: what is chosen for rows of so many bytes has this signature.
    let chosen = unsafe { transmute::<Kernel, EqualRows<T>>(equal_rows(size_of::<T>() as u32)) };
    let column: Vec<T> = column.iter().map(|&row| cut(row)).collect();
    let value = cut(value);
    for rows in 0..=column.len() {
        let equal = words_of(column[..rows].iter().map(|&row| row == value));
        for function in [equal_elements::<T> as EqualRows<T>, chosen] {
            let column = Placed::new(starts[0], &column[..rows]);
            let mut bits = Placed::new(starts[1], &vec![STALE; equal.len()]);
            // SAFETY: the column has `rows` rows, and there is a bit for each.
            unsafe { function(column.pointer(), value.into(), rows as u64, bits.pointer_mut()) };
            prop_assert_eq!(bits.elements(), &equal);
        }
    }
    Ok(())
}

#[test]
fn an_instruction_is_executed_on_its_operands_in_the_arena() {
    let mut plan = Plan::default();
    plan.arena_words = 3;
    plan.program = vec![Inst::Not { d: 2, a: 0, width: 8 }, Inst::Sub { d: 2, a: 0, b: 1, width: 8 }];
    let mut arena = Placed::new(1, &[5, 7, STALE]);
    // SAFETY: the arena is one of the plan's.
    unsafe { interpret(&plan, 1, arena.pointer_mut()) };
    assert_eq!(arena.elements(), [5, 7, 254]);
}

#[test]
fn an_update_changes_the_row_that_is_there_and_enabled() {
    let [enable, address, amount, base] = [0, 1, 2, 3];
    let add = UpdateEdge::Add { enable, address, depth: 3, base, width: 64, amount };
    let mut plan = Plan::default();
    plan.arena_words = 6;
    plan.updates = vec![add];
    for (enable, address, rows) in [(1, 2, [10, 20, 35]), (1, 3, [10, 20, 30]), (0, 2, [10, 20, 30])] {
        let mut arena = Placed::new(1, &[enable, address, 5, 10, 20, 30]);
        // SAFETY: the arena is one of the plan's.
        unsafe { update(&plan, 0, arena.pointer_mut()) };
        assert_eq!(arena.elements()[3..], rows);
    }
}

#[test]
fn an_access_is_inside_up_to_the_last_byte() {
    assert!(is_inside(100, 16, 100, 8));
    assert!(is_inside(100, 16, 108, 8));
    assert!(!is_inside(100, 16, 109, 8));
    assert!(!is_inside(100, 16, 99, 8));
}
