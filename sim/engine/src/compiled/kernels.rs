//! What compiled code calls: operations on wide values and tables, as native functions.
//!
//! Compiled code calls with addresses into the arena of the state it runs on, which nothing else uses
//! meanwhile, and with numbers of words that lie inside it; results never overlap operands. That is what makes
//! the slices made here sound. What is done with them is safe code; the operations that matter are compiled a
//! second time for vectors of 256 bits, and chosen when the circuit is compiled on a machine that has them.

use std::slice::{from_raw_parts, from_raw_parts_mut};

use crate::activity::LaneGroups;
use crate::interpreter::execute;
use crate::ops;
use crate::plan::Plan;

#[cfg(test)]
mod tests;

/// The address of a native function.
pub type Kernel = *const u8;

/// Executes an instruction as the interpreter does, on operands in the arena.
pub unsafe extern "C" fn interpret(plan: *const Plan, id: u64, arena: *mut u64) {
    // SAFETY: the plan is the one the code was made from, which the code keeps; the arena is one of its states.
    let (plan, arena) = unsafe {
        let plan = &*plan;
        (plan, from_raw_parts_mut(arena, plan.arena_words as usize))
    };
    execute(&plan.program[id as usize], plan, arena);
}

/// Applies an update of a table as the interpreter does.
pub unsafe extern "C" fn update(plan: *const Plan, index: u64, arena: *mut u64) {
    // SAFETY: as for `interpret`.
    let (plan, arena) = unsafe {
        let plan = &*plan;
        (plan, from_raw_parts_mut(arena, plan.arena_words as usize))
    };
    crate::state::apply_update(plan, &plan.updates[index as usize], arena);
}

/// Copies `n` words.
pub unsafe extern "C" fn copy(to: *mut u64, from: *const u64, n: u64) {
    // SAFETY: both have `n` words.
    unsafe { std::ptr::copy(from, to, n as usize) };
}

/// The function that overwrites the lanes of a target whose bit in a mask is 1: takes target, source, mask (up
/// to 64 lanes), number of lanes and their bits.
pub fn blend(lanes: u32, lane: u32) -> Kernel {
    match lane {
        #[cfg(target_arch = "x86_64")]
        32 if has_long_vectors() => blend_32_long as Kernel,
        32 => blend_32 as Kernel,
        _ => {
            debug_assert!(lanes <= 64);
            blend_any as Kernel
        }
    }
}

/// The function that takes each lane from one of two values: takes result, value where the mask is 1, value where
/// it is 0, mask (up to 64 lanes), number of lanes and their bits.
pub fn lane_mux(lanes: u32, lane: u32) -> Kernel {
    match lane {
        #[cfg(target_arch = "x86_64")]
        32 if has_long_vectors() => lane_mux_32_long as Kernel,
        32 => lane_mux_32 as Kernel,
        _ => {
            debug_assert!(lanes <= 64);
            lane_mux_any as Kernel
        }
    }
}

/// Whether this machine has vectors of 256 bits.
fn has_long_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// All ones where bit `lane` of `mask` is 1.
#[inline(always)]
fn lane_mask(mask: u64, lane: usize) -> u32 {
    // Halves, so that a vector of shifts fits its lanes.
    let half = if lane < 32 { mask as u32 } else { (mask >> 32) as u32 };
    (half >> (lane % 32) & 1).wrapping_neg()
}

#[inline(always)]
fn blend_lanes(target: &mut [u32], source: &[u32], mask: u64) {
    for (lane, (target, source)) in target.iter_mut().zip(source).enumerate() {
        let take = lane_mask(mask, lane);
        *target = *target & !take | *source & take;
    }
}

unsafe extern "C" fn blend_32(target: *mut u32, source: *const u32, mask: u64, lanes: u64, _lane: u64) {
    // SAFETY: both have `lanes` lanes of 32 bits; see the module.
    let (target, source) =
        unsafe { (from_raw_parts_mut(target, lanes as usize), from_raw_parts(source, lanes as usize)) };
    blend_lanes(target, source, mask);
}

