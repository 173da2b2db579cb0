//! Which arithmetic an instruction is, for machines whose latency depends on it.
//!
//! GPGPU-Sim's tables tell addition, minimum and maximum, multiplication and multiply-add apart, for integers, single and
//! double precision (`-ptx_opcode_latency_int` and its like); everything else is one class. Its class of division is not
//! here: a division is a sequence of the others (`docs/expansions.md`).

use super::{Instruction, Operation};

/// Type of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Integers of any width.
    Integer,
    /// Single and half precision.
    Single,
    /// Double precision.
    Double,
}

/// What is done to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Addition, subtraction.
    Add,
    /// Minimum, maximum.
    Select,
    /// Multiplication.
    Multiply,
    /// Multiplication and addition.
    MultiplyAdd,
    /// Moves, logic, shifts, comparisons, conversions.
    Other,
}

/// Arithmetic of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// Type of the operands.
    pub number: Number,
    /// What is done to them.
    pub step: Step,
}

impl Instruction {
    /// Its name in listings: a PTX opcode with the step of its expansion (`div.rn.f32:fma`), or the opcode of a trace.
    pub fn opcode(&self) -> &str {
        self.text.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default()
    }

    /// Whether a guard, which is then the first of [`Instruction::predicate_sources`], switches it off in some lanes.
    pub fn is_guarded(&self) -> bool {
        self.text.starts_with('@')
    }
}

impl Arithmetic {
    /// Of an instruction, by its [opcode](Instruction::opcode). What is not known there is an integer operation of [`Step::Other`].
    pub fn of(instruction: &Instruction) -> Arithmetic {
        let name = instruction.opcode();
        let arithmetic = if name.starts_with(|letter: char| letter.is_ascii_uppercase()) {
            of_machine_code(name)
        } else {
            of_ptx(name)
        };
        match instruction.operation {
            Operation::Double => Arithmetic { number: Number::Double, ..arithmetic },
            Operation::Alu
            | Operation::Sfu
            | Operation::Texture
            | Operation::Load(_)
            | Operation::Store(_)
            | Operation::Atomic(_)
            | Operation::Barrier
            | Operation::Fence
            | Operation::Release
            | Operation::Branch
            | Operation::Exit => arithmetic,
        }
    }
}

fn of_ptx(name: &str) -> Arithmetic {
    let (opcode, expansion) = name.split_once(':').unwrap_or((name, ""));
    let mut parts = opcode.split('.');
    let base = parts.next().unwrap_or_default();
    let number = match parts.rev().find_map(number) {
        // Divisions of integers have steps in single precision.
        Some(Number::Integer) | None if expansion == "fma" => Number::Single,
        Some(number) => number,
        None => Number::Integer,
    };
    // In double precision an instruction is passes of a unit of half the width, each of which does what the instruction says.
    let expansion = if expansion == "pass" { "" } else { expansion };
    let step = match (expansion, base) {
        ("", "add" | "addc" | "sub" | "subc") | ("add" | "sub", _) => Step::Add,
        ("", "min" | "max") => Step::Select,
        ("", "mul" | "mul24") | ("mul" | "mul_hi" | "product", _) => Step::Multiply,
        ("", "mad" | "madc" | "mad24" | "fma") | ("mad" | "mad_hi" | "cross" | "half_product" | "fma", _) => {
            Step::MultiplyAdd
        }
        _other => Step::Other,
    };
    Arithmetic { number, step }
}

/// The type that a modifier names.
fn number(modifier: &str) -> Option<Number> {
    match modifier {
        "f64" => Some(Number::Double),
        "f32" | "f16" | "f16x2" | "bf16" | "bf16x2" => Some(Number::Single),
        "u64" | "s64" | "b64" | "u32" | "s32" | "b32" | "u16" | "s16" | "b16" | "u8" | "s8" | "b8" => {
            Some(Number::Integer)
        }
        _other => None,
    }
}

