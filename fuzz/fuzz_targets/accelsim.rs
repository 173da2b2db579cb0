//! The trace of a kernel as Accel-Sim writes it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpfile_fuzz_inputs::{in_file, read_to_end};
use warpfile_kernels::trace;

warpfile_fuzz_inputs::change_text!();

fuzz_target!(|data: &[u8]| {
    in_file("kernel-1.traceg", data, |path| {
        if let Ok(mut trace) = trace::open(path) {
            let _ = read_to_end(&mut trace);
        }
    });
});
