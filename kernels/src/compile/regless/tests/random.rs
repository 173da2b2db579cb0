//! Random programs on four lanes that part and meet as they like.

use proptest::prelude::*;

use super::*;
use crate::compile::regless::check::Warp;
use crate::compile::regless::check_static::check_static;
use crate::program::{
    ControlFlow, Flow, InstId, Instruction, LaneMask, MemoryAccess, Operation, PhysReg, Predicate,
    ResultRegister, Source, Space,
};

/// Registers of a random program.
const REGISTERS: u16 = 6;
const ALL: LaneMask = 0b1111;
/// Instructions after which a walk stops: random loops need not end.
const STEPS: usize = 400;

/// A random instruction: registers read, register written, kind, whether a guard switches lanes off.
pub(crate) type Line = (Vec<u16>, Option<u16>, u8, bool);
/// A block: its instructions, and how it ends with the target of its branch.
pub(crate) type Block = (Vec<Line>, u8, usize);

pub(crate) fn blocks() -> impl Strategy<Value = Vec<Block>> {
    let line =
        (prop::collection::vec(0..REGISTERS, 0..3), prop::option::of(0..REGISTERS), 0..8_u8, any::<bool>());
    let block = (prop::collection::vec(line, 0..6), 0..5_u8, any::<usize>());
    prop::collection::vec(block, 1..7)
}

pub(crate) struct Random {
    pub(crate) program: Program,
    guarded: Vec<bool>,
    /// For each instruction where lanes that part at it meet again.
    meets: Vec<Option<usize>>,
    /// Of the sides of a branch, the one that comes first in the program runs first, as in the executor; if not, either may.
    pub(crate) in_program_order: bool,
}

/// The program of some blocks; its soft definitions and ways of the warp are those of the passes for PTX.
pub(crate) fn random_program(blocks: &[Block]) -> Random {
    let starts: Vec<usize> = (blocks.iter())
        .scan(0, |next, (lines, ..)| Some(std::mem::replace(next, *next + lines.len() + 1)))
        .collect();
    let (mut instructions, mut flow, mut guarded) = (Vec::new(), Vec::new(), Vec::new());
    for (number, (lines, end, target)) in blocks.iter().enumerate() {
        for (reads, written, kind, guard) in lines {
            let operation = match kind {
                0 => Operation::Load(MemoryAccess { space: Space::Global, bytes: 4 }),
                1 if !guard => Operation::Barrier,
                _other => Operation::Alu,
            };
            let (reads, written) =
                if operation == Operation::Barrier { (&[][..], &None) } else { (&reads[..], written) };
            let mut instruction = instruction(reads, *written, operation);
            instruction.predicate_sources.extend(guard.then_some(Predicate(0)));
            instructions.push(instruction);
            flow.push(Flow::Next);
            guarded.push(*guard);
        }
        let last = number + 1 == blocks.len();
        let target = starts[target % blocks.len()];
        let next = starts.get(number + 1).copied();
        instructions.push(instruction(&[], None, if last { Operation::Exit } else { Operation::Branch }));
        flow.push(match (next, end) {
            (None, _) => Flow::To { targets: vec![], exits: true },
            (Some(next), 0) => Flow::To { targets: vec![next], exits: false },
            (Some(_), 1) => Flow::To { targets: vec![target], exits: false },
            (Some(next), _) if next == target => Flow::To { targets: vec![next], exits: false },
            (Some(next), _) => Flow::To { targets: vec![target, next], exits: false },
        });
        guarded.push(false);
    }
    let mut random = Random {
        meets: meets(&flow),
        in_program_order: false,
        program: Program {
            name: "random".to_owned(),
            instructions,
            registers_per_thread: REGISTERS,
            shared_bytes: 0,
            control: None,
            spills: crate::program::Spills::default(),
            computations: Vec::new(),
        },
        guarded,
    };
    random.annotate(flow);
    random
}

