//! The page of areas in the documentation: written, and read again to see what has grown.

use std::fmt::Write;

use serde_json::{Value, json};
use thiserror::Error;
use warpfile_hdl::library::CircuitEntry;

use crate::area::{AreaReport, Figures};
use crate::liberty::Library;
use crate::sram::outline;

/// One circuit at one set of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRow {
    /// Name in the circuit library.
    pub circuit: String,
    /// Parameters that differ from the defaults: `depth=5, width=1`; `defaults` if none does.
    pub parameters: String,
    /// What it takes.
    pub figures: Figures,
}

/// A row that is not what the page says.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PageError {
    /// A figure is larger than the page allows.
    #[error("{circuit} ({parameters}): {figure} grew from {before} to {now}, by more than {} %", 100.0 * GROWTH)]
    Grown {
        /// The circuit.
        circuit: String,
        /// Its parameters.
        parameters: String,
        /// Which figure.
        figure: &'static str,
        /// On the page.
        before: f64,
        /// As it is.
        now: f64,
    },
    /// The page does not have the row.
    #[error("{circuit} ({parameters}) is not on the page")]
    Missing {
        /// The circuit.
        circuit: String,
        /// Its parameters.
        parameters: String,
    },
    /// A line of the page is no row.
    #[error("line {line} is no row of areas: `{text}`")]
    Malformed {
        /// Line, from 1.
        line: usize,
        /// The line.
        text: String,
    },
}

/// Flip-flops up to which Yosys maps a circuit in seconds, each of its modules counted once.
pub const MOST_FLIP_FLOPS: u64 = 1536;

/// A circuit that is on the page.
pub struct PageCircuit<'l> {
    /// The circuit.
    pub entry: &'l CircuitEntry,
    /// Parameters that differ from the defaults.
    pub overrides: Value,
    /// Whether it has at most [`MOST_FLIP_FLOPS`].
    pub is_small: bool,
}

/// What is on the page: every circuit at its defaults, and at the parameters at which its Verilog is checked as far as it
/// is small with them. Parameters that do not elaborate are not: other tests say so.
pub fn circuits(library: &[CircuitEntry]) -> Vec<PageCircuit<'_>> {
    let all = library.iter().flat_map(|entry| {
        let sets = [json!({})].into_iter().chain(entry.odd.iter().cloned());
        sets.filter_map(move |overrides| {
            let netlist = entry.elaborate_with(&overrides).ok()?;
            let is_small = outline(&netlist).flip_flops() <= MOST_FLIP_FLOPS;
            Some(PageCircuit { entry, overrides, is_small })
        })
    });
    all.filter(|circuit| circuit.is_small || circuit.overrides == json!({})).collect()
}

/// The page.
pub fn page(rows: &[PageRow], library: &Library, yosys: &str) -> String {
    include_str!("page.md")
        .replace("LIBRARY", &library.name)
        .replace("YOSYS", yosys)
        .replace("MOST", &MOST_FLIP_FLOPS.to_string())
        .replace("ROWS\n", &table(rows))
}

/// Growth that is accepted without a new page.
pub const GROWTH: f64 = 0.03;

/// Head of the table.
const HEAD: &str =
    "| circuit | parameters | cells | flip-flops | µm² | NAND2 | depth | SRAMs | SRAM bits | SRAM µm² |";
/// Line below the head.
const RULE: &str = "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|";

impl PageRow {
    /// A circuit's row; `overrides` are the parameters that differ from the defaults.
    pub fn new(circuit: &str, overrides: &Value, report: &AreaReport) -> PageRow {
        PageRow { circuit: circuit.to_owned(), parameters: parameters(overrides), figures: report.total }
    }

    /// Whether it is of a circuit at these parameters.
    pub fn is_of(&self, circuit: &str, overrides: &Value) -> bool {
        self.circuit == circuit && self.parameters == parameters(overrides)
    }

    /// What has grown since the page was made.
    pub fn compare(&self, page: &[PageRow]) -> Vec<PageError> {
        let (circuit, parameters) = (self.circuit.clone(), self.parameters.clone());
        let same = |row: &&PageRow| row.circuit == circuit && row.parameters == parameters;
        let Some(before) = page.iter().find(same) else {
            return vec![PageError::Missing { circuit, parameters }];
        };
        let figures = [
            ("area of the cells", before.figures.area_um2, self.figures.area_um2),
            ("area of the memories", before.figures.memory_area_um2, self.figures.memory_area_um2),
        ];
        let grown = figures.into_iter().filter(|(_, before, now)| *now > before * (1.0 + GROWTH) + ROUNDING);
        grown
            .map(|(figure, before, now)| {
                let (circuit, parameters) = (circuit.clone(), parameters.clone());
                PageError::Grown { circuit, parameters, figure, before, now }
            })
            .collect()
    }
}

