//! A kernel taken apart into basic blocks that name each other, and put together again.

use std::collections::BTreeMap;

use crate::compile::cfg::{Block, Cfg};
use crate::compile::divergence;
use crate::compile::liveness::Liveness;
use crate::ptx::ir::{Guard, InstIndex, Instruction, Kernel, Op, Reg, Register, Type};

/// A block of a [`Draft`]: its position in [`Draft::blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Label(pub usize);

/// A kernel in parts.
#[derive(Clone)]
pub(super) struct Draft {
    /// What is not instructions, and the registers.
    frame: Kernel,
    /// The blocks; those that nothing leads to any more are among them.
    blocks: Vec<Piece>,
    /// The blocks as they come in the text, the entry first.
    order: Vec<Label>,
}

/// A basic block.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Without what ends it.
    pub instructions: Vec<Instruction>,
    /// Where control goes then.
    pub end: End,
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    /// In one other.
    Next(Label),
    /// In one of two.
    Branch(Branch),
    /// In one of many by an index (`brx`); those that a guard switches off go on at `next`.
    Switch {
        /// The instruction.
        instruction: Instruction,
        /// In the order of its targets.
        targets: Vec<Label>,
        /// Where the others go.
        next: Option<Label>,
    },
    /// In the end of the thread, `exit` or `trap`; those that a guard switches off go on at `next`.
    Exit {
        /// The instruction.
        instruction: Instruction,
        /// Where the others go.
        next: Option<Label>,
    },
}

/// A branch with a guard.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Branch {
    /// The branch of the source.
    pub instruction: Instruction,
    /// When it is taken.
    pub guard: Guard,
    /// Where to.
    pub taken: Label,
    /// Where the others go.
    pub next: Label,
}

/// What a thread may still read at the beginning of each block of a draft.
pub(super) struct LiveIn {
    liveness: Liveness,
    /// The block of the kernel for each block of the draft; `None` for one that nothing leads to.
    blocks: Vec<Option<Block>>,
}

impl LiveIn {
    /// Whether that is what a register holds.
    pub fn contains(&self, label: Label, register: Reg) -> bool {
        self.blocks[label.0].is_some_and(|block| self.liveness.live_in(block).contains(register.index()))
    }
}

impl End {
    /// The registers that it reads.
    pub fn asks(&self) -> Vec<Reg> {
        match self {
            End::Next(_) => Vec::new(),
            End::Branch(branch) => vec![branch.guard.register],
            End::Switch { instruction, .. } | End::Exit { instruction, .. } => instruction.uses().collect(),
        }
    }

    /// The blocks that it names.
    pub fn successors(&self) -> impl Iterator<Item = Label> + '_ {
        let (one, two, many) = match self {
            End::Next(next) => (Some(*next), None, &[][..]),
            End::Branch(branch) => (Some(branch.next), Some(branch.taken), &[][..]),
            End::Switch { targets, next, .. } => (*next, None, &targets[..]),
            End::Exit { next, .. } => (*next, None, &[][..]),
        };
        one.into_iter().chain(two).chain(many.iter().copied())
    }

    fn successors_mut(&mut self) -> impl Iterator<Item = &mut Label> {
        let (one, two, many) = match self {
            End::Next(next) => (Some(next), None, &mut [][..]),
            End::Branch(branch) => (Some(&mut branch.next), Some(&mut branch.taken), &mut [][..]),
            End::Switch { targets, next, .. } => (next.as_mut(), None, &mut targets[..]),
            End::Exit { next, .. } => (next.as_mut(), None, &mut [][..]),
        };
        one.into_iter().chain(two).chain(many)
    }

    /// Names `to` wherever it names `from`.
    pub fn redirect(&mut self, from: Label, to: Label) {
        self.successors_mut().filter(|label| **label == from).for_each(|label| *label = to);
    }
}

impl Draft {
    /// Takes a kernel apart.
    pub fn new(kernel: &Kernel) -> Draft {
        let cfg = divergence::ptx_cfg(kernel).expect("a parsed kernel has control flow");
        let blocks =
            cfg.blocks().iter().map(|block| piece(kernel, &cfg, block.instructions.clone())).collect();
        let order = cfg.block_ids().map(|block| Label(block.index())).collect();
        Draft { frame: Kernel { instructions: Vec::new(), ..kernel.clone() }, blocks, order }
    }

    /// A block.
    pub fn piece(&self, label: Label) -> &Piece {
        &self.blocks[label.0]
    }

