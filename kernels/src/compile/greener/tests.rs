//! Fig. 4.3, and a checker that knows nothing of the pass: what executes never finds a value that an OFF has destroyed.

use std::error::Error;

use proptest::prelude::*;

use super::*;
use crate::compile::cfg::{Cfg, Flow};
use crate::compile::executed::follow_warps;
use crate::compile::function::Definition;
use crate::compile::regless::tests::programs::{module, ptx_run};
use crate::compile::regless::tests::random::{blocks, ends, random_program};
use crate::program::{LaneMask, Launches, Stream};
use crate::workloads;

/// A line of Fig. 4.3: registers written and read that have a code, those that have none, where control goes, the states.
type Line = (&'static [&'static str], &'static [&'static str], &'static [&'static str], To, &'static str);

/// Where control goes behind a line; lines are counted from 1.
enum To {
    Next,
    Line(usize),
    NextOr(usize),
    /// Back to a line, or to the end.
    ExitOr(usize),
}

/// Fig. 4.3 (a) with the states it prints. The second destination of a comparison, addresses and guards have no code.
const FIGURE: [Line; 24] = [
    (&["p2"], &["r8", "r0"], &["o127"], To::Next, "ON, SLEEP, ON"),
    (&[], &[], &[], To::Next, ""),
    (&["r1"], &["r0"], &[], To::Next, "SLEEP, ON"),
    (&[], &[], &["p2"], To::NextOr(18), ""),
    (&["r10"], &["r0"], &[], To::Next, "ON, SLEEP"),
    (&["r12"], &["r124"], &[], To::Next, "ON, SLEEP"),
    (&["r11"], &["r10"], &[], To::Next, "ON, ON"),
    (&["r10"], &["r10"], &[], To::Next, "ON, ON"),
    (&["r14"], &[], &["r11"], To::Next, "ON"),
    (&["r13"], &[], &["r10"], To::Next, "ON"),
    (&["r12"], &["r14", "r13"], &["r12"], To::Next, "SLEEP, OFF, OFF"),
    (&["r1"], &["r1"], &[], To::Next, "ON, ON"),
    (&["p2"], &["r8", "r1"], &["o127"], To::Next, "ON, SLEEP, SLEEP"),
    (&["r10"], &["r10"], &[], To::Next, "SLEEP, SLEEP"),
    (&["r11"], &["r11"], &[], To::Next, "SLEEP, SLEEP"),
    (&[], &[], &["p2"], To::NextOr(9), ""),
    (&[], &[], &[], To::Line(19), ""),
    (&["r12"], &["r124"], &[], To::Next, "ON, SLEEP"),
    (&["r0"], &["r0", "r5"], &[], To::Next, "ON, ON, SLEEP"),
    (&["ofs1"], &["r9"], &[], To::Next, "ON, ON"),
    (&["p2"], &["r0", "r6"], &["o127"], To::Next, "ON, SLEEP, SLEEP"),
    (&[], &["r12"], &["ofs1"], To::Next, "OFF"),
    (&["r9"], &["r9", "r7"], &[], To::Next, "SLEEP, SLEEP, SLEEP"),
    (&[], &[], &["p2"], To::ExitOr(1), ""),
];

const NAMES: [&str; 16] = [
    "r0", "r1", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r124", "p2", "o127", "ofs1",
];

fn number(name: &str) -> u32 {
    NAMES.iter().position(|known| *known == name).expect("a register of the figure") as u32
}

/// The figure as a graph over all that it names. `o127` is written, the other registers without a code are read.
fn figure() -> Function {
    let flow: Vec<Flow> = (FIGURE.iter().enumerate())
        .map(|(position, (_, _, _, to, _))| match *to {
            To::Next => Flow::Next,
            To::Line(line) => Flow::To { targets: vec![line - 1], exits: false },
            To::NextOr(line) => Flow::To { targets: vec![line - 1, position + 1], exits: false },
            To::ExitOr(line) => Flow::To { targets: vec![line - 1], exits: true },
        })
        .collect();
    let access = |(written, read, without, ..): &Line| {
        let is_written = |name: &&&str| **name == "o127";
        let definitions = written.iter().chain(without.iter().filter(is_written));
        let uses = read.iter().chain(without.iter().filter(|name| !is_written(name)));
        Access {
            uses: uses.map(|name| number(name)).collect(),
            definitions: definitions
                .map(|name| Definition { register: number(name), guarded: false })
                .collect(),
            ..Access::default()
        }
    };
    Function {
        cfg: Cfg::new(&flow).expect("lines of the figure"),
        instructions: FIGURE.iter().map(access).collect(),
        registers: NAMES.len(),
    }
}