/// Written out, as what the compiler makes of [`blend_lanes`] varies by a factor of two.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe extern "C" fn blend_32_long(target: *mut u32, source: *const u32, mask: u64, lanes: u64, _lane: u64) {
    use std::arch::x86_64::{_mm256_blendv_epi8, _mm256_loadu_si256, _mm256_storeu_si256};
    // SAFETY: as for `blend_32`.
    let (target, source) =
        unsafe { (from_raw_parts_mut(target, lanes as usize), from_raw_parts(source, lanes as usize)) };
    let (targets, target_rest) = target.as_chunks_mut::<8>();
    let (sources, source_rest) = source.as_chunks::<8>();
    for (first, (target, source)) in (0..).step_by(8).zip(targets.iter_mut().zip(sources)) {
        let take = eight_lanes(mask >> first);
        // SAFETY: both have the 8 lanes that are loaded and stored, wherever they lie.
        unsafe {
            let old = _mm256_loadu_si256(target.as_ptr().cast());
            let new = _mm256_loadu_si256(source.as_ptr().cast());
            _mm256_storeu_si256(target.as_mut_ptr().cast(), _mm256_blendv_epi8(old, new, take));
        }
    }
    if !target_rest.is_empty() {
        blend_lanes(target_rest, source_rest, mask >> (8 * targets.len()));
    }
}

/// All ones in each of eight lanes of 32 bits whose bit in `mask` is 1.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
fn eight_lanes(mask: u64) -> std::arch::x86_64::__m256i {
    use std::arch::x86_64::{_mm256_and_si256, _mm256_cmpeq_epi32, _mm256_set1_epi32, _mm256_setr_epi32};
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(mask as i32), bits), bits)
}

unsafe extern "C" fn blend_any(target: *mut u64, source: *const u64, mask: u64, lanes: u64, lane: u64) {
    let words = (lanes * lane).div_ceil(64) as usize;
    // SAFETY: both have `lanes` lanes of `lane` bits; see the module.
    let (target, source) = unsafe { (from_raw_parts_mut(target, words), from_raw_parts(source, words)) };
    ops::blend(target, source, &[mask], lanes as u32, lane as u32);
}

/// As [`blend`], for more than 64 lanes.
pub unsafe extern "C" fn blend_many(
    target: *mut u64,
    source: *const u64,
    mask: *const u64,
    lanes: u64,
    lane: u64,
) {
    let words = (lanes * lane).div_ceil(64) as usize;
    // SAFETY: as for `blend_any`; the mask has a bit a lane.
    let (target, source, mask) = unsafe {
        let mask = from_raw_parts(mask, lanes.div_ceil(64) as usize);
        (from_raw_parts_mut(target, words), from_raw_parts(source, words), mask)
    };
    ops::blend(target, source, mask, lanes as u32, lane as u32);
}

#[inline(always)]
fn mux_lanes(result: &mut [u32], then: &[u32], otherwise: &[u32], mask: u64) {
    for (lane, ((result, then), otherwise)) in result.iter_mut().zip(then).zip(otherwise).enumerate() {
        let take = lane_mask(mask, lane);
        *result = otherwise & !take | then & take;
    }
}

unsafe extern "C" fn lane_mux_32(
    result: *mut u32,
    then: *const u32,
    otherwise: *const u32,
    mask: u64,
    lanes: u64,
    _lane: u64,
) {
    let lanes = lanes as usize;
    // SAFETY: all have `lanes` lanes of 32 bits; see the module.
    let (result, then, otherwise) = unsafe {
        (from_raw_parts_mut(result, lanes), from_raw_parts(then, lanes), from_raw_parts(otherwise, lanes))
    };
    mux_lanes(result, then, otherwise, mask);
}