    /// A block.
    pub fn piece_mut(&mut self, label: Label) -> &mut Piece {
        &mut self.blocks[label.0]
    }

    /// The blocks as they come in the text.
    pub fn order(&self) -> &[Label] {
        &self.order
    }

    /// Adds a block. It is not in the text before [`Draft::insert`] puts it there.
    pub fn add(&mut self, piece: Piece) -> Label {
        self.blocks.push(piece);
        Label(self.blocks.len() - 1)
    }

    /// Puts blocks into the text, each list in front of a block that is there.
    pub fn insert(&mut self, mut before: BTreeMap<Label, Vec<Label>>) {
        let place = |label: Label| before.remove(&label).into_iter().flatten().chain([label]);
        self.order = std::mem::take(&mut self.order).into_iter().flat_map(place).collect();
    }

    /// A register that nothing uses yet; `name` is for messages.
    pub fn register(&mut self, name: String, ty: Type) -> Reg {
        self.frame.registers.push(Register { name, ty });
        Reg(self.frame.registers.len() as u32 - 1)
    }

    /// Another register of the same type.
    pub fn register_like(&mut self, register: Reg) -> Reg {
        let Register { name, ty } = self.frame.registers[register.index()].clone();
        self.register(format!("{name}#{}", self.frame.registers.len()), ty)
    }

    /// The type of a register.
    pub fn ty(&self, register: Reg) -> Type {
        self.frame.registers[register.index()].ty
    }

    /// The name of a register.
    pub fn name(&self, register: Reg) -> &str {
        &self.frame.registers[register.index()].name
    }

    /// What is not instructions, and the registers.
    pub fn frame(&self) -> &Kernel {
        &self.frame
    }

    /// For each block those that lead to it.
    pub fn predecessors(&self) -> Vec<Vec<Label>> {
        let mut predecessors = vec![Vec::new(); self.blocks.len()];
        for label in &self.order {
            self.piece(*label).end.successors().for_each(|successor| predecessors[successor.0].push(*label));
        }
        predecessors
    }

    /// For each block how many ways lead to it, the entry's own counted.
    pub fn arrivals(&self) -> Vec<usize> {
        let mut arrivals = vec![0; self.blocks.len()];
        arrivals[self.order[0].0] += 1;
        for label in &self.order {
            self.piece(*label).end.successors().for_each(|successor| arrivals[successor.0] += 1);
        }
        arrivals
    }

    /// Leaves out blocks that do nothing and blocks that nothing leads to, and joins those that always come one after the other.
    pub fn simplify(&mut self) {
        self.skip_empty();
        self.keep_reachable();
        self.join();
    }

    /// What names an empty block names what comes after it.
    fn skip_empty(&mut self) {
        let beyond: Vec<Label> = (0..self.blocks.len()).map(|index| self.beyond(Label(index))).collect();
        for piece in &mut self.blocks {
            piece.end.successors_mut().for_each(|label| *label = beyond[label.0]);
            if let End::Branch(branch) = &piece.end
                && branch.taken == branch.next
            {
                piece.end = End::Next(branch.next);
            }
        }
    }

    /// The first block from `label` on that does something; `label` itself if there is none.
    fn beyond(&self, label: Label) -> Label {
        let mut at = label;
        // Empty blocks may lead to each other in a circle.
        for _ in 0..self.order.len() {
            match &self.piece(at) {
                Piece { instructions, end: End::Next(next) } if instructions.is_empty() => at = *next,
                _ => return at,
            }
        }
        label
    }

    fn keep_reachable(&mut self) {
        let mut reached = vec![false; self.blocks.len()];
        let mut work = vec![self.order[0]];
        while let Some(label) = work.pop() {
            if !std::mem::replace(&mut reached[label.0], true) {
                work.extend(self.piece(label).end.successors());
            }
        }
        self.order.retain(|label| reached[label.0]);
    }

    /// Joins each block that leads to one other only with that one, if nothing else leads there.
    fn join(&mut self) {
        let arrivals = self.arrivals();
        let mut gone = vec![false; self.blocks.len()];
        for label in self.order.clone() {
            if gone[label.0] {
                continue;
            }
            while let End::Next(next) = self.piece(label).end
                && arrivals[next.0] == 1
                && next != label
            {
                let other = self.piece(next).clone();
                gone[next.0] = true;
                let piece = self.piece_mut(label);
                piece.instructions.extend(other.instructions);
                piece.end = other.end;
            }
        }
        self.order.retain(|label| !gone[label.0]);
    }

