//! Which instructions of a kernel make tuples of tuples.

use warpfile_kernels::program::{Arithmetic, Instruction, Number, Operation, Program, Step};

use crate::sm::OperationClass;

/// Opcodes of moves, in PTX and in the code of a trace.
const MOVES: [&str; 3] = ["mov", "MOV", "MOV32I"];
/// Parts of an opcode with which the result is not the sum or the low product of its operands in 32 bits: high words, carries in
/// the code of a trace, saturation, arithmetic of 16 bits.
const OTHERWISE: [&str; 13] =
    ["hi", "HI", "product", "mul_hi", "mad_hi", "X", "sat", "u16", "s16", "u16x2", "s16x2", "XMAD", "VMAD"];

/// Of each instruction of a kernel what it does, if one lane can compute the result's base and stride from those of its operands.
pub fn linear(program: &Program) -> Vec<Option<OperationClass>> {
    let class = |one: &Instruction| is_linear(one).then(|| OperationClass::of(one));
    program.instructions.iter().map(class).collect()
}

/// A move, or an integer sum, difference or product of 32 bits or of their halves, as in PTXPlus (§VII-A: "mov, add, sub, mul"), with a
/// third operand added or not, that neither reads nor writes a predicate beside its guard (a carry is one bit a lane) and no operand in memory.
fn is_linear(instruction: &Instruction) -> bool {
    let Instruction { operation, results, predicate_sources, predicate_results, operand, .. } = instruction;
    let has_predicates =
        predicate_sources.len() > usize::from(instruction.is_guarded()) || !predicate_results.is_empty();
    *operation == Operation::Alu && results.len() == 1 && operand.is_none() && !has_predicates && {
        is_move(instruction) || is_arithmetic(instruction)
    }
}

/// A copy of an expansion (`cvt.u64.u32:mov`) among them.
fn is_move(instruction: &Instruction) -> bool {
    let opcode = instruction.opcode();
    let (first, _) = opcode.split_once(['.', ':']).unwrap_or((opcode, ""));
    MOVES.contains(&first) || opcode.ends_with(":mov")
}

fn is_arithmetic(instruction: &Instruction) -> bool {
    let Arithmetic { number, step } = Arithmetic::of(instruction);
    let is_sum_or_product = match step {
        Step::Add | Step::Multiply | Step::MultiplyAdd => true,
        Step::Select | Step::Other => false,
    };
    let mut parts = instruction.opcode().split(['.', ':']);
    number == Number::Integer && is_sum_or_product && !parts.any(|part| OTHERWISE.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfile_kernels::program::{PhysReg, Predicate, ResultRegister};

    fn instruction(text: &str, operation: Operation) -> Instruction {
        let register = PhysReg(0);
        let result = ResultRegister { register, soft: false, idle_until_suspension: false };
        Instruction {
            pc: 0,
            line: 0,
            text: text.to_owned(),
            operation,
            sources: Vec::new(),
            results: vec![result],
            predicate_sources: Vec::new(),
            predicate_results: Vec::new(),
            suspends: false,
            operand: None,
        }
    }

    fn alu(text: &str) -> bool {
        is_linear(&instruction(text, Operation::Alu))
    }

    #[test]
    fn moves_and_integer_sums_and_low_products_are_linear() {
        for text in ["mov.u32", "mov.f32", "mov.b64", "cvt.u64.u32:mov", "add.s32", "sub.u32", "mul.lo.s32"] {
            assert!(alu(text), "{text}");
        }
        for text in
            ["mad.lo.s32", "mul.wide.s32.lo", "mul24.lo.s32", "mul.lo.s64:cross", "mul.lo.s32:half_product"]
        {
            assert!(alu(text), "{text}");
        }
        for text in ["MOV R1, R2", "IADD3 R1, R2, R3, R4", "IMAD R1, R2, R3, R4", "IMAD.MOV.U32 R1, R2"] {
            assert!(alu(text), "{text}");
        }
    }

    #[test]
    fn high_words_halves_and_other_arithmetic_are_not() {
        for text in ["add.f32", "mul.hi.s32", "mul.wide.s32.hi", "mul.lo.s64:product", "add.s16", "add.s16x2"]
        {
            assert!(!alu(text), "{text}");
        }
        for text in ["add.sat.s32", "min.s32", "shl.b32", "and.b32", "div.s32:sign", "fma.rn.f32", "XMAD R1"]
        {
            assert!(!alu(text), "{text}");
        }
        for text in ["IMAD.HI R1, R2", "IADD3.X R1, R2", "FADD R1, R2", "LOP3.LUT R1"] {
            assert!(!alu(text), "{text}");
        }
        assert!(!is_linear(&instruction("add.f64", Operation::Double)));
    }

    #[test]
    fn a_guard_is_no_carry() {
        let with = |text: &str, sources: &[u16], results: &[u16]| {
            let predicates = |numbers: &[u16]| numbers.iter().map(|&number| Predicate(number)).collect();
            is_linear(&Instruction {
                predicate_sources: predicates(sources),
                predicate_results: predicates(results),
                ..instruction(text, Operation::Alu)
            })
        };
        assert!(with("@P1 add.s32", &[1], &[]));
        assert!(!with("@P1 addc.s32", &[1, 2], &[]));
        assert!(!with("add.s64.lo", &[], &[2]) && !with("add.s64.hi", &[2], &[]));
    }
}
