//! The list of an Accel-Sim trace, beside the trace of one kernel.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use warpfile_fuzz_inputs::targets;

warpfile_fuzz_inputs::change_text!();

fuzz_target!(|data: &[u8]| -> Corpus {
    if targets::kernelslist(data) { Corpus::Keep } else { Corpus::Reject }
});
