//! Values in local memory, where a thread has too few registers for all.
//!
//! Works on the PTX: a value that is chosen is stored where it is written and loaded for each instruction that reads it,
//! so what is executed, and what machine instructions are made of, is still one kernel. Constants, parameters and what
//! is computed of them in the compiler take no register and are never chosen. A value that one instruction makes of such
//! alone, or reads from a special register, needs no memory: it is computed again for each instruction that reads it
//! (rematerialisation: Briggs, Cooper & Torczon, PLDI 1992).
//!
//! Whom to choose: what is live, but neither read nor written, at many points with too many values, and is read and
//! written seldom, an access in a loop counting as ten before it (Chaitin, "Register allocation & spilling via graph
//! coloring", 1982).

use std::collections::{BTreeMap, BTreeSet};

use super::allocate::interference::each_point;
use super::effect::Effect;
use super::function::Function;
use super::lower::MachineCode;
use super::optimise::resolve::{Resolved, VReg, Word};
use super::optimise::webs::{UnionFind, Web, Webs};
use crate::program::{Space, Spills};
use crate::ptx::ir::{
    Address, Base, InstIndex, Instruction, Kernel, MemoryOrder, Op, Operand, Reg, Register, Type,
};

/// An access counts as so many of one outside the loop around it.
const TURNS: f64 = 10.0;
/// No loop is counted as deeper: what has been weighed this high is not chosen before anything else.
const DEEPEST: usize = 8;
/// To compute a value again takes an issue slot; to load it, a slot and the memory port.
const RECOMPUTED: f64 = 0.5;

/// Machine code over virtual registers, with the values of the PTX that they hold.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub kernel: &'a Kernel,
    pub webs: &'a Webs,
    pub resolved: &'a Resolved,
    pub code: &'a MachineCode,
    pub function: &'a Function,
}

impl Values<'_> {
    /// Whether a value can be computed wherever it is read.
    fn recomputes(&self, web: Web) -> bool {
        recomputation(self.kernel, self.webs, self.resolved, web).is_some()
    }
}

/// The one instruction that computes a value, if it can be repeated anywhere: neither memory nor a register that may have
/// changed is read.
fn recomputation(kernel: &Kernel, webs: &Webs, resolved: &Resolved, web: Web) -> Option<usize> {
    let info = webs.info(web);
    let &[position] = &info.definitions[..] else { return None };
    let instruction = &kernel.instructions[position];
    let repeats = |&operand: &Operand| match operand {
        Operand::Special(special) => !special.is_clock(),
        Operand::Imm(_) | Operand::Symbol(..) | Operand::GenericSymbol(..) => true,
        Operand::Reg(register) | Operand::Not(register) => {
            // A predicate has no words, whatever it hangs on.
            let is_predicate = kernel.registers[register.index()].ty == Type::Pred;
            let words = resolved.register(kernel, webs, position, register);
            let is_alone =
                !is_predicate && webs.read(position, register).is_some_and(|web| webs.info(web).is_alone);
            is_alone && words.iter().all(|word| word.is_constant())
        }
    };
    let is_alone = info.is_single() && instruction.dsts.len() == 1 && instruction.address.is_none();
    (is_alone
        && Effect::of(kernel, instruction, None) == Effect::None
        && instruction.srcs.iter().all(repeats))
    .then_some(position)
}

/// Values that share a register, because they are copies of each other.
#[derive(Clone, Debug, Default)]
struct Group {
    webs: Vec<Web>,
    /// Instructions that read or write it, weighted.
    cost: f64,
    /// Points with too many values that it could leave, and how many words it has there.
    points: Vec<(usize, usize)>,
}

/// The values to keep in local memory so that at most `registers` words are live at each point, as far as values can
/// leave it; `depth` says in how many loops an instruction of the kernel is.
pub(super) fn choose(values: Values<'_>, depth: impl Fn(usize) -> usize, registers: usize) -> BTreeSet<Web> {
    let mut candidates = Candidates::new(values, depth, registers);
    let mut chosen = BTreeSet::new();
    while let Some(group) = candidates.take_best() {
        chosen.extend(group.webs);
    }
    chosen
}

struct Candidates {
    groups: Vec<Group>,
    /// Words too many at each point that has too many.
    excess: Vec<usize>,
}

