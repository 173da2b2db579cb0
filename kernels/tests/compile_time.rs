//! The compiler's time grows with a kernel and not with its square.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, compile};
use warpfile_kernels::ptx::parse;

#[path = "../examples/compile_time/shapes.rs"]
mod shapes;

use shapes::{SHAPES, Shape, kernel};

/// Processor time of this thread so far: other work on the machine adds little to it.
fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap().into()
}

/// What it takes once.
fn time(shape: &Shape, instructions: usize, schedule: Schedule) -> Duration {
    let text = kernel(shape, instructions);
    let begun = now();
    let module = parse("k.ptx", &text).unwrap();
    compile(&module, "k", &CompileOptions { schedule, ..CompileOptions::default() }).unwrap();
    now() - begun
}

/// (`blocks` does a part of what `list` does.)
#[test]
fn eight_times_the_instructions_take_no_twenty_times_as_long() {
    for (shape, schedule) in
        SHAPES.iter().flat_map(|shape| [Schedule::None, Schedule::List].map(|schedule| (shape, schedule)))
    {
        let short = (0..3).map(|_| time(shape, 1_000, schedule)).min().unwrap();
        // What disturbs one of them hardly disturbs three.
        let long = || time(shape, 8_000, schedule);
        assert!((0..3).any(|_| long() < 20 * short), "{}, {schedule:?}: {short:?}", shape.name);
    }
}
