//! Where the machine finds each word that the PTX reads: in a register, or as a constant operand.

use super::fold::{fold, is_launch_constant};
use super::webs::{Web, Webs};
use crate::compile::cfg::Cfg;
use crate::compile::dominators::Dominators;
use crate::compile::isa::Isa;
use crate::compile::operands::Operands;
use crate::ptx::ir::{Instruction, Kernel, Op, Operand, Reg, Special, Type};

/// A 32-bit virtual machine register: word `w` of web `n` is `2n + w`; temporaries of expansions follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VReg(pub u32);

impl VReg {
    /// A word of a web.
    pub fn of(web: Web, word: u8) -> VReg {
        VReg(2 * web.0 + u32::from(word))
    }

    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The web that it is a word of; not of a temporary.
    pub fn web(self) -> Web {
        Web(self.0 / 2)
    }
}

/// Where a 32-bit value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A constant known to the compiler.
    Literal(u32),
    /// The same for all threads of a launch and found in constant memory: parameters, block and grid sizes,
    /// addresses of variables.
    Launch,
    /// In a register.
    Register(VReg),
}

impl Word {
    /// The constant, if the compiler knows it.
    pub fn literal(self) -> Option<u32> {
        match self {
            Word::Literal(value) => Some(value),
            Word::Launch | Word::Register(_) => None,
        }
    }

    /// Whether it needs no register.
    pub fn is_constant(self) -> bool {
        match self {
            Word::Literal(_) | Word::Launch => true,
            Word::Register(_) => false,
        }
    }
}

/// Where each web is found.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// For each web its words; a web that is a register of its own resolves to itself.
    words: Vec<[Word; 2]>,
    /// For each predicate web the web that holds it, possibly negated.
    predicates: Vec<(Web, bool)>,
    /// Whose machine code it is.
    isa: Isa,
    /// What arithmetic takes its operands from.
    operands: Operands,
}

impl Resolved {
    /// Follows copies, constants and conversions that change nothing, in reverse postorder: a web with a single
    /// definition is defined before it is read.
    pub fn new(
        kernel: &Kernel,
        cfg: &Cfg,
        dominators: &Dominators,
        webs: &Webs,
        (isa, operands): (Isa, Operands),
    ) -> Resolved {
        let mut resolved = Resolved {
            words: (0..webs.webs().len() as u32)
                .map(|web| [0, 1].map(|word| Word::Register(VReg::of(Web(web), word))))
                .collect(),
            predicates: (0..webs.webs().len() as u32).map(|web| (Web(web), false)).collect(),
            isa,
            operands,
        };
        let mut special_reads: Vec<(Special, usize, Web)> = Vec::new();
        for block in cfg.reverse_postorder() {
            for position in cfg.block(block).instructions.clone() {
                let instruction = &kernel.instructions[position];
                resolved.resolve_predicate(kernel, webs, instruction, position);
                resolved.resolve_words(kernel, webs, instruction, position);
                if let Some((special, web)) = special_read(webs, instruction, position)
                    && !kernel.rereads_special
                {
                    let earlier = special_reads.iter().find(|&&(read, at, _)| {
                        read == special && dominators.dominates(cfg.block_of(at), block)
                    });
                    match earlier {
                        Some(&(_, _, same)) => resolved.words[web.index()] = resolved.words[same.index()],
                        None => special_reads.push((special, position, web)),
                    }
                }
            }
        }
        resolved
    }

    /// For each result of an instruction and each of its words: where the same value is already, if it is.
    pub fn fold(
        &self,
        kernel: &Kernel,
        instruction: &Instruction,
        sources: &[[Word; 2]],
    ) -> Vec<[Option<Word>; 2]> {
        fold(kernel, instruction, sources, self.operands)
    }

    /// The words of a web.
    pub fn words(&self, web: Web) -> [Word; 2] {
        self.words[web.index()]
    }