impl Candidates {
    fn new(values: Values<'_>, depth: impl Fn(usize) -> usize, registers: usize) -> Candidates {
        let group_of = groups(values);
        let mut groups = vec![Group::default(); values.webs.webs().len()];
        for (web, &group) in group_of.iter().enumerate() {
            groups[group].webs.push(Web(web as u32));
        }
        let recomputed: Vec<bool> =
            groups.iter().map(|group| group.webs.iter().all(|&web| values.recomputes(web))).collect();
        let accessed = accessed(values, &group_of);
        for (position, accessed) in accessed.iter().enumerate() {
            let cost = TURNS.powi(depth(position).min(DEEPEST) as i32);
            for &group in accessed {
                groups[group].cost += if recomputed[group] { RECOMPUTED * cost } else { cost };
            }
        }
        let mut excess = Vec::new();
        each_point(values.function, |position, live| {
            if live.len() <= registers {
                return;
            }
            let mut leaving: BTreeMap<usize, usize> = BTreeMap::new();
            let of_values = live.iter().filter(|&&register| register < values.code.first_temporary);
            for &register in of_values {
                *leaving.entry(group_of[register as usize / 2]).or_default() += 1;
            }
            // What an instruction reads or writes is in a register then, wherever it is kept.
            let accessed = &accessed[values.code.ops[position].ptx.index()];
            // Local memory has no predicates.
            let is_predicate = |group: usize| {
                let mut of = groups[group].webs.iter().map(|&web| values.webs.info(web).register);
                of.any(|register| values.kernel.registers[register.index()].ty == Type::Pred)
            };
            leaving.retain(|group, _| !accessed.contains(group) && !is_predicate(*group));
            for (group, words) in leaving {
                groups[group].points.push((excess.len(), words));
            }
            excess.push(live.len() - registers);
        });
        Candidates { groups, excess }
    }

    /// The group that helps at most points for what it costs, as kept in memory from now on.
    fn take_best(&mut self) -> Option<Group> {
        let worth = |group: &Group| {
            let helped = group.points.iter().filter(|&&(point, _)| self.excess[point] > 0);
            helped.map(|&(_, words)| words).sum::<usize>() as f64 / group.cost
        };
        let worths = self.groups.iter().map(worth).enumerate();
        let (best, _) = worths.filter(|&(_, worth)| worth > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let group = std::mem::take(&mut self.groups[best]);
        for &(point, words) in &group.points {
            self.excess[point] = self.excess[point].saturating_sub(words);
        }
        Some(group)
    }
}

/// For each web the group it belongs to, which has the number of one of its webs.
fn groups(values: Values<'_>) -> Vec<usize> {
    let count = values.webs.webs().len();
    let mut sets = UnionFind::new(count);
    for web in 0..count {
        for word in values.resolved.words(Web(web as u32)) {
            if let Word::Register(VReg(register)) = word {
                sets.unite(register as usize / 2, web);
            }
        }
    }
    (0..count).map(|web| sets.find(web)).collect()
}

/// For each instruction of the kernel the groups that it reads or writes.
fn accessed(values: Values<'_>, group_of: &[usize]) -> Vec<BTreeSet<usize>> {
    let instructions = values.kernel.instructions.iter().enumerate();
    let groups = instructions.map(|(position, instruction)| {
        let reads = instruction.uses().filter_map(|register| values.webs.read(position, register));
        let writes = instruction.definitions().filter_map(|register| values.webs.written(position, register));
        reads.chain(writes).map(|web| group_of[web.index()]).collect()
    });
    groups.collect()
}

/// The kernel with values in local memory, and what that takes.
pub(super) fn rewrite(
    kernel: &Kernel,
    webs: &Webs,
    resolved: &Resolved,
    spilled: &BTreeSet<Web>,
) -> (Kernel, Spills) {
    let mut rewriter = Rewriter::new(kernel, webs, resolved, spilled);
    let mut start = Vec::with_capacity(kernel.instructions.len());
    for position in 0..kernel.instructions.len() {
        start.push(InstIndex(rewriter.instructions.len() as u32));
        rewriter.add(position);
    }
    for instruction in &mut rewriter.instructions {
        match &mut instruction.op {
            Op::Bra { target, .. } => *target = start[target.index()],
            Op::Brx { targets, .. } => {
                targets.iter_mut().for_each(|target| *target = start[target.index()]);
            }
            _other => {}
        }
    }
    let Rewriter { registers, instructions, local_bytes, spills, .. } = rewriter;
    (Kernel { registers, instructions, local_bytes, rereads_special: true, ..kernel.clone() }, spills)
}

/// Where a value is found that has no register of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// At this place in local memory.
    Memory(u32),
    /// In the result of this instruction of the kernel, wherever it stands.
    Computed(usize),
}

struct Rewriter<'a> {
    kernel: &'a Kernel,
    webs: &'a Webs,
    /// Where each value is found that has no register of its own.
    homes: BTreeMap<Web, Home>,
    registers: Vec<Register>,
    instructions: Vec<Instruction>,
    local_bytes: u32,
    spills: Spills,
}

