//! A recording of a circuit's ports.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpfile_engine::recording::Recording;

/// Cycles of an input that are looked at: a cycle in which nothing changes takes no room.
const MOST: usize = 10_000;

fuzz_target!(|data: &[u8]| {
    if let Ok(mut recording) = Recording::new(data) {
        for _ in 0..MOST {
            if !matches!(recording.next_cycle(), Ok(true)) {
                break;
            }
        }
    }
});