#[test]
fn figure_4_3_has_the_states_that_it_prints() {
    let function = figure();
    let live = live_in_threads(&function);
    let mut found = vec![String::new(); FIGURE.len()];
    each_state(&function, &live, 7, |position, _, state| {
        let (written, read, ..) = &FIGURE[position];
        let states = written.iter().chain(read.iter()).map(|name| state(number(name)).as_str());
        found[position] = states.collect::<Vec<_>>().join(", ");
    });
    let printed: Vec<&str> = FIGURE.iter().map(|(.., states)| *states).collect();
    assert_eq!(found, printed);
}

/// §4.2.1: the larger of two ways counts (Example 4.2.2), and what is beyond the threshold is far.
#[test]
fn a_register_stays_on_only_if_every_way_accesses_it_soon() {
    // 0: branch to 1 or 3; 1, 2: other instructions, then 4; 3: reads r0; 4: reads r0 and ends.
    let flow = [
        Flow::To { targets: vec![1, 3], exits: false },
        Flow::Next,
        Flow::To { targets: vec![4], exits: false },
        Flow::Next,
        Flow::To { targets: vec![], exits: true },
    ];
    let reads = |uses: &[u32]| Access { uses: uses.to_vec(), ..Access::default() };
    let function = Function {
        cfg: Cfg::new(&flow).expect("valid"),
        instructions: vec![reads(&[0]), reads(&[]), reads(&[]), reads(&[0]), reads(&[0])],
        registers: 1,
    };
    let live = live_in_threads(&function);
    let state_behind_the_branch = |threshold| {
        let mut found = None;
        each_state(&function, &live, threshold, |position, _, state| {
            if position == 0 {
                found = Some(state(0));
            }
        });
        found.expect("visited")
    };
    assert_eq!(state_behind_the_branch(2), PowerState::Sleep, "three instructions to the access on one way");
    assert_eq!(state_behind_the_branch(3), PowerState::On);
}

fn parameters(liveness: Liveness) -> Parameters {
    Parameters { threshold: 3, liveness }
}

/// What a warp has lost: for each register the lanes whose value an OFF has destroyed.
struct Lost(Vec<LaneMask>);

impl Lost {
    fn new(program: &Program) -> Lost {
        // A row is OFF until its first access.
        Lost(vec![LaneMask::MAX; usize::from(program.registers_per_thread)])
    }

    /// One instruction as executed. `known`: lanes that have been written, of each source.
    fn step(
        &mut self,
        program: &Program,
        states: &PowerStates,
        position: usize,
        active: LaneMask,
        known: &[LaneMask],
    ) -> Result<(), String> {
        let instruction = &program.instructions[position];
        let codes = &states.instructions[position];
        for (source, known) in instruction.sources.iter().zip(known) {
            let lost = self.0[usize::from(source.register.0)] & known & active;
            if lost != 0 {
                let text = &instruction.text;
                return Err(format!("{position} ({text}): R{} has lost lanes {lost:08x}", source.register.0));
            }
        }
        let written: Vec<usize> =
            instruction.results.iter().map(|result| usize::from(result.register.0)).collect();
        for (index, source) in instruction.sources.iter().enumerate() {
            let register = usize::from(source.register.0);
            // The destination's code rules where a register is both.
            if codes.source(index) == PowerState::Off && !written.contains(&register) {
                self.0[register] = LaneMask::MAX;
            }
        }
        for (index, &register) in written.iter().enumerate() {
            self.0[register] &= !active;
            if codes.result(index) == PowerState::Off {
                self.0[register] = LaneMask::MAX;
            }
        }
        Ok(())
    }
}

/// Runs every warp; gives the instructions executed.
fn check(stream: &mut dyn Stream, states: &PowerStates) -> Result<u64, Box<dyn Error>> {
    let program = stream.program().clone();
    follow_warps(
        stream,
        || Lost::new(&program),
        |lost, executed| {
            let position = executed.inst.0 as usize;
            Ok(lost.step(&program, states, position, executed.active, &executed.defined)?)
        },
        |_| Ok(()),
    )
}

/// Thresholds of Table 4.5, first and last, and the thesis's choice.
const THRESHOLDS: [u8; 3] = [1, 3, 21];

#[test]
fn no_workload_reads_what_an_off_has_destroyed() {
    for threshold in THRESHOLDS {
        for workload in workloads::list() {
            let mut open = workload.open("tiny").unwrap();
            while let Some(mut stream) = open.next_launch().unwrap() {
                let parameters = Parameters { threshold, ..parameters(Liveness::Sound) };
                let states = compile(stream.program(), &parameters).unwrap();
                let checked = check(stream.as_mut(), &states);
                let checked = checked.unwrap_or_else(|problem| panic!("{}: {problem}", workload.name));
                assert!(checked > 0, "{}", workload.name);
            }
        }
    }
}

