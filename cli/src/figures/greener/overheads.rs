//! Storage of the lookup table and of the extended scoreboard (§4.3.5).

use anyhow::Result;
use warpfile_kernels::program::{MAX_RESULTS, MAX_SOURCES};

use crate::figures::report::{Cell, Content, Table};

/// Warps of an SM (Table 4.2).
const WARPS: usize = 64;
/// Entries of each (§4.2.4: fewer than two on average).
const ENTRIES: usize = 2;
/// Bits that name one of 64 registers of a thread (§4.3.5).
const REGISTER_BITS: usize = 6;
/// Bits of a PC: what the thesis's 1280 bytes leave for it, with 8 registers an instruction.
const PC_BITS: usize = 32;
/// Sources and destinations of a PTXPlus instruction, each (§4.2.2).
const PTXPLUS: usize = 4;
/// Bits of an instruction's number here.
const NUMBER_BITS: usize = 8;

/// The thesis's formulas at its parameters, and the tables of the circuits here at the same.
pub fn overheads() -> Result<Content> {
    let bytes = |bits: usize| (bits / 8) as u64;
    let thesis_lookup = WARPS * ENTRIES * (PC_BITS + REGISTER_BITS * 2 * PTXPLUS);
    // A number, and for each register its name and whether there is one; whether the entry is taken.
    let operands = MAX_SOURCES + MAX_RESULTS;
    let lookup = WARPS * ENTRIES * (NUMBER_BITS + operands * (REGISTER_BITS + 1) + 1);
    let rows = [
        ("lookup table", 1280, thesis_lookup, lookup),
        ("scoreboard", 192, PTXPLUS * WARPS * REGISTER_BITS, MAX_SOURCES * WARPS * REGISTER_BITS),
    ];
    let mut table = Table::new("bytes", "Bytes an SM, at 64 warps and 64 registers a thread")
        .column("structure", "structure")
        .column("thesis", "thesis")
        .column("formula", "its formula")
        .column("here", "here");
    for (name, thesis, formula, here) in rows {
        table.row(vec![
            name.into(),
            Cell::Integer(thesis),
            Cell::Integer(bytes(formula)),
            Cell::Integer(bytes(here)),
        ]);
    }
    let note = format!(
        "An instruction here reads {MAX_SOURCES} registers and writes {MAX_RESULTS} at most, and has a number of \
         {NUMBER_BITS} bits in the place of its PC. Circuits are built for 256 registers a thread: two bits more each."
    );
    Ok(Content { tables: vec![table], notes: vec![note], ..Content::default() })
}
