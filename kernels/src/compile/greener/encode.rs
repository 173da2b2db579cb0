//! Which registers of an instruction have a code (thesis §4.2.2, Fig. 4.3).
//!
//! Two sources and one destination have one, address registers have none, as those of the loads and stores in Fig. 4.3. An
//! operand of 64 bits or a vector is one operand in consecutive registers, with one code for all of them.

use super::states::Codes;
use crate::program::{Instruction, MAX_RESULTS, MAX_SOURCES, MemoryAccess, Operation, Space};

/// Bytes of a register, a lane.
const REGISTER_BYTES: u8 = 4;
/// The code of the destination; those of the sources follow.
const DESTINATION: u8 = 0;
/// Sources with a code.
const CODED_SOURCES: u8 = 2;

/// Which code each register takes; the states are not known yet.
pub fn format(instruction: &Instruction) -> Codes {
    let mut codes = Codes::default();
    let results: Vec<u16> = instruction.results.iter().map(|result| result.register.0).collect();
    for index in 0..run(&results).min(MAX_RESULTS) {
        codes.results[index] = Some(DESTINATION);
    }
    let sources: Vec<u16> = instruction.sources.iter().map(|source| source.register.0).collect();
    let (first, rest) = match instruction.operation {
        Operation::Load(_) => return codes,
        Operation::Store(access) | Operation::Atomic(access) => {
            let data = &sources[..data_registers(access, sources.len())];
            (run(data), data.len())
        }
        Operation::Alu
        | Operation::Sfu
        | Operation::Double
        | Operation::Texture
        | Operation::Barrier
        | Operation::Fence
        | Operation::Release
        | Operation::Branch
        | Operation::Exit => (sources.len().min(1), sources.len()),
    };
    for index in 0..first.min(MAX_SOURCES) {
        codes.sources[index] = Some(DESTINATION + 1);
    }
    // The others are operands of one register each.
    for (index, code) in (first..rest.min(MAX_SOURCES)).zip(2..=CODED_SOURCES) {
        codes.sources[index] = Some(code);
    }
    codes
}

/// Registers of a store's data, which come before those of its address.
fn data_registers(access: MemoryAccess, sources: usize) -> usize {
    let address = match access.space {
        Space::Global | Space::Generic => 2,
        Space::Shared | Space::Local | Space::Constant | Space::Parameter => 1,
    };
    let words = usize::from(access.bytes.div_ceil(REGISTER_BYTES));
    sources.saturating_sub(address).min(words)
}

/// Registers from the first on that have consecutive numbers.
fn run(registers: &[u16]) -> usize {
    let consecutive = |pair: &&[u16]| pair[0].checked_add(1) == Some(pair[1]);
    registers.len().min(1) + registers.windows(2).take_while(consecutive).count()
}
