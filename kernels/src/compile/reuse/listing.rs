//! A program with its marks as text.

use std::fmt::Write;

use super::Marks;
use crate::compile::cfg::Cfg;
use crate::compile::dominators::Postdominators;
use crate::compile::listing::write_heading;
use crate::program::{Instruction, MAX_SOURCES, Program};

const LEGEND: &str = "\
// Rn.reuse  kept for the next read in its operand position and bank
";

/// The program with a heading for each block, one instruction a line, its operands in the order of their positions.
pub fn listing(program: &Program, marks: &Marks, cfg: &Cfg) -> String {
    let postdominators = Postdominators::new(cfg);
    let marked: usize = marks.instructions.iter().flatten().map(|&marked| usize::from(marked)).sum();
    let operands: usize = program.instructions.iter().map(|instruction| instruction.sources.len()).sum();
    let mut text = format!(
        "// {}: {} instructions, {} registers a thread, {marked} of {operands} operands kept\n{LEGEND}",
        program.name,
        program.instructions.len(),
        program.registers_per_thread,
    );
    for (position, (instruction, marks)) in program.instructions.iter().zip(&marks.instructions).enumerate() {
        let block = cfg.block_of(position);
        if cfg.block(block).instructions.start == position {
            write_heading(&mut text, cfg, &postdominators, block);
        }
        write_instruction(&mut text, instruction, *marks);
    }
    text
}

fn write_instruction(text: &mut String, instruction: &Instruction, marks: [bool; MAX_SOURCES]) {
    let written: Vec<String> =
        instruction.results.iter().map(|result| format!("R{}", result.register.0)).collect();
    let read: Vec<String> = (instruction.sources.iter().zip(marks))
        .map(|(source, marked)| format!("R{}{}", source.register.0, if marked { ".reuse" } else { "" }))
        .collect();
    let arrow = if written.is_empty() { "" } else { " <-" };
    let line = format!(
        "{:5}   {:14}{arrow:3} {:30} {}",
        instruction.pc,
        written.join(" "),
        read.join(" "),
        instruction.text
    );
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}", line.trim_end());
}
