//! Builds the machine instructions of one PTX instruction at a time.

use super::computation::Computed;
use crate::compile::isa::Isa;
use crate::compile::lowering::{Temporary, Value};
use crate::compile::optimise::resolve::{Resolved, VReg, Word};
use crate::compile::optimise::webs::{Web, Webs};
use crate::program::{MAX_SOURCES, Operation};
use crate::ptx::ir::{Guard, InstIndex, Instruction, Kernel, Op, Operand, Reg, Special, Type};

/// A one-bit virtual register: a predicate web, or a carry within an expansion (numbered after the webs).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VPred(pub u32);

/// A machine instruction over virtual registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineOp {
    /// The PTX instruction it is part of.
    pub ptx: InstIndex,
    /// Unit and memory access.
    pub operation: Operation,
    /// Name in listings.
    pub name: String,
    /// Registers read, each once.
    pub sources: Vec<(VReg, Value)>,
    /// Registers written.
    pub results: Vec<(VReg, Value)>,
    /// Predicates read, each once, the guard included.
    pub predicate_sources: Vec<VPred>,
    /// Predicates written.
    pub predicate_results: Vec<VPred>,
    /// Lanes may be switched off by the guard.
    pub guarded: bool,
    /// The guard, the first of the predicates read, if there is one: whether it is negated.
    pub guard_negated: Option<bool>,
    /// Copies its only source to its only result: coalescing may remove it.
    pub copy: bool,
    /// Must stay even if nothing reads what it writes.
    pub has_effect: bool,
    /// What it writes is a function of what it reads, also where the whole expansion reads more.
    pub is_function: bool,
    /// What it computes.
    pub computed: Computed,
    /// The load whose word of scratchpad it reads as an operand ([`operands`](super::super::operands)).
    pub operand: Option<InstIndex>,
}

/// A 32-bit value that a machine instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Where it is.
    pub word: Word,
    /// What it is, if in a register.
    pub value: Value,
}

/// A 32-bit value that a machine instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// The register.
    pub register: VReg,
    /// What it is.
    pub value: Value,
}

impl Output {
    /// Reads back what was written.
    pub fn input(self) -> Input {
        Input { word: Word::Register(self.register), value: self.value }
    }
}

/// Machine instructions under construction.
pub struct Emitter<'a> {
    /// The kernel.
    pub kernel: &'a Kernel,
    /// Its webs.
    pub webs: &'a Webs,
    /// Where each web is found.
    pub resolved: &'a Resolved,
    /// Whose machine code it is.
    pub isa: Isa,
    /// The PTX instruction being expanded.
    pub instruction: &'a Instruction,
    position: usize,
    ops: Vec<MachineOp>,
    next_register: u32,
    next_predicate: u32,
    next_step: u16,
    fragments: Vec<Vec<VReg>>,
}

/// Predicates of an instruction besides its guard.
#[derive(Clone, Debug, Default)]
pub struct Predicates {
    /// Read.
    pub reads: Vec<VPred>,
    /// Written.
    pub writes: Vec<VPred>,
}

impl Predicates {
    /// Reads one.
    pub fn read(predicate: VPred) -> Predicates {
        Predicates { reads: vec![predicate], writes: Vec::new() }
    }

    /// Writes one.
    pub fn write(predicate: VPred) -> Predicates {
        Predicates { reads: Vec::new(), writes: vec![predicate] }
    }
}

