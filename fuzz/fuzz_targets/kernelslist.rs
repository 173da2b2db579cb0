//! The list of an Accel-Sim trace, beside the trace of one kernel.
#![no_main]

use libfuzzer_sys::fuzz_target;
use warpfile_fuzz_inputs::{in_file, read_to_end};
use warpfile_kernels::trace;

const KERNEL: &[u8] = include_bytes!("../../kernels/tests/data/accelsim/v3/kernel-1.traceg");

warpfile_fuzz_inputs::change_text!();

fuzz_target!(|data: &[u8]| {
    in_file("kernelslist.g", data, |path| {
        std::fs::write(path.with_file_name("kernel-1.traceg"), KERNEL).expect("room for a trace");
        if let Ok(mut trace) = trace::open(path) {
            let _ = read_to_end(&mut trace);
        }
    });
});
