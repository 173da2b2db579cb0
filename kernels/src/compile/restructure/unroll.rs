//! Loops that count are unrolled: wholly if they turn a known number of times, otherwise by a factor.
//!
//! Only loops of one block, which is executed before the condition is asked. By a factor, the bodies of several turns follow
//! each other in a loop in front of the old one, which does the turns that are left:
//!
//! ```text
//!     LOOP: body            if enough turns are left: MAIN, else LOOP
//!           @p bra LOOP     MAIN: body; body; body; body
//!                                 if enough turns are left: MAIN
//!                                 @p bra LOOP, else out
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::draft::{Branch, Draft, End, Label, Piece};
use super::rename::{read_under_the_guard, rename};
use crate::compile::effect::{Effect, asks_other_lanes};
use crate::ptx::ir::{
    Combine, Compare, FloatMode, Guard, InstIndex, Instruction, Op, Operand, Reg, Type, TypeKind,
};

/// Turns that are copied behind each other if how many there will be is not known; fewer if they are long.
const FACTORS: [usize; 2] = [4, 2];
/// Instructions of all copies at most.
const BUDGET: usize = 128;
/// The same if it is known how many turns there are: no condition is left.
const WHOLE_BUDGET: usize = 256;

/// Unrolls the loops of one block.
pub(super) fn counted_loops(draft: &mut Draft) {
    let mut predecessors = draft.predecessors();
    let blocks_of = blocks_of(draft);
    let mut inserted = BTreeMap::new();
    for label in draft.order().to_vec() {
        let Some(counter) = Counter::of(draft, label) else { continue };
        let entries: Vec<Label> =
            predecessors[label.0].iter().copied().filter(|from| *from != label).collect();
        let count = draft.piece(label).instructions.len();
        let mut own = read_under_the_guard(&draft.piece(label).instructions);
        own.retain(|register| blocks_of[register.index()] == 1);
        let most = (WHOLE_BUDGET / count.max(1)) as u64;
        if let Some(turns) = counter.turns(draft, &entries, most) {
            whole(draft, label, &counter, turns as usize, &own);
        } else if let Some(factor) = FACTORS.into_iter().find(|factor| factor * count <= BUDGET)
            && turns_overlap(draft, label)
            && let Some(added) = by_factor(draft, label, &counter, factor, &entries, &own)
        {
            // What has been added is no loop of the source.
            predecessors.get_mut(counter.out.0).into_iter().for_each(|list| list.extend(&added));
            inserted.insert(label, added);
        }
    }
    draft.insert(inserted);
}

/// For each register how many blocks name it.
fn blocks_of(draft: &Draft) -> Vec<usize> {
    let mut blocks_of = vec![0; draft.frame().registers.len()];
    for label in draft.order() {
        let piece = draft.piece(*label);
        let of_instructions = piece
            .instructions
            .iter()
            .flat_map(|instruction| instruction.uses().chain(instruction.definitions()));
        let named: BTreeSet<Reg> = of_instructions.chain(piece.end.asks()).collect();
        named.into_iter().for_each(|register| blocks_of[register.index()] += 1);
    }
    blocks_of
}

/// What decides how often a loop turns: it goes on as long as `compare(register, bound)`.
struct Counter {
    /// Changes by `step` a turn.
    register: Reg,
    /// 32 or 64 bits, as compared.
    ty: Type,
    /// Two's complement of the type's width.
    step: u64,
    compare: Compare,
    /// Does not change in the loop.
    bound: Operand,
    /// The comparison reads the register before it changes.
    before: bool,
    /// Where control goes after the loop.
    out: Label,
}

impl Counter {
    /// Of a loop that is one block, without barriers and exchanges between lanes: lanes that are in different loops
    /// would miss each other.
    fn of(draft: &Draft, label: Label) -> Option<Counter> {
        let Piece { instructions, end: End::Branch(branch) } = draft.piece(label) else { return None };
        let (out, on) = if branch.taken == label { (branch.next, true) } else { (branch.taken, false) };
        let is_loop = (branch.taken == label) != (branch.next == label);
        let is_alone = instructions.iter().all(|instruction| {
            let effect = Effect::of(draft.frame(), instruction, None);
            let own = matches!(effect, Effect::None | Effect::Read(_) | Effect::Write(_));
            own && !asks_other_lanes(&instruction.op)
        });
        if !is_loop || !is_alone {
            return None;
        }
        let (asked, setp) = only_write(instructions, branch.guard.register)?;
        let (Op::Setp { ty, compare, combine: None, .. }, [Some(_)], [a, b]) =
            (&setp.op, &setp.dsts[..], &setp.srcs[..])
        else {
            return None;
        };
        let integer =
            matches!(ty.kind(), TypeKind::Unsigned | TypeKind::Signed | TypeKind::Bits) && ty.bits() >= 32;
        let changes = |operand: &Operand| {
            operand
                .register()
                .is_some_and(|register| instructions.iter().any(|other| writes(other, register)))
        };
        let (register, bound, compare) = match (a, b) {
            (Operand::Reg(register), bound) if changes(a) && !changes(b) => (*register, *bound, *compare),
            (bound, Operand::Reg(register)) if changes(b) && !changes(a) => {
                (*register, *bound, mirrored(*compare)?)
            }
            _ => return None,
        };
        let (changed, step) = only_write(instructions, register)?;
        let step = step_of(step, register, ty.bits())?;
        let compare = if branch.guard.negated == on { negated(compare)? } else { compare };
        let fits =
            matches!(bound, Operand::Reg(_) | Operand::Imm(_)) && draft.ty(register).bits() == ty.bits();
        (integer && fits && step != 0).then_some(Counter {
            register,
            ty: *ty,
            step,
            compare,
            bound,
            before: asked < changed,
            out,
        })
    }