    /// The web that holds a predicate, and whether it holds its negation.
    pub fn predicate(&self, web: Web) -> (Web, bool) {
        self.predicates[web.index()]
    }

    /// The words of a source operand as the whole register holds them; words that the register does not have
    /// are 0.
    pub fn operand(&self, kernel: &Kernel, webs: &Webs, position: usize, operand: Operand) -> [Word; 2] {
        match operand {
            Operand::Imm(bits) => [Word::Literal(bits as u32), Word::Literal((bits >> 32) as u32)],
            Operand::Special(_) | Operand::Symbol(..) | Operand::GenericSymbol(..) => [Word::Launch; 2],
            Operand::Reg(register) | Operand::Not(register) => {
                self.register(kernel, webs, position, register)
            }
        }
    }

    /// The words of a register as an instruction reads it.
    pub fn register(&self, kernel: &Kernel, webs: &Webs, position: usize, register: Reg) -> [Word; 2] {
        let Some(web) = webs.read(position, register) else { return [Word::Literal(0); 2] };
        let mut words = self.words(web);
        for word in words.iter_mut().skip(kernel.registers[register.index()].ty.words() as usize) {
            *word = Word::Literal(0);
        }
        words
    }

    fn resolve_predicate(
        &mut self,
        kernel: &Kernel,
        webs: &Webs,
        instruction: &Instruction,
        position: usize,
    ) {
        // What is an operand is read as it is.
        let copies = self.isa == Isa::Maxwell
            && matches!(instruction.op, Op::Mov { ty: Type::Pred } | Op::Not { ty: Type::Pred });
        let (true, [Some(to)], [Operand::Reg(from) | Operand::Not(from)]) =
            (copies, &instruction.dsts[..], &instruction.srcs[..])
        else {
            return;
        };
        let (Some(to), Some(from)) = (webs.written(position, *to), webs.read(position, *from)) else {
            return;
        };
        debug_assert_eq!(kernel.registers[webs.info(to).register.index()].ty, Type::Pred);
        let negates =
            matches!(instruction.op, Op::Not { .. }) != matches!(instruction.srcs[0], Operand::Not(_));
        let (from, negated) = self.predicate(from);
        if webs.info(to).is_single() && webs.info(from).is_single() {
            self.predicates[to.index()] = (from, negated != negates);
        }
    }

    fn resolve_words(&mut self, kernel: &Kernel, webs: &Webs, instruction: &Instruction, position: usize) {
        let sources: Vec<[Word; 2]> =
            instruction.srcs.iter().map(|&operand| self.operand(kernel, webs, position, operand)).collect();
        let folded = self.fold(kernel, instruction, &sources);
        for (destination, words) in instruction.dsts.iter().zip(folded) {
            let Some(web) = destination.and_then(|register| webs.written(position, register)) else {
                continue;
            };
            if !webs.info(web).is_single() {
                continue;
            }
            for (word, found) in words.into_iter().enumerate() {
                if let Some(found) = found.filter(|&found| is_stable(webs, found)) {
                    self.words[web.index()][word] = found;
                }
            }
        }
    }
}

/// Whether what is found there now is there whenever a copy of it is read.
fn is_stable(webs: &Webs, word: Word) -> bool {
    match word {
        Word::Literal(_) | Word::Launch => true,
        Word::Register(register) => webs.info(register.web()).is_single(),
    }
}

/// A read of a special register whose value does not change while the thread lives.
fn special_read(webs: &Webs, instruction: &Instruction, position: usize) -> Option<(Special, Web)> {
    let (Op::Mov { .. }, &[Operand::Special(special)], [Some(register)]) =
        (&instruction.op, &instruction.srcs[..], &instruction.dsts[..])
    else {
        return None;
    };
    let web = webs.written(position, *register)?;
    (!special.is_clock() && !is_launch_constant(special) && webs.info(web).is_single())
        .then_some((special, web))
}
