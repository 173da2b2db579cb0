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
            | Operation::Exit => Access::None,
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
