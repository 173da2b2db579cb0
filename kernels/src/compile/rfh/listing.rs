//! A program with its values placed as text.

use std::fmt::Write;

use super::placement::{Placement, Places, Upper};
use crate::compile::cfg::Cfg;
use crate::compile::dominators::Postdominators;
use crate::compile::listing::write_heading;
use crate::program::{Instruction, PhysReg, Program};

const LEGEND: &str = "\
// S     suspends its warp: waits for a long-latency result
// Rn    in the main register file
// Rn.l  in the last result file, Rn.k in entry k of the operand register file
// Rn+k  read from the main register file and copied to entry k
// Rn.l* written to the main register file, too
";

/// The program with a heading for each block and each strand, one instruction a line.
pub fn listing(program: &Program, placement: &Placement, cfg: &Cfg) -> String {
    let postdominators = Postdominators::new(cfg);
    let mut text = format!(
        "// {}: {} instructions, {} registers a thread, {} strands\n{LEGEND}",
        program.name,
        program.instructions.len(),
        program.registers_per_thread,
        placement.strands.len()
    );
    for (number, strand) in placement.strands.iter().enumerate() {
        for position in strand.start as usize..strand.end as usize {
            let block = cfg.block_of(position);
            if cfg.block(block).instructions.start == position {
                write_heading(&mut text, cfg, &postdominators, block);
            }
            if position == strand.start as usize {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "  strand {number}");
            }
            write_instruction(&mut text, &program.instructions[position], &placement.places[position]);
        }
    }
    text
}

fn write_instruction(text: &mut String, instruction: &Instruction, places: &Places) {
    let written: Vec<String> = (instruction.results.iter().zip(places.results))
        .map(|(result, place)| {
            let too = if place.main && place.upper.is_some() { "*" } else { "" };
            format!("{}{too}", operand(result.register, place.upper))
        })
        .collect();
    let read: Vec<String> = (instruction.sources.iter().zip(places.sources))
        .map(|(source, place)| {
            let copied = place.copied_to.map_or(String::new(), |entry| format!("+{entry}"));
            format!("{}{copied}", operand(source.register, place.upper))
        })
        .collect();
    let arrow = if written.is_empty() { "" } else { " <-" };
    let line = format!(
        "{:5} {} {:14}{arrow:3} {:24} {}",
        instruction.pc,
        if instruction.suspends { "S" } else { " " },
        written.join(" "),
        read.join(" "),
        instruction.text
    );
    let _ = writeln!(text, "{}", line.trim_end());
}

fn operand(register: PhysReg, upper: Option<Upper>) -> String {
    match upper {
        None => format!("R{}", register.0),
        Some(Upper::Lrf) => format!("R{}.l", register.0),
        Some(Upper::Orf(entry)) => format!("R{}.{entry}", register.0),
    }
}
