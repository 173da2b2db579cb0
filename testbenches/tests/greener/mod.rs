//! Registers that sleep.
//!
//! The references are written from Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, chapter
//! 4, and from the contract of the ports.

mod lookup_table;
mod power_state_decoder;
mod register_power_unit;
mod register_power_unit_ref;
mod sleep_transistors;
mod wake_up_controller;

use std::collections::BTreeSet;

use num_bigint::BigUint;

/// Rows as a vector of bits.
fn bits(rows: &BTreeSet<usize>) -> BigUint {
    let mut set = BigUint::default();
    for &row in rows {
        set.set_bit(row as u64, true);
    }
    set
}

/// Numbers side by side, the first lowest.
fn packed(numbers: &[usize], width: usize) -> BigUint {
    numbers.iter().rev().fold(BigUint::default(), |packed, &number| (packed << width) | BigUint::from(number))
}