impl<'a> Emitter<'a> {
    /// An emitter without instructions.
    pub fn new(kernel: &'a Kernel, webs: &'a Webs, resolved: &'a Resolved, isa: Isa) -> Emitter<'a> {
        let webs_count = webs.webs().len() as u32;
        Emitter {
            kernel,
            webs,
            resolved,
            isa,
            instruction: &kernel.instructions[0],
            position: 0,
            ops: Vec::new(),
            next_register: 2 * webs_count,
            next_predicate: webs_count,
            next_step: 0,
            fragments: Vec::new(),
        }
    }

    /// Asks for registers side by side, if there are as many as the fragment has: none is a constant or unused.
    pub fn keep_together(&mut self, registers: Vec<VReg>, count: usize) {
        if registers.len() == count && matches!(count, 2 | 4) {
            self.fragments.push(registers);
        }
    }

    /// What was asked for so far.
    pub fn fragments(&mut self) -> Vec<Vec<VReg>> {
        std::mem::take(&mut self.fragments)
    }

    /// Starts the expansion of the instruction at `position`.
    pub fn begin(&mut self, position: usize) {
        self.position = position;
        self.instruction = &self.kernel.instructions[position];
        self.next_step = 0;
    }

    /// Takes what the instruction expanded to.
    pub fn take(&mut self) -> Vec<MachineOp> {
        std::mem::take(&mut self.ops)
    }

    /// Virtual registers and predicates made so far.
    pub fn counts(&self) -> (u32, u32) {
        (self.next_register, self.next_predicate)
    }

    /// Bound of the virtual registers that are words of webs; higher ones are temporaries.
    pub fn first_temporary(&self) -> u32 {
        2 * self.webs.webs().len() as u32
    }

    /// A word of source operand `index`.
    pub fn source(&self, index: usize, word: u8) -> Input {
        self.operand(self.instruction.srcs[index], word)
    }

    /// Both words of source operand `index`.
    pub fn pair(&self, index: usize) -> [Input; 2] {
        [0, 1].map(|word| self.source(index, word))
    }

    /// A word of a register that the instruction reads.
    pub fn register(&self, register: Reg, word: u8) -> Input {
        self.operand(Operand::Reg(register), word)
    }

    /// Words of a register.
    pub fn words_of(&self, register: Reg) -> u8 {
        self.kernel.registers[register.index()].ty.words() as u8
    }

    /// Where the words of a register that the instruction reads are, as many as it has, and its web; a predicate is read as a
    /// register.
    pub fn read(&self, register: Reg) -> (Vec<Word>, Option<Web>) {
        let web = self.webs.read(self.position, register);
        if let Some(predicate) = web.filter(|_| self.is_predicate(register)) {
            return (vec![Word::Register(VReg::of(predicate, 0))], web);
        }
        let words = self.resolved.register(self.kernel, self.webs, self.position, register);
        let count = self.kernel.registers[register.index()].ty.words() as usize;
        (words.into_iter().take(count).collect(), web)
    }

    fn operand(&self, operand: Operand, word: u8) -> Input {
        let words = self.resolved.operand(self.kernel, self.webs, self.position, operand);
        let value = match operand.register() {
            Some(register) => Value::Before(register, word),
            // Never read: the word is a constant.
            None => Value::Temporary(Temporary::Step(0)),
        };
        Input { word: words[word as usize], value }
    }

    /// The predicate of source operand `index`, if it is a register.
    pub fn predicate_source(&self, index: usize) -> Option<VPred> {
        let register = self.instruction.srcs.get(index)?.register()?;
        self.predicate(register).map(|(predicate, _)| predicate)
    }

    fn is_predicate(&self, register: Reg) -> bool {
        self.kernel.registers[register.index()].ty == Type::Pred
    }

    /// The predicate that holds a register, and whether it holds its negation.
    fn predicate(&self, register: Reg) -> Option<(VPred, bool)> {
        if !self.is_predicate(register) {
            return None;
        }
        let web = self.webs.read(self.position, register)?;
        let (web, negated) = self.resolved.predicate(web);
        Some((VPred(web.0), negated))
    }

    /// Whether a predicate is a register: all instructions that write it write nothing else.
    pub fn is_register(&self, predicate: VPred) -> bool {
        self.isa == Isa::PtxPlus
            && self.webs.webs().get(predicate.0 as usize).is_some_and(|web| {
                let results =
                    |position: usize| self.kernel.instructions[position].dsts.iter().flatten().count();
                web.definitions.iter().all(|&position| results(position) == 1)
            })
    }

    /// A predicate that the instruction reads, if it is a register.
    fn predicate_operand(&self, predicate: VPred) -> Option<Input> {
        let web = Some(Web(predicate.0));
        let mut registers = self.instruction.srcs.iter().filter_map(|operand| operand.register());
        let register = registers.find(|&register| self.webs.read(self.position, register) == web)?;
        self.is_register(predicate).then(|| Input {
            word: Word::Register(VReg::of(Web(predicate.0), 0)),
            value: Value::Before(register, 0),
        })
    }

    /// A predicate that the instruction writes, if it is a register.
    fn predicate_output(&self, predicate: VPred) -> Option<Output> {
        let web = Some(Web(predicate.0));
        let mut registers = self.instruction.dsts.iter().flatten();
        let register = *registers.find(|&&register| self.webs.written(self.position, register) == web)?;
        self.is_register(predicate)
            .then(|| Output { register: VReg::of(Web(predicate.0), 0), value: Value::After(register, 0) })
    }

    /// The web that result operand `index` defines; `None` for the sink.
    pub fn result_web(&self, index: usize) -> Option<Web> {
        self.webs.written(self.position, (*self.instruction.dsts.get(index)?)?)
    }

    /// The predicate of result operand `index`, unless it is the sink.
    pub fn predicate_result(&self, index: usize) -> Option<VPred> {
        self.result_web(index).map(|web| VPred(web.0))
    }

    /// Whether result operand `index` is a predicate.
    pub fn result_is_predicate(&self, index: usize) -> bool {
        self.result_type(index) == Some(Type::Pred)
    }

    /// Declared type of result operand `index`; `None` for the sink.
    pub fn result_type(&self, index: usize) -> Option<Type> {
        let register = self.instruction.dsts.get(index).copied().flatten()?;
        Some(self.kernel.registers[register.index()].ty)
    }

    /// A word of result operand `index`; for the sink a temporary.
    pub fn result(&mut self, index: usize, word: u8) -> Output {
        match (self.result_web(index), self.instruction.dsts[index]) {
            (Some(web), Some(register)) => {
                Output { register: VReg::of(web, word), value: Value::After(register, word) }
            }
            (Some(_), None) | (None, _) => self.step_output(),
        }
    }

    /// What the machine holds a word of result operand `index` in, after the instruction.
    pub fn result_input(&mut self, index: usize, word: u8) -> Input {
        let output = self.result(index, word);
        match self.result_web(index) {
            Some(web) => Input { word: self.resolved.words(web)[word as usize], value: output.value },
            None => output.input(),
        }
    }

    /// A temporary of known value.
    pub fn temporary(&mut self, value: Temporary) -> Output {
        self.next_register += 1;
        Output { register: VReg(self.next_register - 1), value: Value::Temporary(value) }
    }

    /// A temporary of the next step of a long sequence.
    pub fn step_output(&mut self) -> Output {
        self.next_step += 1;
        self.temporary(Temporary::Step(self.next_step - 1))
    }

    /// A carry or other predicate within the expansion.
    pub fn carry(&mut self) -> VPred {
        self.next_predicate += 1;
        VPred(self.next_predicate - 1)
    }

    /// Emits one machine instruction; more than three registers are read in additional operand passes before.
    pub fn emit(
        &mut self,
        operation: Operation,
        suffix: &str,
        inputs: &[Input],
        outputs: &[Output],
        predicates: Predicates,
    ) {
        let mut sources: Vec<(VReg, Value)> = Vec::new();
        let operands = predicates.reads.iter().filter_map(|&predicate| self.predicate_operand(predicate));
        for input in inputs.iter().copied().chain(operands) {
            if let Word::Register(register) = input.word
                && !sources.iter().any(|(read, _)| *read == register)
            {
                sources.push((register, input.value));
            }
        }
        let written = predicates.writes.iter().filter_map(|&predicate| self.predicate_output(predicate));
        let outputs: Vec<Output> = outputs.iter().copied().chain(written).collect();
        while sources.len() > MAX_SOURCES {
            let rest = sources.split_off(MAX_SOURCES);
            let pass = self.op(Operation::Alu, ":operands", sources, &[], Predicates::default());
            self.ops.push(MachineOp { has_effect: true, ..pass });
            sources = rest;
        }
        let op = self.op(operation, suffix, sources, &outputs, predicates);
        self.ops.push(op);
    }

    /// Emits an ALU instruction without predicates.
    pub fn alu(&mut self, suffix: &str, inputs: &[Input], output: Output) {
        self.emit(Operation::Alu, suffix, inputs, &[output], Predicates::default());
    }

    /// The same of one whose result is a function of what it reads, whatever the rest of the expansion reads.
    pub fn function(&mut self, suffix: &str, inputs: &[Input], output: Output) {
        self.alu(suffix, inputs, output);
        if let Some(op) = self.ops.last_mut() {
            op.is_function = true;
        }
    }

    /// Emits one step of a long sequence and gives its value.
    pub fn step(&mut self, operation: Operation, suffix: &str, inputs: &[Input]) -> Input {
        let output = self.step_output();
        self.emit(operation, suffix, inputs, &[output], Predicates::default());
        output.input()
    }

    /// Emits a copy, or the move of a constant into a register.
    pub fn copy(&mut self, input: Input, output: Output) {
        let suffix = if matches!(self.instruction.op, Op::Mov { .. }) { "" } else { ":mov" };
        self.emit(Operation::Alu, suffix, &[input], &[output], Predicates::default());
        if let (Some(op), Word::Register(_)) = (self.ops.last_mut(), input.word) {
            op.copy = true;
        }
    }

    fn op(
        &self,
        operation: Operation,
        suffix: &str,
        sources: Vec<(VReg, Value)>,
        outputs: &[Output],
        predicates: Predicates,
    ) -> MachineOp {
        let mut predicate_sources: Vec<VPred> = Vec::new();
        let guard = self.instruction.guard.and_then(|Guard { register, negated }| {
            self.predicate(register).map(|(predicate, held_negated)| (predicate, negated != held_negated))
        });
        for predicate in guard.map(|(predicate, _)| predicate).into_iter().chain(predicates.reads) {
            if !predicate_sources.contains(&predicate) {
                predicate_sources.push(predicate);
            }
        }
        MachineOp {
            ptx: InstIndex(self.position as u32),
            operation,
            name: format!("{}{suffix}", ptx_name(self.instruction)),
            sources,
            results: outputs.iter().map(|output| (output.register, output.value)).collect(),
            predicate_sources,
            predicate_results: predicates.writes,
            guarded: guard.is_some() && operation != Operation::Branch,
            guard_negated: guard.map(|(_, negated)| negated),
            copy: false,
            is_function: false,
            has_effect: !matches!(operation, Operation::Alu | Operation::Sfu | Operation::Double),
            computed: Computed::Other,
            operand: None,
        }
    }

    /// Whether source operand `index`, wherever it has been copied from, is known to have 16 bits: it is a short constant, or says
    /// where a thread is in its block and grid (a grid of PTXPlus has 65,535 blocks a dimension at most).
    pub fn has_16_bits(&self, index: usize) -> bool {
        let is_short = |operand: Operand| {
            matches!(
                operand,
                Operand::Special(
                    Special::Tid(_)
                        | Special::Ntid(_)
                        | Special::Ctaid(_)
                        | Special::Nctaid(_)
                        | Special::LaneId
                )
            )
        };
        let operand = self.instruction.srcs[index];
        let register = operand.register();
        let mut web = match self.source(index, 0).word {
            Word::Literal(value) => return value >> 16 == 0,
            Word::Register(register) => Some(register.web()),
            Word::Launch => register.and_then(|register| self.webs.read(self.position, register)),
        };
        // A single definition comes before whoever reads it, so copies of copies end.
        while let Some(copy) = web.map(|web| self.webs.info(web)).filter(|info| info.is_single()) {
            let position = copy.definitions[0];
            let Instruction { op: Op::Mov { .. }, srcs, .. } = &self.kernel.instructions[position] else {
                return false;
            };
            if is_short(srcs[0]) {
                return true;
            }
            web = srcs[0].register().and_then(|register| self.webs.read(position, register));
        }
        is_short(operand)
    }

    /// Marks the last instruction as one that must stay.
    pub fn keep(&mut self) {
        if let Some(op) = self.ops.last_mut() {
            op.has_effect = true;
        }
    }
}

/// The opcode with its modifiers, as in the source.
pub fn ptx_name(instruction: &Instruction) -> &str {
    instruction
        .text
        .split_whitespace()
        .find(|word| !word.starts_with('@'))
        .map_or("mov", |word| word.trim_end_matches(';'))
}
