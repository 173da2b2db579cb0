//! Three mechanisms from outside that stand in front of an operand storage: one answers instructions that repeat, one sends
//! copies of registers before instructions, one writes results later than it takes them. What they need of the program is in
//! this file.

use std::collections::{HashMap, VecDeque};

use warpfile_kernels::program::{
    BlockIndex, InstId, LANES, LaneMask, LaneValues, MAX_RESULTS, Operation, PhysReg, Program,
};
use warpfile_sim::config::{Accepted, Config, SectionInfo, preset_with};
use warpfile_sim::counters::Counts;
use warpfile_sim::mechanisms::{Build, Compiled, Info, Mechanism, Notes, Part, Pass, Registry, Role};
use warpfile_sim::sm::design::{
    Interposer, Issue, MAX_DISPATCHES, MAX_ISSUES, OperandStorage, StorageInputs, StorageOutputs, Unit,
    WarpRows, WarpSlot, Write,
};
use warpfile_sim::sm::{Compared, RunOptions, SimError, run};
use warpfile_sim::{counters, parameters};

use crate::tiny::{open, run_tiny};
use crate::toy::Ideal;

/// Answers an instruction that has been executed before, in whichever warp, with the same operands.
struct Memo;

/// Copies the first operand of every other instruction onto itself before the instruction.
struct Mover;

parameters! {
    /// Answers.
    pub struct Parameters in "memo" {
        /// The bit of a result that is wrong in every answer; none is at 32.
        wrong_bit: u64 = 32, Accepted::integer(0, 32);
    }
}

counters! {
    /// What is answered.
    pub struct Answers {
        /// Instructions answered.
        answered: sum("warp instructions"),
    }
}

counters! {
    /// What is moved.
    pub struct Moves {
        /// Registers copied.
        copies: sum("registers"),
    }
}

/// Of each instruction that only computes one register from others that register; notes of the pass.
#[derive(Clone, Default)]
struct Pure(Vec<Option<PhysReg>>);

/// An instruction with the values that it computes from.
type Question = (u32, LaneMask, Vec<LaneValues>);

#[derive(Default)]
struct MemoInterposer {
    wrong_bit: u64,
    pure: Pure,
    registers: u32,
    /// What is in each row, and in which lanes that is known.
    rows: HashMap<u32, (LaneMask, LaneValues)>,
    first_rows: HashMap<WarpSlot, u32>,
    known: HashMap<Question, LaneValues>,
    asked: HashMap<u16, Question>,
    /// An instruction that is answered once its result is written, and that result.
    answer: Option<(Issue, LaneValues)>,
    counted: Answers,
}

impl Mechanism for Memo {
    fn info(&self) -> Info {
        Info { name: "memo", summary: "answers what repeats", design: None, preset: "gebhart2011" }
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn section(&self) -> Option<SectionInfo> {
        Some(SectionInfo::of::<Parameters>())
    }

    fn pass(&self) -> Pass {
        Pass::Notes
    }

    fn compile(&self, _: &Config, program: &Program, notes: &mut Notes) -> Result<Option<Program>, SimError> {
        let result = |one: &warpfile_kernels::program::Instruction| match &one.results[..] {
            [result] => {
                let computes = one.operation == Operation::Alu && !one.sources.is_empty();
                let alone = one.predicate_sources.is_empty() && one.predicate_results.is_empty();
                (computes && alone).then_some(result.register)
            }
            _ => None,
        };
        notes.leave(Pure(program.instructions.iter().map(result).collect()));
        Ok(None)
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let Parameters { wrong_bit, .. } = at.config.of();
        let one = |_| -> Box<dyn Interposer> { Box::new(MemoInterposer { wrong_bit, ..Default::default() }) };
        Ok(Part::Interposers((0..at.partitions()).map(one).collect()))
    }
}

impl MemoInterposer {
    /// What an instruction computes from, if that is all known.
    fn question(&self, issue: &Issue) -> Option<Question> {
        self.pure.0[issue.inst.0 as usize]?;
        let value = |row: &u32| {
            let (known, values) = self.rows.get(row)?;
            let masked = |lane: usize| if issue.active >> lane & 1 == 1 { values[lane] } else { 0 };
            (issue.active & !known == 0).then(|| std::array::from_fn(masked))
        };
        let values = issue.sources.iter().flatten().map(value).collect::<Option<Vec<_>>>()?;
        (issue.active != 0).then_some((issue.inst.0, issue.active, values))
    }

