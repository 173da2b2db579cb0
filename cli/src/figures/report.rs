//! What a figure consists of: tables, charts, the paper's claims beside ours.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use warpfile_sim::sm::RunReport;

use super::chart::Chart;
use super::number::Number;
use crate::html;
use crate::table::count;

/// A figure as it is printed and kept.
#[derive(Debug, Serialize)]
pub struct FigureReport {
    /// As on the command line.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Paper, figure or table, section.
    pub source: &'static str,
    /// The command that makes it again.
    pub command: String,
    /// Size of the workloads, if it is made of any.
    pub size: Option<String>,
    /// Workloads, in the order of the tables.
    pub workloads: Vec<&'static str>,
    /// What it took.
    pub effort: Effort,
    /// Tables, claims, notes and charts.
    #[serde(flatten)]
    pub content: Content,
}

/// What a figure shows.
#[derive(Debug, Default, Serialize)]
pub struct Content {
    /// What the paper's text says, and what comes out here.
    pub claims: Vec<Claim>,
    /// Tables.
    pub tables: Vec<Table>,
    /// What a reader has to know to read them.
    pub notes: Vec<String>,
    /// The tables' numbers as charts.
    #[serde(skip)]
    pub charts: Vec<Chart>,
}

/// A statement of the paper and its counterpart here.
#[derive(Debug, Serialize)]
pub struct Claim {
    /// Section or table of the paper.
    pub source: &'static str,
    /// What the paper says.
    pub paper: String,
    /// What comes out here.
    pub here: String,
    /// The numbers in what the paper says, each with ours.
    pub numbers: Vec<Number>,
}

impl Claim {
    /// A claim of `source`.
    pub fn new(source: &'static str, paper: impl Into<String>, here: impl Into<String>) -> Claim {
        Claim { source, paper: paper.into(), here: here.into(), numbers: Vec::new() }
    }

    /// The same with a number of the paper's and ours.
    pub fn number(self, number: Number) -> Claim {
        self.numbers([number])
    }

    /// The same with numbers of the paper's and ours.
    pub fn numbers(mut self, numbers: impl IntoIterator<Item = Number>) -> Claim {
        self.numbers.extend(numbers);
        self
    }
}

/// Runs behind a figure, summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Effort {
    /// Runs of a workload.
    pub runs: u64,
    /// Cycles simulated; 0 for what needs no timing.
    pub cycles: u64,
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Register operands compared with the kernel's values, in warp operands.
    pub operands_checked: u64,
}

impl Effort {
    /// Runs of workloads whose timing does not matter.
    pub fn without_timing(runs: usize, warp_instructions: u64) -> Effort {
        Effort { runs: runs as u64, warp_instructions, ..Effort::default() }
    }

    /// A run of a workload.
    pub fn of(report: &RunReport) -> Effort {
        Effort {
            runs: 1,
            cycles: report.cycles,
            warp_instructions: report.warp_instructions,
            operands_checked: report.operands_checked,
        }
    }
}

impl std::iter::Sum for Effort {
    fn sum<I: Iterator<Item = Effort>>(efforts: I) -> Effort {
        efforts.fold(Effort::default(), |sum, one| Effort {
            runs: sum.runs + one.runs,
            cycles: sum.cycles + one.cycles,
            warp_instructions: sum.warp_instructions + one.warp_instructions,
            operands_checked: sum.operands_checked + one.operands_checked,
        })
    }
}

/// A table; in JSON each row is an object from column keys to values.
#[derive(Debug)]
pub struct Table {
    /// Name in JSON, snake case, with the unit of its values if they share one.
    pub key: &'static str,
    /// Heading.
    pub title: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// A column of a table.
#[derive(Debug)]
struct Column {
    key: String,
    heading: String,
    decimals: usize,
}

/// A value in a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A word.
    Text(String),
    /// A count.
    Integer(u64),
    /// A measurement, printed with the column's decimals.
    Real(f64),
    /// There is no value.
    Missing,
}

impl Table {
    /// A table without columns and rows.
    pub fn new(key: &'static str, title: impl Into<String>) -> Table {
        Table { key, title: title.into(), columns: Vec::new(), rows: Vec::new() }
    }

    /// Adds a column of words or counts.
    pub fn column(self, key: impl Into<String>, heading: impl Into<String>) -> Table {
        self.real(key, heading, 0)
    }

    /// Adds a column of measurements, printed with `decimals`.
    pub fn real(mut self, key: impl Into<String>, heading: impl Into<String>, decimals: usize) -> Table {
        self.columns.push(Column { key: key.into(), heading: heading.into(), decimals });
        self
    }

