//! Storage of the lookup table and of the extended scoreboard (§4.3.5).

use anyhow::Result;
use warpfile_hdl::greener::{ENTERS, LEAVES, LookupTable};
use warpfile_hdl::rtl::elaborate;
use warpfile_kernels::program::{MAX_RESULTS, MAX_SOURCES};

use crate::figures::chart::{Bars, Chart, Plot};
use crate::figures::number::{Number, Stated};
use crate::figures::report::{Cell, Claim, Content, Table};
use crate::figures::storage::netlist_bits;

/// Warps of an SM, and its schedulers (Table 4.2).
const WARPS: usize = 64;
const SCHEDULERS: usize = 4;
/// Entries of each warp (§4.2.4: fewer than two on average).
const ENTRIES: usize = 2;
/// Bits that name one of 64 registers of a thread (§4.3.5).
const REGISTER_BITS: usize = 6;
/// Bits of a PC: what the thesis's 1280 bytes leave for it with 8 registers an instruction.
const PC_BITS: usize = 32;
/// Registers that an instruction reads at most, and as many that it writes (§4.2.2, §4.3.5).
const PTXPLUS: usize = 4;
/// Bits of an instruction's number, which stands in the place of the PC here.
const NUMBER_BITS: usize = 8;
/// Bits of the counter of taken entries in a scheduler's table, which an invariant compares with them.
const COUNTER_BITS: usize = 6;
/// What the thesis's structures take, bytes (§4.3.5).
const LOOKUP_TABLE: u64 = 1280;
const SCOREBOARD: u64 = 192;

/// What the thesis's structures take by its formulas, and the circuits here.
pub fn overheads() -> Result<Content> {
    let bytes = |bits: usize| bits as u64 / 8;
    let lookup = lookup_table_bits()? * SCHEDULERS as u64 / 8;
    let rows = [
        (
            "lookup table",
            "lookup_table",
            LOOKUP_TABLE,
            bytes(WARPS * ENTRIES * (PC_BITS + REGISTER_BITS * 2 * PTXPLUS)),
            lookup,
        ),
        (
            "scoreboard of reads",
            "scoreboard",
            SCOREBOARD,
            bytes(PTXPLUS * WARPS * REGISTER_BITS),
            bytes(MAX_SOURCES * WARPS * REGISTER_BITS),
        ),
    ];
    let mut table = Table::new("bytes", "Bytes an SM, at 64 warps and 64 registers a thread")
        .column("structure", "structure")
        .column("thesis", "thesis")
        .column("formula", "its formula")
        .column("here", "here");
    let here = rows.iter().map(|row| Some(row.4 as f64)).collect();
    let paper = rows.iter().map(|row| Some(row.2 as f64)).collect();
    let drawn = Chart {
        title: "storage of an SM".to_owned(),
        x_label: String::new(),
        y_label: "bytes".to_owned(),
        plot: Plot::Bars {
            groups: rows.iter().map(|row| row.0.to_owned()).collect(),
            series: vec![Bars { paper, ..Bars::new("here", here) }],
            stacked: false,
        },
    };
    let mut claims = Vec::new();
    for (name, key, thesis, formula, here) in rows {
        table.row(vec![name.into(), thesis.into(), formula.into(), Cell::Integer(here)]);
        let claim = Claim::new("§4.3.5", format!("{name}: {thesis} bytes"), format!("{here} bytes"));
        let what = format!("storage of the {name}");
        let number = Number::of("bytes", key, what, Stated::exactly(thesis as f64), Some(here as f64));
        claims.push(claim.number(number.derived()));
    }
    claims.push(Claim::new(
        "Table 4.4",
        "sleep transistors: 0.04709 mm²; 8 bits more an instruction: less than 0.0001 % area and 0.005 % leakage of an SM",
        "n/a: the grid has no column for the area of gating, and instructions have no encoding",
    ));
    let note = format!(
        "The lookup table is the circuit's, as its manifest has it: tables and registers of {SCHEDULERS} of {} warps. An \
         instruction here reads {MAX_SOURCES} registers and writes {MAX_RESULTS} at most, each with a bit that says whether \
         it is there, and has a number of {NUMBER_BITS} bits in the place of its PC. The scoreboard's is that of as many \
         sources. In runs circuits are built for 256 registers a thread: two bits more each.",
        WARPS / SCHEDULERS
    );
    Ok(Content { claims, tables: vec![table, differences()], notes: vec![note], charts: vec![drawn] })
}

