//! Changes of tables at the clock edge, in program order.
//!
//! Reads have taken their rows by then, so changes go straight to the rows.

use crate::ops;
use crate::plan::inst::element_bytes;
use crate::plan::{Plan, Store, UpdateEdge};

/// Applies the updates of all tables.
pub(super) fn apply_updates(plan: &Plan, arena: &mut [u64]) {
    for update in &plan.updates {
        apply_update(plan, update, arena);
    }
}

/// Applies one update.
pub(crate) fn apply_update(plan: &Plan, update: &UpdateEdge, arena: &mut [u64]) {
    match *update {
        UpdateEdge::Write { enable, address, depth, stores, count, valid } => {
            let Some(row) = enabled_row(arena, enable, address, depth) else { return };
            for store in &plan.stores[stores as usize..(stores + count) as usize] {
                write_field(arena, store, row);
            }
            if let Some(valid) = valid {
                arena[(valid + row / 64) as usize] |= 1 << (row % 64);
            }
        }
        UpdateEdge::Add { enable, address, depth, base, width, amount } => {
            let Some(row) = enabled_row(arena, enable, address, depth) else { return };
            add_field(arena, base, width, row, amount);
        }
        UpdateEdge::ClearRow { enable, address, depth, valid } => {
            let Some(row) = enabled_row(arena, enable, address, depth) else { return };
            arena[(valid + row / 64) as usize] &= !(1 << (row % 64));
        }
        UpdateEdge::ClearRows { enable, rows, valid, n } => {
            if arena[enable as usize] != 0 {
                for word in 0..n {
                    arena[(valid + word) as usize] &= !arena[(rows + word) as usize];
                }
            }
        }
        UpdateEdge::SetRows { enable, rows, valid, n } => {
            if arena[enable as usize] != 0 {
                for word in 0..n {
                    arena[(valid + word) as usize] |= arena[(rows + word) as usize];
                }
            }
        }
    }
}

/// The row to change, if the port is enabled and the row exists.
#[inline]
fn enabled_row(arena: &[u64], enable: u32, address: u32, depth: u32) -> Option<u32> {
    let row = arena[address as usize];
    (arena[enable as usize] != 0 && row < u64::from(depth)).then_some(row as u32)
}

fn write_field(arena: &mut [u64], store: &Store, row: u32) {
    if store.bytes < 8 {
        return write_element(arena, store, row);
    }
    let n = store.n as usize;
    let (field, value) = ((store.base + row * store.n) as usize, store.value as usize);
    let Some(lanes) = store.lanes else {
        return arena.copy_within(value..value + n, field);
    };
    if store.lane_count <= 64 {
        let mask = [arena[lanes as usize]];
        let (field, value) = two(arena, field, value, n);
        return ops::blend(field, value, &mask, store.lane_count, store.lane_width);
    }
    for lane in 0..store.lane_count {
        if arena[(lanes + lane / 64) as usize] >> (lane % 64) & 1 == 1 {
            let (field, value) = two(arena, field, value, n);
            let low = lane * store.lane_width;
            ops::replace(field, value, low, store.lane_width);
        }
    }
}

/// Writes a field that shares its word with other rows.
fn write_element(arena: &mut [u64], store: &Store, row: u32) {
    let mut value = [arena[store.value as usize]];
    if let Some(lanes) = store.lanes {
        let written = std::mem::replace(&mut value, [ops::element(arena, store.base, row, store.bytes)]);
        ops::blend(&mut value, &written, &[arena[lanes as usize]], store.lane_count, store.lane_width);
    }
    ops::set_element(arena, store.base, row, store.bytes, value[0]);
}

fn add_field(arena: &mut [u64], base: u32, width: u32, row: u32, amount: u32) {
    let bytes = element_bytes(width);
    if bytes < 8 {
        let sum = ops::element(arena, base, row, bytes).wrapping_add(arena[amount as usize]);
        return ops::set_element(arena, base, row, bytes, sum & ops::mask(width));
    }
    let n = width.div_ceil(64);
    let (field, amount) = ((base + row * n) as usize, amount as usize);
    let (field, amount) = two(arena, field, amount, n as usize);
    ops::accumulate(field, amount, width);
}

/// `n` words to change and `n` words to read, which do not overlap.
fn two(arena: &mut [u64], target: usize, source: usize, n: usize) -> (&mut [u64], &[u64]) {
    if source < target {
        let (low, high) = arena.split_at_mut(target);
        (&mut high[..n], &low[source..source + n])
    } else {
        let (low, high) = arena.split_at_mut(source);
        (&mut low[target..target + n], &high[..n])
    }
}
