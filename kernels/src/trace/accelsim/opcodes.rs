//! What SASS opcodes of sm_35 to sm_90 do, and how many 32-bit registers their operands span.
//!
//! A trace names only the first register of a group, so the widths come from the opcode:
//!
//! | opcode | operation | registers |
//! |---|---|---|
//! | arithmetic, moves, comparisons, votes, shuffles, special registers | `Alu` | 1; `.64` and `CS2R` write (and `.64` read) 2 |
//! | `….WIDE` | `Alu` | result and third source 2 |
//! | `MUFU`, `RRO` | `Sfu` | 1 |
//! | `DADD`, `DMUL`, `DFMA`, `DMNMX`, `DSETP`, `FRND.F64` | `Double` | 2 |
//! | `DSET` | `Double` | sources 2 |
//! | `F2F`, `F2I`, `I2F`, `I2I`, `I2FP`, `F2FP`, `F2IP` | `Alu`, with `F64` `Double` | 2 on the 64-bit side |
//! | `HMMA`, `IMMA`, `BMMA`, `DMMA` | `Alu` | by shape and type, see [`matrix`] |
//! | `LD*`, `ST*`, `ATOM*`, `RED*` | `Load`, `Store`, `Atomic` of the space | data by `.64`, `.128`, …; global and generic addresses 2 if 64 bits wide |
//! | `LDSM` | `Load` shared | `.2` two, `.4` four |
//! | `LDGSTS` | `Load` global without result | shared address 1, global address as above |
//! | `TEX*`, `TLD*`, `TXD`, `TXQ`, `TMML`, `SULD*`, `SUST*`, `SURED*`, `SUATOM*` | `Texture` | as listed |
//! | `BAR` (not `BAR.ARV`) | `Barrier` | 1 |
//! | `MEMBAR`, `ERRBAR`, `FENCE`, `CCTL*`, cluster barriers | `Fence` | 1 |
//! | `BRA`, `BRX`, `JMP`, `CALL`, `RET`, `SYNC`, `BRK`, `CONT`, `BSYNC`, … | `Branch` | targets in a register 2 |
//! | `EXIT`, `KILL` | `Exit` | — |
//! | uniform datapath (`U…`, `R2UR`, `S2UR`), tensor copies | `Alu` | 1 |
//! | anything else | `Alu`, with a warning | 1 |
//!
//! Registers that a store, barrier, fence, branch or exit lists as results are read: NVBit prints the first operand of an
//! instruction as its destination, and these write none (`RET.REL.NODEC R8`).
//!
//! Addresses are 64 bits wide from sm_70 on; before, where the opcode says `.E`. Our own writer uses the first
//! opcode of each row; for memory `LD`, `ST` or `ATOM` with the space (`G.E`, `S`, `L`, `C`, `.E` for generic, `C.PARAM` for
//! kernel parameters, NVIDIA or not) and the width.

use crate::program::{MemoryAccess, Operation, Space};

/// What an opcode does and the widths of its operands in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Opcode {
    pub operation: Operation,
    pub result_width: u8,
    /// Widths of the first sources; the last one holds for all later ones.
    pub source_widths: [u8; 4],
    pub known: bool,
}