/// What leads from the thesis's formulas to the structures here, bits of an entry each; a scoreboard has one entry a warp.
fn steps() -> Vec<(&'static str, i64, i64)> {
    let signed = |bits: usize| bits as i64;
    let (registers, fewer) =
        (signed(MAX_SOURCES + MAX_RESULTS), signed(2 * PTXPLUS) - signed(MAX_SOURCES + MAX_RESULTS));
    vec![
        ("a number of 8 bits, not a PC of 32", signed(NUMBER_BITS) - signed(PC_BITS), 0),
        (
            "registers that an instruction has at most",
            -fewer * signed(REGISTER_BITS),
            (signed(MAX_SOURCES) - signed(PTXPLUS)) * signed(REGISTER_BITS),
        ),
        ("whether each of them is there", registers, 0),
        ("whether the entry is taken", 1, 0),
    ]
}

/// The differences in bytes of an SM.
fn differences() -> Table {
    let mut table = Table::new("differences", "From the thesis's bytes to those here")
        .column("step", "step")
        .column("lookup_table", "lookup table")
        .column("scoreboard", "scoreboard of reads");
    let bytes = |bits: i64, entries: usize| Cell::Text(format!("{:+}", bits * entries as i64 / 8));
    for (step, lookup, scoreboard) in steps() {
        table.row(vec![step.into(), bytes(lookup, WARPS * ENTRIES), bytes(scoreboard, WARPS)]);
    }
    table.row(vec![
        "a counter that an invariant compares".into(),
        bytes(COUNTER_BITS as i64, SCHEDULERS),
        bytes(0, WARPS),
    ]);
    table
}

/// Bits of tables and registers that the manifest of a scheduler's lookup table lists.
fn lookup_table_bits() -> Result<u64> {
    let circuit = LookupTable {
        warps: WARPS / SCHEDULERS,
        entries: ENTRIES,
        operands: MAX_SOURCES + MAX_RESULTS,
        register_bits: REGISTER_BITS,
        number_bits: NUMBER_BITS,
        enters: ENTERS,
        leaves: LEAVES,
        searches: 2 * (MAX_SOURCES + 1) + 1,
    };
    netlist_bits(&elaborate(&circuit)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formulas_give_what_the_thesis_says() {
        let content = overheads().expect("elaborates");
        let text = content.tables[0].to_markdown();
        for bytes in [LOOKUP_TABLE, SCOREBOARD] {
            assert!(text.contains(&format!("| {bytes:>6} | {bytes:>11} |")), "{text}");
        }
    }

    #[test]
    fn the_steps_lead_from_the_thesis_to_the_circuit() {
        let bytes = |bits: i64, entries: usize| bits * entries as i64 / 8;
        let lookup: i64 = steps().iter().map(|step| bytes(step.1, WARPS * ENTRIES)).sum();
        let scoreboard: i64 = steps().iter().map(|step| bytes(step.2, WARPS)).sum();
        let counters = bytes(COUNTER_BITS as i64, SCHEDULERS);
        let here = lookup_table_bits().expect("elaborates") * SCHEDULERS as u64 / 8;
        assert_eq!(LOOKUP_TABLE as i64 + lookup + counters, here as i64);
        assert_eq!(SCOREBOARD as i64 + scoreboard, (MAX_SOURCES * WARPS * REGISTER_BITS / 8) as i64);
    }

    #[test]
    fn a_lookup_table_holds_its_entries() {
        // 16 warps of 2 entries: a number of 8 bits, 7 registers of 6 and whether each is there, and whether it is taken. An
        // invariant counts what is taken: 6 bits.
        assert_eq!(lookup_table_bits().expect("elaborates"), 16 * 2 * (8 + 7 * (6 + 1) + 1) + 6);
    }
}
