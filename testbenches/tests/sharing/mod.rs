//! Sharing of registers and scratchpad.
//!
//! The references are written from Jatala, "Hardware and Software Optimizations for GPU Resource Management", 2018, chapters 2
//! and 3, and from the contract of the ports.

mod dynamic_execution;
mod owner_warp_first;
mod pairs_ref;
mod register_access_unit;
mod release_unit;
mod resource_access_unit;
mod scratchpad_access_unit;

use num_bigint::BigUint;

/// Members of a set as a vector of bits.
fn bits(members: impl IntoIterator<Item = usize>) -> BigUint {
    let mut set = BigUint::default();
    for member in members {
        set.set_bit(member as u64, true);
    }
    set
}

/// Numbers side by side, the first lowest.
fn packed(numbers: &[usize], width: usize) -> BigUint {
    numbers.iter().rev().fold(BigUint::default(), |packed, &number| (packed << width) | BigUint::from(number))
}
