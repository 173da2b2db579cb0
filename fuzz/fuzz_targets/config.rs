//! A configuration file, laid over a preset and by itself.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use warpfile_fuzz_inputs::targets;

warpfile_fuzz_inputs::change_text!();

fuzz_target!(|data: &[u8]| -> Corpus { if targets::config(data) { Corpus::Keep } else { Corpus::Reject } });