    fn written(&mut self, write: &Write<'_>) {
        let (known, values) = self.rows.entry(write.row).or_insert((0, [0; LANES]));
        *known |= write.lanes;
        for lane in (0..LANES).filter(|lane| write.lanes >> lane & 1 == 1) {
            values[lane] = write.values[lane];
        }
    }
}

impl Interposer for MemoInterposer {
    fn start_kernel(
        &mut self,
        storage: &mut dyn OperandStorage,
        kernel: &Compiled<'_>,
    ) -> Result<(), SimError> {
        self.pure = kernel.notes.get::<Pure>().cloned().unwrap_or_default();
        self.registers = u32::from(kernel.program.registers_per_thread);
        self.known.clear();
        storage.start_kernel(kernel)
    }

    fn start_warp(
        &mut self,
        storage: &mut dyn OperandStorage,
        warp: WarpSlot,
        rows: WarpRows,
        block: BlockIndex,
    ) {
        for row in rows.first()..rows.first() + self.registers {
            self.rows.remove(&row);
        }
        self.first_rows.insert(warp, rows.first());
        storage.start_warp(warp, rows, block);
    }

    fn cycle(
        &mut self,
        storage: &mut dyn OperandStorage,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
    ) -> Result<(), SimError> {
        if let Some((issue, values)) = self.answer.take() {
            // Its result goes in the place of those of the SM, which wait, and no instruction comes in.
            let register = self.pure.0[issue.inst.0 as usize].expect("it has been looked up");
            let write = Write {
                id: issue.id,
                inst: issue.inst,
                result: 0,
                warp: issue.warp,
                row: self.first_rows[&issue.warp] + u32::from(register.0),
                lanes: issue.active,
                values: &values,
                slot: None,
                cached: false,
            };
            let passed = StorageInputs { issue: &[None; MAX_ISSUES], result: [Some(write), None], ..*inputs };
            storage.cycle(&passed, outputs)?;
            if outputs.result_taken[0] {
                self.written(&write);
                self.counted.answered += 1;
                outputs.answered[0] = Some(issue.id);
                outputs.answers[0] = [[0; LANES]; MAX_RESULTS];
                let flip = 1_u64.checked_shl(self.wrong_bit as u32).unwrap_or(0) as u32;
                outputs.answers[0][0] = values.map(|value| value ^ flip);
            } else {
                self.answer = Some((issue, values));
            }
            outputs.result_taken = [false; MAX_ISSUES];
            return Ok(());
        }
        let question = inputs.issue[0].as_ref().and_then(|issue| Some((issue, self.question(issue)?)));
        if let Some((issue, question)) = &question
            && let Some(values) = self.known.get(question)
        {
            self.answer = Some((**issue, *values));
            storage.cycle(&StorageInputs { issue: &[None; MAX_ISSUES], ..*inputs }, outputs)?;
            outputs.issue_taken = [true, false];
        } else {
            storage.cycle(inputs, outputs)?;
            if let Some((issue, question)) = question.filter(|_| outputs.issue_taken[0]) {
                self.asked.insert(issue.id, question);
            }
        }
        let results = inputs.result.iter().zip(outputs.result_taken);
        for write in results.filter_map(|(write, taken)| write.filter(|_| taken)) {
            self.written(&write);
            if let Some(question) = self.asked.remove(&write.id) {
                self.known.insert(question, *write.values);
            }
        }
        if let Some(write) = inputs.fill.filter(|_| outputs.fill_taken) {
            self.written(&write);
        }
        Ok(())
    }

