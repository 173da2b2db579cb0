//! Writes Accel-Sim traces of version 6 with values.
//!
//! Every machine instruction is a line. Opcodes are those of [`super::opcodes`]; registers are listed in full, which
//! a header line says, so that a reader need not guess at widths. Predicates follow the registers, with value 0
//! (a stream does not carry theirs). What the format cannot express, and a reader finds out anew: soft definitions,
//! last reads, suspension marks, and the text of an instruction. Operands in scratchpad, which it cannot express either and
//! nobody could find out, are refused.

use super::super::output::OutputFile;
use super::super::registers::lanes;
use super::super::{TraceError, TraceSummary};
use super::header::{COMPLETE, REGISTER_LISTS};
use super::opcodes::opcode_of;
use crate::program::{
    Instruction, LANES, LaneMask, LaneValues, Launches, MemoryAccess, Operation, Program, Stream,
    WarpInstruction,
};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Stands for the largest SM version that the opcodes are known of.
const SM: u32 = 90;

/// Writes `kernelslist.g` and a `kernel-<n>.traceg` for each launch into a directory, which is made if need be. The
/// list comes last, so that a directory without it is not complete.
///
/// # Errors
/// The stream ends with an error, a program has operands in scratchpad, or a file cannot be written.
pub fn write_accelsim(launches: &mut dyn Launches, directory: &Path) -> Result<TraceSummary, TraceError> {
    std::fs::create_dir_all(directory).map_err(|error| TraceError::file(directory, error))?;
    let mut summary = TraceSummary::default();
    let mut list = Output::create(directory.join("kernelslist.g"))?;
    while let Some(mut stream) = launches.next_launch()? {
        summary.launches += 1;
        let name = format!("kernel-{}.traceg", summary.launches);
        let mut kernel = KernelWriter {
            output: Output::create(directory.join(&name))?,
            statics: Vec::new(),
            buffer: WarpInstruction::default(),
            text: String::new(),
        };
        kernel.write(stream.as_mut(), &mut summary)?;
        summary.bytes += kernel.output.publish()?;
        list.put(&format!("{name}\n"))?;
    }
    summary.bytes += list.publish()?;
    Ok(summary)
}

/// A text file being written.
struct Output {
    path: PathBuf,
    file: OutputFile,
    bytes: u64,
}

impl Output {
    fn create(path: PathBuf) -> Result<Output, TraceError> {
        let file = OutputFile::create(&path).map_err(|error| TraceError::file(&path, error))?;
        Ok(Output { path, file, bytes: 0 })
    }

    fn put(&mut self, text: &str) -> Result<(), TraceError> {
        self.bytes += text.len() as u64;
        self.file.write_all(text.as_bytes()).map_err(|error| TraceError::file(&self.path, error))
    }

    fn publish(self) -> Result<u64, TraceError> {
        self.file.publish().map_err(|error| TraceError::file(&self.path, error))?;
        Ok(self.bytes)
    }
}

/// What is the same in every line of an instruction.
struct Static {
    pc: u32,
    line: u32,
    /// Results, opcode, sources.
    middle: String,
    access: Option<MemoryAccess>,
    results: usize,
    result_predicates: usize,
    sources: usize,
    source_predicates: usize,
}

struct KernelWriter {
    output: Output,
    statics: Vec<Static>,
    buffer: WarpInstruction,
    text: String,
}

