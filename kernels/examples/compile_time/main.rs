//! How the time of the front end and of the compiler grows with a kernel, for several shapes of code.
//!
//! `cargo run --release -p warpfile-kernels --example compile_time [instructions]…`, by default 10⁴ to 10⁶.

use std::time::{Duration, Instant};

use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, compile};
use warpfile_kernels::ptx::parse;

mod shapes;

use shapes::{SHAPES, kernel};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sizes: Result<Vec<usize>, _> = std::env::args().skip(1).map(|size| size.parse()).collect();
    let sizes = Some(sizes?).filter(|sizes| !sizes.is_empty()).unwrap_or(vec![10_000, 100_000, 1_000_000]);
    println!("| shape | order | instructions | front end, s | compiler, s | µs an instruction |");
    println!("|---|---|--:|--:|--:|--:|");
    for (shape, schedule) in SHAPES.iter().flat_map(|shape| Schedule::ALL.map(|schedule| (shape, schedule))) {
        let order = schedule.as_str();
        for &size in &sizes {
            let text = kernel(shape, size);
            let (module, parsed) = timed(|| parse("k.ptx", &text));
            let module = module?;
            let (compiled, took) =
                timed(|| compile(&module, "k", &CompileOptions { schedule, ..CompileOptions::default() }));
            let count = compiled?.program.instructions.len();
            let each = (parsed + took).as_secs_f64() * 1e6 / count as f64;
            let [parsed, took] = [parsed, took].map(|time| time.as_secs_f64());
            println!("| {} | {order} | {count} | {parsed:.2} | {took:.2} | {each:.2} |", shape.name);
        }
    }
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = Instant::now();
    let done = work();
    (done, begun.elapsed())
}