/// The rows of the table that need no more than their name.
const PLAIN: [(Operation, &[&str]); 7] = [
    (
        Operation::Alu,
        &[
            "ACTIVEMASK",
            "B2R",
            "BFE",
            "BFI",
            "BMOV",
            "BMSK",
            "BPT",
            "BREAK",
            "BREV",
            "BSSY",
            "CS2R",
            "CSET",
            "CSETP",
            "DEPBAR",
            "ELECT",
            "FADD",
            "FADD32I",
            "FCHK",
            "FCMP",
            "FFMA",
            "FFMA32I",
            "FLO",
            "FMNMX",
            "FMUL",
            "FMUL32I",
            "FRND",
            "FSEL",
            "FSET",
            "FSETP",
            "FSWZ",
            "FSWZADD",
            "GETCRSPTR",
            "GETLMEMBASE",
            "HADD2",
            "HADD2_32I",
            "HFMA2",
            "HFMA2_32I",
            "HMNMX2",
            "HMUL2",
            "HMUL2_32I",
            "HSET2",
            "HSETP2",
            "IABS",
            "IADD",
            "IADD3",
            "IADD32I",
            "ICMP",
            "IDE",
            "IDP",
            "IDP4A",
            "IMAD",
            "IMAD32I",
            "IMADSP",
            "IMNMX",
            "IMUL",
            "IMUL32I",
            "ISAD",
            "ISCADD",
            "ISCADD32I",
            "ISET",
            "ISETP",
            "LDGDEPBAR",
            "LDDEPBAR",
            "LEA",
            "LEPC",
            "LOP",
            "LOP3",
            "LOP32I",
            "MATCH",
            "MOV",
            "MOV32I",
            "MOVM",
            "NANOSLEEP",
            "NOP",
            "P2R",
            "PBK",
            "PCNT",
            "PLONGJMP",
            "PLOP3",
            "PMTRIG",
            "POPC",
            "PRET",
            "PREEXIT",
            "PRMT",
            "PSET",
            "PSETP",
            "QSPC",
            "R2B",
            "R2P",
            "R2UR",
            "REDUX",
            "RPCMOV",
            "S2R",
            "S2UR",
            "SEL",
            "SETCTAID",
            "SETLMEMBASE",
            "SGXT",
            "SHF",
            "SHFL",
            "SHL",
            "SHR",
            "SSY",
            "VABSDIFF",
            "VABSDIFF4",
            "VADD",
            "VHMNMX",
            "VIADD",
            "VIADDMNMX",
            "VIMNMX",
            "VIMNMX3",
            "VMAD",
            "VMNMX",
            "VOTE",
            "VOTEU",
            "VSET",
            "VSETP",
            "VSHL",
            "VSHR",
            "WARPGROUP",
            "WARPGROUPSET",
            "XMAD",
            "YIELD",
            "ACQBULK",
            "ENDCOLLECTIVE",
        ],
    ),
    (Operation::Sfu, &["MUFU", "RRO"]),
    (
        Operation::Texture,
        &[
            "TEX", "TEXS", "TLD", "TLD4", "TLD4S", "TLDS", "TMML", "TXD", "TXQ", "TXA", "SULD", "SULDB",
            "SULDGA", "SUST", "SUSTB", "SUSTGA", "SURED", "SUATOM", "SUQ",
        ],
    ),
    (
        Operation::Fence,
        &["MEMBAR", "ERRBAR", "FENCE", "CCTL", "CCTLL", "CCTLT", "UCGABAR_ARV", "UCGABAR_WAIT"],
    ),
    (Operation::Release, &["RELSSP"]),
    (
        Operation::Branch,
        &[
            "BRA", "BRK", "BRX", "BRXU", "BSYNC", "CAL", "CALL", "CONT", "JCAL", "JMP", "JMX", "JMXU",
            "LONGJMP", "RET", "RTT", "SYNC", "WARPSYNC",
        ],
    ),
    (Operation::Exit, &["EXIT", "KILL"]),
];

/// Mnemonics of memory accesses.
const MEMORY: [(&str, Memory, Space); 24] = [
    ("LDG", Memory::Load, Space::Global),
    ("LDS", Memory::Load, Space::Shared),
    ("LDL", Memory::Load, Space::Local),
    ("LDC", Memory::Load, Space::Constant),
    ("LD", Memory::Load, Space::Generic),
    ("STG", Memory::Store, Space::Global),
    ("STS", Memory::Store, Space::Shared),
    ("STL", Memory::Store, Space::Local),
    ("STC", Memory::Store, Space::Constant),
    ("ST", Memory::Store, Space::Generic),
    ("ATOMG", Memory::Atomic, Space::Global),
    ("ATOMS", Memory::Atomic, Space::Shared),
    ("ATOML", Memory::Atomic, Space::Local),
    ("ATOMC", Memory::Atomic, Space::Constant),
    ("ATOM", Memory::Atomic, Space::Generic),
    ("LDU", Memory::Load, Space::Global),
    ("LDSM", Memory::Load, Space::Shared),
    ("LDGSTS", Memory::Load, Space::Global),
    ("STSM", Memory::Store, Space::Shared),
    ("RED", Memory::Atomic, Space::Global),
    ("REDG", Memory::Atomic, Space::Global),
    ("REDS", Memory::Atomic, Space::Shared),
    ("SYNCS", Memory::Atomic, Space::Shared),
    ("LDTRAM", Memory::Load, Space::Shared),
];