impl KernelWriter {
    fn write(&mut self, stream: &mut dyn Stream, summary: &mut TraceSummary) -> Result<(), TraceError> {
        if let Some(instruction) = stream.program().instructions.iter().find(|one| one.operand.is_some()) {
            let problem = format!(
                "kernel `{}`, `{}`: an operand in scratchpad, which Accel-Sim's format does not have; accepted: code \
                 with `--operands constants` or `registers`, or a trace of our own (`--format warpfile`)",
                stream.program().name,
                instruction.text
            );
            return Err(TraceError::file(&self.output.path, problem));
        }
        self.statics = statics(stream.program());
        let launch = stream.launch().clone();
        let header = header(stream.program(), &launch, summary.launches);
        self.output.put(&header)?;
        let [width, height, _] = launch.grid.map(u64::from);
        for block in 0..launch.blocks() {
            let (x, y, z) = (block % width, block / width % height, block / width / height);
            self.output.put(&format!("\n#BEGIN_TB\n\nthread block = {x},{y},{z}\n"))?;
            self.write_block(stream, block, summary)?;
            self.output.put("\n#END_TB\n")?;
        }
        summary.blocks += launch.blocks();
        Ok(())
    }

    /// Writes the warps of a block. A warp's line count comes before its lines, so the lines wait in a file.
    fn write_block(
        &mut self,
        stream: &mut dyn Stream,
        block: u64,
        summary: &mut TraceSummary,
    ) -> Result<(), TraceError> {
        stream.start_block(block)?;
        for warp in 0..stream.launch().warps_per_block() {
            let count = self.write_warp(stream, block, warp)?;
            summary.instructions += count;
        }
        stream.finish_block(block);
        Ok(())
    }

    fn write_warp(&mut self, stream: &mut dyn Stream, block: u64, warp: usize) -> Result<u64, TraceError> {
        let path = self.output.path.clone();
        let wrap = |error: std::io::Error| TraceError::file(&path, error);
        let mut waiting = tempfile::SpooledTempFile::new(SPOOL_BYTES);
        let mut count = 0;
        while stream.next(block, warp, &mut self.buffer)? {
            self.text.clear();
            self.statics[self.buffer.inst.0 as usize].write(&self.buffer, &mut self.text);
            waiting.write_all(self.text.as_bytes()).map_err(wrap)?;
            count += 1;
        }
        self.output.put(&format!("\nwarp = {warp}\ninsts = {count}\n"))?;
        std::io::Seek::rewind(&mut waiting).map_err(wrap)?;
        self.output.bytes += std::io::copy(&mut waiting, &mut self.output.file).map_err(wrap)?;
        Ok(count)
    }
}

/// Bytes of a warp's lines that wait in memory; more wait in a temporary file.
const SPOOL_BYTES: usize = 1 << 20;

fn header(program: &Program, launch: &crate::program::Launch, id: u64) -> String {
    let triple = |[x, y, z]: [u32; 3]| format!("({x},{y},{z})");
    format!(
        "-kernel name = {}\n-kernel id = {id}\n-grid dim = {}\n-block dim = {}\n-shmem = {}\n-nregs = {}\n\
         -binary version = {SM}\n-cuda stream id = 0\n-shmem base_addr = 0x0000000000000000\n\
         -local mem base_addr = 0x0000000000000000\n-nvbit version = none\n-accelsim tracer version = 6\n\
         -enable lineinfo = 1\n-{REGISTER_LISTS} = {COMPLETE}\n\n\
         #traces format = line_num PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width \
         [adrrescompress?] [mem_addresses] imm imm Val [values]\n\n",
        program.name.replace('\n', " "),
        triple(launch.grid),
        triple(launch.block),
        launch.shared_bytes,
        program.registers_per_thread,
    )
}

fn statics(program: &Program) -> Vec<Static> {
    let distinct = {
        let mut pcs: Vec<u32> = program.instructions.iter().map(|found| found.pc).collect();
        pcs.sort_unstable();
        pcs.windows(2).all(|pair| pair[0] != pair[1])
    };
    (program.instructions.iter().enumerate())
        .map(|(position, instruction)| {
            // A line has no other name for its instruction than the PC.
            let pc = if distinct { instruction.pc } else { 8 * position as u32 };
            static_of(instruction, pc)
        })
        .collect()
}

