//! A program as text, with its blocks and annotations.

use std::fmt::Write;

use super::cfg::{Block, Cfg};
use super::dominators::Postdominators;
use crate::program::{Instruction, Program};

const LEGEND: &str = "\
// S    suspends its warp: waits for a long-latency result
// Rn!  last read: no executing lane reads the value again
// Rn~  not read (again) before the warp may next be suspended
// Rn?  soft: lanes that do not execute may still need their value
";
/// What follows where there are such instructions.
const OPERANDS_LEGEND: &str = "// [shared]  reads a word of scratchpad as an operand, at a fixed place or at an address in one of its registers\n";

/// The program with blocks, successors, reconvergence points and annotations, one instruction a line.
pub fn listing(program: &Program, cfg: &Cfg) -> String {
    let postdominators = Postdominators::new(cfg);
    let mut text = format!(
        "// {}: {} instructions, {} registers a thread, {} bytes of shared memory\n{}{LEGEND}",
        program.name,
        program.instructions.len(),
        program.registers_per_thread,
        program.shared_bytes,
        if program.spills.is_none() { String::new() } else { format!("// {}\n", program.spills) }
    );
    if program.instructions.iter().any(|instruction| instruction.operand.is_some()) {
        text += OPERANDS_LEGEND;
    }
    for block in cfg.block_ids() {
        write_heading(&mut text, cfg, &postdominators, block);
        for instruction in &program.instructions[cfg.block(block).instructions.clone()] {
            write_instruction(&mut text, instruction);
        }
    }
    text
}

/// A block's number, its successors, and where lanes that part at its end meet again.
pub(super) fn write_heading(text: &mut String, cfg: &Cfg, postdominators: &Postdominators, block: Block) {
    let mut successors: Vec<String> =
        cfg.block(block).successors.iter().map(|successor| format!("B{}", successor.0)).collect();
    if cfg.block(block).exits {
        successors.push("exit".to_owned());
    }
    let meet = match postdominators.immediate(block) {
        Some(meet) if cfg.branches(block) => format!(", reconverges at B{}", meet.0),
        None if cfg.branches(block) => ", reconverges at the end".to_owned(),
        Some(_) | None => String::new(),
    };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "\nB{}: -> {}{meet}", block.0, successors.join(", "));
}

fn write_instruction(text: &mut String, instruction: &Instruction) {
    let mark = |set: bool, mark: &str| if set { mark.to_owned() } else { String::new() };
    let results = instruction.results.iter().map(|result| {
        let marks = mark(result.soft, "?") + &mark(result.idle_until_suspension, "~");
        format!("R{}{marks}", result.register.0)
    });
    let predicate_results = instruction.predicate_results.iter().map(|predicate| format!("P{}", predicate.0));
    let sources = instruction.sources.iter().map(|source| {
        let marks = mark(source.last_read, "!") + &mark(source.idle_until_suspension, "~");
        format!("R{}{marks}", source.register.0)
    });
    let predicate_sources = instruction.predicate_sources.iter().map(|predicate| format!("P{}", predicate.0));
    let written: Vec<String> = results.chain(predicate_results).collect();
    let read: Vec<String> = sources.chain(predicate_sources).collect();
    let arrow = if written.is_empty() { "" } else { " <-" };
    let line = format!(
        "{:5} {} {:14}{arrow:3} {:24} {}",
        instruction.pc,
        if instruction.suspends { "S" } else { " " },
        written.join(" "),
        read.join(" "),
        instruction.text,
    );
    let _ = writeln!(text, "{}", line.trim_end());
}
