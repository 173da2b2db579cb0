//! A program with its registers mapped as text.

use std::fmt::Write;

use super::placement::{Allocation, Placement, Places};
use crate::compile::cfg::Cfg;
use crate::compile::dominators::Postdominators;
use crate::compile::listing::write_heading;
use crate::program::{Instruction, PhysReg, Program};

const LEGEND: &str = "\
// S     suspends its warp: waits for a long-latency result
// Rn    in the backing store: the main register file, or the register cache in front of it
// Rn.k  in entry k of the scratchpad
// Rn+k  read from the backing store and copied to entry k
// Rn.k* live-out: copied to the backing store
";

/// The program with a heading for each block and each strand, which says what its entries are given to; one instruction a
/// line.
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
                let of_strand = |allocation: &&Allocation| allocation.strand as usize == number;
                for allocation in placement.allocations.iter().filter(of_strand) {
                    write_allocation(&mut text, program, allocation);
                }
            }
            write_instruction(&mut text, &program.instructions[position], &placement.places[position]);
        }
    }
    text
}

fn write_allocation(text: &mut String, program: &Program, allocation: &Allocation) {
    let Allocation { entry, register, is_read, range, accesses, live_outs, score, .. } = allocation;
    let pc = |position: u32| program.instructions[position as usize].pc;
    let kind = if *is_read { "read" } else { "write" };
    let live_outs = if *live_outs > 0 { format!(", {live_outs} live-out") } else { String::new() };
    let _ = writeln!(
        text,
        "    entry {entry}: R{} {} to {}, {kind} allocation of {accesses} accesses{live_outs}, {score:.2} pJ an instruction",
        register.0,
        pc(range.start),
        pc(range.end)
    );
}

fn write_instruction(text: &mut String, instruction: &Instruction, places: &Places) {
    let written: Vec<String> = (instruction.results.iter().zip(places.results))
        .map(|(result, place)| {
            format!("{}{}", operand(result.register, place.entry), if place.live_out { "*" } else { "" })
        })
        .collect();
    let read: Vec<String> = (instruction.sources.iter().zip(places.sources))
        .map(|(source, place)| {
            let copied = place.copied_to.map_or(String::new(), |entry| format!("+{entry}"));
            format!("{}{copied}", operand(source.register, place.entry))
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

fn operand(register: PhysReg, entry: Option<u8>) -> String {
    match entry {
        None => format!("R{}", register.0),
        Some(entry) => format!("R{}.{entry}", register.0),
    }
}