fn static_of(instruction: &Instruction, pc: u32) -> Static {
    let list = |registers: Vec<u16>, predicates: Vec<u16>| {
        let names = registers.iter().map(|number| format!(" R{number}"));
        let names: String = names.chain(predicates.iter().map(|number| format!(" P{number}"))).collect();
        format!("{}{names}", registers.len() + predicates.len())
    };
    let results = list(
        instruction.results.iter().map(|result| result.register.0).collect(),
        instruction.predicate_results.iter().map(|predicate| predicate.0).collect(),
    );
    let sources = list(
        instruction.sources.iter().map(|source| source.register.0).collect(),
        instruction.predicate_sources.iter().map(|predicate| predicate.0).collect(),
    );
    Static {
        pc,
        line: instruction.line,
        middle: format!("{results} {} {sources}", opcode_of(instruction.operation)),
        access: match instruction.operation {
            Operation::Load(access) | Operation::Store(access) | Operation::Atomic(access) => Some(access),
            Operation::Alu
            | Operation::Sfu
            | Operation::Double
            | Operation::Texture
            | Operation::Barrier
            | Operation::Fence
            | Operation::Release
            | Operation::Branch
            | Operation::Exit => None,
        },
        results: instruction.results.len(),
        result_predicates: instruction.predicate_results.len(),
        sources: instruction.sources.len(),
        source_predicates: instruction.predicate_sources.len(),
    }
}

impl Static {
    /// Appends the line of one execution.
    fn write(&self, executed: &WarpInstruction, out: &mut String) {
        let active = executed.active;
        // Writing to a string cannot fail.
        let _ = write!(out, "{} {:04x} {active:08x} {} ", self.line, self.pc, self.middle);
        match self.access {
            Some(access) => write_addresses(access, active, &executed.addresses, out),
            None => out.push('0'),
        }
        out.push_str(" 0 0 Val");
        for values in &executed.results[..self.results] {
            write_values(active, values, out);
        }
        out.push_str(&" 1 0".repeat(self.result_predicates));
        for values in &executed.sources[..self.sources] {
            write_values(active, values, out);
        }
        out.push_str(&" 1 0".repeat(self.source_predicates));
        out.push('\n');
    }
}

/// Appends width, mode and addresses, in the first mode that fits of stride, differences and list.
fn write_addresses(access: MemoryAccess, active: LaneMask, addresses: &[u64; LANES], out: &mut String) {
    let _ = write!(out, "{} ", access.bytes);
    let first = active.trailing_zeros() as usize % LANES;
    let differences: Vec<i64> = (lanes(active).zip(lanes(active).skip(1)))
        .map(|(from, to)| addresses[to].wrapping_sub(addresses[from]) as i64)
        .collect();
    let stride = differences.first().copied().unwrap_or(0);
    let run = active.checked_shr(active.trailing_zeros()).unwrap_or(0);
    let contiguous = run & run.wrapping_add(1) == 0;
    if contiguous && differences.iter().all(|&difference| difference == stride) {
        let base = if active == 0 { 0 } else { addresses[first] };
        let _ = write!(out, "1 0x{base:x} {stride}");
    } else if differences.iter().all(|&difference| i32::try_from(difference).is_ok()) {
        let _ = write!(out, "2 0x{:x}", addresses[first]);
        for difference in differences {
            let _ = write!(out, " {difference}");
        }
    } else {
        out.push('0');
        for lane in lanes(active) {
            let _ = write!(out, " 0x{:x}", addresses[lane]);
        }
    }
}

/// Appends a value: once if all active lanes have the same, else for each lane, 0 for those that are not active.
fn write_values(active: LaneMask, values: &LaneValues, out: &mut String) {
    let first = values[active.trailing_zeros() as usize % LANES];
    if lanes(active).all(|lane| values[lane] == first) {
        let _ = write!(out, " 1 {first:x}");
        return;
    }
    out.push_str(" 32");
    for (lane, value) in values.iter().enumerate() {
        let value = if active >> lane & 1 == 1 { *value } else { 0 };
        let _ = write!(out, " {value:x}");
    }
}
