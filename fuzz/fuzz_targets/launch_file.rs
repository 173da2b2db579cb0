//! A launch file with what each of its steps does to memory.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use warpfile_fuzz_inputs::targets;

warpfile_fuzz_inputs::change_text!();

fuzz_target!(|data: &[u8]| -> Corpus {
    if targets::launch_file(data) { Corpus::Keep } else { Corpus::Reject }
});
