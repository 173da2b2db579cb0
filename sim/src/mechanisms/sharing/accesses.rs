//! What instructions access of their block's scratchpad.

use warpfile_kernels::program::{InstId, LANES, MemoryAccess, Operation, Program, Space, WarpInstruction};

/// What an instruction accesses of the scratchpad.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Nothing.
    None,
    /// So many bytes a lane at its addresses.
    Bytes(u8),
    /// At a generic address: of the scratchpad if it lies within a block's.
    Generic(u8),
    /// It copies from global memory to where no address says.
    Unknown,
}

/// Accesses of the instructions of a program.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    by_instruction: Vec<Access>,
}

impl Accesses {
    /// Those of a program.
    pub fn of(program: &Program) -> Accesses {
        let of = |access: MemoryAccess| match access.space {
            Space::Shared => Access::Bytes(access.bytes),
            Space::Generic => Access::Generic(access.bytes),
            Space::Global | Space::Local | Space::Constant | Space::Parameter => Access::None,
        };
        let of_instruction = program.instructions.iter().map(|instruction| match instruction.operation {
            // A copy to shared memory is a load from global memory that writes no register.
            Operation::Load(MemoryAccess { space: Space::Global, .. }) if instruction.results.is_empty() => {
                Access::Unknown
            }
            Operation::Load(access) | Operation::Store(access) | Operation::Atomic(access) => of(access),
            Operation::Alu
            | Operation::Sfu
            | Operation::Double
            | Operation::Texture
            | Operation::Barrier
            | Operation::Fence
            | Operation::Release
            | Operation::Branch
            | Operation::Exit => instruction.operand.map_or(Access::None, of),
        });
        Accesses { by_instruction: of_instruction.collect() }
    }

    /// Whether an instruction accesses any.
    pub fn any(&self, instruction: InstId) -> bool {
        self.by_instruction[instruction.0 as usize] != Access::None
    }

    /// The highest byte of its block's scratchpad, of so many bytes, that an instruction accesses, counted from 1; 0 for none.
    pub fn highest_byte(&self, instruction: &WarpInstruction, of_block: u64) -> u64 {
        if instruction.active == 0 {
            return 0;
        }
        let access = self.by_instruction[instruction.inst.0 as usize];
        let bytes = match access {
            Access::None => return 0,
            Access::Unknown => return of_block,
            Access::Bytes(bytes) | Access::Generic(bytes) => u64::from(bytes),
        };
        let is_generic = matches!(access, Access::Generic(_));
        let active = (0..LANES).filter(|lane| instruction.active >> lane & 1 == 1);
        let ends = active.map(|lane| instruction.addresses[lane].saturating_add(bytes));
        // Device memory lies above all scratchpad.
        ends.filter(|end| !is_generic || *end <= of_block).map(|end| end.min(of_block)).max().unwrap_or(0)
    }
}

#[cfg(test)]
pub mod tests {
    use warpfile_kernels::program::{Instruction, PhysReg, ResultRegister};

    use super::*;

    /// A program of operations without registers.
    pub fn program(operations: &[Operation]) -> Program {
        let of_operation = operations.iter().zip(0..).map(|(operation, at)| Instruction {
            pc: 8 * at,
            line: 0,
            text: String::new(),
            operation: *operation,
            sources: Vec::new(),
            results: Vec::new(),
            predicate_sources: Vec::new(),
            predicate_results: Vec::new(),
            suspends: false,
            operand: None,
        });
        Program {
            name: "k".to_owned(),
            instructions: of_operation.collect(),
            registers_per_thread: 1,
            shared_bytes: 0,
            control: None,
            spills: Default::default(),
            computations: Vec::new(),
        }
    }

    pub fn access(space: Space, bytes: u8) -> MemoryAccess {
        MemoryAccess { space, bytes }
    }

    /// An instruction whose lanes 0 and 1 have these addresses.
    pub fn at(inst: u32, active: u32, addresses: [u64; 2]) -> WarpInstruction {
        let mut instruction = WarpInstruction { inst: InstId(inst), active, ..Default::default() };
        instruction.addresses[..2].copy_from_slice(&addresses);
        instruction
    }

    #[test]
    fn the_highest_byte_is_the_last_of_the_lanes_that_execute() {
        let accesses = Accesses::of(&program(&[Operation::Store(access(Space::Shared, 4))]));
        assert!(accesses.any(InstId(0)));
        assert_eq!(accesses.highest_byte(&at(0, 0b11, [8, 100]), 1000), 104);
        assert_eq!(accesses.highest_byte(&at(0, 0b01, [8, 100]), 1000), 12);
        assert_eq!(accesses.highest_byte(&at(0, 0b00, [8, 100]), 1000), 0);
    }

    #[test]
    fn what_lies_above_a_block_s_bytes_counts_as_its_last() {
        let accesses = Accesses::of(&program(&[Operation::Atomic(access(Space::Shared, 4))]));
        assert_eq!(accesses.highest_byte(&at(0, 0b11, [0, 1000]), 64), 64);
        assert_eq!(accesses.highest_byte(&at(0, 0b01, [u64::MAX, 0]), 64), 64);
    }

    #[test]
    fn a_generic_address_above_a_block_s_bytes_is_none_of_the_scratchpad_s() {
        let accesses = Accesses::of(&program(&[Operation::Load(access(Space::Generic, 8))]));
        assert!(accesses.any(InstId(0)));
        assert_eq!(accesses.highest_byte(&at(0, 0b11, [56, 57]), 64), 64);
        assert_eq!(accesses.highest_byte(&at(0, 0b11, [16, 1 << 32]), 64), 24);
        assert_eq!(accesses.highest_byte(&at(0, 0b10, [16, 1 << 32]), 64), 0);
    }

    #[test]
    fn a_copy_to_the_scratchpad_may_be_to_any_byte() {
        let load = Operation::Load(access(Space::Global, 4));
        let mut program = program(&[load, load]);
        let result = ResultRegister { register: PhysReg(0), soft: false, idle_until_suspension: false };
        program.instructions[1].results.push(result);
        let accesses = Accesses::of(&program);
        assert_eq!([0, 1].map(|inst| accesses.any(InstId(inst))), [true, false]);
        assert_eq!(accesses.highest_byte(&at(0, 1, [4, 0]), 64), 64);
        assert_eq!(accesses.highest_byte(&at(0, 0, [4, 0]), 64), 0);
        assert_eq!(accesses.highest_byte(&at(1, 1, [4, 0]), 64), 0);
    }

    #[test]
    fn other_memory_is_none_of_the_scratchpad_s() {
        let of = |space| Operation::Load(access(space, 4));
        let others = [of(Space::Local), of(Space::Constant), of(Space::Parameter), Operation::Texture];
        let accesses = Accesses::of(&program(&others));
        for inst in 0..others.len() as u32 {
            assert!(!accesses.any(InstId(inst)));
            assert_eq!(accesses.highest_byte(&at(inst, 1, [4, 0]), 64), 0);
        }
    }
}