impl<'a> Rewriter<'a> {
    fn new(kernel: &'a Kernel, webs: &'a Webs, resolved: &Resolved, spilled: &BTreeSet<Web>) -> Rewriter<'a> {
        let words = |web: Web| kernel.registers[webs.info(web).register.index()].ty.words();
        let mut homes = BTreeMap::new();
        let mut kept = Vec::new();
        for &web in spilled {
            match recomputation(kernel, webs, resolved, web) {
                Some(position) => _ = homes.insert(web, Home::Computed(position)),
                None => kept.push(web),
            }
        }
        // Those of 64 bits first: no gaps.
        kept.sort_by_key(|&web| std::cmp::Reverse(words(web)));
        let mut end = kernel.local_bytes.next_multiple_of(8);
        for &web in &kept {
            homes.insert(web, Home::Memory(end));
            end += 4 * words(web);
        }
        let frame_bytes = if kept.is_empty() { 0 } else { end - kernel.local_bytes };
        let spills = Spills {
            values: kept.len() as u32,
            recomputed: (spilled.len() - kept.len()) as u32,
            frame_bytes,
            ..Spills::default()
        };
        Rewriter {
            kernel,
            webs,
            homes,
            registers: kernel.registers.clone(),
            instructions: Vec::new(),
            local_bytes: kernel.local_bytes + frame_bytes,
            spills,
        }
    }

    /// Adds an instruction of the kernel: in front of it what brings the values that it reads, behind it stores of what it
    /// writes.
    fn add(&mut self, position: usize) {
        let of_kernel = &self.kernel.instructions[position];
        let mut written =
            of_kernel.definitions().filter_map(|register| self.webs.written(position, register));
        if written.any(|web| self.homes.get(&web) == Some(&Home::Computed(position))) {
            return;
        }
        let mut instruction = self.kernel.instructions[position].clone();
        let mut held: BTreeMap<Web, Reg> = BTreeMap::new();
        let reads: BTreeMap<Reg, Web> = self.spilled(self.kernel.instructions[position].uses(), |register| {
            self.webs.read(position, register)
        });
        let writes: BTreeMap<Reg, Web> = self
            .spilled(self.kernel.instructions[position].definitions(), |register| {
                self.webs.written(position, register)
            });
        // Lanes that a guard switches off keep their value.
        let kept = writes.values().filter(|_| instruction.guard.is_some());
        let loaded: BTreeSet<Web> = reads.values().chain(kept).copied().collect();
        for web in loaded {
            let register = self.temporary(web);
            held.insert(web, register);
            self.bring(instruction.line, web, register);
        }
        for &web in writes.values() {
            held.entry(web).or_insert_with(|| self.temporary(web));
        }
        let name =
            |of: &BTreeMap<Reg, Web>, register: Reg| of.get(&register).map_or(register, |web| held[web]);
        instruction.rename_uses(|register| name(&reads, register));
        for register in instruction.dsts.iter_mut().flatten() {
            *register = name(&writes, *register);
        }
        let line = instruction.line;
        self.instructions.push(instruction);
        let written: BTreeSet<Web> = writes.into_values().collect();
        for web in written {
            self.store(line, web, held[&web]);
        }
    }

    fn spilled(
        &self,
        registers: impl Iterator<Item = Reg>,
        web: impl Fn(Reg) -> Option<Web>,
    ) -> BTreeMap<Reg, Web> {
        let webs = registers.filter_map(|register| Some((register, web(register)?)));
        webs.filter(|(_, web)| self.homes.contains_key(web)).collect()
    }

    /// A register for a value while one instruction needs it.
    fn temporary(&mut self, web: Web) -> Reg {
        let of = &self.kernel.registers[self.webs.info(web).register.index()];
        self.registers.push(Register { name: format!("{}@s{}", of.name, self.registers.len()), ty: of.ty });
        Reg(self.registers.len() as u32 - 1)
    }

    /// Puts a value into a register.
    fn bring(&mut self, line: u32, web: Web, register: Reg) {
        match self.homes[&web] {
            Home::Computed(position) => {
                let dsts = vec![Some(register)];
                self.instructions.push(Instruction { dsts, ..self.kernel.instructions[position].clone() });
            }
            Home::Memory(at) => {
                let ty = self.memory_type(register);
                let op = Op::Ld { space: Space::Local, ty, order: MemoryOrder::Weak };
                self.spills.load_bytes += ty.bytes();
                self.access(line, op, format!("ld.local{ty}"), vec![Some(register)], Vec::new(), at);
            }
        }
    }

    fn store(&mut self, line: u32, web: Web, register: Reg) {
        let Home::Memory(at) = self.homes[&web] else { return };
        let ty = self.memory_type(register);
        let op = Op::St { space: Space::Local, ty, order: MemoryOrder::Weak };
        self.spills.store_bytes += ty.bytes();
        self.access(line, op, format!("st.local{ty}"), Vec::new(), vec![Operand::Reg(register)], at);
    }

    fn access(
        &mut self,
        line: u32,
        op: Op,
        text: String,
        dsts: Vec<Option<Reg>>,
        srcs: Vec<Operand>,
        at: u32,
    ) {
        let address = Some(Address { base: Base::Zero, offset: at.into() });
        self.instructions.push(Instruction { line, text, guard: None, op, dsts, srcs, address });
    }

    /// The bits of a register as they are, whatever its type.
    fn memory_type(&self, register: Reg) -> Type {
        match self.registers[register.index()].ty.bits() {
            8 => Type::B8,
            16 => Type::B16,
            32 => Type::B32,
            _wide => Type::B64,
        }
    }
}
