//! PTX to machine instructions over 32-bit virtual registers: at most three register sources, one result
//! (loads and returning atomics up to four).
//!
//! What one instruction becomes is listed, with reasons, in `docs/expansions.md`. Constants of any kind are free
//! operands, so an instruction whose sources are all known at launch reads no register.

pub mod computation;
pub mod convert;
pub mod emit;
pub mod float;
pub mod integer;
pub mod matrix;
pub mod memory;
pub mod other;
pub mod wide;

use super::isa::Isa;
use super::optimise::resolve::{Resolved, VReg, Word};
use super::optimise::webs::Webs;
use crate::program::Operation;
use crate::ptx::ir::{Kernel, Op, Type, TypeKind};
use emit::{Emitter, Input, MachineOp, Output, VPred};

/// A kernel's machine instructions before register allocation.
#[derive(Clone, Debug)]
pub struct MachineCode {
    /// In program order.
    pub ops: Vec<MachineOp>,
    /// Virtual registers: words of webs below `first_temporary`, temporaries from there on.
    pub registers: u32,
    /// First temporary of an expansion; temporaries live within one PTX instruction.
    pub first_temporary: u32,
    /// Virtual predicates.
    pub predicates: u32,
    /// Registers that lie side by side, beside those of vector loads: the fragments of matrix products.
    pub fragments: Vec<Vec<VReg>>,
}

/// Lowers a kernel and removes what nobody reads.
pub fn lower(kernel: &Kernel, webs: &Webs, resolved: &Resolved, isa: Isa) -> MachineCode {
    let mut emitter = Emitter::new(kernel, webs, resolved, isa);
    let mut ops = Vec::new();
    for position in 0..kernel.instructions.len() {
        emitter.begin(position);
        let folded = folded_words(&mut emitter, position);
        if !folded.all {
            expand(&mut emitter, position);
        }
        let expansion = copy_folded_words(&mut emitter, &folded.copies);
        let mut expansion = protect_sources(&mut emitter, expansion);
        computation::note_computations(&emitter, &mut expansion);
        ops.extend(expansion);
    }
    let (registers, predicates) = emitter.counts();
    let first_temporary = emitter.first_temporary();
    let fragments = emitter.fragments();
    let ops = remove_dead(ops, registers, predicates);
    MachineCode { ops, registers, first_temporary, predicates, fragments }
}

/// Words of results that are copies or constants.
struct Folded {
    /// There are results, and all their words are folded.
    all: bool,
    /// Those that are not found elsewhere, because the web has several definitions, and so must be copied.
    copies: Vec<(Input, Output)>,
}

fn folded_words(emitter: &mut Emitter, position: usize) -> Folded {
    let instruction = emitter.instruction;
    let sources: Vec<[Word; 2]> = instruction
        .srcs
        .iter()
        .map(|&operand| emitter.resolved.operand(emitter.kernel, emitter.webs, position, operand))
        .collect();
    let words = emitter.resolved.fold(emitter.kernel, instruction, &sources);
    let mut folded = Folded { all: !words.is_empty(), copies: Vec::new() };
    for (index, words) in words.iter().enumerate() {
        let (Some(ty), Some(web)) = (emitter.result_type(index), emitter.result_web(index)) else { continue };
        folded.all &= ty != Type::Pred;
        for (word, &found) in words.iter().enumerate().take(ty.words() as usize) {
            folded.all &= found.is_some();
            let own = Word::Register(VReg::of(web, word as u8));
            let aliased = emitter.resolved.words(web)[word] != own;
            if let Some(found) = found.filter(|&found| !aliased && found != own) {
                let output = emitter.result(index, word as u8);
                folded.copies.push((Input { word: found, value: output.value }, output));
            }
        }
    }
    folded
}

/// Replaces what computes a folded word by a copy.
fn copy_folded_words(emitter: &mut Emitter, copies: &[(Input, Output)]) -> Vec<MachineOp> {
    let mut ops = emitter.take();
    for &(input, output) in copies {
        ops.retain(|op| op.results != [(output.register, output.value)]);
        emitter.copy(input, output);
    }
    ops.extend(emitter.take());
    ops
}