/// The kinds of memory access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Load,
    Store,
    Atomic,
}

impl Memory {
    fn operation(self, access: MemoryAccess) -> Operation {
        match self {
            Memory::Load => Operation::Load(access),
            Memory::Store => Operation::Store(access),
            Memory::Atomic => Operation::Atomic(access),
        }
    }
}

/// Looks an opcode up.
///
/// `sources` is how many the instruction lists (of one that writes none with those it lists as results), `memory_bytes` what the trace says of its memory access (0: nothing).
pub(super) fn classify(text: &str, sources: usize, memory_bytes: u8, sm: Option<u32>) -> Opcode {
    let (base, modifiers) = text.split_once('.').unwrap_or((text, ""));
    let has = |modifier: &str| modifiers.split('.').any(|found| found == modifier);
    if let Some(&(_, memory, space)) = MEMORY.iter().find(|(name, ..)| *name == base) {
        return memory_access(base, memory, space, modifiers, sources, memory_bytes, sm);
    }
    if let Some(opcode) = arithmetic(base, modifiers) {
        return opcode;
    }
    let plain = PLAIN.iter().find(|(_, names)| names.contains(&base)).map(|&(operation, _)| operation);
    match plain {
        Some(Operation::Branch) => {
            let target = if sm.is_some_and(|sm| sm >= 70) { 2 } else { 1 };
            Opcode { source_widths: [target; 4], ..uniform(Operation::Branch, 1) }
        }
        Some(Operation::Alu) if has("WIDE") => {
            Opcode { result_width: 2, source_widths: [1, 1, 2, 1], ..uniform(Operation::Alu, 1) }
        }
        Some(Operation::Alu) if has("64") => uniform(Operation::Alu, 2),
        Some(Operation::Alu) if base == "CS2R" && !has("32") => {
            Opcode { result_width: 2, ..uniform(Operation::Alu, 1) }
        }
        Some(operation) => uniform(operation, 1),
        None if base == "BAR" && !has("ARV") => uniform(Operation::Barrier, 1),
        None => Opcode { known: base == "BAR" || is_uniform(base), ..uniform(Operation::Alu, 1) },
    }
}

/// An opcode all of whose operands have one width.
fn uniform(operation: Operation, width: u8) -> Opcode {
    Opcode { operation, result_width: width, source_widths: [width; 4], known: true }
}

/// Instructions of the uniform datapath, whose registers are the warp's, not the threads'.
fn is_uniform(base: &str) -> bool {
    base.len() > 1 && base.starts_with('U')
}

/// Arithmetic whose operands are not all one register wide.
fn arithmetic(base: &str, modifiers: &str) -> Option<Opcode> {
    let formats = || modifiers.split('.').filter_map(format_width);
    match base {
        "DADD" | "DMUL" | "DFMA" | "DMNMX" | "DSETP" => Some(uniform(Operation::Double, 2)),
        "DSET" => Some(Opcode { result_width: 1, ..uniform(Operation::Double, 2) }),
        "FRND" if formats().any(|(_, width)| width == 2) => Some(uniform(Operation::Double, 2)),
        "F2F" | "F2I" | "I2F" | "I2I" | "I2FP" | "F2FP" | "F2IP" => {
            Some(conversion(base, &formats().collect::<Vec<_>>()))
        }
        "HMMA" | "IMMA" | "BMMA" | "DMMA" => Some(matrix(base, modifiers)),
        _other => None,
    }
}

/// Whether a modifier is a floating-point or an integer format, and its width in registers.
fn format_width(modifier: &str) -> Option<(bool, u8)> {
    match modifier {
        "F64" => Some((true, 2)),
        "F32" | "F16" | "BF16" => Some((true, 1)),
        "S64" | "U64" => Some((false, 2)),
        "S32" | "U32" | "S16" | "U16" | "S8" | "U8" => Some((false, 1)),
        _other => None,
    }
}

