//! What an SM's functional units have worked on.

use warpfile_kernels::program::{Arithmetic, Instruction, Number, Operation, Space, Step};

use crate::counters;

/// What an instruction does in a functional unit, as far as energy is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationClass {
    /// Addition, logic, shifts, moves, comparisons and conversions of integers.
    Integer,
    /// Multiplication and multiply-add of integers.
    IntegerMultiply,
    /// The same as [`OperationClass::Integer`] in single and half precision.
    Single,
    /// Multiplication and multiply-add in single and half precision.
    SingleMultiply,
    /// Double precision.
    Double,
    /// Special functions.
    Special,
    /// Texture.
    Texture,
    /// Global, local and generic memory.
    Memory,
    /// Shared memory.
    Scratchpad,
    /// Constant memory and parameters.
    Constant,
    /// Branches, barriers, fences, exits.
    Control,
}

impl OperationClass {
    /// Of an instruction.
    pub fn of(instruction: &Instruction) -> OperationClass {
        match instruction.operation {
            Operation::Alu => {
                let Arithmetic { number, step } = Arithmetic::of(instruction);
                let multiplies = matches!(step, Step::Multiply | Step::MultiplyAdd);
                match number {
                    Number::Integer if multiplies => OperationClass::IntegerMultiply,
                    Number::Integer => OperationClass::Integer,
                    Number::Single if multiplies => OperationClass::SingleMultiply,
                    Number::Single => OperationClass::Single,
                    Number::Double => OperationClass::Double,
                }
            }
            Operation::Sfu => OperationClass::Special,
            Operation::Double => OperationClass::Double,
            Operation::Texture => OperationClass::Texture,
            Operation::Load(access) | Operation::Store(access) | Operation::Atomic(access) => {
                match access.space {
                    Space::Global | Space::Local | Space::Generic => OperationClass::Memory,
                    Space::Shared => OperationClass::Scratchpad,
                    Space::Constant | Space::Parameter => OperationClass::Constant,
                }
            }
            Operation::Barrier
            | Operation::Fence
            | Operation::Release
            | Operation::Branch
            | Operation::Exit => OperationClass::Control,
        }
    }
}

counters! {
    /// Lanes that the functional units have worked for, by what they did: those of instructions whose operands were
    /// dispatched. What a design answers instead is not among them.
    pub struct Operations {
        /// Addition, logic, shifts, moves, comparisons and conversions of integers.
        integer: sum("lane operations"),
        /// Multiplication and multiply-add of integers.
        integer_multiply: sum("lane operations"),
        /// The same as `integer` in single and half precision.
        single: sum("lane operations"),
        /// Multiplication and multiply-add in single and half precision.
        single_multiply: sum("lane operations"),
        /// Double precision.
        double: sum("lane operations"),
        /// Special functions.
        special: sum("lane operations"),
        /// Texture.
        texture: sum("lane operations"),
        /// Global, local and generic memory.
        memory: sum("lane operations"),
        /// Shared memory.
        scratchpad: sum("lane operations"),
        /// Constant memory and parameters.
        constant: sum("lane operations"),
        /// Branches, barriers, fences, exits.
        control: sum("lane operations"),
    }
}

impl Operations {
    /// An instruction of a class in so many lanes.
    pub fn count(&mut self, class: OperationClass, lanes: u32) {
        *self.of_class(class) += u64::from(lanes);
    }

    /// The same less those that a unit has not worked for.
    ///
    /// # Panics
    /// In debug builds: there are more of these.
    pub fn without(mut self, spared: Operations) -> Operations {
        for class in OperationClass::ALL {
            let mut spared = spared;
            let (lanes, fewer) = (self.of_class(class), *spared.of_class(class));
            debug_assert!(fewer <= *lanes, "{class:?}: {fewer} of {lanes} lanes");
            *lanes = lanes.saturating_sub(fewer);
        }
        self
    }

    /// All of them.
    pub fn lanes(mut self) -> u64 {
        OperationClass::ALL.iter().map(|&class| *self.of_class(class)).sum()
    }

    fn of_class(&mut self, class: OperationClass) -> &mut u64 {
        match class {
            OperationClass::Integer => &mut self.integer,
            OperationClass::IntegerMultiply => &mut self.integer_multiply,
            OperationClass::Single => &mut self.single,
            OperationClass::SingleMultiply => &mut self.single_multiply,
            OperationClass::Double => &mut self.double,
            OperationClass::Special => &mut self.special,
            OperationClass::Texture => &mut self.texture,
            OperationClass::Memory => &mut self.memory,
            OperationClass::Scratchpad => &mut self.scratchpad,
            OperationClass::Constant => &mut self.constant,
            OperationClass::Control => &mut self.control,
        }
    }
}

impl OperationClass {
    /// All of them.
    pub const ALL: [OperationClass; 11] = [
        OperationClass::Integer,
        OperationClass::IntegerMultiply,
        OperationClass::Single,
        OperationClass::SingleMultiply,
        OperationClass::Double,
        OperationClass::Special,
        OperationClass::Texture,
        OperationClass::Memory,
        OperationClass::Scratchpad,
        OperationClass::Constant,
        OperationClass::Control,
    ];
}
