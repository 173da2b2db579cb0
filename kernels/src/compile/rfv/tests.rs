//! Releases of whole programs, checked on what their kernels execute: a register that is released is lost in all lanes.

use std::error::Error;

use super::*;
use crate::compile::executed::follow_warps;
use crate::compile::regless::tests::programs::{module, ptx_run};
use crate::program::{LaneMask, Launches, Stream, WarpInstruction};
use crate::trace::{open, write_accelsim};
use crate::workloads;

/// The lanes in which each register of a warp holds its value; `None` if it has no place.
type Held = Vec<Option<LaneMask>>;

/// One instruction as executed; the error says what is wrong.
fn step(
    program: &Program,
    releases: &Releases,
    held: &mut Held,
    executed: &WarpInstruction,
) -> Result<(), String> {
    let position = executed.inst.0 as usize;
    let instruction = &program.instructions[position];
    let release = &releases.instructions[position];
    let problem =
        |what: String| Err(format!("{} at {position} ({}): {what}", program.name, instruction.text));
    for (source, defined) in instruction.sources.iter().zip(executed.defined) {
        let needed = defined & executed.active;
        let there = held[usize::from(source.register.0)].unwrap_or(0);
        if needed & !there != 0 {
            return problem(format!("R{} has lost lanes {:08x}", source.register.0, needed & !there));
        }
    }
    let results = instruction.results.iter().map(|result| usize::from(result.register.0));
    for register in results.clone().filter(|_| executed.active != 0) {
        held[register] = Some(held[register].unwrap_or(0) | executed.active);
    }
    let count = held.iter().flatten().count() as u16;
    if count > releases.most_held {
        return problem(format!("{count} registers are held, at most {} are declared", releases.most_held));
    }
    for register in &release.registers {
        held[usize::from(register.0)] = None;
    }
    for (register, dies) in results.zip(release.results) {
        if dies {
            held[register] = None;
        }
    }
    let count = held.iter().flatten().count() as u16;
    if instruction.operation == Operation::Barrier && count > releases.most_held_at_barrier {
        return problem(format!("{count} are held, {} are declared", releases.most_held_at_barrier));
    }
    Ok(())
}

/// Runs every warp; gives the instructions checked.
fn check(stream: &mut dyn Stream, releases: &Releases) -> Result<u64, Box<dyn Error>> {
    let program = stream.program().clone();
    follow_warps(
        stream,
        || -> Held { vec![None; usize::from(program.registers_per_thread)] },
        |held, executed| Ok(step(&program, releases, held, executed)?),
        |held| match held.iter().any(Option::is_some) {
            true => Err(format!("{}: registers are left at the end: {held:?}", program.name).into()),
            false => Ok(()),
        },
    )
}

#[test]
fn no_workload_reads_what_it_has_released_or_keeps_what_is_dead() {
    for workload in workloads::list() {
        let mut open = workload.open("tiny").unwrap();
        while let Some(mut stream) = open.next_launch().unwrap() {
            let releases = compile(stream.program()).unwrap();
            let checked = check(stream.as_mut(), &releases);
            let checked = checked.unwrap_or_else(|problem| panic!("{}: {problem}", workload.name));
            assert!(checked > 0, "{}", workload.name);
        }
    }
}

#[test]
fn neither_does_a_trace_of_a_workload() {
    for workload in workloads::list() {
        let directory = tempfile::tempdir().unwrap();
        write_accelsim(&mut workload.open("tiny").unwrap(), directory.path()).unwrap();
        let mut trace = open(&directory.path().join("kernelslist.g")).unwrap();
        while let Some(mut stream) = trace.next_launch().unwrap() {
            let releases = compile(stream.program()).unwrap();
            let checked = check(stream.as_mut(), &releases);
            checked.unwrap_or_else(|problem| panic!("{}: {problem}", workload.name));
        }
    }
}

/// Lanes part in each of these, and registers live across the parting.
const DIVERGENT: [(&str, &str); 3] = [
    (
        "both arms of a diamond write a register that is read behind them",
        "setp.lt.u32 %p1, %r1, 7; @%p1 bra A;\n\
         mov.u32 %r2, %tid.x; add.u32 %r2, %r2, 5; bra M;\n\
         A: mov.u32 %r2, %tid.x; add.u32 %r2, %r2, 9;\n\
         M: add.u32 %r2, %r2, %r1; st.global.u32 [%rd2], %r2;",
    ),
    (
        "lanes leave a loop one by one, each with a value of its own",
        "mov.u32 %r3, 0; mov.u32 %r2, 0;\n\
         L: add.u32 %r3, %r3, 1; xor.b32 %r2, %r3, 21; setp.lt.u32 %p1, %r3, %r1; @%p1 bra L;\n\
         st.global.u32 [%rd2], %r2;",
    ),
    (
        "one arm reads a register that the other does not",
        "add.u32 %r2, %r1, 3; add.u32 %r3, %r1, 8; setp.lt.u32 %p1, %r1, 7; @%p1 bra A;\n\
         st.global.u32 [%rd2], %r2; bra M;\n\
         A: st.global.u32 [%rd2], %r3;\n\
         M: st.global.u32 [%rd2], %r1;",
    ),
];

#[test]
fn a_register_is_released_when_it_is_dead_in_all_lanes() {
    for (name, body) in DIVERGENT {
        let mut run = ptx_run(body);
        let mut stream = run.next_launch().unwrap().expect("one launch");
        let releases = compile(stream.program()).unwrap();
        let checked = check(stream.as_mut(), &releases).unwrap_or_else(|problem| panic!("{name}: {problem}"));
        assert!(checked > 0, "{name}");
    }
}

/// Without the release that the compiler found the check must fail, and with one too early as well.
#[test]
fn a_release_too_many_or_too_few_is_found() {
    let mut run = ptx_run(DIVERGENT[0].1);
    let mut stream = run.next_launch().unwrap().expect("one launch");
    let sound = compile(stream.program()).unwrap();
    let change = |change: fn(&mut Release)| {
        let mut releases = sound.clone();
        releases.instructions.iter_mut().for_each(change);
        releases
    };
    let early = change(|release| release.results = [true; MAX_RESULTS]);
    assert!(check(stream.as_mut(), &early).unwrap_err().to_string().contains("has lost lanes"));
    let mut run = ptx_run(DIVERGENT[0].1);
    let mut stream = run.next_launch().unwrap().expect("one launch");
    let never = change(|release| release.registers.clear());
    let problem = check(stream.as_mut(), &never).unwrap_err().to_string();
    assert!(problem.contains("are held") || problem.contains("are left"), "{problem}");
}

#[test]
fn a_result_that_nothing_reads_dies_when_it_is_written() {
    let options = crate::compile::CompileOptions::as_written();
    let body = "atom.global.add.u32 %r2, [%rd2], %r1;";
    let program = crate::compile::compile(&module(body), "k", &options).unwrap().program;
    let releases = compile(&program).unwrap();
    let atomic = |instruction: &crate::program::Instruction| {
        matches!(instruction.operation, Operation::Atomic(_)) && !instruction.results.is_empty()
    };
    let position = program.instructions.iter().position(atomic).expect("it returns the old value");
    assert!(releases.instructions[position].results[0]);
}
