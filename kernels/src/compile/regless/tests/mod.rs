//! Regions of whole programs, checked on what their kernels execute.

mod broken;
pub(crate) mod programs;
pub(crate) mod random;
mod traces;

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

/// Checks every launch with what `change` makes of the regions of the compiler.
fn check(
    launches: &mut dyn Launches,
    parameters: &Parameters,
    change: impl Fn(&Program, &mut Regions),
) -> Result<u64, CheckError> {
    let mut checked = 0;
    while let Some(mut stream) = launches.next_launch()? {
        let (program, mut regions) = compile(stream.program(), parameters).expect("it fits");
        change(&program, &mut regions);
        checked += check_recorded(stream.as_mut(), &program, &regions)?;
    }
    Ok(checked)
}

#[test]
fn what_every_workload_executes_finds_its_registers_staged() {
    for lines in [32, 128] {
        let parameters = Parameters::for_shard(lines);
        for workload in workloads::list() {
            let mut open = workload.open("tiny").unwrap();
            let checked = check(&mut open, &parameters, |_, _| {});
            let checked =
                checked.unwrap_or_else(|error| panic!("{} with {lines} lines: {error}", workload.name));
            assert!(checked > 100, "{}: {checked} instructions", workload.name);
        }
    }
}

/// The paper's rule loses lanes in kernels of some shapes; nothing else about its regions may be wrong.
#[test]
fn with_the_papers_soft_definitions_a_workload_loses_lanes_or_finds_its_registers_staged() {
    for workload in workloads::list() {
        let mut open = workload.open("tiny").unwrap();
        match check(&mut open, &PAPER, |_, _| {}) {
            Ok(checked) => assert!(checked > 100, "{}: {checked} instructions", workload.name),
            Err(CheckError::Broken(promise)) => {
                assert!(matches!(promise.broken, Broken::LanesLost { .. }), "{promise}");
            }
            Err(CheckError::Stream(error)) => panic!("{}: {error}", workload.name),
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
        assert!(check(&mut ptx_run(body), &sound, |_, _| {}).unwrap() > 0, "{name}");
        let broken = check(&mut ptx_run(body), &PAPER, |_, _| {}).expect_err(name);
        let lost = match &broken {
            CheckError::Broken(promise) => matches!(promise.broken, Broken::LanesLost { .. }),
            CheckError::Stream(_) => false,
        };
        assert!(lost, "{name}: {broken}");
    }
}

/// The program of a small kernel.
fn program(body: &str) -> Program {
    let module = programs::module(body);
    crate::compile::compile(&module, "k", &crate::compile::CompileOptions::as_written()).unwrap().program
}

#[test]
fn no_workload_gives_up_what_is_live_or_evicts_what_is_dead() {
    for workload in workloads::list() {
        let mut open = workload.open("tiny").unwrap();
        while let Some(stream) = open.next_launch().unwrap() {
            let (program, regions) = compile(stream.program(), &Parameters::default()).unwrap();
            check_static::check_static(&program, &regions)
                .unwrap_or_else(|misplaced| panic!("{}: {misplaced}", program.name));
        }
    }
}

#[test]
fn a_region_holds_at_least_six_instructions_where_none_makes_it_invalid() {
    let body = "add.u32 %r2, %r1, 3; xor.b32 %r3, %r2, 5; ld.global.u32 %r4, [%rd2]; mul.lo.u32 %r5, %r3, %r2;\n\
                mul.lo.u32 %r6, %r5, %r3; mul.lo.u32 %r7, %r6, %r5; add.u32 %r8, %r7, %r6;\n\
                add.u32 %r9, %r8, %r4; st.global.u32 [%rd2], %r9;";
    let regions = regions(&program(body), &Parameters::default()).unwrap();
    let load = 5; // Behind the address.
    let first = &regions.regions[0].instructions;
    assert!(first.len() >= 6 && first.contains(&load), "{first:?}");
}

#[test]
fn a_smaller_limit_makes_more_regions_and_none_above_it() {
    let body = (2..18).map(|n| format!("mul.lo.u32 %r{n}, %r{}, %r1; ", n - 1)).collect::<String>()
        + &(2..18)
            .map(|n| format!("add.u32 %r20, %r{n}, %r1; st.global.u32 [%rd2+{}], %r20; ", 4 * n))
            .collect::<String>();
    let program = program(&body);
    let made = |max_live_registers| {
        let parameters = Parameters { max_live_registers, ..Parameters::default() };
        let regions = regions(&program, &parameters).unwrap();
        assert!(regions.regions.iter().all(|region| region.live <= max_live_registers));
        regions.regions.len()
    };
    assert!(made(8) > made(32));
}

#[test]
fn a_bank_holds_no_more_lines_than_it_has() {
    let body = (2..30).map(|n| format!("mul.lo.u32 %r{n}, %r{}, %r1; ", n - 1)).collect::<String>()
        + &(2..30).map(|n| format!("st.global.u32 [%rd2+{}], %r{n}; ", 4 * n)).collect::<String>();
    let program = program(&body);
    for bank_lines in [2, 3, 16] {
        let parameters = Parameters { bank_lines, spread_banks: false, ..Parameters::default() };
        let regions = regions(&program, &parameters).unwrap();
        assert!(regions.regions.iter().flat_map(|region| region.bank_lines).all(|lines| lines <= bank_lines));
    }
}

#[test]
fn an_instruction_that_cannot_fit_is_an_error_that_names_kernel_region_line_and_limit() {
    let parameters = Parameters { max_live_registers: 1, ..Parameters::default() };
    let message = compile(&program(BODY_OF_ERROR), &parameters).unwrap_err().to_string();
    for part in ["kernel `k`", "region 1 ", "line ", "holds 2 lines", "at most 1 (max_live_registers)"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

const BODY_OF_ERROR: &str = "st.global.u32 [%rd2], %r1;";

#[test]
fn a_program_without_control_flow_is_an_error_that_says_what_is_accepted() {
    let program = Program { control: None, ..program(BODY_OF_ERROR) };
    let message = compile(&program, &Parameters::default()).unwrap_err().to_string();
    assert!(message.contains("kernel `k`") && message.contains("Accel-Sim traces"), "{message}");
}

#[test]
fn spreading_is_a_bijection_that_keeps_pairs_and_spreads() {
    let mut changed = 0;
    for workload in workloads::list() {
        let mut open = workload.open("tiny").unwrap();
        while let Some(stream) = open.next_launch().unwrap() {
            let before = stream.program();
            let (after, _) = compile(before, &Parameters::default()).unwrap();
            let registers = |program: &Program| -> Vec<u16> {
                let of = |instruction: &crate::program::Instruction| {
                    let sources = instruction.sources.iter().map(|source| source.register.0);
                    sources
                        .chain(instruction.results.iter().map(|result| result.register.0))
                        .collect::<Vec<_>>()
                };
                program.instructions.iter().flat_map(of).collect()
            };
            let mut new = std::collections::BTreeMap::new();
            for (old, number) in registers(before).into_iter().zip(registers(&after)) {
                assert_eq!(*new.entry(old).or_insert(number), number);
                assert_eq!(old % 2, number % 2, "pairs stay aligned");
                assert!(number < after.registers_per_thread);
                changed += usize::from(old != number);
            }
            let distinct: std::collections::BTreeSet<u16> = new.values().copied().collect();
            assert_eq!(distinct.len(), new.len());
            for (old, number) in &new {
                if let Some(other) = new.get(&(old ^ 1)) {
                    assert_eq!(other ^ 1, *number, "both words of a pair move together");
                }
            }
        }
    }
    assert!(changed > 0);
}

#[test]
fn statistics_of_regions_run_count_each_run() {
    let (program, regions) = compile(&program(GUARD), &Parameters::default()).unwrap();
    let code = statistics::RegionStatistics::of_code(&regions);
    let count = regions.regions.len();
    assert_eq!(code.regions, count as u64);
    assert_eq!(code.instructions.mean, program.instructions.len() as f64 / count as f64);
    let mut runs = vec![0; count];
    runs[0] = 5;
    let first = statistics::RegionStatistics::weighted(&[(&regions, &runs)]);
    assert_eq!((first.regions, first.live.mean), (5, f64::from(regions.regions[0].live)));
    assert_eq!(first.live.deviation, 0.0);
    let twice = statistics::RegionStatistics::weighted(&[(&regions, &runs), (&regions, &runs)]);
    assert_eq!(twice, statistics::RegionStatistics { regions: 10, ..first });
}

#[test]
fn registers_are_live_from_their_definition_to_their_last_read() {
    let live = statistics::live_registers(&program("bar.sync 0; st.global.u32 [%rd2], %r1;")).unwrap();
    let (first, last) = (live[0], live[live.len() - 1]);
    assert_eq!((first, last), (0, 0));
    assert_eq!(*live.iter().max().unwrap(), 3, "the address and what is stored there: {live:?}");
}