/// A register is dead for the lanes that go on, and not for those that wait for their side of the branch.
const DIVERGENT: &str = "add.u32 %r2, %r1, 3; add.u32 %r3, %r1, 8; mov.u32 %r5, %r1;\n\
     setp.lt.u32 %p1, %r1, 7; @%p1 bra A;\n\
     mul.lo.u32 %r6, %r2, %r2; mul.lo.u32 %r5, %r6, %r6; mul.lo.u32 %r5, %r5, %r6;\n\
     mul.lo.u32 %r5, %r5, %r6; mul.lo.u32 %r5, %r5, %r6; bra M;\n\
     A: add.u32 %r5, %r2, %r3; mul.lo.u32 %r5, %r5, %r5; mul.lo.u32 %r5, %r5, %r5; mul.lo.u32 %r5, %r5, %r5;\n\
     M: st.global.u32 [%rd2], %r5;";

#[test]
fn the_liveness_of_a_thread_loses_values_of_lanes_that_wait_and_the_sound_one_does_not() {
    let checked = |liveness| {
        let mut run = ptx_run(DIVERGENT);
        let mut stream = run.next_launch().unwrap().expect("one launch");
        let states = compile(stream.program(), &parameters(liveness)).unwrap();
        check(stream.as_mut(), &states)
    };
    assert!(checked(Liveness::Sound).unwrap() > 0);
    assert!(checked(Liveness::Thesis).unwrap_err().to_string().contains("has lost lanes"));
}

/// One OFF too early must be found.
#[test]
fn a_register_switched_off_too_early_is_found() {
    let mut run = ptx_run(DIVERGENT);
    let mut stream = run.next_launch().unwrap().expect("one launch");
    let mut states = compile(stream.program(), &parameters(Liveness::Sound)).unwrap();
    for codes in &mut states.instructions {
        codes.codes[0] = PowerState::Off;
    }
    assert!(check(stream.as_mut(), &states).unwrap_err().to_string().contains("has lost lanes"));
}

#[test]
fn an_instruction_has_codes_for_one_destination_and_two_sources() {
    let program = |body: &str| {
        let options = crate::compile::CompileOptions::as_written();
        crate::compile::compile(&module(body), "k", &options).unwrap().program
    };
    let program = program(
        "mad.lo.u32 %r2, %r1, %r1, %r1; xor.b32 %r3, %r2, 5; mad.lo.u32 %r4, %r1, %r2, %r3;\n\
         ld.global.v2.u32 {%r5, %r6}, [%rd2]; add.u32 %r7, %r5, %r6; add.u32 %r7, %r7, %r4;\n\
         st.global.u32 [%rd2], %r7;",
    );
    let of = |text: &str| {
        let position =
            program.instructions.iter().rposition(|one| one.text.starts_with(text)).expect("there");
        encode::format(&program.instructions[position])
    };
    let three = of("mad.lo");
    assert_eq!((three.results[0], three.sources), (Some(0), [Some(1), Some(2), None]));
    let load = of("ld.global");
    assert_eq!(
        (&load.results[..2], load.sources),
        (&[Some(0), Some(0)][..], [None; 3]),
        "a pair, an address"
    );
    let store = of("st.global");
    assert_eq!(
        (&store.results[..1], store.sources),
        (&[None][..], [Some(1), None, None]),
        "data, an address"
    );
}

/// The second source is the first register behind the pair; a code that nothing takes is not listed.
#[test]
fn bits_and_listing_follow_the_codes() {
    let codes = Codes {
        codes: [PowerState::On, PowerState::Off, PowerState::Sleep],
        sources: [Some(1), None, None],
        results: [Some(0), None, None, None],
    };
    assert_eq!(codes.bits(), 0b01_00_10);
    assert_eq!(codes.listed().collect::<Vec<_>>(), [PowerState::On, PowerState::Off]);
    assert_eq!(
        (codes.source(0), codes.source(1), codes.result(1)),
        (PowerState::Off, PowerState::Sleep, PowerState::Sleep)
    );
}

#[test]
fn listing_of_a_kernel() {
    let compiled =
        crate::compile::compile(&module(DIVERGENT), "k", &crate::compile::CompileOptions::as_written())
            .unwrap();
    let parameters = parameters(Liveness::Sound);
    let states = compile(&compiled.program, &parameters).unwrap();
    insta::assert_snapshot!(listing::listing(&compiled.program, &states, &parameters, &compiled.cfg));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_lane_reads_what_an_off_has_destroyed_however_lanes_part(
        blocks in blocks(), choices in prop::collection::vec(any::<u8>(), 1..40), threshold in 1..9_u8,
    ) {
        let random = random_program(&blocks);
        prop_assume!(ends(&random.program.control.as_ref().expect("known").flow));
        let parameters = Parameters { threshold, ..parameters(Liveness::Sound) };
        let states = compile(&random.program, &parameters).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut lost = Lost::new(&random.program);
        let walked = random.walk(&random.program, &choices, |position, active, known| {
            lost.step(&random.program, &states, position, active, known)
        });
        walked.map_err(TestCaseError::fail)?;
    }
}
