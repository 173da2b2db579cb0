//! A container (`.wft`) whose checksums are right, whatever its records hold.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpfile_fuzz_inputs::{container::assemble, in_file, read_to_end};
use warpfile_kernels::trace;

fuzz_target!(|data: &[u8]| {
    in_file("t.wft", &assemble(data), |path| {
        if let Ok(mut trace) = trace::open(path) {
            let _ = read_to_end(&mut trace);
        }
    });
});
