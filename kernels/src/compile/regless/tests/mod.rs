//! Regions of whole programs, checked on what their kernels execute.

mod programs;

use super::check::{Broken, CheckError, check_recorded};
use super::*;
use crate::program::Launches;
use crate::workloads;
use programs::ptx_run;

const PAPER: Parameters = Parameters {
    max_live_registers: 32,
    bank_lines: 16,
    minimum_instructions: 6,
    soft_defs: SoftDefs::Paper,
    spread_banks: false,
};

/// Checks every launch with the regions that `change` makes of those of the compiler.
fn check(
    launches: &mut dyn Launches,
    parameters: &Parameters,
    change: impl Fn(&mut Program),
) -> Result<u64, CheckError> {
    let mut checked = 0;
    while let Some(mut stream) = launches.next_launch()? {
        let mut program = compile(stream.program(), parameters).expect("it fits");
        change(&mut program);
        checked += check_recorded(stream.as_mut(), &program)?;
    }
    Ok(checked)
}

#[test]
fn what_every_workload_executes_finds_its_registers_staged() {
    for lines in [32, 128] {
        let parameters = Parameters::for_shard(lines);
        for workload in workloads::list() {
            let mut open = workload.open("tiny").unwrap();
            let checked = check(&mut open, &parameters, |_| {});
            let checked =
                checked.unwrap_or_else(|error| panic!("{} with {lines} lines: {error}", workload.name));
            assert!(checked > 100, "{}: {checked} instructions", workload.name);
        }
    }
}

/// `if (thread < 7) r = 1; else r = 2; use r`, with work in between so that regions end.
const DIAMOND: &str = "\
    setp.lt.u32 %p1, %r1, 7; @%p1 bra A;\n\
    mov.u32 %r2, %tid.x; add.u32 %r2, %r2, 5; bra M;\n\
    A: mov.u32 %r2, %tid.x; add.u32 %r2, %r2, 9;\n\
    M: add.u32 %r2, %r2, %r1; st.global.u32 [%rd2], %r2;";

/// A loop that lanes leave one by one, each with its own value of `r2`, which is not read inside.
const ROTATED_LOOP: &str = "\
    mov.u32 %r3, 0; mov.u32 %r2, 0;\n\
    L: add.u32 %r3, %r3, 1; xor.b32 %r2, %r3, 21; setp.lt.u32 %p1, %r3, %r1; @%p1 bra L;\n\
    st.global.u32 [%rd2], %r2;";

/// A definition under a guard, in another region than the first one.
const GUARD: &str = "\
    add.u32 %r2, %r1, 3; setp.lt.u32 %p1, %r1, 7; bar.sync 0;\n\
    @%p1 add.u32 %r2, %r1, 40; bar.sync 0;\n\
    st.global.u32 [%rd2], %r2;";

#[test]
fn the_papers_soft_definitions_lose_lanes_and_the_sound_ones_do_not() {
    for (name, body) in [("diamond", DIAMOND), ("rotated loop", ROTATED_LOOP), ("guard", GUARD)] {
        let sound = Parameters { soft_defs: SoftDefs::Sound, ..PAPER };
        assert!(check(&mut ptx_run(body), &sound, |_| {}).unwrap() > 0, "{name}");
        let broken = check(&mut ptx_run(body), &PAPER, |_| {}).expect_err(name);
        let lost = match &broken {
            CheckError::Broken(promise) => matches!(promise.broken, Broken::LanesLost { .. }),
            CheckError::Stream(_) => false,
        };
        assert!(lost, "{name}: {broken}");
    }
}
