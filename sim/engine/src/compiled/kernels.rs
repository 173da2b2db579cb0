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
    // SAFETY: both have `n` words and do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, n as usize) };
}

/// The function that overwrites the lanes of a target whose bit in a mask is 1: takes target, source, mask (up
/// to 64 lanes), number of lanes and their bits.
pub fn blend(lanes: u32, lane: u32) -> Kernel {
    match lane {
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

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe extern "C" fn blend_32_long(target: *mut u32, source: *const u32, mask: u64, lanes: u64, _lane: u64) {
    // SAFETY: as for `blend_32`.
    let (target, source) =
        unsafe { (from_raw_parts_mut(target, lanes as usize), from_raw_parts(source, lanes as usize)) };
    blend_lanes(target, source, mask);
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

#[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2"))]
unsafe extern "C" fn lane_mux_32_long(
    result: *mut u32,
    then: *const u32,
    otherwise: *const u32,
    mask: u64,
    lanes: u64,
    _lane: u64,
) {
    let lanes = lanes as usize;
    // SAFETY: as for `lane_mux_32`.
    let (result, then, otherwise) = unsafe {
        (from_raw_parts_mut(result, lanes), from_raw_parts(then, lanes), from_raw_parts(otherwise, lanes))
    };
    mux_lanes(result, then, otherwise, mask);
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

/// Groups of `size` lanes with an enabled one.
pub unsafe extern "C" fn touched(mask: *const u64, lanes: u64, size: u64) -> u64 {
    // SAFETY: the mask has a bit a lane.
    let mask = unsafe { from_raw_parts(mask, lanes.div_ceil(64) as usize) };
    LaneGroups { mask: 0, lanes: lanes as u32, size: size as u32 }.touched(mask)
}

/// Ends the program if an access lies outside the arena; called by the code of debug builds only.
pub extern "C" fn check_access(arena: u64, bytes: u64, address: u64, length: u64) {
    let is_inside = address >= arena && address + length <= arena + bytes;
    if !is_inside {
        eprintln!(
            "compiled code accesses {length} bytes at {address:#x}, outside its arena: a bug of the engine"
        );
        std::process::abort();
    }
}