fn of_machine_code(name: &str) -> Arithmetic {
    let (number, step) = match name.split('.').next().unwrap_or_default() {
        "IADD" | "IADD3" | "IADD32I" | "VADD" | "VIADD" | "ISCADD" | "ISCADD32I" => {
            (Number::Integer, Step::Add)
        }
        "IMNMX" | "VIMNMX" | "VIMNMX3" | "VMNMX" => (Number::Integer, Step::Select),
        "IMUL" | "IMUL32I" => (Number::Integer, Step::Multiply),
        "IMAD" | "IMAD32I" | "IMADSP" | "XMAD" | "VMAD" => (Number::Integer, Step::MultiplyAdd),
        "FADD" | "FADD32I" | "HADD2" | "HADD2_32I" => (Number::Single, Step::Add),
        "FMNMX" | "HMNMX2" | "VHMNMX" => (Number::Single, Step::Select),
        "FMUL" | "FMUL32I" | "HMUL2" | "HMUL2_32I" => (Number::Single, Step::Multiply),
        "FFMA" | "FFMA32I" | "HFMA2" | "HFMA2_32I" => (Number::Single, Step::MultiplyAdd),
        "DADD" => (Number::Double, Step::Add),
        "DMNMX" => (Number::Double, Step::Select),
        "DMUL" => (Number::Double, Step::Multiply),
        "DFMA" => (Number::Double, Step::MultiplyAdd),
        _other => (Number::Integer, Step::Other),
    };
    Arithmetic { number, step }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, operation: Operation) -> (Number, Step) {
        let instruction = Instruction {
            pc: 0,
            line: 0,
            text: text.to_owned(),
            operation,
            sources: Vec::new(),
            results: Vec::new(),
            predicate_sources: Vec::new(),
            predicate_results: Vec::new(),
            suspends: false,
            operand: None,
        };
        let Arithmetic { number, step } = Arithmetic::of(&instruction);
        (number, step)
    }

    #[test]
    fn ptx_is_known_by_opcode_type_and_step_of_its_expansion() {
        let alu = |text| of(text, Operation::Alu);
        assert_eq!(alu("add.s32"), (Number::Integer, Step::Add));
        assert_eq!(alu("@!P3 mad.lo.u32"), (Number::Integer, Step::MultiplyAdd));
        assert_eq!(alu("mul.wide.s32.hi"), (Number::Integer, Step::Multiply));
        assert_eq!(alu("fma.rn.ftz.f32"), (Number::Single, Step::MultiplyAdd));
        assert_eq!(alu("max.f32"), (Number::Single, Step::Select));
        assert_eq!(alu("div.rn.f32:fma"), (Number::Single, Step::MultiplyAdd));
        assert_eq!(alu("div.s32:fma"), (Number::Single, Step::MultiplyAdd));
        assert_eq!(alu("div.s32:sign"), (Number::Integer, Step::Other));
        assert_eq!(alu("mul.lo.s64:cross"), (Number::Integer, Step::MultiplyAdd));
        assert_eq!(alu("setp.lt.f32"), (Number::Single, Step::Other));
        assert_eq!(alu("mov"), (Number::Integer, Step::Other));
        assert_eq!(of("add.f64:pass", Operation::Double), (Number::Double, Step::Add));
        assert_eq!(of("@P0 fma.rn.f64:pass", Operation::Double), (Number::Double, Step::MultiplyAdd));
        assert_eq!(of("max.f64:pass", Operation::Double), (Number::Double, Step::Select));
    }

    #[test]
    fn machine_code_is_known_by_its_opcode() {
        let alu = |text| of(text, Operation::Alu);
        assert_eq!(alu("IADD3 R1, R2, R3"), (Number::Integer, Step::Add));
        assert_eq!(alu("XMAD.MRG R1, R2, R3"), (Number::Integer, Step::MultiplyAdd));
        assert_eq!(alu("FFMA.FTZ R1, R2, R3"), (Number::Single, Step::MultiplyAdd));
        assert_eq!(alu("MADE.UP R1"), (Number::Integer, Step::Other));
        assert_eq!(of("DMUL R2, R4", Operation::Double), (Number::Double, Step::Multiply));
        assert_eq!(of("DSETP P0", Operation::Double), (Number::Double, Step::Other));
    }
}
