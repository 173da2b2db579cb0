//! The fuzz targets, but for the fuzzer, and what they share.

pub mod container;
pub mod targets;
pub mod text;

use std::path::Path;

use warpfile_kernels::program::{Launches, StreamError, WarpInstruction};

/// Instructions of an input that are looked at: a small input may hold very many.
const MOST: usize = 100_000;

/// Puts an input into a file of its own and hands its path on.
pub fn in_file(name: &str, bytes: &[u8], read: impl FnOnce(&Path)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("room for an input");
    read(&path);
}

/// Reads a trace to its end: every launch, block and warp.
pub fn read_to_end(launches: &mut dyn Launches) -> Result<(), StreamError> {
    let (mut left, mut instruction) = (MOST, WarpInstruction::default());
    while let Some(mut stream) = launches.next_launch()? {
        let warps = stream.launch().warps_per_block();
        for block in 0..stream.launch().blocks() {
            stream.start_block(block)?;
            for warp in 0..warps {
                loop {
                    left -= 1;
                    if left == 0 {
                        return Ok(());
                    }
                    if !stream.next(block, warp, &mut instruction)? {
                        break;
                    }
                    let program = stream.program();
                    assert!(
                        (instruction.inst.0 as usize) < program.instructions.len(),
                        "an instruction of the program"
                    );
                }
            }
            stream.finish_block(block);
        }
    }
    Ok(())
}
