//! How far loads are from the first instruction that reads what they loaded, in the text of a program.
//!
//! `cargo run --release -p warpfile-kernels --example load_distances [--why] [FILE.ptx]…`, by default of all workloads: for
//! each order of instructions the median distance (1: the next instruction), the part of the loads whose values are read
//! within two instructions, and the geometric mean of the registers a thread.
//!
//! Beside them other files, `LISTING.sass`, as `nvdisasm` prints code of ptxas: a line of the same figures for all of them.
//! Registers are those that their names reach to.
//!
//! `--why`: each load of the default order whose value is read soon, with its kernel, line and reader, and what else its
//! basic block has that could stand between; and how many there are of each cause.

mod listing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use warpfile_kernels::compile::divergence::{is_control, ptx_cfg};
use warpfile_kernels::compile::effect::Effect;
use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, Compiled, compile};
use warpfile_kernels::program::{Instruction, Operation, Program, Space};
use warpfile_kernels::ptx;
use warpfile_kernels::workloads;

/// What is read within so many instructions is read at once.
const NEAR: usize = 2;
/// What is aimed at.
const FAR: usize = 15;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (options, given): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument == "--why");
    let given: Vec<PathBuf> = given.into_iter().map(PathBuf::from).collect();
    let files = if given.is_empty() {
        workloads::list().iter().map(|workload| workload.ptx_path()).collect()
    } else {
        given
    };
    if !options.is_empty() {
        return why(&files);
    }
    let (listings, files): (Vec<PathBuf>, Vec<PathBuf>) =
        files.into_iter().partition(|file| file.extension().is_some_and(|extension| extension == "sass"));
    println!(
        "| order | global: loads | median | within {NEAR} | shared: loads | median | within {NEAR} | registers |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for schedule in Schedule::ALL {
        let programs: Vec<Program> =
            compiled(&files, schedule)?.into_iter().map(|compiled| compiled.program).collect();
        let distances =
            |space| programs.iter().flat_map(|program| distances(program, space)).collect::<Vec<usize>>();
        let registers = programs.iter().map(|program| program.registers_per_thread);
        print_row(schedule.as_str(), distances(Space::Global), distances(Space::Shared), registers.collect());
    }
    if !listings.is_empty() {
        let mut kernels = Vec::new();
        for file in &listings {
            kernels.extend(listing::kernels(&std::fs::read_to_string(file)?));
        }
        let distances =
            |loads| kernels.iter().flat_map(|kernel| kernel.distances(loads)).collect::<Vec<usize>>();
        let registers = kernels.iter().map(listing::Kernel::registers).collect();
        print_row("listings", distances("LDG"), distances("LDS"), registers);
    }
    Ok(())
}

/// Prints the distances of loads from global and from shared memory, and the geometric mean of the kernels' registers.
fn print_row(order: &str, global: Vec<usize>, shared: Vec<usize>, registers: Vec<u16>) {
    let [global, shared] = [global, shared].map(|mut all| {
        all.sort_unstable();
        let near = all.iter().filter(|&&distance| distance <= NEAR).count();
        let percent = 100.0 * near as f64 / all.len().max(1) as f64;
        let median = all.get(all.len() / 2).copied().unwrap_or_default();
        format!("{} | {median} | {percent:.0} %", all.len())
    });
    let logarithms = registers.iter().map(|&registers| f64::from(registers.max(1)).ln());
    let registers = (logarithms.sum::<f64>() / registers.len().max(1) as f64).exp();
    println!("| {order} | {global} | {shared} | {registers:.1} |");
}

/// All kernels of the files.
fn compiled(files: &[PathBuf], schedule: Schedule) -> Result<Vec<Compiled>, Box<dyn std::error::Error>> {
    let options = CompileOptions { schedule, ..CompileOptions::default() };
    let mut all = Vec::new();
    for file in files {
        let module = ptx::parse(&file.display().to_string(), &std::fs::read_to_string(file)?)?;
        for kernel in &module.kernels {
            all.push(compile(&module, &kernel.name, &options)?);
        }
    }
    Ok(all)
}

/// For each load from a space whose value is read further down: how many instructions further.
fn distances(program: &Program, space: Space) -> Vec<usize> {
    first_reads(program, space).map(|(load, reader)| reader - load).collect()
}

/// The loads from a space and the first instruction further down that reads what each loaded.
fn first_reads(program: &Program, space: Space) -> impl Iterator<Item = (usize, usize)> + '_ {
    let all = &program.instructions;
    let is_load = move |instruction: &Instruction| match instruction.operation {
        Operation::Load(access) => access.space == space,
        _ => false,
    };
    let loads = all.iter().enumerate().filter(move |(_, instruction)| is_load(instruction));
    loads.filter_map(|(place, load)| {
        let behind = all[place + 1..].iter().position(|other| reads(other, load))?;
        Some((place, place + 1 + behind))
    })
}

