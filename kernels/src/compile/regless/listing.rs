//! A program with its regions as text, after Fig. 6.

use std::fmt::Write;

use super::regions::{Fate, Marks, Region, Regions};
use crate::compile::cfg::Cfg;
use crate::compile::dominators::Postdominators;
use crate::compile::listing::write_heading;
use crate::program::{Instruction, Program};

const LEGEND: &str = "\
// Rn^  evict: the region's last access, the value lives on
// Rn!  erase: the region's last access, the value is dead
// Rn?  soft: lanes that do not execute may still need their value
// +n   metadata instructions in front
";

/// The program with a heading for each block and each region, one instruction a line.
pub fn listing(program: &Program, regions: &Regions, cfg: &Cfg) -> String {
    let postdominators = Postdominators::new(cfg);
    let mut text = format!(
        "// {}: {} instructions, {} registers a thread, {} regions\n{LEGEND}",
        program.name,
        program.instructions.len(),
        program.registers_per_thread,
        regions.regions.len()
    );
    for (number, region) in regions.regions.iter().enumerate() {
        let start = region.instructions.start as usize;
        let block = cfg.block_of(start);
        if cfg.block(block).instructions.start == start {
            write_heading(&mut text, cfg, &postdominators, block);
        }
        write_region(&mut text, number, region);
        for position in start..region.instructions.end as usize {
            write_instruction(&mut text, &program.instructions[position], &regions.marks[position]);
        }
    }
    text
}

fn write_region(text: &mut String, number: usize, region: &Region) {
    let banks: Vec<String> = region.bank_lines.iter().map(u8::to_string).collect();
    let preloads = region.preloads.iter().map(|preload| {
        format!("R{}{}", preload.register.0, if preload.invalidates { " (invalidating)" } else { "" })
    });
    let invalidations = region.cache_invalidations.iter().map(|register| format!("R{}", register.0));
    // Writing to a String cannot fail.
    let _ = writeln!(text, "  region {number}: live {}, banks {}", region.live, banks.join(" "));
    write_list(text, "preload", preloads.collect());
    write_list(text, "invalidate", invalidations.collect());
}

fn write_list(text: &mut String, what: &str, registers: Vec<String>) {
    if !registers.is_empty() {
        let _ = writeln!(text, "    {what} {}", registers.join(", "));
    }
}

fn write_instruction(text: &mut String, instruction: &Instruction, marks: &Marks) {
    let written: Vec<String> = (instruction.results.iter().zip(marks.results))
        .map(|(result, fate)| {
            format!("R{}{}{}", result.register.0, if result.soft { "?" } else { "" }, mark(fate))
        })
        .collect();
    let read: Vec<String> = (instruction.sources.iter().zip(marks.sources))
        .map(|(source, fate)| format!("R{}{}", source.register.0, mark(fate)))
        .collect();
    let metadata =
        if marks.metadata_before > 0 { format!("+{}", marks.metadata_before) } else { String::new() };
    let arrow = if written.is_empty() { "" } else { " <-" };
    let line = format!(
        "{:5} {metadata:3} {:14}{arrow:3} {:24} {}",
        instruction.pc,
        written.join(" "),
        read.join(" "),
        instruction.text
    );
    let _ = writeln!(text, "{}", line.trim_end());
}

fn mark(fate: Fate) -> &'static str {
    match fate {
        Fate::Keep => "",
        Fate::Evict => "^",
        Fate::Erase => "!",
    }
}
