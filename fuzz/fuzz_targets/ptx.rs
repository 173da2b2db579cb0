//! A PTX file: parsed, compiled, and a block of every kernel executed for a while.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use warpfile_fuzz_inputs::targets;

warpfile_fuzz_inputs::change_text!();

fuzz_target!(|data: &[u8]| -> Corpus { if targets::ptx(data) { Corpus::Keep } else { Corpus::Reject } });