/// Whether an instruction reads a register that the load writes.
fn reads(instruction: &Instruction, load: &Instruction) -> bool {
    let read = |register| instruction.sources.iter().any(|source| source.register == register);
    load.results.iter().any(|result| read(result.register))
}

/// Prints each load whose value is read soon, and how many there are of each cause.
fn why(files: &[PathBuf]) -> Result<(), Box<dyn std::error::Error>> {
    let compiled = compiled(files, Schedule::List)?;
    for space in [Space::Global, Space::Shared] {
        let mut causes: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        println!("\n| {space:?}: kernel | line | distance | read by | could stand between | cause |");
        println!("|---|--:|--:|---|--:|---|");
        for compiled in &compiled {
            let program = &compiled.program;
            for (load, reader) in first_reads(program, space).filter(|(load, reader)| reader - load < FAR) {
                let (free, cause) = cause(compiled, load, reader);
                let count = causes.entry(cause.clone()).or_default();
                count[0] += usize::from(reader - load <= NEAR);
                count[1] += 1;
                let (line, text) = (program.instructions[load].line, &program.instructions[reader].text);
                println!("| {} | {line} | {} | {text} | {free} | {cause} |", program.name, reader - load);
            }
        }
        println!("\n| {space:?}: cause | within {NEAR} | below {FAR} |\n|---|--:|--:|");
        for (cause, [near, all]) in causes {
            println!("| {cause} | {near} | {all} |");
        }
    }
    Ok(())
}

/// How many machine instructions of the load's basic block neither lead to the load nor wait for what it loaded, and why
/// there are no more between it and its reader.
fn cause(compiled: &Compiled, load: usize, reader: usize) -> (usize, String) {
    let kernel = &compiled.kernel;
    let lowering = &compiled.lowering;
    let [load_ptx, reader_ptx] = [load, reader].map(|place| lowering.instructions[place].ptx.index());
    let cfg = ptx_cfg(kernel).expect("a compiled kernel has control flow");
    let block = cfg.block(cfg.block_of(load_ptx));
    let range = block.instructions.clone();
    let place = load_ptx - range.start;
    let needs = needs(compiled, range.clone());
    let of_kernel = &kernel.instructions[range.clone()];
    let size = |place: usize| lowering.ranges[range.start + place].len();
    let waiting: BTreeSet<usize> =
        (place + 1..of_kernel.len()).filter(|&at| needs[at].contains(&place)).collect();
    let free = |at: &usize| *at != place && !needs[place].contains(at) && !waiting.contains(at);
    let free: usize =
        (0..of_kernel.len()).filter(|at| free(at) && !is_control(&of_kernel[*at].op)).map(size).sum();
    let has_barrier = |block: &std::ops::Range<usize>| {
        kernel.instructions[block.clone()]
            .iter()
            .any(|other| Effect::of(kernel, other, None) == Effect::Order && !is_control(&other.op))
    };
    let is_loop = block.successors.contains(&cfg.block_of(load_ptx));
    let cause = if !range.contains(&reader_ptx) {
        "read in another block"
    } else if free >= FAR {
        if has_barrier(&range) { "the block has enough, and a barrier" } else { "the block has enough" }
    } else if has_barrier(&range) {
        "short block with a barrier"
    } else if is_loop {
        "short block, a loop"
    } else if of_kernel[waiting.last().map_or(0, |&last| last)..].iter().any(|last| is_control(&last.op)) {
        "short block, decides a branch"
    } else {
        "short block"
    };
    (free, cause.to_owned())
}

/// For each instruction of a block those before it that it needs, directly or not.
fn needs(compiled: &Compiled, range: std::ops::Range<usize>) -> Vec<BTreeSet<usize>> {
    let kernel = &compiled.kernel;
    let all = &kernel.instructions[range];
    let mut needs: Vec<BTreeSet<usize>> = Vec::with_capacity(all.len());
    for (place, instruction) in all.iter().enumerate() {
        let effect = Effect::of(kernel, instruction, None);
        let mut needed = BTreeSet::new();
        for (before, other) in all[..place].iter().enumerate() {
            let writes = other.definitions().any(|register| instruction.uses().any(|read| read == register));
            if writes || Effect::of(kernel, other, None).is_before(&effect) {
                needed.insert(before);
                needed.extend(&needs[before]);
            }
        }
        needs.push(needed);
    }
    needs
}
