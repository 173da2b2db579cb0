//! From an instruction line to machine instructions.
//!
//! A machine instruction reads at most three registers and writes one (a load up to four), so a SASS instruction
//! whose operands span more becomes several. Arithmetic becomes one part for each register of the result; the n-th
//! register of an operand is read by the n-th part (a 32-bit operand by the first), so that each register is read
//! once, as the hardware does. A memory access stays one part, so that its traffic is right. Registers that find no
//! place are read by parts in front that write nothing: reading earlier than needed is always right. Only an access of more
//! than 16 bytes a lane becomes several, of 16 bytes each.
//!
//! Parts of one instruction at PC p have the PCs p, p + 1, …

use super::line::{Line, Listed};
use super::opcodes::{Opcode, classify};
use crate::program::{
    Instruction, MAX_RESULTS, MAX_SOURCES, MemoryAccess, Operation, PhysReg, Predicate, ResultRegister,
    Source,
};

/// Bytes a lane that one access moves at most.
pub(super) const MAX_BYTES: u8 = 16;

/// A register and which part of the instruction wants to read it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Wanted {
    register: PhysReg,
    part: usize,
}

/// Machine instructions of a line, in order; and what its opcode is.
pub(super) fn expand(line: &Line, sm: Option<u32>, complete_registers: bool) -> (Vec<Instruction>, Opcode) {
    let classified = |sources| classify(&line.opcode, sources, line.memory_bytes, sm);
    let mut opcode = classified(line.sources.len());
    let (mut listed_results, mut listed_sources) = (line.results.clone(), line.sources.clone());
    if !opcode.operation.may_write_registers() && !complete_registers {
        let is_register = |operand: &Listed| matches!(operand, Listed::Vector(_));
        listed_sources = listed_results.extract_if(.., |operand| is_register(operand)).collect();
        listed_sources.extend(&line.sources);
        opcode = classified(listed_sources.len());
    }
    if complete_registers {
        opcode.result_width = 1;
        opcode.source_widths = [1; 4];
    }
    let accesses = split(&mut opcode.operation);
    let results = groups(&listed_results, |_| opcode.result_width);
    let sources = groups(&listed_sources, |position| opcode.source_widths[position.min(3)]);
    let written: Vec<PhysReg> = unique(results.into_iter().flatten());
    let together = match opcode.operation {
        Operation::Load(_) | Operation::Atomic(_) | Operation::Texture => MAX_RESULTS,
        Operation::Alu
        | Operation::Sfu
        | Operation::Double
        | Operation::Store(_)
        | Operation::Barrier
        | Operation::Fence
        | Operation::Release
        | Operation::Branch
        | Operation::Exit => 1,
    };
    let parts = written.len().div_ceil(together).max(accesses);
    let mut reads = assign(&wanted(&sources, parts), parts);
    let in_front = reads.len() - parts;
    let mut instructions: Vec<Instruction> = (reads.drain(..).enumerate())
        .map(|(position, registers)| {
            let results = match position.checked_sub(in_front) {
                Some(part) => written.iter().skip(part * together).take(together).copied().collect(),
                None => Vec::new(),
            };
            // The last parts are the accesses; the other ones only move operands.
            let is_access = position + accesses >= in_front + parts;
            let operation = if is_access || !opcode.operation.accesses_memory() {
                opcode.operation
            } else {
                Operation::Alu
            };
            machine(line, position as u32, operation, &registers, results)
        })
        .collect();
    if let Some(first) = instructions.first_mut() {
        first.predicate_sources = predicates(&listed_sources);
    }
    if let Some(last) = instructions.last_mut() {
        last.predicate_results = predicates(&listed_results);
    }
    (instructions, opcode)
}

/// Makes an access of more than [`MAX_BYTES`] one of as many; gives how many it takes, 1 for what is no access.
fn split(operation: &mut Operation) -> usize {
    let (Operation::Load(MemoryAccess { bytes, .. })
    | Operation::Store(MemoryAccess { bytes, .. })
    | Operation::Atomic(MemoryAccess { bytes, .. })) = operation
    else {
        return 1;
    };
    let accesses = bytes.div_ceil(MAX_BYTES);
    *bytes = (*bytes).min(MAX_BYTES);
    usize::from(accesses)
}