/// Written out for the same reason as [`blend_32_long`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe extern "C" fn lane_mux_32_long(
    result: *mut u32,
    then: *const u32,
    otherwise: *const u32,
    mask: u64,
    lanes: u64,
    _lane: u64,
) {
    use std::arch::x86_64::{_mm256_blendv_epi8, _mm256_loadu_si256, _mm256_storeu_si256};
    let lanes = lanes as usize;
    // SAFETY: as for `lane_mux_32`.
    let (result, then, otherwise) = unsafe {
        (from_raw_parts_mut(result, lanes), from_raw_parts(then, lanes), from_raw_parts(otherwise, lanes))
    };
    let (results, result_rest) = result.as_chunks_mut::<8>();
    let (thens, then_rest) = then.as_chunks::<8>();
    let (otherwises, otherwise_rest) = otherwise.as_chunks::<8>();
    for (first, (result, (then, otherwise))) in
        (0..).step_by(8).zip(results.iter_mut().zip(thens.iter().zip(otherwises)))
    {
        let take = eight_lanes(mask >> first);
        // SAFETY: all have the 8 lanes that are loaded and stored, wherever they lie.
        unsafe {
            let then = _mm256_loadu_si256(then.as_ptr().cast());
            let otherwise = _mm256_loadu_si256(otherwise.as_ptr().cast());
            _mm256_storeu_si256(result.as_mut_ptr().cast(), _mm256_blendv_epi8(otherwise, then, take));
        }
    }
    if !result_rest.is_empty() {
        mux_lanes(result_rest, then_rest, otherwise_rest, mask >> (8 * results.len()));
    }
}

unsafe extern "C" fn lane_mux_any(
    result: *mut u64,
    then: *const u64,
    otherwise: *const u64,
    mask: u64,
    lanes: u64,
    lane: u64,
) {
    let words = (lanes * lane).div_ceil(64) as usize;
    // SAFETY: all have `lanes` lanes of `lane` bits; see the module.
    let (result, then, otherwise) = unsafe {
        (from_raw_parts_mut(result, words), from_raw_parts(then, words), from_raw_parts(otherwise, words))
    };
    result.copy_from_slice(otherwise);
    ops::blend(result, then, &[mask], lanes as u32, lane as u32);
}

/// Or of the lanes of `vector`, of `words` words each, whose bit in `select` is 1.
pub unsafe extern "C" fn one_hot_select(result: *mut u64, select: u64, vector: *const u64, words: u64) {
    let words = words as usize;
    // SAFETY: the result has the words of a lane, the vector as many lanes as reach its highest selected one.
    let (result, vector) = unsafe {
        let lanes = (64 - select.leading_zeros()) as usize;
        (from_raw_parts_mut(result, words), from_raw_parts(vector, lanes * words))
    };
    let mut left = select;
    let mut lane = || {
        let lane = left.trailing_zeros() as usize;
        left &= left.wrapping_sub(1);
        (lane < 64).then(|| &vector[lane * words..][..words])
    };
    match lane() {
        Some(first) => result.copy_from_slice(first),
        None => result.fill(0),
    }
    while let Some(next) = lane() {
        result.iter_mut().zip(next).for_each(|(result, next)| *result |= next);
    }
}

/// The function that compares a column with a value: takes the column, the value, the number of rows, and where the
/// bits go, one a row, bits behind the last row 0. Rows have 1, 2, 4 or 8 bytes.
pub fn equal_rows(bytes: u32) -> Kernel {
    match (bytes, has_long_vectors()) {
        #[cfg(target_arch = "x86_64")]
        (1, true) => equal_bytes_long as Kernel,
        #[cfg(target_arch = "x86_64")]
        (2, true) => equal_halves_long as Kernel,
        (1, _) => equal_elements::<u8> as Kernel,
        (2, _) => equal_elements::<u16> as Kernel,
        (4, _) => equal_elements::<u32> as Kernel,
        (_, _) => {
            debug_assert_eq!(bytes, 8);
            equal_elements::<u64> as Kernel
        }
    }
}

unsafe extern "C" fn equal_elements<T: Copy + Into<u64>>(
    column: *const T,
    value: u64,
    rows: u64,
    bits: *mut u64,
) {
    let rows = rows as usize;
    // SAFETY: the column has `rows` rows, the bits as many words as these take; see the module.
    let (column, bits) =
        unsafe { (from_raw_parts(column, rows), from_raw_parts_mut(bits, rows.div_ceil(64))) };
    equal_rest(column, value, bits);
}