/// Conversions name the result's format, then the source's; the one they leave out is 32 bits wide.
fn conversion(base: &str, formats: &[(bool, u8)]) -> Opcode {
    let first = |float: bool| formats.iter().find(|format| format.0 == float).map_or(1, |format| format.1);
    let nth = |position: usize| formats.get(position).map_or(1, |format| format.1);
    let (result, source) = match base {
        "I2F" | "I2FP" => (first(true), first(false)),
        "F2I" | "F2IP" => (first(false), first(true)),
        _same_kind => (nth(0), nth(1)),
    };
    let double = formats.contains(&(true, 2));
    let operation = if double { Operation::Double } else { Operation::Alu };
    Opcode { operation, result_width: result, source_widths: [source; 4], known: true }
}

/// Registers of A, B and of C and D that a warp-wide matrix product takes in each thread.
///
/// A fragment of m × k elements of b bits is m · k · b / 1024 registers a thread, at least one; C and D are 32 bits an
/// element, or 16 where the opcode names no wider type first. A shape is written m, n, k without separators.
fn matrix(base: &str, modifiers: &str) -> Opcode {
    let mut parts = modifiers.split('.');
    let shape = parts.next().unwrap_or_default();
    let types: Vec<&str> = parts.collect();
    let (a, b, c) = match (base, shape, types.first().copied()) {
        ("DMMA", ..) => (2, 2, 4),
        ("HMMA", "884", _) => (2, 2, 2),
        ("HMMA", "1688", Some("F32")) if types.contains(&"TF32") => (4, 2, 4),
        ("HMMA", "1684" | "1688", Some("F32")) => (2, 1, 4),
        ("HMMA", "1688", _) => (2, 1, 2),
        ("HMMA", "16816", Some("F32")) => (4, 2, 4),
        ("HMMA", "16816", _) => (4, 2, 2),
        ("IMMA", "8816" | "8832", _) | ("BMMA", "88128", _) => (1, 1, 2),
        ("IMMA", "16816", _) | ("BMMA", "168128", _) => (2, 1, 4),
        ("IMMA", "16832", _) if types.iter().any(|name| matches!(*name, "S4" | "U4")) => (2, 1, 4),
        ("IMMA", "16832" | "16864", _) | ("BMMA", "168256", _) => (4, 2, 4),
        _unknown => return Opcode { known: false, ..uniform(Operation::Alu, 1) },
    };
    Opcode { result_width: c, source_widths: [a, b, c, 1], ..uniform(Operation::Alu, 1) }
}

fn memory_access(
    base: &str,
    memory: Memory,
    space: Space,
    modifiers: &str,
    sources: usize,
    memory_bytes: u8,
    sm: Option<u32>,
) -> Opcode {
    let has = |modifier: &str| modifiers.split('.').any(|found| found == modifier);
    let space = if space == Space::Constant && has("PARAM") { Space::Parameter } else { space };
    let bytes = modifiers.split('.').rev().find_map(access_bytes).unwrap_or(4);
    let count = |modifier: &str| if has(modifier) { 1 } else { 0 };
    let data = match base {
        "LDSM" | "STSM" => 1 + count("2") + 3 * count("4"),
        _other => bytes.div_ceil(4),
    };
    let wide = matches!(space, Space::Global | Space::Generic) && (sm.is_some_and(|sm| sm >= 70) || has("E"));
    let address = if wide { 2 } else { 1 };
    let source_widths = match memory {
        _load if base == "LDGSTS" => [1, address, 1, 1],
        Memory::Load => [address, 1, 1, 1],
        // With one source the address is constant or uniform, and the source is the data.
        Memory::Store | Memory::Atomic if sources == 1 => [data; 4],
        Memory::Store | Memory::Atomic => [address, data, data, data],
    };
    let bytes = if memory_bytes > 0 { memory_bytes } else { bytes };
    let operation = memory.operation(MemoryAccess { space, bytes });
    let result_width = if base == "LDGSTS" { 1 } else { data };
    Opcode { operation, result_width, source_widths, known: true }
}

/// Bytes a lane that a modifier asks for.
fn access_bytes(modifier: &str) -> Option<u8> {
    match modifier {
        "U8" | "S8" | "8" => Some(1),
        "U16" | "S16" | "16" => Some(2),
        "32" | "U32" | "S32" | "F32" => Some(4),
        "64" | "U64" | "S64" | "F64" => Some(8),
        "128" => Some(16),
        "256" => Some(32),
        _other => None,
    }
}