/// The registers of each listed operand.
fn groups(listed: &[Listed], width: impl Fn(usize) -> u8) -> Vec<Vec<PhysReg>> {
    (listed.iter().enumerate())
        .map(|(position, operand)| match *operand {
            // A group ends before R255, which is no register.
            Listed::Vector(first) => (first..first + u16::from(width(position)))
                .filter(|&number| number == first || number < 255)
                .map(PhysReg)
                .collect(),
            Listed::Predicate(_) | Listed::None => Vec::new(),
        })
        .collect()
}

fn unique(registers: impl Iterator<Item = PhysReg>) -> Vec<PhysReg> {
    let mut kept = Vec::new();
    for register in registers {
        if !kept.contains(&register) {
            kept.push(register);
        }
    }
    kept
}

/// Each register read, once, with the part that wants it first.
fn wanted(groups: &[Vec<PhysReg>], parts: usize) -> Vec<Wanted> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for group in groups {
        for (position, &register) in group.iter().enumerate() {
            let part = position * parts / group.len();
            match wanted.iter_mut().find(|held| held.register == register) {
                Some(held) => held.part = held.part.min(part),
                None => wanted.push(Wanted { register, part }),
            }
        }
    }
    wanted
}

/// Registers that each part reads, those of parts in front first: none reads later than it wants to.
fn assign(wanted: &[Wanted], parts: usize) -> Vec<Vec<PhysReg>> {
    let mut reads = Vec::new();
    let mut spilled: Vec<PhysReg> = Vec::new();
    for part in (0..parts).rev() {
        let own = wanted.iter().filter(|held| held.part == part).map(|held| held.register);
        let mut here: Vec<PhysReg> = own.chain(spilled).collect();
        spilled = here.split_off(here.len().min(MAX_SOURCES));
        reads.push(here);
    }
    reads.extend(spilled.chunks(MAX_SOURCES).map(<[PhysReg]>::to_vec));
    reads.reverse();
    reads
}

fn predicates(listed: &[Listed]) -> Vec<Predicate> {
    let mut predicates = Vec::new();
    for operand in listed {
        match operand {
            Listed::Predicate(predicate) if !predicates.contains(predicate) => {
                predicates.push(*predicate);
            }
            Listed::Predicate(_) | Listed::Vector(_) | Listed::None => {}
        }
    }
    predicates
}

fn machine(
    line: &Line,
    part: u32,
    operation: Operation,
    sources: &[PhysReg],
    results: Vec<PhysReg>,
) -> Instruction {
    Instruction {
        pc: line.pc.saturating_add(part),
        line: line.source_line,
        text: text(line),
        operation,
        sources: (sources.iter())
            .map(|&register| Source { register, last_read: false, idle_until_suspension: false })
            .collect(),
        results: (results.into_iter())
            .map(|register| ResultRegister { register, soft: false, idle_until_suspension: false })
            .collect(),
        predicate_sources: Vec::new(),
        predicate_results: Vec::new(),
        suspends: false,
        operand: None,
    }
}

