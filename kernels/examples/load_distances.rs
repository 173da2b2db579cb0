//! How far loads are from the first instruction that reads what they loaded, in the text of a program.
//!
//! `cargo run --release -p warpfile-kernels --example load_distances [FILE.ptx]…`, by default of all workloads: for each order
//! of instructions the median distance (1: the next instruction), the part of the loads whose values are read within two
//! instructions, and the geometric mean of the registers a thread.

use std::path::PathBuf;

use warpfile_kernels::compile::schedule::Schedule;
use warpfile_kernels::compile::{CompileOptions, compile};
use warpfile_kernels::program::{Instruction, Operation, Program, Space};
use warpfile_kernels::ptx;
use warpfile_kernels::workloads;

/// What is read within so many instructions is read at once.
const NEAR: usize = 2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let files = if given.is_empty() {
        workloads::list().iter().map(|workload| workload.ptx_path()).collect()
    } else {
        given
    };
    println!(
        "| order | global: loads | median | within {NEAR} | shared: loads | median | within {NEAR} | registers |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for schedule in Schedule::ALL {
        let programs = programs(&files, schedule)?;
        let distances = |space| {
            let mut all: Vec<usize> = programs.iter().flat_map(|program| distances(program, space)).collect();
            all.sort_unstable();
            let near = all.iter().filter(|&&distance| distance <= NEAR).count();
            let percent = 100.0 * near as f64 / all.len().max(1) as f64;
            let median = all.get(all.len() / 2).copied().unwrap_or_default();
            format!("{} | {median} | {percent:.0} %", all.len())
        };
        let logarithms = programs.iter().map(|program| f64::from(program.registers_per_thread.max(1)).ln());
        let registers = (logarithms.sum::<f64>() / programs.len().max(1) as f64).exp();
        let (global, shared) = (distances(Space::Global), distances(Space::Shared));
        println!("| {} | {global} | {shared} | {registers:.1} |", schedule.as_str());
    }
    Ok(())
}

/// All kernels of the files.
fn programs(files: &[PathBuf], schedule: Schedule) -> Result<Vec<Program>, Box<dyn std::error::Error>> {
    let options = CompileOptions { schedule, ..CompileOptions::default() };
    let mut programs = Vec::new();
    for file in files {
        let module = ptx::parse(&file.display().to_string(), &std::fs::read_to_string(file)?)?;
        for kernel in &module.kernels {
            programs.push(compile(&module, &kernel.name, &options)?.program);
        }
    }
    Ok(programs)
}

/// For each load from a space whose value is read further down: how many instructions further.
fn distances(program: &Program, space: Space) -> Vec<usize> {
    let all = &program.instructions;
    let is_load = |instruction: &Instruction| match instruction.operation {
        Operation::Load(access) => access.space == space,
        _ => false,
    };
    let loads = all.iter().enumerate().filter(|(_, instruction)| is_load(instruction));
    let distance = |(place, load): (usize, &Instruction)| {
        let behind = all[place + 1..].iter().position(|other| reads(other, load))?;
        Some(behind + 1)
    };
    loads.filter_map(distance).collect()
}

/// Whether an instruction reads a register that the load writes.
fn reads(instruction: &Instruction, load: &Instruction) -> bool {
    let read = |register| instruction.sources.iter().any(|source| source.register == register);
    load.results.iter().any(|result| read(result.register))
}
