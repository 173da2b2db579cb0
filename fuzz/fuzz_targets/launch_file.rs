//! A launch file with what each of its steps does to memory.
#![no_main]

use std::path::Path;
use std::sync::Arc;

use libfuzzer_sys::{Corpus, fuzz_target};
use warpfile_kernels::launch::{HostMemory, LaunchFile, Sequence};

/// Steps of an input that are looked at: a small file may announce very many.
const MOST: usize = 1000;
/// Bytes of buffers that are filled.
const MOST_BYTES: usize = 1 << 24;

struct Buffers(Vec<Vec<u8>>);

impl HostMemory for Buffers {
    fn read(&self, buffer: usize) -> Result<&[u8], String> {
        Ok(&self.0[buffer])
    }

    fn address(&self, buffer: usize) -> u64 {
        buffer as u64 * MOST_BYTES as u64
    }

    fn write(&mut self, buffer: usize, bytes: &[u8]) -> Result<(), String> {
        assert_eq!(self.0[buffer].len(), bytes.len(), "a buffer keeps its length");
        self.0[buffer].copy_from_slice(bytes);
        Ok(())
    }
}

warpfile_fuzz_inputs::change_text!();

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else { return Corpus::Reject };
    // Files that it names are not there.
    let Ok(file) = LaunchFile::parse(Path::new("/nowhere/launch.toml"), text) else { return Corpus::Keep };
    let file = Arc::new(file);
    for size in ["tiny", "default"] {
        let Ok(mut sequence) = Sequence::new(file.clone(), size) else { continue };
        let bytes = |(length, elements): (&usize, u64)| length.saturating_mul(elements as usize);
        let elements = file.buffers.iter().map(|buffer| u64::from(buffer.element.bytes() as u32));
        let bytes: Vec<usize> = sequence.lengths().iter().zip(elements).map(bytes).collect();
        if bytes.iter().fold(0, |all: usize, &more| all.saturating_add(more)) > MOST_BYTES {
            continue;
        }
        let mut memory = Buffers(bytes.into_iter().map(|bytes| vec![0; bytes]).collect());
        if sequence.fill_all(&mut memory).is_err() {
            continue;
        }
        for _ in 0..MOST {
            if !matches!(sequence.next(&mut memory), Ok(Some(_))) {
                break;
            }
        }
    }
    Corpus::Keep
});
