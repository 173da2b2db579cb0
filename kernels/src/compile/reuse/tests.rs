//! Listing 4 of the paper, a checker that knows nothing of the pass, and a cache that does not notice writes.

use proptest::prelude::*;

use super::check::{Mismarked, check};
use super::*;
use crate::compile::regless::tests::programs::module;
use crate::compile::regless::tests::random::{blocks, ends, random_program};
use crate::program::{ControlFlow, Flow, LaneMask, Launches, Operation, Predicate, ResultRegister, Source};
use crate::workloads;

/// The banks of a sub-core (§5.3).
const BANKS: u16 = 2;
const STRICT: Parameters = Parameters { banks: BANKS, beyond_guards: false };

/// An instruction of a straight program: the register that it writes, those that it reads, whether it has a guard.
type Line = (u16, &'static [u16], bool);

fn straight(lines: &[Line]) -> Program {
    let instruction = |&(written, read, guarded): &Line| Instruction {
        pc: 0,
        line: 0,
        text: String::new(),
        operation: Operation::Alu,
        sources: read
            .iter()
            .map(|&register| Source {
                register: PhysReg(register),
                last_read: false,
                idle_until_suspension: false,
            })
            .collect(),
        results: vec![ResultRegister {
            register: PhysReg(written),
            soft: guarded,
            idle_until_suspension: false,
        }],
        predicate_sources: if guarded { vec![Predicate(0)] } else { Vec::new() },
        predicate_results: Vec::new(),
        suspends: false,
        operand: None,
    };
    Program {
        name: "straight".to_owned(),
        instructions: lines.iter().map(instruction).collect(),
        registers_per_thread: 32,
        shared_bytes: 0,
        control: Some(ControlFlow {
            flow: vec![Flow::Next; lines.len()],
            may_diverge: vec![false; lines.len()],
            switches: Vec::new(),
            seen: None,
        }),
        spills: Default::default(),
        computations: Vec::new(),
    }
}

/// Operands that are marked: instruction and position.
fn marked(lines: &[Line], parameters: &Parameters) -> Vec<(usize, usize)> {
    let program = straight(lines);
    let marks = compile(&program, parameters).unwrap();
    check(&program, &marks, parameters.banks, parameters.beyond_guards)
        .unwrap_or_else(|error| panic!("{error}"));
    let rows = marks.instructions.iter().enumerate();
    rows.flat_map(|(row, marks)| (0..MAX_SOURCES).filter(|&at| marks[at]).map(move |at| (row, at))).collect()
}

/// Examples 1 and 2 are one program here: the second instruction is marked because the third reads R2 again.
#[test]
fn listing_4_has_the_operands_marked_that_are_found_again() {
    let again: [Line; 3] = [(1, &[2, 3, 4], false), (5, &[2, 7, 8], false), (10, &[2, 12, 13], false)];
    assert_eq!(marked(&again, &STRICT), [(0, 0), (1, 0)]);
    let other_bank: [Line; 3] = [(1, &[2, 3, 4], false), (5, &[7, 2, 8], false), (10, &[2, 12, 13], false)];
    assert_eq!(marked(&other_bank, &STRICT), [(0, 0)], "R7 lies in the other bank");
    let same_bank: [Line; 3] = [(1, &[2, 3, 4], false), (5, &[4, 7, 8], false), (10, &[2, 12, 13], false)];
    assert_eq!(marked(&same_bank, &STRICT), []);
}

#[test]
fn a_register_that_is_written_before_it_is_read_again_is_not_kept() {
    assert_eq!(marked(&[(2, &[2, 3], false), (5, &[2, 6], false)], &STRICT), [], "by the instruction itself");
    assert_eq!(marked(&[(1, &[2], false), (2, &[], false), (5, &[2], false)], &STRICT), []);
    assert_eq!(marked(&[(1, &[2], false), (2, &[2], false)], &STRICT), [(0, 0)], "it reads before it writes");
}

#[test]
fn a_reader_with_a_guard_counts_where_the_hardware_notices_writes() {
    let lines: [Line; 3] = [(1, &[2], false), (5, &[2], true), (6, &[2], false)];
    assert_eq!(marked(&lines, &STRICT), [(1, 0)]);
    assert_eq!(marked(&lines, &Parameters { beyond_guards: true, ..STRICT }), [(0, 0), (1, 0)]);
}

#[test]
fn marks_of_every_workload_are_right_and_there_are_some() {
    for workload in workloads::list() {
        let mut open = workload.open("tiny").unwrap();
        let mut kept = 0;
        while let Some(stream) = open.next_launch().unwrap() {
            for (banks, beyond_guards) in [(1, false), (2, false), (2, true), (8, true)] {
                let marks = compile(stream.program(), &Parameters { banks, beyond_guards }).unwrap();
                check(stream.program(), &marks, banks, beyond_guards)
                    .unwrap_or_else(|error| panic!("{}: {error}", workload.name));
                kept += marks.instructions.iter().flatten().filter(|&&marked| marked).count();
            }
        }
        assert!(kept > 0, "{}", workload.name);
    }
}

/// One wrong mark must be found.
#[test]
fn wrong_marks_are_found() {
    let lines: [Line; 4] = [(1, &[2, 3], false), (3, &[2, 5], true), (6, &[2, 3], false), (7, &[4], false)];
    let program = straight(&lines);
    let with = |instruction: usize, position: usize| {
        let mut marks = Marks { instructions: vec![[false; MAX_SOURCES]; lines.len()] };
        marks.instructions[instruction][position] = true;
        check(&program, &marks, BANKS, false)
    };
    let register = PhysReg;
    assert_eq!(with(0, 0), Err(Mismarked::MayNotRead { instruction: 1, register: register(2) }));
    assert_eq!(
        with(0, 1),
        Err(Mismarked::ForNobody { instruction: 0, register: register(3) }),
        "R5 is read first"
    );
    assert_eq!(with(0, 2), Err(Mismarked::NoOperand { instruction: 0, position: 2 }));
    assert_eq!(with(1, 0), Ok(()));
    assert_eq!(with(3, 0), Err(Mismarked::ForNobody { instruction: 3, register: register(4) }));
    let stale = straight(&[(1, &[2], false), (2, &[], false), (5, &[2], false)]);
    let marks = Marks { instructions: vec![[true, false, false], [false; 3], [false; 3]] };
    let found = check(&stale, &marks, BANKS, true);
    assert_eq!(found, Err(Mismarked::Stale { instruction: 2, register: register(2) }));
    let short = check(&program, &Marks::default(), BANKS, false);
    assert_eq!(short, Err(Mismarked::Length { found: 0, expected: 4 }));
}

#[test]
fn listing_of_a_kernel() {
    let body = "mad.lo.u32 %r2, %r1, %r1, 7; xor.b32 %r3, %r1, 5; mad.lo.u32 %r4, %r1, %r2, %r3;\n\
                setp.lt.u32 %p1, %r1, 7; @%p1 bra M; sub.u32 %r4, %r4, %r3;\n\
                M: st.global.u32 [%rd2], %r4;";
    let options = crate::compile::CompileOptions::as_written();
    let compiled = crate::compile::compile(&module(body), "k", &options).unwrap();
    let marks = compile(&compiled.program, &STRICT).unwrap();
    insta::assert_snapshot!(listing::listing(&compiled.program, &marks, &compiled.cfg));
}

/// A cache of one warp that does not notice writes: for each position and bank a register, and how often it had been written.
struct Cache {
    kept: Vec<Option<(PhysReg, u32)>>,
    written: Vec<u32>,
    banks: u16,
}

impl Cache {
    fn new(program: &Program, banks: u16) -> Cache {
        let written = vec![0; usize::from(program.registers_per_thread)];
        Cache { kept: vec![None; MAX_SOURCES * usize::from(banks)], written, banks }
    }

    /// An instruction without executing lanes reads nothing, and ends nothing.
    fn step(
        &mut self,
        program: &Program,
        marks: &Marks,
        position: usize,
        active: LaneMask,
    ) -> Result<(), String> {
        if active == 0 {
            return Ok(());
        }
        let instruction = &program.instructions[position];
        for (k, source) in instruction.sources.iter().enumerate() {
            let register = source.register;
            let now = (register, self.written[usize::from(register.0)]);
            let kept = &mut self.kept[k * usize::from(self.banks) + usize::from(register.0 % self.banks)];
            if kept.is_some_and(|(kept, written)| kept == register && written != now.1) {
                return Err(format!("{position}: R{} is stale", register.0));
            }
            *kept = marks.instructions[position][k].then_some(now);
        }
        for result in &instruction.results {
            self.written[usize::from(result.register.0)] += 1;
        }
        Ok(())
    }
}

/// The position further down in the block that reads a position and bank first, found by looking.
fn first_reader(
    program: &Program,
    end: usize,
    from: usize,
    k: usize,
    register: PhysReg,
    banks: u16,
) -> Option<usize> {
    (from + 1..end).find(|&reader| {
        let source = program.instructions[reader].sources.get(k);
        source.is_some_and(|source| source.register.0 % banks == register.0 % banks)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nothing_stale_is_found_however_lanes_part(
        blocks in blocks(), choices in prop::collection::vec(any::<u8>(), 1..40), banks in 1..5_u16,
    ) {
        let random = random_program(&blocks);
        let program = &random.program;
        prop_assume!(ends(&program.control.as_ref().expect("known").flow));
        let marks = compile(program, &Parameters { banks, beyond_guards: false })
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut cache = Cache::new(program, banks);
        let walked = random.walk(program, &choices, |position, active, _| {
            cache.step(program, &marks, position, active)
        });
        walked.map_err(TestCaseError::fail)?;
    }

    #[test]
    fn exactly_what_can_be_found_again_is_marked(blocks in blocks(), banks in 1..5_u16, beyond_guards: bool) {
        let random = random_program(&blocks);
        let program = &random.program;
        let marks = compile(program, &Parameters { banks, beyond_guards })
            .map_err(|error| TestCaseError::fail(error.to_string()))?;
        check(program, &marks, banks, beyond_guards).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let graphs = Graphs::of(program).expect("known");
        for block in graphs.warps.cfg.blocks() {
            for position in block.instructions.clone() {
                for (k, source) in program.instructions[position].sources.iter().enumerate() {
                    let register = source.register;
                    let reader = first_reader(program, block.instructions.end, position, k, register, banks);
                    let found = reader.is_some_and(|reader| {
                        let writes = |at: usize| program.instructions[at].results.iter().any(|r| r.register == register);
                        let inst = &program.instructions[reader];
                        inst.sources[k].register == register
                            && !(position..reader).any(writes)
                            && (beyond_guards || inst.predicate_sources.is_empty())
                    });
                    prop_assert_eq!(marks.instructions[position][k], found, "{} {}", position, k);
                }
            }
        }
    }
}
