//! What a second pass of scheduling, over machine instructions with their registers, could gain behind the first:
//!
//! `cargo run --release -p warpfile-kernels --example second_pass [FILE.ptx]…`, by default of all workloads: the cycles that
//! a warp alone waits within basic blocks, each executed once, in the order that is made today and in that of a list
//! scheduler over machine instructions, which keeps registers and the order of what touches memory but two loads.

use std::path::PathBuf;

use warpfile_kernels::compile::schedule::cycles;
use warpfile_kernels::compile::{CompileOptions, compile};
use warpfile_kernels::program::{Instruction, Operation};
use warpfile_kernels::ptx;
use warpfile_kernels::workloads;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let files = if given.is_empty() {
        workloads::list().iter().map(|workload| workload.ptx_path()).collect()
    } else {
        given
    };
    println!("| kernel | instructions | waits | after a second pass |\n|---|--:|--:|--:|");
    let mut sums = [0; 3];
    for file in files {
        let module = ptx::parse(&file.display().to_string(), &std::fs::read_to_string(file)?)?;
        for kernel in &module.kernels {
            let compiled = compile(&module, &kernel.name, &CompileOptions::default())?;
            let all = &compiled.program.instructions;
            let mut of_kernel = [all.len() as u64, 0, 0];
            for block in compiled.cfg.block_ids() {
                let block = Block::new(&all[compiled.cfg.block(block).instructions.clone()]);
                of_kernel[1] += block.waits(0..block.instructions.len());
                of_kernel[2] += block.waits(block.order());
            }
            println!("| {} | {} | {} | {} |", kernel.name, of_kernel[0], of_kernel[1], of_kernel[2]);
            sums.iter_mut().zip(of_kernel).for_each(|(sum, of_kernel)| *sum += of_kernel);
        }
    }
    println!("| all | {} | {} | {} |", sums[0], sums[1], sums[2]);
    Ok(())
}

/// A basic block of machine instructions.
struct Block<'p> {
    instructions: &'p [Instruction],
    /// For each instruction those that it comes behind, and how many cycles.
    behind: Vec<Vec<(usize, u64)>>,
}

impl<'p> Block<'p> {
    fn new(instructions: &'p [Instruction]) -> Block<'p> {
        let of = |place: usize| {
            let before = instructions[..place].iter().enumerate();
            before.filter_map(|(at, other)| Some((at, distance(other, &instructions[place])?))).collect()
        };
        Block { instructions, behind: (0..instructions.len()).map(of).collect() }
    }

    /// The cycles that a warp waits in an order, of which it issues an instruction a cycle.
    fn waits(&self, order: impl IntoIterator<Item = usize>) -> u64 {
        let mut begun = vec![0; self.instructions.len()];
        let mut now = 0;
        for place in order {
            now = now.max(self.from(place, &begun));
            begun[place] = now;
            now += 1;
        }
        now - self.instructions.len() as u64
    }

    /// The cycle in which an instruction can begin, if those before it began then.
    fn from(&self, place: usize, begun: &[u64]) -> u64 {
        self.behind[place].iter().map(|&(before, cycles)| begun[before] + cycles).max().unwrap_or(0)
    }

    /// That of a list scheduler: what waits least, and of that what the longest chain of latencies hangs on.
    fn order(&self) -> Vec<usize> {
        let count = self.instructions.len();
        let mut heights: Vec<u64> = self.instructions.iter().map(latency).collect();
        for place in (0..count).rev() {
            for &(before, cycles) in &self.behind[place] {
                heights[before] = heights[before].max(cycles + heights[place]);
            }
        }
        let mut is_placed = vec![false; count];
        let mut begun = vec![0; count];
        let mut order = Vec::with_capacity(count);
        let mut now = 0;
        while order.len() < count {
            let is_ready = |place: &usize| {
                !is_placed[*place] && self.behind[*place].iter().all(|&(at, _)| is_placed[at])
            };
            let key = |place: &usize| {
                (self.from(*place, &begun).saturating_sub(now), std::cmp::Reverse(heights[*place]), *place)
            };
            let ready = (0..count).filter(is_ready);
            let place = ready.min_by_key(key).expect("the first that is left comes behind none that is left");
            now = now.max(self.from(place, &begun));
            begun[place] = now;
            now += 1;
            is_placed[place] = true;
            order.push(place);
        }
        order
    }
}

/// How many cycles behind an instruction of its block a later one begins at the earliest; `None` if it need not come
/// behind it.
fn distance(first: &Instruction, second: &Instruction) -> Option<u64> {
    let reads = |one: &Instruction, other: &Instruction| {
        let register = |written| one.sources.iter().any(|read| read.register == written);
        other.results.iter().any(|result| register(result.register))
            || other.predicate_results.iter().any(|written| one.predicate_sources.contains(written))
    };
    let writes = |one: &Instruction, other: &Instruction| {
        let register = |written| one.results.iter().any(|result| result.register == written);
        other.results.iter().any(|result| register(result.register))
            || other.predicate_results.iter().any(|written| one.predicate_results.contains(written))
    };
    if reads(second, first) || writes(second, first) {
        return Some(latency(first));
    }
    let is_load = |one: &Instruction| matches!(one.operation, Operation::Load(_));
    let is_effect = |one: &Instruction| {
        !matches!(one.operation, Operation::Alu | Operation::Sfu | Operation::Double | Operation::Texture)
    };
    let is_control = |one: &Instruction| matches!(one.operation, Operation::Branch | Operation::Exit);
    let keeps_order = is_effect(first) && is_effect(second) && !(is_load(first) && is_load(second));
    (reads(first, second) || keeps_order || is_control(second)).then_some(1)
}

/// Cycles until the results are there, as the first pass takes them.
fn latency(instruction: &Instruction) -> u64 {
    cycles(instruction.operation).into()
}