/// The page rounds to whole µm².
const ROUNDING: f64 = 1.0;

/// `{"depth": 5, "geometry": {"banks": 1}}` as `depth=5, geometry.banks=1`.
fn parameters(overrides: &Value) -> String {
    let mut found = Vec::new();
    leaves("", overrides, &mut found);
    if found.is_empty() { "defaults".to_owned() } else { found.join(", ") }
}

fn leaves(prefix: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                leaves(&path, member, found);
            }
        }
        Value::String(text) => found.push(format!("{prefix}={text}")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            found.push(format!("{prefix}={value}"))
        }
    }
}

/// Rows as a table.
fn table(rows: &[PageRow]) -> String {
    let mut text = format!("{HEAD}\n{RULE}\n");
    for PageRow { circuit, parameters, figures } in rows {
        let _ = writeln!(
            text,
            "| {circuit} | {parameters} | {} | {} | {:.0} | {:.0} | {} | {} | {} | {:.0} |",
            figures.cells,
            figures.storage_cells,
            figures.area_um2,
            figures.nand2,
            figures.depth,
            figures.memories,
            figures.memory_bits,
            figures.memory_area_um2
        );
    }
    text
}

/// All rows of a page.
pub fn read(page: &str) -> Result<Vec<PageRow>, PageError> {
    let mut rows = Vec::new();
    let mut in_table = false;
    for (index, line) in page.lines().enumerate() {
        match line {
            HEAD => in_table = true,
            RULE => {}
            _ if in_table && line.starts_with('|') => {
                let malformed = || PageError::Malformed { line: index + 1, text: line.to_owned() };
                rows.push(row(line).ok_or_else(malformed)?);
            }
            _ => in_table = false,
        }
    }
    Ok(rows)
}

fn row(line: &str) -> Option<PageRow> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [circuit, parameters, cell_count, storage, area, nand2, depth, memories, bits, memory_area] =
        cells[..]
    else {
        return None;
    };
    Some(PageRow {
        circuit: circuit.to_owned(),
        parameters: parameters.to_owned(),
        figures: Figures {
            cells: cell_count.parse().ok()?,
            storage_cells: storage.parse().ok()?,
            area_um2: area.parse().ok()?,
            nand2: nand2.parse().ok()?,
            memories: memories.parse().ok()?,
            memory_bits: bits.parse().ok()?,
            memory_area_um2: memory_area.parse().ok()?,
            depth: depth.parse().ok()?,
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row_of(area_um2: f64) -> PageRow {
        let figures = Figures { cells: 12, area_um2, nand2: 5.0, depth: 3, ..Figures::default() };
        let overrides = json!({"depth": 5, "geometry": {"banks": 1}, "policy": "lru"});
        PageRow { circuit: "fifo".to_owned(), parameters: parameters(&overrides), figures }
    }

    #[test]
    fn a_page_is_read_as_it_was_written() {
        let rows = [row_of(100.0), PageRow { parameters: parameters(&json!({})), ..row_of(7.0) }];
        assert_eq!(rows[0].parameters, "depth=5, geometry.banks=1, policy=lru");
        assert_eq!(rows[1].parameters, "defaults");
        let page = format!("# Area\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n{}\nText.\n", table(&rows));
        assert_eq!(read(&page), Ok(rows.to_vec()));
    }

    #[test]
    fn growth_beyond_three_per_cent_is_told_and_less_is_not() {
        let page = [row_of(1000.0)];
        assert_eq!(row_of(1029.0).compare(&page), []);
        assert_eq!(row_of(500.0).compare(&page), []);
        let grown = row_of(1040.0).compare(&page);
        assert_eq!(
            grown[0].to_string(),
            "fifo (depth=5, geometry.banks=1, policy=lru): area of the cells grew from 1000 to 1040, by more than 3 %"
        );
    }

    #[test]
    fn a_circuit_that_is_not_on_the_page_is_told() {
        let other = PageRow { circuit: "arbiter".to_owned(), ..row_of(1.0) };
        assert!(matches!(&other.compare(&[row_of(1.0)])[..], [PageError::Missing { .. }]));
        assert!(matches!(read(&format!("{HEAD}\n| x |\n")), Err(PageError::Malformed { line: 2, .. })));
    }
}
