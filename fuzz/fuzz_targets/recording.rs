//! A recording of a circuit's ports.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use warpfile_fuzz_inputs::targets;

fuzz_target!(|data: &[u8]| -> Corpus {
    if targets::recording(data) { Corpus::Keep } else { Corpus::Reject }
});
