//! `unpack FILE.wft INPUT`: writes the input of the target `container` that stands for a container.

use std::error::Error;

use warpfile_fuzz_inputs::{container, in_file, read_to_end};
use warpfile_kernels::trace;

fn main() -> Result<(), Box<dyn Error>> {
    let [from, to] =
        std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "two files, please")?;
    let input = container::records_of(&std::fs::read(from)?);
    // A seed that is refused at once would show nothing.
    in_file("t.wft", &container::assemble(&input), |path| {
        let mut trace = trace::open(path).expect("a container");
        read_to_end(&mut trace).expect("sound");
    });
    std::fs::write(to, input)?;
    Ok(())
}