/// The opcode with which our writer names an operation, so that [`classify`] finds the operation again.
pub(super) fn opcode_of(operation: Operation) -> String {
    let (memory, access) = match operation {
        Operation::Alu => return "IADD3".into(),
        Operation::Sfu => return "MUFU".into(),
        Operation::Double => return "DADD".into(),
        Operation::Texture => return "TEX".into(),
        Operation::Barrier => return "BAR.SYNC".into(),
        Operation::Fence => return "MEMBAR".into(),
        Operation::Release => return "RELSSP".into(),
        Operation::Branch => return "BRA".into(),
        Operation::Exit => return "EXIT".into(),
        Operation::Load(access) => (Memory::Load, access),
        Operation::Store(access) => (Memory::Store, access),
        Operation::Atomic(access) => (Memory::Atomic, access),
    };
    let base = match memory {
        Memory::Load => "LD",
        Memory::Store => "ST",
        Memory::Atomic => "ATOM",
    };
    let space = match access.space {
        Space::Global => "G.E",
        Space::Shared => "S",
        Space::Local => "L",
        Space::Constant => "C",
        Space::Generic => ".E",
        Space::Parameter => "C.PARAM",
    };
    let width = match access.bytes {
        1 => ".U8",
        2 => ".U16",
        8 => ".64",
        16 => ".128",
        _word => "",
    };
    format!("{base}{space}{width}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(text: &str, sources: usize) -> (u8, [u8; 4]) {
        let opcode = classify(text, sources, 0, Some(80));
        assert!(opcode.known, "{text}");
        (opcode.result_width, opcode.source_widths)
    }

    #[test]
    fn widths_follow_the_opcode() {
        assert_eq!(widths("LDG.E.128.CONSTANT.SYS", 1), (4, [2, 1, 1, 1]));
        assert_eq!(widths("STG.E.64", 2), (2, [2, 2, 2, 2]));
        assert_eq!(widths("LDS.U.128", 1), (4, [1, 1, 1, 1]));
        assert_eq!(widths("IMAD.WIDE.U32", 3), (2, [1, 1, 2, 1]));
        assert_eq!(widths("DFMA", 3), (2, [2; 4]));
        assert_eq!(widths("F2F.F64.F32", 1), (2, [1; 4]));
        assert_eq!(widths("F2I.U32.F64.TRUNC", 1), (1, [2; 4]));
        assert_eq!(widths("I2F.F64.S64", 1), (2, [2; 4]));
        assert_eq!(widths("LDSM.16.M88.4", 1), (4, [1; 4]));
        assert_eq!(widths("HMMA.16816.F32", 3), (4, [4, 2, 4, 1]));
        assert_eq!(widths("MUFU.RCP64H", 1), (1, [1; 4]));
    }

    #[test]
    fn addresses_before_sm_70_are_wide_only_where_the_opcode_says_so() {
        assert_eq!(classify("LDG", 1, 4, Some(35)).source_widths[0], 1);
        assert_eq!(classify("LDG.E", 1, 4, Some(35)).source_widths[0], 2);
        assert_eq!(classify("LDG.E", 1, 4, None).source_widths[0], 2);
        assert_eq!(classify("LDG", 1, 4, Some(70)).source_widths[0], 2);
    }

    #[test]
    fn an_unknown_opcode_is_arithmetic_and_said_to_be_unknown() {
        let opcode = classify("FROBNICATE.X", 2, 0, Some(80));
        assert_eq!((opcode.operation, opcode.known), (Operation::Alu, false));
    }

    #[test]
    fn every_operation_is_found_again_from_the_opcode_it_is_written_as() {
        let spaces =
            [Space::Global, Space::Shared, Space::Local, Space::Constant, Space::Generic, Space::Parameter];
        let mut operations = vec![
            Operation::Alu,
            Operation::Sfu,
            Operation::Double,
            Operation::Texture,
            Operation::Barrier,
            Operation::Fence,
            Operation::Release,
            Operation::Branch,
            Operation::Exit,
        ];
        for space in spaces {
            for bytes in [1, 2, 4, 8, 16] {
                let access = MemoryAccess { space, bytes };
                operations.extend([
                    Operation::Load(access),
                    Operation::Store(access),
                    Operation::Atomic(access),
                ]);
            }
        }
        for operation in operations {
            let text = opcode_of(operation);
            let found = classify(&text, 2, 0, Some(80));
            assert_eq!((found.operation, found.known), (operation, true), "{text}");
        }
    }
}