    fn count(&self, into: &mut Counts) {
        into.add("memo", &self.counted);
    }
}

/// What becomes of the instruction that a copy goes before.
enum Copying {
    /// The copy has been taken; its instruction waits.
    Reads(Issue),
    /// The register has been read and is to be written.
    Writes(Issue, LaneValues),
}

#[derive(Default)]
struct MoverInterposer {
    copying: Option<Copying>,
    /// The instruction that has been copied for, so that it is not again.
    done: Option<u16>,
    seen: u64,
    counted: Moves,
}

impl Mechanism for Mover {
    fn info(&self) -> Info {
        Info { name: "mover", summary: "copies registers", design: None, preset: "gebhart2011" }
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let one = |_| -> Box<dyn Interposer> { Box::<MoverInterposer>::default() };
        Ok(Part::Interposers((0..at.partitions()).map(one).collect()))
    }
}

impl Interposer for MoverInterposer {
    fn cycle(
        &mut self,
        storage: &mut dyn OperandStorage,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
    ) -> Result<(), SimError> {
        let none = [None; MAX_ISSUES];
        match self.copying.take() {
            Some(Copying::Writes(issue, values)) => {
                let write = Write {
                    id: issue.id,
                    inst: issue.inst,
                    result: 0,
                    warp: issue.warp,
                    row: issue.sources[0].expect("it has been read"),
                    lanes: issue.active,
                    values: &values,
                    slot: None,
                    cached: false,
                };
                storage.cycle(
                    &StorageInputs { issue: &none, result: [Some(write), None], ..*inputs },
                    outputs,
                )?;
                if outputs.result_taken[0] {
                    self.counted.copies += 1;
                    self.done = Some(issue.id);
                } else {
                    self.copying = Some(Copying::Writes(issue, values));
                }
                outputs.result_taken = [false; MAX_ISSUES];
            }
            Some(Copying::Reads(issue)) => {
                // A copy is no instruction of the SM's: its unit is always there for it.
                let ready_units = inputs.ready_units | 1 << Unit::Control as u8;
                storage.cycle(&StorageInputs { issue: &none, ready_units, ..*inputs }, outputs)?;
                self.copying = Some(Copying::Reads(issue));
                for port in 0..MAX_DISPATCHES {
                    if outputs.dispatch[port] == Some(issue.id) {
                        outputs.dispatch[port] = None;
                    }
                    if outputs.delivered[port] == Some(issue.id) {
                        outputs.delivered[port] = None;
                        self.copying = Some(Copying::Writes(issue, outputs.operands[port][0]));
                    }
                }
            }
            None => {
                let first = inputs.issue[0].filter(|issue| self.done != Some(issue.id));
                let copied = first.filter(|issue| self.seen.is_multiple_of(2) && issue.sources[0].is_some());
                let Some(issue) = copied else {
                    storage.cycle(inputs, outputs)?;
                    if outputs.issue_taken[0] {
                        (self.done, self.seen) = (None, self.seen + 1);
                    }
                    return Ok(());
                };
                let copy = Issue { sources: [issue.sources[0], None, None], unit: Unit::Control, ..issue };
                storage.cycle(&StorageInputs { issue: &[Some(copy), None], ..*inputs }, outputs)?;
                if outputs.issue_taken[0] {
                    self.copying = Some(Copying::Reads(issue));
                }
                outputs.issue_taken = [false; MAX_ISSUES];
            }
        }
        Ok(())
    }

    fn count(&self, into: &mut Counts) {
        into.add("mover", &self.counted);
    }
}

/// Takes results at once and writes them a few cycles later.
struct Late;

/// Cycles between the two, at least.
const LATER: u64 = 3;

/// A result that has been taken.
struct Kept {
    id: u16,
    inst: InstId,
    result: usize,
    warp: WarpSlot,
    row: u32,
    lanes: LaneMask,
    values: LaneValues,
    due: u64,
}

#[derive(Default)]
struct LateInterposer {
    now: u64,
    /// Results, and fills.
    kept: [VecDeque<Kept>; 2],
}

impl Kept {
    fn new(write: &Write<'_>, due: u64) -> Kept {
        let Write { id, inst, result, warp, row, lanes, values, .. } = *write;
        Kept { id, inst, result, warp, row, lanes, values: *values, due }
    }

    fn write(&self) -> Write<'_> {
        let Kept { id, inst, result, warp, row, lanes, ref values, .. } = *self;
        Write { id, inst, result, warp, row, lanes, values, slot: None, cached: false }
    }
}

impl Mechanism for Late {
    fn info(&self) -> Info {
        Info { name: "late", summary: "writes results later", design: None, preset: "gebhart2011" }
    }

    fn role(&self) -> Role {
        Role::Layer
    }

    fn build(&self, at: &Build<'_>) -> Result<Part, SimError> {
        let one = |_| -> Box<dyn Interposer> { Box::<LateInterposer>::default() };
        Ok(Part::Interposers((0..at.partitions()).map(one).collect()))
    }
}

