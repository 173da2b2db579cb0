//! What a launch executes, for the checkers of compiler passes.

use crate::program::{Stream, StreamError, WarpInstruction};

/// Runs every warp of a launch, one after the other. `start` gives what is known of a warp, `step` follows one instruction
/// as it was executed, `end` looks at what is left. Gives how many instructions there were.
///
/// # Errors
/// The first of `step` or `end`, or the stream's.
pub fn follow_warps<W, E: From<StreamError>>(
    stream: &mut dyn Stream,
    start: impl Fn() -> W,
    mut step: impl FnMut(&mut W, &WarpInstruction) -> Result<(), E>,
    mut end: impl FnMut(&W) -> Result<(), E>,
) -> Result<u64, E> {
    let (blocks, warps) = (stream.launch().blocks(), stream.launch().warps_per_block());
    let mut executed = WarpInstruction::default();
    let mut followed = 0;
    for block in 0..blocks {
        stream.start_block(block)?;
        for warp in 0..warps {
            let mut state = start();
            while stream.next(block, warp, &mut executed)? {
                step(&mut state, &executed)?;
                followed += 1;
            }
            end(&state)?;
        }
        stream.finish_block(block);
    }
    Ok(followed)
}