/// Where a result overwrites a source that is still to be read (a web that is updated in place), writes a
/// temporary first and copies it at the end.
fn protect_sources(emitter: &mut Emitter, mut ops: Vec<MachineOp>) -> Vec<MachineOp> {
    let first_temporary = emitter.first_temporary();
    let mut late = Vec::new();
    for writer in 0..ops.len() {
        for result in 0..ops[writer].results.len() {
            let (register, value) = ops[writer].results[result];
            let reads_old =
                |op: &MachineOp| op.sources.iter().any(|&(read, of)| read == register && of != value);
            if register.0 >= first_temporary || !ops[writer + 1..].iter().any(reads_old) {
                continue;
            }
            let temporary = Output { value, ..emitter.step_output() };
            ops[writer].results[result].0 = temporary.register;
            for (read, of) in ops[writer + 1..].iter_mut().flat_map(|op| &mut op.sources) {
                if *read == register && *of == value {
                    *read = temporary.register;
                }
            }
            late.push((temporary.input(), Output { register, value }));
        }
    }
    for (input, output) in late {
        emitter.copy(input, output);
    }
    ops.extend(emitter.take());
    ops
}

/// Removes instructions without effect whose results nobody reads.
///
/// Loads stay even if unread: PTX that a compiler has optimised contains none but volatile ones.
fn remove_dead(ops: Vec<MachineOp>, registers: u32, predicates: u32) -> Vec<MachineOp> {
    let mut writers: Vec<Vec<usize>> = vec![Vec::new(); registers as usize];
    let mut predicate_writers: Vec<Vec<usize>> = vec![Vec::new(); predicates as usize];
    for (position, op) in ops.iter().enumerate() {
        for &(register, _) in &op.results {
            writers[register.index()].push(position);
        }
        for &VPred(predicate) in &op.predicate_results {
            predicate_writers[predicate as usize].push(position);
        }
    }
    let mut needed: Vec<bool> = ops.iter().map(|op| op.has_effect).collect();
    let mut work: Vec<usize> = (0..ops.len()).filter(|&position| needed[position]).collect();
    while let Some(position) = work.pop() {
        let op = &ops[position];
        let by_register = op.sources.iter().flat_map(|(register, _)| &writers[register.index()]);
        let by_predicate =
            op.predicate_sources.iter().flat_map(|&VPred(predicate)| &predicate_writers[predicate as usize]);
        for &writer in by_register.chain(by_predicate) {
            if !std::mem::replace(&mut needed[writer], true) {
                work.push(writer);
            }
        }
    }
    ops.into_iter().zip(needed).filter_map(|(op, needed)| needed.then_some(op)).collect()
}