impl Interposer for LateInterposer {
    fn cycle(
        &mut self,
        storage: &mut dyn OperandStorage,
        inputs: &StorageInputs<'_>,
        outputs: &mut StorageOutputs,
    ) -> Result<(), SimError> {
        let [result, fill] = &self.kept;
        let due = |kept: &'_ VecDeque<Kept>| kept.front().is_some_and(|kept| kept.due <= self.now);
        let offered = StorageInputs {
            result: [result.front().filter(|_| due(result)).map(Kept::write), None],
            fill: fill.front().filter(|_| due(fill)).map(Kept::write),
            ..*inputs
        };
        storage.cycle(&offered, outputs)?;
        let taken = [outputs.result_taken[0], outputs.fill_taken];
        for (place, (kept, taken)) in self.kept.iter_mut().zip(taken).enumerate() {
            let written = if taken { kept.pop_front() } else { None };
            outputs.written[place] = written.map(|kept| (kept.id, kept.result));
        }
        let due = self.now + LATER;
        self.kept[0].extend(inputs.result[0].iter().map(|write| Kept::new(write, due)));
        self.kept[1].extend(inputs.fill.iter().map(|write| Kept::new(write, due)));
        outputs.result_taken = [inputs.result[0].is_some(), false];
        outputs.result_later = outputs.result_taken;
        outputs.fill_taken = inputs.fill.is_some();
        outputs.fill_later = outputs.fill_taken;
        self.now += 1;
        Ok(())
    }
}

fn config(design: &str) -> Config {
    let registry = Registry::shipped().with(&[&Ideal, &Memo, &Mover, &Late]);
    preset_with(&registry, "gebhart2011").expect("complete").with_design(design).expect("a stack")
}

#[test]
fn what_a_design_answers_is_compared_with_the_kernels_results() {
    for design in ["ideal+memo", "banked+memo", "two-level+banked+memo"] {
        for workload in ["hotspot", "sgemm", "bfs"] {
            let report = run_tiny(&config(design), workload, RunOptions::default());
            let Answers { answered } = report.counters.get("memo");
            assert!(answered > 100, "{design}, {workload}: {answered}");
            assert_eq!(
                (report.answered_instructions, report.results_checked),
                (answered, answered),
                "{design}"
            );
            let unanswered =
                run_tiny(&config(design.trim_end_matches("+memo")), workload, RunOptions::default());
            assert_eq!(unanswered.warp_instructions, report.warp_instructions);
            assert!(report.mrf().reads < unanswered.mrf().reads, "answers read nothing");
            assert_eq!(report.mrf().writes, unanswered.mrf().writes, "this mechanism writes what it answers");
        }
    }
}

#[test]
fn a_wrong_answer_ends_the_run_and_is_named() {
    let mut config = config("banked+memo");
    config.edit(|memo: &mut Parameters| memo.wrong_bit = 7);
    let error = run(&config, &mut open("hotspot"), RunOptions::default()).expect_err("wrong");
    let SimError::WrongOperand(wrong) = &error else { panic!("{error}") };
    assert_eq!((wrong.compared, wrong.expected ^ wrong.found), (Compared::Result, 1 << 7));
    assert!(error.to_string().starts_with("wrong result in cycle "), "{error}");
}

#[test]
fn what_is_injected_is_no_instruction_of_the_kernel() {
    for design in ["ideal+mover", "banked+mover", "two-level+banked+mover+memo"] {
        let report = run_tiny(&config(design), "hotspot", RunOptions::default());
        let without =
            run_tiny(&config(design.split("+mover").next().expect("one")), "hotspot", RunOptions::default());
        let Moves { copies } = report.counters.get("mover");
        assert!(copies > report.warp_instructions / 10, "{design}: {copies}");
        assert_eq!(report.warp_instructions, without.warp_instructions);
        assert_eq!(report.mrf().writes, without.mrf().writes + copies, "{design}");
        assert!(report.cycles > without.cycles, "each copy takes its time");
    }
}

#[test]
fn a_register_stays_pending_until_a_result_that_was_taken_is_written() {
    for design in ["ideal+late", "banked+late", "two-level+banked+late"] {
        let (mut cycles, mut cycles_without) = (0, 0);
        for workload in ["hotspot", "sgemm", "bfs"] {
            let report = run_tiny(&config(design), workload, RunOptions::default());
            let without =
                run_tiny(&config(design.trim_end_matches("+late")), workload, RunOptions::default());
            assert_eq!(report.operands_checked, without.operands_checked, "{design}, {workload}");
            assert_eq!(report.mrf().writes, without.mrf().writes, "{design}, {workload}");
            cycles += report.cycles;
            cycles_without += without.cycles;
        }
        assert!(cycles > cycles_without, "{design}: dependent instructions wait");
    }
}
