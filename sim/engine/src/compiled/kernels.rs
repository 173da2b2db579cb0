//! What compiled code calls: operations on wide values and tables, as native functions.

use crate::activity::LaneGroups;
use crate::interpreter::execute;
use crate::plan::Plan;

/// Executes an instruction as the interpreter does, on operands in the arena.
pub unsafe extern "C" fn interpret(plan: *const Plan, id: u64, arena: *mut u64) {
    // SAFETY: compiled code passes the plan it was made from, which its engine keeps, and the arena of a state
    // of that plan; nothing else refers to the arena while compiled code runs.
    let (plan, arena) = unsafe {
        let plan = &*plan;
        (plan, std::slice::from_raw_parts_mut(arena, plan.arena_words as usize))
    };
    execute(&plan.program[id as usize], plan, arena);
}

/// Applies an update of a table as the interpreter does.
pub unsafe extern "C" fn update(plan: *const Plan, index: u64, arena: *mut u64) {
    // SAFETY: as for `interpret`.
    let (plan, arena) = unsafe {
        let plan = &*plan;
        (plan, std::slice::from_raw_parts_mut(arena, plan.arena_words as usize))
    };
    crate::state::apply_update(plan, &plan.updates[index as usize], arena);
}

/// Overwrites the lanes of `target` whose bit in `mask` is 1; up to 64 lanes in `words` words.
pub unsafe extern "C" fn blend(target: *mut u64, source: *const u64, mask: u64, lanes: u64, lane: u64) {
    let words = (lanes * lane).div_ceil(64) as usize;
    // SAFETY: compiled code passes a row of a table and a value of as many words; a value is never the row
    // itself, as rows have been copied when a write refers to them.
    let (target, source) =
        unsafe { (std::slice::from_raw_parts_mut(target, words), std::slice::from_raw_parts(source, words)) };
    crate::ops::blend(target, source, &[mask], lanes as u32, lane as u32);
}

/// Copies `n` words.
pub unsafe extern "C" fn copy(to: *mut u64, from: *const u64, n: u64) {
    // SAFETY: compiled code passes two stretches of the arena, or its inputs and a stretch of the arena, of
    // `n` words each that do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(from, to, n as usize) };
}

/// Ends the program if an access lies outside the arena; in debug builds only.
pub extern "C" fn check_access(arena: u64, bytes: u64, address: u64, length: u64) {
    let is_inside = address >= arena && address + length <= arena + bytes;
    if !is_inside {
        eprintln!(
            "compiled code accesses {length} bytes at {address:#x}, outside its arena: a bug of the engine"
        );
        std::process::abort();
    }
}

/// As [`blend`], for any number of lanes.
pub unsafe extern "C" fn blend_many(
    target: *mut u64,
    source: *const u64,
    mask: *const u64,
    lanes: u64,
    lane: u64,
) {
    let words = (lanes * lane).div_ceil(64) as usize;
    // SAFETY: as for `blend`; the mask has a bit a lane.
    let (target, source, mask) = unsafe {
        (
            std::slice::from_raw_parts_mut(target, words),
            std::slice::from_raw_parts(source, words),
            std::slice::from_raw_parts(mask, lanes.div_ceil(64) as usize),
        )
    };
    crate::ops::blend(target, source, mask, lanes as u32, lane as u32);
}

/// Groups of `size` lanes with an enabled one.
pub unsafe extern "C" fn touched(mask: *const u64, lanes: u64, size: u64) -> u64 {
    // SAFETY: compiled code passes a mask with a bit a lane.
    let mask = unsafe { std::slice::from_raw_parts(mask, lanes.div_ceil(64) as usize) };
    LaneGroups { mask: 0, lanes: lanes as u32, size: size as u32 }.touched(mask)
}