    /// Puts the kernel together.
    pub fn kernel(&self) -> Kernel {
        self.assemble().0
    }

    /// What a thread may still read at the beginning of each block.
    pub fn live_in(&self) -> LiveIn {
        let (kernel, starts) = self.assemble();
        let cfg = divergence::ptx_cfg(&kernel).expect("a draft has control flow");
        let mut blocks = vec![None; self.blocks.len()];
        for label in &self.order {
            blocks[label.0] = Some(cfg.block_of(starts[label.0]));
        }
        LiveIn { liveness: Liveness::per_thread(&divergence::ptx_function(&kernel, &cfg)), blocks }
    }

    /// The kernel, and where each block begins in it.
    pub fn assemble(&self) -> (Kernel, Vec<usize>) {
        let mut instructions: Vec<Instruction> = Vec::new();
        let mut starts = vec![0; self.blocks.len()];
        for (place, &label) in self.order.iter().enumerate() {
            let following = self.order.get(place + 1).copied();
            let piece = self.piece(label);
            starts[label.0] = instructions.len();
            instructions.extend(piece.instructions.iter().cloned());
            finish(&piece.end, following, self.frame.line, &mut instructions);
        }
        let position = |target: &mut InstIndex| *target = InstIndex(starts[target.index()] as u32);
        for instruction in &mut instructions {
            if let Op::Bra { target, .. } = &mut instruction.op {
                position(target);
            } else if let Op::Brx { targets, .. } = &mut instruction.op {
                targets.iter_mut().for_each(position);
            }
        }
        (Kernel { instructions, ..self.frame.clone() }, starts)
    }
}

/// Takes a block of a kernel apart.
fn piece(kernel: &Kernel, cfg: &Cfg, range: std::ops::Range<usize>) -> Piece {
    let label = |target: usize| Label(cfg.block_of(target).index());
    let following = range.end;
    let mut instructions = kernel.instructions[range].to_vec();
    let Some(last) = instructions.pop_if(|last| divergence::is_control(&last.op)) else {
        return Piece { instructions, end: End::Next(label(following)) };
    };
    let next = last.falls_through().then(|| label(following));
    let end = match &last.op {
        Op::Bra { target, .. } => match (last.guard, next) {
            (Some(guard), Some(next)) => {
                End::Branch(Branch { guard, taken: label(target.index()), next, instruction: last })
            }
            _ => End::Next(label(target.index())),
        },
        Op::Brx { targets, .. } => {
            let targets = targets.iter().map(|target| label(target.index())).collect();
            End::Switch { targets, next, instruction: last }
        }
        _ => End::Exit { next, instruction: last },
    };
    Piece { instructions, end }
}

/// Adds what ends a block; targets are labels for now. A jump has the line of what is in front of it, or that of the kernel.
fn finish(end: &End, following: Option<Label>, line: u32, instructions: &mut Vec<Instruction>) {
    let line = instructions.last().map_or(line, |last| last.line);
    let goes_on = match end {
        End::Next(next) => Some(*next),
        End::Branch(branch) => {
            let Branch { instruction, guard, taken, next } = branch;
            let is_next = Some(*taken) == following;
            let (negated, to) = if is_next { (!guard.negated, *next) } else { (guard.negated, *taken) };
            let guard = Guard { negated, ..*guard };
            let mut instruction = Instruction { guard: Some(guard), ..instruction.clone() };
            if let Op::Bra { target, .. } = &mut instruction.op {
                *target = InstIndex(to.0 as u32);
            }
            instructions.push(instruction);
            Some(if is_next { *taken } else { *next })
        }
        End::Switch { instruction, targets, next } => {
            let mut instruction = instruction.clone();
            if let Op::Brx { targets: positions, .. } = &mut instruction.op {
                *positions = targets.iter().map(|label| InstIndex(label.0 as u32)).collect();
            }
            instructions.push(instruction);
            *next
        }
        End::Exit { instruction, next } => {
            instructions.push(instruction.clone());
            *next
        }
    };
    if let Some(label) = goes_on.filter(|label| Some(*label) != following) {
        instructions.push(jump(line, label));
    }
}

/// A branch to a block. Its target is a label for now.
fn jump(line: u32, to: Label) -> Instruction {
    let op = Op::Bra { uniform: true, target: InstIndex(to.0 as u32) };
    let text = "bra.uni".to_owned();
    Instruction { line, text, guard: None, op, dsts: Vec::new(), srcs: Vec::new(), address: None }
}