fn expand(emitter: &mut Emitter, position: usize) {
    let is_float = |ty: Type| ty.kind() == TypeKind::Float;
    match emitter.instruction.op {
        Op::Add { ty, .. } | Op::Sub { ty, .. } if is_float(ty) => float::arithmetic(emitter, ty),
        Op::Add { ty, .. } | Op::Sub { ty, .. } => integer::add(emitter, ty, None, None),
        Op::Mul { ty, .. } | Op::Fma { ty, .. } => float::arithmetic(emitter, ty),
        Op::MulInt { ty, product } => integer::multiply(emitter, ty, product, None),
        Op::MadInt { ty, product, .. } => integer::multiply(emitter, ty, product, Some(2)),
        Op::Mul24 { .. } | Op::Mad24 { .. } => integer::multiply24(emitter),
        Op::AddCarry { ty, carry_in, carry_out } | Op::SubCarry { ty, carry_in, carry_out } => {
            let carries = carries(emitter, carry_in, carry_out);
            integer::add(emitter, ty, carries.0, carries.1);
        }
        Op::MadCarry { ty, product, carry_in, carry_out } => {
            let carries = carries(emitter, carry_in, carry_out);
            integer::multiply_carry(emitter, ty, product, carries.0, carries.1);
        }
        Op::Sad { ty } => integer::sum_of_absolute_difference(emitter, ty),
        Op::DivInt { ty } => integer::divide(emitter, ty, false),
        Op::RemInt { ty } => integer::divide(emitter, ty, true),
        Op::Div { ty, precision, ftz } => float::divide(emitter, ty, precision, ftz),
        Op::Abs { ty, .. } | Op::Neg { ty, .. } if is_float(ty) => float::change_sign(emitter, ty, 0),
        Op::Copysign { ty } => float::change_sign(emitter, ty, 1),
        Op::Abs { ty, .. } => integer::absolute(emitter, ty),
        Op::Neg { ty, .. } => integer::add(emitter, ty, None, None),
        Op::Min { ty, .. } | Op::Max { ty, .. } if is_float(ty) => float::arithmetic(emitter, ty),
        Op::Min { ty, .. } | Op::Max { ty, .. } => integer::minimum(emitter, ty),
        Op::Rcp { ty, precision, .. } => float::reciprocal(emitter, ty, precision),
        Op::Sqrt { ty, precision, .. } => float::square_root(emitter, ty, precision),
        Op::Rsqrt { ty, .. } => float::reciprocal_square_root(emitter, ty),
        Op::Transcendental { ty, function, ftz } => float::transcendental(emitter, ty, function, ftz),
        Op::Testp { ty, .. } => other::compare(emitter, ty, 1),
        Op::Popc { ty } => integer::count_bits(emitter, ty),
        Op::Clz { ty } | Op::Bfind { ty, .. } => integer::find_bit(emitter, ty),
        Op::Brev { ty } => integer::reverse_bits(emitter, ty),
        Op::Bfe { ty } => integer::bit_field(emitter, ty, 1),
        Op::Bfi { ty } => integer::bit_field(emitter, ty, 2),
        Op::Szext { .. }
        | Op::Bmsk { .. }
        | Op::Prmt { .. }
        | Op::Dp2a { .. }
        | Op::Dp4a { .. }
        | Op::Lop3 { .. }
        | Op::Shf { .. } => other::single(emitter, Operation::Alu),
        Op::Fns => integer::find_nth_set(emitter),
        Op::And { ty: Type::Pred }
        | Op::Or { ty: Type::Pred }
        | Op::Xor { ty: Type::Pred }
        | Op::Not { ty: Type::Pred } => other::single(emitter, Operation::Alu),
        Op::And { ty } | Op::Or { ty } | Op::Xor { ty } | Op::Not { ty } => other::word_by_word(emitter, ty),
        Op::Cnot { ty } => integer::is_zero(emitter, ty),
        Op::Shl { ty } => integer::shift_left(emitter, ty),
        Op::Shr { ty } => integer::shift_right(emitter, ty),
        Op::Setp { ty, .. } | Op::Set { ty, .. } => other::compare(emitter, ty, 2),
        Op::Selp { ty } => other::word_by_word(emitter, ty),
        Op::Slct { ty, .. } => other::select_by_sign(emitter, ty),
        Op::Mov { .. } => convert::move_words(emitter),
        Op::Pack { ty } => convert::pack(emitter, ty),
        Op::Unpack { .. } => convert::unpack(emitter),
        Op::Cvt { to, from, .. } => convert::convert(emitter, to, from),
        Op::CvtPair { .. } => other::single(emitter, Operation::Alu),
        Op::Cvta { ty, .. } => integer::add(emitter, ty, None, None),
        Op::Isspacep { .. } => other::whole_sources(emitter, Operation::Alu),
        Op::Ld { space, ty, .. } => memory::load(emitter, space, ty),
        Op::St { space, ty, .. } => memory::store(emitter, space, ty),
        Op::Atom { space, ty, .. } => memory::atomic(emitter, space, ty),
        Op::CopyAsync { bytes, .. } => memory::copy_async(emitter, bytes),
        Op::CommitGroup => other::lane_exchange(emitter),
        Op::WaitGroup { .. } => other::whole_sources(emitter, Operation::Fence),
        Op::LoadMatrix { space, .. } => memory::load_matrix(emitter, space),
        Op::Mma { k, a, b, .. } => matrix::multiply(emitter, k.into(), a, b),
        Op::Tex { .. } => memory::texture(emitter, Type::B32),
        Op::SurfaceLoad { ty, .. } => memory::texture(emitter, ty),
        Op::SurfaceStore { ty, dimensions, .. } => memory::surface_store(emitter, ty, dimensions.into()),
        Op::Hint => {}
        Op::Shfl { .. } => other::lane_exchange(emitter),
        Op::Vote { .. }
        | Op::Match { .. }
        | Op::Redux { .. }
        | Op::Activemask
        | Op::WarpSync
        | Op::Print
        | Op::AssertFail => other::lane_exchange(emitter),
        Op::Barrier => other::whole_sources(emitter, Operation::Barrier),
        Op::ReleaseScratchpad => other::whole_sources(emitter, Operation::Release),
        Op::BarrierArrive | Op::Fence => other::whole_sources(emitter, Operation::Fence),
        Op::BarrierReduce { .. } => other::barrier_reduction(emitter),
        Op::Bra { target, .. } => {
            if target.index() != position + 1 {
                other::single(emitter, Operation::Branch);
            }
        }
        Op::Brx { .. } => other::single(emitter, Operation::Branch),
        Op::Exit | Op::Trap => other::single(emitter, Operation::Exit),
    }
}

/// The predicates that hold the carry read (the last source) and written (the last result).
fn carries(emitter: &Emitter, carry_in: bool, carry_out: bool) -> (Option<VPred>, Option<VPred>) {
    let last_source = emitter.instruction.srcs.len().wrapping_sub(1);
    let last_result = emitter.instruction.dsts.len().wrapping_sub(1);
    (
        carry_in.then(|| emitter.predicate_source(last_source)).flatten(),
        carry_out.then(|| emitter.predicate_result(last_result)).flatten(),
    )
}
