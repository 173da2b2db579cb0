//! A container (`.wft`) whose checksums are right, whatever its records hold.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use warpfile_fuzz_inputs::targets;

fuzz_target!(|data: &[u8]| -> Corpus {
    if targets::container(data) { Corpus::Keep } else { Corpus::Reject }
});