/// Compares rows from the first of a word on.
fn equal_rest<T: Copy + Into<u64>>(column: &[T], value: u64, bits: &mut [u64]) {
    for (bits, rows) in bits.iter_mut().zip(column.chunks(64)) {
        let equal = rows.iter().enumerate().map(|(row, &found)| u64::from(found.into() == value) << row);
        *bits = equal.fold(0, |all, bit| all | bit);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe extern "C" fn equal_bytes_long(column: *const u8, value: u64, rows: u64, bits: *mut u64) {
    use std::arch::x86_64::{_mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8};
    let rows = rows as usize;
    // SAFETY: as for `equal_elements`.
    let (column, bits) =
        unsafe { (from_raw_parts(column, rows), from_raw_parts_mut(bits, rows.div_ceil(64))) };
    let wanted = _mm256_set1_epi8(value as i8);
    let (words, rest) = column.as_chunks::<64>();
    for (bits, rows) in bits.iter_mut().zip(words) {
        *bits = 0;
        for (half, rows) in rows.as_chunks::<32>().0.iter().enumerate() {
            // SAFETY: the half has the 32 bytes that are loaded, wherever they lie.
            let found = unsafe { _mm256_loadu_si256(rows.as_ptr().cast()) };
            let equal = _mm256_movemask_epi8(_mm256_cmpeq_epi8(found, wanted)) as u32;
            *bits |= u64::from(equal) << (32 * half);
        }
    }
    equal_rest(rest, value, &mut bits[words.len()..]);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe extern "C" fn equal_halves_long(column: *const u16, value: u64, rows: u64, bits: *mut u64) {
    use std::arch::x86_64::{
        _mm256_cmpeq_epi16, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_packs_epi16,
        _mm256_permute4x64_epi64, _mm256_set1_epi16,
    };
    let rows = rows as usize;
    // SAFETY: as for `equal_elements`.
    let (column, bits) =
        unsafe { (from_raw_parts(column, rows), from_raw_parts_mut(bits, rows.div_ceil(64))) };
    let wanted = _mm256_set1_epi16(value as i16);
    let (words, rest) = column.as_chunks::<64>();
    for (bits, rows) in bits.iter_mut().zip(words) {
        *bits = 0;
        for (half, rows) in rows.as_chunks::<32>().0.iter().enumerate() {
            // SAFETY: the half has the two times 16 values that are loaded, wherever they lie.
            let low = unsafe { _mm256_loadu_si256(rows.as_ptr().cast()) };
            // SAFETY: as above.
            let high = unsafe { _mm256_loadu_si256(rows[16..].as_ptr().cast()) };
            let (low, high) = (_mm256_cmpeq_epi16(low, wanted), _mm256_cmpeq_epi16(high, wanted));
            // Packing works in halves of the vector; the permutation puts the rows in order again.
            let equal = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
            *bits |= u64::from(_mm256_movemask_epi8(equal) as u32) << (32 * half);
        }
    }
    equal_rest(rest, value, &mut bits[words.len()..]);
}

/// Groups of `size` lanes with an enabled one.
pub unsafe extern "C" fn touched(mask: *const u64, lanes: u64, size: u64) -> u64 {
    // SAFETY: the mask has a bit a lane.
    let mask = unsafe { from_raw_parts(mask, lanes.div_ceil(64) as usize) };
    LaneGroups { mask: 0, lanes: lanes as u32, size: size as u32 }.touched(mask)
}

/// Ends the program if an access lies outside the arena; called by the code of debug builds only.
pub extern "C" fn check_access(arena: u64, bytes: u64, address: u64, length: u64) {
    if !is_inside(arena, bytes, address, length) {
        eprintln!(
            "compiled code accesses {length} bytes at {address:#x}, outside its arena: a bug of the engine"
        );
        std::process::abort();
    }
}

/// Whether `length` bytes at an address lie in the `bytes` bytes at another.
fn is_inside(arena: u64, bytes: u64, address: u64, length: u64) -> bool {
    address >= arena && address + length <= arena + bytes
}