    /// How often the loop turns that `entries` lead to, if that is known and not more than `most`.
    fn turns(&self, draft: &Draft, entries: &[Label], most: u64) -> Option<u64> {
        let (Operand::Imm(bound), [from]) = (self.bound, entries) else { return None };
        let mut before = draft.piece(*from).instructions.iter().rev();
        let last = before.find(|instruction| writes(instruction, self.register))?;
        let (Op::Mov { .. }, None, [Operand::Imm(first)]) = (&last.op, last.guard, &last.srcs[..]) else {
            return None;
        };
        let mut value = *first;
        for turn in 1..=most {
            let next = value.wrapping_add(self.step) & self.mask();
            if !self.holds(if self.before { value } else { next }, bound) {
                return Some(turn);
            }
            value = next;
        }
        None
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.ty.bits())
    }

    fn holds(&self, a: u64, b: u64) -> bool {
        let signed = |value: u64| ((value << (64 - self.ty.bits())) as i64) >> (64 - self.ty.bits());
        let order = if self.ty.kind() == TypeKind::Signed {
            signed(a).cmp(&signed(b))
        } else {
            (a & self.mask()).cmp(&(b & self.mask()))
        };
        match self.compare {
            Compare::Eq => order.is_eq(),
            Compare::Ne => order.is_ne(),
            Compare::Lt => order.is_lt(),
            Compare::Le => order.is_le(),
            Compare::Gt => order.is_gt(),
            Compare::Ge => order.is_ge(),
            Compare::Equ
            | Compare::Neu
            | Compare::Ltu
            | Compare::Leu
            | Compare::Gtu
            | Compare::Geu
            | Compare::Num
            | Compare::Nan => unreachable!("a comparison of floats"),
        }
    }

    /// Instructions that leave in a predicate whether the loop will turn at least `factor` times more if it is entered now.
    ///
    /// The distance from the register to the bound is exact as an unsigned number if the comparison holds; for `!=` it is
    /// what is left until they meet, however the register wraps. `None` for a loop that goes on while it leaves its bound
    /// behind, or until it meets it.
    fn enough(&self, draft: &mut Draft, line: u32, factor: usize) -> Option<(Vec<Instruction>, Reg)> {
        let falls = self.step >> (self.ty.bits() - 1) == 1;
        let stride = if falls { self.step.wrapping_neg() & self.mask() } else { self.step };
        let towards = match self.compare {
            Compare::Lt | Compare::Le => !falls,
            Compare::Gt | Compare::Ge => falls,
            other => other == Compare::Ne,
        };
        let far = stride.checked_mul(factor as u64).filter(|&far| towards && far <= self.mask() >> 1)?;
        let unsigned = if self.ty.bits() == 64 { Type::U64 } else { Type::U32 };
        let distance = draft.register(format!("distance#{line}"), unsigned);
        let (here, there) = (Operand::Reg(self.register), self.bound);
        let operands = if falls { vec![here, there] } else { vec![there, here] };
        let sub = Op::Sub { ty: unsigned, mode: FloatMode::NONE };
        let mut instructions = vec![instruction(line, "sub", sub, distance, operands)];
        let setp = |ty, compare, combine| Op::Setp { ty, compare, combine, ftz: false };
        let mut operands = vec![Operand::Reg(distance), Operand::Imm(far)];
        let combine = (self.compare != Compare::Ne).then_some(Combine::And);
        if combine.is_some() {
            let inside = draft.register(format!("inside#{line}"), Type::Pred);
            instructions.push(instruction(
                line,
                "setp",
                setp(self.ty, self.compare, None),
                inside,
                vec![here, there],
            ));
            operands.push(Operand::Reg(inside));
        }
        let enough = draft.register(format!("enough#{line}"), Type::Pred);
        instructions.push(instruction(line, "setp", setp(unsigned, Compare::Ge, combine), enough, operands));
        Some((instructions, enough))
    }
}

/// Whether loads of one turn may be done before the stores of the turn before.
fn turns_overlap(draft: &Draft, label: Label) -> bool {
    let instructions = &draft.piece(label).instructions;
    let effects: Vec<Effect> =
        instructions.iter().map(|instruction| Effect::of(draft.frame(), instruction, None)).collect();
    let stays_before = |write: &Effect, read: &Effect| {
        matches!((write, read), (Effect::Write(_), Effect::Read(_))) && write.is_before(read)
    };
    !effects.iter().any(|write| effects.iter().any(|read| stays_before(write, read)))
}

