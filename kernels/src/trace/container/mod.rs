//! Our trace container: the static program, launch shapes, and what every warp executed, with all values.
//!
//! ```text
//! file      magic "WARPFILE", version u32, records, trailer
//! record    kind u8, raw bytes u32, stored bytes u32, checksum u64, payload (a zstd frame)
//! trailer   offset of the contents u64, file bytes u64, checksum u64, magic "ELIFPRAW"
//! ```
//! Numbers are little-endian. A checksum is XXH64 over everything before it in its record (or trailer) and over the
//! payload. Records of a launch, in file order:
//!
//! | record | payload |
//! |---|---|
//! | chunk | at most 64 KiB: block, warp, number of the chunk, instruction count, instructions ([`codec`]) |
//! | directory | after a block's chunks: for every warp the offset of its first chunk and its instruction count |
//! | page | after every 1024 blocks: the offsets of their directories |
//! | launch | after its last page: program, launch shape, offsets of the pages (JSON) |
//!
//! The chunks of one warp follow each other. After the last launch come the contents (offsets of the launch records)
//! and the trailer; a file without a trailer is not complete. What the reader holds is one chunk and the registers of
//! each running warp, the launch record and one page.

mod codec;
mod reader;
mod record;
mod writer;

pub use reader::ContainerTrace;
pub use writer::write_warpfile;

use super::{MAX_REGISTERS, TraceError};
use crate::program::{Launch, MAX_RESULTS, MAX_SOURCES, Program};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What is written. In version 1 arithmetic had no operands in memory.
pub const VERSION: u32 = 2;
/// Versions that are read.
const VERSIONS: std::ops::RangeInclusive<u32> = 1..=VERSION;

const MAGIC: [u8; 8] = *b"WARPFILE";
const END_MAGIC: [u8; 8] = *b"ELIFPRAW";
/// Magic and version.
const HEADER_BYTES: u64 = 12;
/// Blocks of one page of the index.
const PAGE_BLOCKS: u64 = 1024;

/// Payload of a launch record.
#[derive(Serialize, Deserialize)]
struct LaunchRecord {
    program: Program,
    launch: Launch,
    pages: Vec<u64>,
    instructions: u64,
}

/// Whether a file starts as a container does.
///
/// # Errors
/// The file cannot be read.
pub fn is_container(path: &Path) -> Result<bool, TraceError> {
    let file = File::open(path).map_err(|error| TraceError::file(path, error))?;
    let mut start = Vec::new();
    file.take(MAGIC.len() as u64).read_to_end(&mut start).map_err(|error| TraceError::file(path, error))?;
    Ok(start == MAGIC)
}

/// Checks what the codec and the compiler passes rely on.
pub(super) fn check_program(program: &Program) -> Result<(), String> {
    let count = program.instructions.len();
    if let Some(control) = &program.control {
        let seen = control.seen.iter().flat_map(|seen| [seen.flow.len(), seen.breaks.len()]);
        let own = [control.flow.len(), control.may_diverge.len()];
        if let Some(length) = own.into_iter().chain(seen).find(|&length| length != count) {
            return Err(format!(
                "kernel `{}`: control flow of {length} instructions; the program has {count}",
                program.name
            ));
        }
    }
    if program.registers_per_thread > MAX_REGISTERS {
        return Err(format!(
            "kernel `{}` uses {} registers a thread; at most {MAX_REGISTERS} are accepted",
            program.name, program.registers_per_thread
        ));
    }
    for (position, instruction) in program.instructions.iter().enumerate() {
        let place = || format!("kernel `{}`, instruction {position}", program.name);
        if instruction.sources.len() > MAX_SOURCES || instruction.results.len() > MAX_RESULTS {
            return Err(format!(
                "{}: {} sources and {} results; at most {MAX_SOURCES} and {MAX_RESULTS} are accepted",
                place(),
                instruction.sources.len(),
                instruction.results.len()
            ));
        }
        instruction.check_operand().map_err(|problem| format!("{}: {problem}", place()))?;
        let registers = (instruction.sources.iter().map(|source| source.register))
            .chain(instruction.results.iter().map(|result| result.register));
        for register in registers {
            if register.0 >= program.registers_per_thread {
                return Err(format!(
                    "{}: R{} in a program of {} registers a thread",
                    place(),
                    register.0,
                    program.registers_per_thread
                ));
            }
        }
    }
    Ok(())
}
