//! A program with its releases as text.

use std::fmt::Write;

use super::releases::{Release, Releases};
use crate::compile::cfg::Cfg;
use crate::compile::dominators::Postdominators;
use crate::compile::listing::write_heading;
use crate::program::{Instruction, Program};

const LEGEND: &str = "\
// Rn!      dead once it is written: nothing reads the result
// free Rn  dead once the operands have been read
";

/// The program with a heading for each block, one instruction a line.
pub fn listing(program: &Program, releases: &Releases, cfg: &Cfg) -> String {
    let postdominators = Postdominators::new(cfg);
    let mut text = format!(
        "// {}: {} instructions, {} registers a thread, at most {} held, {} at a barrier\n{LEGEND}",
        program.name,
        program.instructions.len(),
        program.registers_per_thread,
        releases.most_held,
        releases.most_held_at_barrier
    );
    for (position, (instruction, release)) in
        program.instructions.iter().zip(&releases.instructions).enumerate()
    {
        let block = cfg.block_of(position);
        if cfg.block(block).instructions.start == position {
            write_heading(&mut text, cfg, &postdominators, block);
        }
        write_instruction(&mut text, instruction, release);
    }
    text
}

fn write_instruction(text: &mut String, instruction: &Instruction, release: &Release) {
    let written: Vec<String> = (instruction.results.iter().zip(release.results))
        .map(|(result, dies)| format!("R{}{}", result.register.0, if dies { "!" } else { "" }))
        .collect();
    let read: Vec<String> =
        instruction.sources.iter().map(|source| format!("R{}", source.register.0)).collect();
    let freed: Vec<String> = release.registers.iter().map(|register| format!("R{}", register.0)).collect();
    let freed = if freed.is_empty() { String::new() } else { format!("  free {}", freed.join(" ")) };
    let arrow = if written.is_empty() { "" } else { " <-" };
    let line = format!(
        "{:5}   {:14}{arrow:3} {:16} {:20}{freed}",
        instruction.pc,
        written.join(" "),
        read.join(" "),
        instruction.text
    );
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}", line.trim_end());
}