/// The instruction as the trace names it: opcode, results, sources.
fn text(line: &Line) -> String {
    let names = line.results.iter().chain(&line.sources).map(|operand| match operand {
        Listed::Vector(number) => format!("R{number}"),
        Listed::Predicate(Predicate(number)) => format!("P{number}"),
        Listed::None => "RZ".to_string(),
    });
    let operands: Vec<String> = names.collect();
    format!("{} {}", line.opcode, operands.join(", ")).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Launch;
    use crate::trace::accelsim::header::{Generation, Header};

    /// Registers read and written by each machine instruction of a version 3 line.
    fn parts(text: &str) -> Vec<(Vec<u16>, Vec<u16>)> {
        let header = Header {
            name: String::new(),
            launch: Launch { grid: [1; 3], block: [32, 1, 1], shared_bytes: 0 },
            generation: Generation::Third,
            line_info: false,
            sm: Some(80),
            registers: None,
            complete_registers: false,
        };
        let mut line = Line::default();
        line.parse(text, &header).unwrap();
        let (instructions, _) = expand(&line, Some(80), false);
        (instructions.iter())
            .map(|part| {
                (
                    part.sources.iter().map(|source| source.register.0).collect(),
                    part.results.iter().map(|result| result.register.0).collect(),
                )
            })
            .collect()
    }

    #[test]
    fn double_arithmetic_becomes_a_part_for_each_word() {
        assert_eq!(
            parts("0000 ffffffff 1 R2 DFMA 3 R4 R6 R2 0"),
            [(vec![4, 6, 2], vec![2]), (vec![5, 7, 3], vec![3])]
        );
    }

    #[test]
    fn a_wide_product_reads_each_register_once() {
        assert_eq!(
            parts("0000 ffffffff 1 R2 IMAD.WIDE 3 R6 R7 R4 0"),
            [(vec![6, 7, 4], vec![2]), (vec![5], vec![3])]
        );
    }

    #[test]
    fn a_load_writes_its_group_at_once_and_reads_a_wide_address() {
        assert_eq!(
            parts("0000 ffffffff 1 R12 LDG.E.128 1 R2 16 1 0x100 16"),
            [(vec![2, 3], vec![12, 13, 14, 15])]
        );
    }

    #[test]
    fn a_store_of_more_than_three_registers_reads_the_rest_in_front() {
        assert_eq!(
            parts("0000 ffffffff 0 STG.E.128 2 R2 R8 16 1 0x100 16"),
            [(vec![9, 10, 11], vec![]), (vec![2, 3, 8], vec![])]
        );
    }

    /// Of every opcode that writes no register, whichever list its register is in.
    #[test]
    fn what_writes_no_register_reads_the_one_it_lists_as_result() {
        let targets = ["RET.REL.NODEC", "BRX", "JMX", "WARPSYNC", "CALL.ABS.NOINC", "BRA", "JMP", "CALL.REL"];
        let words = [
            "BAR.SYNC.DEFER_BLOCKING",
            "BAR.RED.POPC",
            "MEMBAR.SC.GPU",
            "ERRBAR",
            "CCTL.IVALL",
            "FENCE.VIEW",
            "KILL",
        ];
        for opcode in targets.iter().chain(&words) {
            let read: &[u16] = if words.contains(opcode) { &[20] } else { &[20, 21] };
            for lists in [format!("1 R20 {opcode} 0 0"), format!("0 {opcode} 1 R20 0")] {
                assert_eq!(parts(&format!("0000 ffffffff {lists}")), [(read.to_vec(), vec![])], "{lists}");
            }
        }
        for lists in ["1 R2 STG.E.64 1 R8", "0 STG.E.64 2 R2 R8", "2 R2 R8 STG.E.64 0"] {
            let text = format!("0000 ffffffff {lists} 8 1 0x100 8");
            assert_eq!(parts(&text), [(vec![9], vec![]), (vec![2, 3, 8], vec![])], "{lists}");
        }
    }

    #[test]
    fn an_access_of_more_than_sixteen_bytes_is_several() {
        assert_eq!(
            parts("0000 ffffffff 1 R12 LDG.E.256 1 R2 32 1 0x100 32"),
            [(vec![2], vec![12, 13, 14, 15]), (vec![3], vec![16, 17, 18, 19])]
        );
        let store = parts("0000 ffffffff 0 STG.E.256 2 R2 R8 32 1 0x100 32");
        let mut read: Vec<u16> = store.iter().flat_map(|part| part.0.clone()).collect();
        read.sort_unstable();
        assert_eq!(read, [2, 3, 8, 9, 10, 11, 12, 13, 14, 15]);
    }

    #[test]
    fn the_zero_register_is_no_operand() {
        assert_eq!(parts("0000 ffffffff 1 R255 IADD3 3 R255 R4 R4 0"), [(vec![4], vec![])]);
    }

    #[test]
    fn no_part_reads_later_than_it_wants_to() {
        for part in parts("0000 ffffffff 1 R8 HMMA.16816.F32 3 R16 R20 R8 0") {
            assert!(part.0.len() <= MAX_SOURCES);
        }
    }
}
