//! A program with its power states as text.

use std::fmt::Write;

use super::states::{Codes, PowerStates};
use super::{Liveness, Parameters};
use crate::compile::cfg::Cfg;
use crate::compile::dominators::Postdominators;
use crate::compile::listing::write_heading;
use crate::program::{Instruction, Program};

const LEGEND: &str = "\
// ON, SLEEP, OFF  states after the instruction: of the register written, of two that are read; those without are in SLEEP
";

/// The program with a heading for each block, one instruction a line, its states behind it as in Fig. 4.3.
pub fn listing(program: &Program, states: &PowerStates, parameters: &Parameters, cfg: &Cfg) -> String {
    let postdominators = Postdominators::new(cfg);
    let liveness = match parameters.liveness {
        Liveness::Sound => "of the warp",
        Liveness::Thesis => "of a thread",
    };
    let mut text = format!(
        "// {}: {} instructions, {} registers a thread, threshold {}, liveness {liveness}\n{LEGEND}",
        program.name,
        program.instructions.len(),
        program.registers_per_thread,
        parameters.threshold,
    );
    for (position, (instruction, codes)) in program.instructions.iter().zip(&states.instructions).enumerate()
    {
        let block = cfg.block_of(position);
        if cfg.block(block).instructions.start == position {
            write_heading(&mut text, cfg, &postdominators, block);
        }
        write_instruction(&mut text, instruction, codes);
    }
    text
}

fn write_instruction(text: &mut String, instruction: &Instruction, codes: &Codes) {
    let registers = |numbers: &mut dyn Iterator<Item = u16>| {
        numbers.map(|number| format!("R{number}")).collect::<Vec<_>>().join(" ")
    };
    let written = registers(&mut instruction.results.iter().map(|result| result.register.0));
    let read = registers(&mut instruction.sources.iter().map(|source| source.register.0));
    let arrow = if written.is_empty() { "" } else { " <-" };
    let listed: Vec<&str> = codes.listed().map(|state| state.as_str()).collect();
    let line = format!(
        "{:5}   {written:14}{arrow:3} {read:16} {:20} {}",
        instruction.pc,
        instruction.text,
        listed.join(", ")
    );
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}", line.trim_end());
}