fn instruction(reads: &[u16], written: Option<u16>, operation: Operation) -> Instruction {
    let mut sources: Vec<u16> = reads.to_vec();
    sources.sort_unstable();
    sources.dedup();
    let source =
        |register| Source { register: PhysReg(register), last_read: false, idle_until_suspension: false };
    let result =
        |register| ResultRegister { register: PhysReg(register), soft: false, idle_until_suspension: false };
    Instruction {
        pc: 0,
        line: 0,
        text: format!("{operation:?}"),
        operation,
        sources: sources.into_iter().map(source).collect(),
        results: written.map(result).into_iter().collect(),
        predicate_sources: Vec::new(),
        predicate_results: Vec::new(),
        suspends: false,
        operand: None,
    }
}

impl Random {
    /// Control flow, soft definitions and suspensions, as the front end for PTX finds them.
    fn annotate(&mut self, flow: Vec<Flow>) {
        use crate::compile::cfg::Cfg;
        use crate::compile::dominators::Postdominators;
        use crate::compile::function::{Access, Definition, Function};
        use crate::compile::liveness::{Liveness, soft_definitions};
        use crate::compile::suspension::{next_sides, suspends};
        let access = |(position, instruction): (usize, &Instruction)| Access {
            uses: instruction.sources.iter().map(|source| u32::from(source.register.0)).collect(),
            definitions: (instruction.results.iter())
                .map(|result| Definition {
                    register: u32::from(result.register.0),
                    guarded: self.guarded[position],
                })
                .collect(),
            may_diverge: matches!(&flow[position], Flow::To { targets, .. } if targets.len() > 1),
            long_latency: instruction.operation.has_long_latency(),
            barrier: instruction.operation == Operation::Barrier,
        };
        let instructions: Vec<Access> = self.program.instructions.iter().enumerate().map(access).collect();
        let cfg = Cfg::new(&flow).expect("every target is a block");
        let function = Function { cfg, instructions, registers: usize::from(REGISTERS) };
        let postdominators = Postdominators::new(&function.cfg);
        let soft = soft_definitions(&function, &postdominators, &Liveness::per_thread(&function));
        for (instruction, soft) in self.program.instructions.iter_mut().zip(soft) {
            instruction.results.iter_mut().zip(soft).for_each(|(result, soft)| result.soft = soft);
        }
        for (instruction, suspends) in self.program.instructions.iter_mut().zip(suspends(&function)) {
            instruction.suspends = suspends;
        }
        let mut switches = Vec::new();
        for (block, sides) in function.cfg.block_ids().zip(next_sides(&function)) {
            let from = InstId(function.cfg.last_instruction(block) as u32);
            let start = |side| InstId(function.cfg.block(side).instructions.start as u32);
            switches.extend(sides.into_iter().map(|side| (from, start(side))));
        }
        switches.sort_unstable();
        switches.dedup();
        let may_diverge = function.instructions.iter().map(|access| access.may_diverge).collect();
        self.program.control = Some(ControlFlow { flow, may_diverge, switches, seen: None });
    }

    /// Walks four lanes through the program; `choices` say which lanes go where and which a guard switches off.
    /// `step` is asked of each instruction, with the lanes that execute it and those known of its sources.
    pub(crate) fn walk(
        &self,
        program: &Program,
        choices: &[u8],
        mut step: impl FnMut(usize, LaneMask, &[LaneMask]) -> Result<(), String>,
    ) -> Result<(), String> {
        let control = program.control.as_ref().expect("known");
        let mut choices = choices.iter().copied().cycle().map(LaneMask::from);
        let mut choose = || choices.next().unwrap_or(0);
        let mut written = vec![0; usize::from(program.registers_per_thread)];
        // Next instruction, where the path ends, lanes.
        let mut paths: Vec<(usize, Option<usize>, LaneMask)> = vec![(0, None, ALL)];
        for _ in 0..STEPS {
            while paths.last().is_some_and(|&(next, until, lanes)| Some(next) == until || lanes == 0) {
                paths.pop();
            }
            let Some(&mut (position, until, lanes)) = paths.last_mut() else { return Ok(()) };
            let instruction = &program.instructions[position];
            let active = if self.guarded[position] { lanes & choose() } else { lanes };
            let known: Vec<LaneMask> =
                instruction.sources.iter().map(|source| written[usize::from(source.register.0)]).collect();
            step(position, active, &known)?;
            for result in &instruction.results {
                written[usize::from(result.register.0)] |= active;
            }
            match &control.flow[position] {
                Flow::Next => paths.last_mut().expect("there").0 += 1,
                Flow::To { targets, .. } => match targets[..] {
                    [] => paths.iter_mut().for_each(|path| path.2 &= !lanes),
                    [target] => paths.last_mut().expect("there").0 = target,
                    _ => self.part(&mut paths, position, (targets[0], targets[1]), (until, lanes), choose()),
                },
            }
        }
        Ok(())
    }