/// All turns behind each other.
fn whole(draft: &mut Draft, label: Label, counter: &Counter, turns: usize, own: &BTreeSet<Reg>) {
    let piece = draft.piece_mut(label);
    piece.instructions = copies(&piece.instructions, turns);
    piece.end = End::Next(counter.out);
    rename(draft, label, own);
}

/// A loop of `factor` turns at a time in front of the loop that `entries` lead to: the blocks that were added.
fn by_factor(
    draft: &mut Draft,
    label: Label,
    counter: &Counter,
    factor: usize,
    entries: &[Label],
    own: &BTreeSet<Reg>,
) -> Option<Vec<Label>> {
    let Piece { instructions: body, end } = draft.piece(label).clone();
    let End::Branch(branch) = &end else { return None };
    let (ask, enough) = counter.enough(draft, branch.instruction.line, factor)?;
    let rest = draft.add(Piece { instructions: Vec::new(), end: end.clone() });
    let turns = copies(&body, factor).into_iter().chain(ask.clone()).collect();
    let main = draft.add(Piece { instructions: turns, end: end.clone() });
    let entry = draft.add(Piece { instructions: ask, end: end.clone() });
    let mut instruction = branch.instruction.clone();
    instruction.op = Op::Bra { uniform: false, target: InstIndex(0) };
    let guard = Guard { register: enough, negated: false };
    for (from, next) in [(main, rest), (entry, label)] {
        let branch = Branch { instruction: instruction.clone(), guard, taken: main, next };
        draft.piece_mut(from).end = End::Branch(branch);
    }
    rename(draft, main, own);
    entries.iter().for_each(|from| draft.piece_mut(*from).end.redirect(label, entry));
    Some(vec![entry, main, rest])
}

fn instruction(line: u32, name: &str, op: Op, to: Reg, srcs: Vec<Operand>) -> Instruction {
    Instruction { line, text: name.to_owned(), guard: None, op, dsts: vec![Some(to)], srcs, address: None }
}

fn writes(instruction: &Instruction, register: Reg) -> bool {
    instruction.definitions().any(|written| written == register)
}

/// The only instruction that writes a register, without a guard, and its position.
fn only_write(instructions: &[Instruction], register: Reg) -> Option<(usize, &Instruction)> {
    let mut all = instructions.iter().enumerate().filter(|(_, instruction)| writes(instruction, register));
    let first = all.next().filter(|(_, instruction)| instruction.guard.is_none())?;
    all.next().is_none().then_some(first)
}

/// What an instruction adds to a register, if it does nothing else.
fn step_of(instruction: &Instruction, register: Reg, bits: u32) -> Option<u64> {
    let itself = |operand: &Operand| *operand == Operand::Reg(register);
    let fits = |ty: Type, mode: FloatMode| {
        ty.bits() == bits && ty.kind() != TypeKind::Float && mode == FloatMode::NONE
    };
    let (op, [a, b]) = (&instruction.op, &instruction.srcs[..]) else { return None };
    match (op, a, b) {
        (Op::Add { ty, mode }, a, Operand::Imm(step)) if itself(a) && fits(*ty, *mode) => Some(*step),
        (Op::Add { ty, mode }, Operand::Imm(step), b) if itself(b) && fits(*ty, *mode) => Some(*step),
        (Op::Sub { ty, mode }, a, Operand::Imm(step)) if itself(a) && fits(*ty, *mode) => {
            Some(step.wrapping_neg() & u64::MAX >> (64 - bits))
        }
        _ => None,
    }
}

/// The comparison with its operands exchanged; `None` for one of floats.
fn mirrored(compare: Compare) -> Option<Compare> {
    match compare {
        Compare::Eq | Compare::Ne => Some(compare),
        Compare::Lt => Some(Compare::Gt),
        Compare::Le => Some(Compare::Ge),
        Compare::Gt => Some(Compare::Lt),
        Compare::Ge => Some(Compare::Le),
        Compare::Equ
        | Compare::Neu
        | Compare::Ltu
        | Compare::Leu
        | Compare::Gtu
        | Compare::Geu
        | Compare::Num
        | Compare::Nan => None,
    }
}

/// The comparison that holds where the other does not; `None` for one of floats.
fn negated(compare: Compare) -> Option<Compare> {
    match compare {
        Compare::Eq => Some(Compare::Ne),
        Compare::Ne => Some(Compare::Eq),
        Compare::Lt => Some(Compare::Ge),
        Compare::Le => Some(Compare::Gt),
        Compare::Gt => Some(Compare::Le),
        Compare::Ge => Some(Compare::Lt),
        Compare::Equ
        | Compare::Neu
        | Compare::Ltu
        | Compare::Leu
        | Compare::Gtu
        | Compare::Geu
        | Compare::Num
        | Compare::Nan => None,
    }
}

fn copies(instructions: &[Instruction], count: usize) -> Vec<Instruction> {
    std::iter::repeat_n(instructions, count).flatten().cloned().collect()
}
