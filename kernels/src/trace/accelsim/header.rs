//! The header of a kernel's trace.

use super::super::{TraceError, TraceReport, check_launch};
use super::text::{LineCursor, TextFile};
use crate::program::Launch;

/// Shared memory of a block beyond which the figure is taken for garbage.
const MAX_SHARED_BYTES: u32 = 1 << 20;
/// Key with which our writer says that instructions list every register they touch.
pub(super) const REGISTER_LISTS: &str = "register lists";
/// The value of [`REGISTER_LISTS`].
pub(super) const COMPLETE: &str = "complete";

/// How instruction lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Generation {
    /// No version line, or 1.x: block and warp at the start of a line.
    First,
    Third,
    Fourth,
    Fifth,
    Sixth,
}

/// What a kernel's trace says of it before the first block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Header {
    pub name: String,
    pub launch: Launch,
    pub generation: Generation,
    /// Instruction lines start with a line number.
    pub line_info: bool,
    /// Compute capability times ten, if it is believable.
    pub sm: Option<u32>,
    /// Registers a thread, if it is a believable number. Code that was not executed may use the highest of them.
    pub registers: Option<u16>,
    /// Instructions list every register, so that none follows from the opcode.
    pub complete_registers: bool,
}

/// The fields as they come.
#[derive(Default)]
struct Fields {
    name: Option<String>,
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    shared_bytes: u32,
    version: Option<(String, Generation)>,
    line_info: bool,
    sm: Option<u32>,
    registers: Option<u16>,
    complete_registers: bool,
    /// Those met so far.
    keys: Vec<String>,
}

/// Reads the header and leaves the cursor behind the comment that ends it, or at the first block.
///
/// # Errors
/// A line that is no header line, a version that is not known, or a missing or impossible launch shape.
pub(super) fn read_header(
    file: &mut TextFile,
    cursor: &mut LineCursor,
    report: &mut TraceReport,
) -> Result<Header, TraceError> {
    let mut fields = Fields::default();
    loop {
        let outcome = match cursor.next_filled(file)? {
            None => Err("the file ends in its header; a line starting with `#` was expected".into()),
            Some("#BEGIN_TB") => {
                cursor.back();
                break;
            }
            Some(line) if line.starts_with('#') => break,
            Some(line) => fields.take(line, report),
        };
        outcome.map_err(|problem: String| file.error(cursor.line().max(1), problem))?;
    }
    let (version, generation) = fields.version.unwrap_or(("none".to_string(), Generation::First));
    report.saw_version(version);
    let missing = |key: &str| file.error(cursor.line(), format!("the header has no `-{key} =`"));
    let launch = Launch {
        grid: fields.grid.ok_or_else(|| missing("grid dim"))?,
        block: fields.block.ok_or_else(|| missing("block dim"))?,
        shared_bytes: fields.shared_bytes,
    };
    check_launch(&launch).map_err(|problem| file.error(cursor.line(), problem))?;
    Ok(Header {
        name: fields.name.ok_or_else(|| missing("kernel name"))?,
        launch,
        generation,
        line_info: fields.line_info,
        sm: fields.sm,
        registers: fields.registers,
        complete_registers: fields.complete_registers,
    })
}

impl Fields {
    fn take(&mut self, line: &str, report: &mut TraceReport) -> Result<(), String> {
        let (key, value) = (line.strip_prefix('-'))
            .and_then(|rest| rest.split_once('='))
            .ok_or_else(|| format!("`{line}`; a header line `-key = value` is accepted"))?;
        let (key, value) = (key.trim(), value.trim());
        if self.keys.iter().any(|known| known == key) {
            return Err(format!("`{key}` comes twice; each header line once is accepted"));
        }
        self.keys.push(key.to_owned());
        match key {
            "kernel name" => self.name = Some(value.to_string()),
            "grid dim" => self.grid = Some(triple(key, value)?),
            "block dim" => self.block = Some(triple(key, value)?),
            "shmem" => self.shared_bytes = shared_bytes(value, report),
            "nregs" => match value.parse() {
                Ok(registers @ 0..=255) => self.registers = Some(registers),
                Ok(_) | Err(_) => report.warn(format!(
                    "header: nregs = {value} is not a register count; it is found from the instructions"
                )),
            },
            "binary version" => match value.parse() {
                Ok(sm @ 20..=130) => self.sm = Some(sm),
                Ok(_) | Err(_) => report.warn(format!(
                    "header: binary version = {value} is not an SM version; addresses are 64 bits wide only \
                     where the opcode says `.E`"
                )),
            },
            "accelsim tracer version" => self.version = Some((value.to_string(), version(value)?)),
            "enable lineinfo" => {
                self.line_info = match value {
                    "0" => false,
                    "1" => true,
                    _other => return Err(format!("`{key}` is `{value}`; 0 or 1 is accepted")),
                };
            }
            REGISTER_LISTS if value == COMPLETE => self.complete_registers = true,
            REGISTER_LISTS => {
                return Err(format!("`{key}` is `{value}`; `{COMPLETE}` is accepted"));
            }
            "kernel id" | "cuda stream id" | "shmem base_addr" | "local mem base_addr" | "nvbit version" => {}
            _unknown => report.warn(format!("header: unknown key `{key}` ignored")),
        }
        Ok(())
    }
}

fn shared_bytes(value: &str, report: &mut TraceReport) -> u32 {
    match value.parse() {
        Ok(bytes) if bytes <= MAX_SHARED_BYTES => bytes,
        Ok(_) | Err(_) => {
            report.warn(format!("header: shmem = {value} is not a size in bytes; 0 is used"));
            0
        }
    }
}

fn triple(key: &str, value: &str) -> Result<[u32; 3], String> {
    let inner = value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let numbers: Option<Vec<u32>> =
        inner.and_then(|inner| inner.split(',').map(|number| number.trim().parse().ok()).collect());
    numbers
        .and_then(|numbers| <[u32; 3]>::try_from(numbers).ok())
        .filter(|numbers| numbers.iter().all(|&number| number > 0))
        .ok_or_else(|| format!("`{key}` is `{value}`; three numbers of at least 1, `(x,y,z)`, are accepted"))
}

fn version(value: &str) -> Result<Generation, String> {
    let major = value.split('.').next().unwrap_or_default();
    match major.parse::<u32>() {
        Ok(1 | 2) => Ok(Generation::First),
        Ok(3) => Ok(Generation::Third),
        Ok(4) => Ok(Generation::Fourth),
        Ok(5) => Ok(Generation::Fifth),
        Ok(6) => Ok(Generation::Sixth),
        Ok(_) | Err(_) => {
            Err(format!("`accelsim tracer version` is `{value}`; none and 1 to 6 are accepted"))
        }
    }
}
