//! The trace of a kernel as Accel-Sim writes it.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use warpfile_fuzz_inputs::targets;

warpfile_fuzz_inputs::change_text!();

fuzz_target!(|data: &[u8]| -> Corpus { if targets::accelsim(data) { Corpus::Keep } else { Corpus::Reject } });