    /// Adds a row with a cell for each column.
    pub fn row(&mut self, cells: Vec<Cell>) {
        assert_eq!(cells.len(), self.columns.len(), "table {}: a cell a column", self.key);
        self.rows.push(cells);
    }

    /// The table as a page has it.
    pub fn to_page(&self) -> html::Table {
        let column = |(number, column): (usize, &Column)| {
            let is = |kind: fn(&Cell) -> bool| self.rows.iter().any(|row| kind(&row[number]));
            html::Column {
                name: column.heading.clone(),
                text: is(|cell| matches!(cell, Cell::Text(_))),
                decimals: is(|cell| matches!(cell, Cell::Real(_))).then_some(column.decimals),
                dimension: None,
            }
        };
        html::Table {
            title: self.title.clone(),
            columns: self.columns.iter().enumerate().map(column).collect(),
            rows: self.rows.iter().map(|row| row.iter().map(Cell::to_json).collect()).collect(),
        }
    }

    /// The table as aligned Markdown, numbers to the right.
    pub fn to_markdown(&self) -> String {
        let headings: Vec<&str> = self.columns.iter().map(|column| column.heading.as_str()).collect();
        let rows: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| {
                row.iter().zip(&self.columns).map(|(cell, column)| cell.print(column.decimals)).collect()
            })
            .collect();
        let is_text = |column: usize| self.rows.iter().any(|row| matches!(row[column], Cell::Text(_)));
        let text: Vec<bool> = (0..headings.len()).map(is_text).collect();
        markdown(&headings, &rows, &text)
    }
}

/// An aligned Markdown table; columns marked in `text` are flush left.
fn markdown(headings: &[&str], rows: &[Vec<String>], text: &[bool]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([headings[column].chars().count(), 3]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> = cells.collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let pad = |column: usize, cell: &str| {
        let width = widths[column];
        if text[column] { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    };
    let mut out = line(&mut headings.iter().enumerate().map(|(column, heading)| pad(column, heading)));
    let rule = |column: usize| {
        let dashes = "-".repeat(widths[column] - 1);
        if text[column] { format!("{dashes}-") } else { format!("{dashes}:") }
    };
    out += &line(&mut (0..headings.len()).map(rule));
    for row in rows {
        out += &line(&mut row.iter().enumerate().map(|(column, cell)| pad(column, cell)));
    }
    out
}

impl Cell {
    fn to_json(&self) -> Value {
        match self {
            Cell::Text(text) => text.clone().into(),
            Cell::Integer(number) => (*number).into(),
            Cell::Real(number) => (*number).into(),
            Cell::Missing => Value::Null,
        }
    }

    fn print(&self, decimals: usize) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Integer(number) => number.to_string(),
            Cell::Real(number) => format!("{number:.decimals$}"),
            Cell::Missing => "–".to_owned(),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<u64> for Cell {
    fn from(number: u64) -> Cell {
        Cell::Integer(number)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Cell {
        Cell::Real(number)
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Cell {
        number.map_or(Cell::Missing, Cell::Real)
    }
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("key", self.key)?;
        map.serialize_entry("title", &self.title)?;
        let rows: Vec<Row> = self.rows.iter().map(|cells| Row { columns: &self.columns, cells }).collect();
        map.serialize_entry("rows", &rows)?;
        map.end()
    }
}

/// A row as JSON.
struct Row<'t> {
    columns: &'t [Column],
    cells: &'t [Cell],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.columns.iter().map(|column| &column.key).zip(self.cells))
    }
}

impl FigureReport {
    /// Title, claims, tables and notes as Markdown, readable on a terminal.
    pub fn to_markdown(&self) -> String {
        let mut out = format!("## {}: {}\n\n{}\n\n", self.id, self.title, self.source);
        for Claim { source, paper, here, .. } in &self.content.claims {
            out += &format!("- {source}: {paper}\n  here: {here}\n");
        }
        out.push('\n');
        for table in &self.content.tables {
            out += &format!("{}\n\n{}\n", table.title, table.to_markdown());
        }
        for note in &self.content.notes {
            out += &format!("{note}\n\n");
        }
        let Effort { runs, cycles, warp_instructions, operands_checked } = self.effort;
        out += &format!("`{}`", self.command);
        if self.size.is_some() {
            out += &format!(": {} runs, {} warp instructions", count(runs), count(warp_instructions));
        }
        if cycles > 0 {
            let (cycles, operands) = (count(cycles), count(operands_checked));
            out += &format!(", {cycles} cycles, {operands} operands checked and right");
        }
        out.push('\n');
        out
    }
}