    /// Lanes of `taken` go to the first target, the others to the second.
    fn part(
        &self,
        paths: &mut Vec<(usize, Option<usize>, LaneMask)>,
        position: usize,
        targets: (usize, usize),
        (until, lanes): (Option<usize>, LaneMask),
        taken: LaneMask,
    ) {
        let (first, second) = (lanes & taken, lanes & !taken);
        if first == 0 || second == 0 {
            paths.last_mut().expect("there").0 = if first == 0 { targets.1 } else { targets.0 };
            return;
        }
        paths.pop();
        let meet = self.meets[position];
        if let Some(meet) = meet.filter(|&meet| Some(meet) != until) {
            paths.push((meet, until, lanes));
        }
        let inner = meet.or(until);
        let mut sides = [(targets.0, inner, first), (targets.1, inner, second)];
        // The last one runs first.
        let reverses = if self.in_program_order { targets.0 < targets.1 } else { taken & 0x10 != 0 };
        if reverses {
            sides.reverse();
        }
        paths.extend(sides);
    }
}

/// For each instruction the nearest that every way from it to the end passes, by leaving out one after the other.
fn meets(flow: &[Flow]) -> Vec<Option<usize>> {
    let after = |position: usize| -> Vec<usize> {
        match &flow[position] {
            Flow::Next => vec![position + 1],
            Flow::To { targets, .. } => targets.clone(),
        }
    };
    let reaches_end = |from: usize, without: Option<usize>| {
        let (mut seen, mut work) = (vec![false; flow.len()], after(from));
        while let Some(position) = work.pop() {
            if Some(position) == without || std::mem::replace(&mut seen[position], true) {
                continue;
            }
            if matches!(&flow[position], Flow::To { exits: true, .. }) {
                return true;
            }
            work.extend(after(position));
        }
        false
    };
    let passes = |from: usize, through: usize| from != through && !reaches_end(from, Some(through));
    (0..flow.len())
        .map(|from| {
            let all: Vec<usize> = (0..flow.len()).filter(|&through| passes(from, through)).collect();
            // All others come behind the nearest.
            all.iter()
                .copied()
                .find(|&nearest| all.iter().all(|&other| other == nearest || passes(nearest, other)))
        })
        .collect()
}

/// Whether the end can be reached from everywhere: lanes in a loop without end meet nowhere.
pub(crate) fn ends(flow: &[Flow]) -> bool {
    let mut reaches = vec![false; flow.len()];
    for _ in 0..flow.len() {
        for position in (0..flow.len()).rev() {
            reaches[position] |= match &flow[position] {
                Flow::Next => reaches[position + 1],
                Flow::To { targets, exits } => *exits || targets.iter().any(|&target| reaches[target]),
            };
        }
    }
    reaches.iter().all(|&reaches| reaches)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn warps_find_their_registers_staged_however_their_lanes_part(
        blocks in blocks(), choices in prop::collection::vec(any::<u8>(), 1..40),
        max_live_registers in 3..9_u16, bank_lines in 1..3_u8, spread_banks in any::<bool>(),
    ) {
        let random = random_program(&blocks);
        let flow = &random.program.control.as_ref().expect("known").flow;
        prop_assume!(ends(flow));
        let parameters = Parameters { max_live_registers, bank_lines, spread_banks, ..Parameters::default() };
        let (program, regions) =
            compile(&random.program, &parameters).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let listing = || {
            let cfg = crate::compile::cfg::Cfg::new(flow).expect("valid");
            listing::listing(&program, &regions, &cfg)
        };
        check_static(&program, &regions).map_err(|error| TestCaseError::fail(format!("{error}\n{}", listing())))?;
        let mut warp = Warp::new(&program);
        let walked = random.walk(&program, &choices, |position, active, known| {
            warp.step(&program, &regions, position, active, known).map_err(|broken| broken.to_string())
        });
        walked.map_err(|error| TestCaseError::fail(format!("{error}\n{}", listing())))?;
    }
}
