//! What is needed of a Liberty library: areas, capacitances, functions, leakage, transition times, internal power.
//!
//! The text is read by the crate `liberty-parser`; decision 47 says why.

mod function;
mod read;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use liberty_parser::liberty::Group;
use thiserror::Error;

pub use function::{Function, MOST_INPUTS};
pub use table::Table;

/// The library that is used if no other is named: OSU's standard cells for TSMC 0.18 µm.
pub const DEFAULT_PATH: &str = "/usr/share/qflow/tech/osu018/osu018_stdcells.lib";
/// Debian's package with [`DEFAULT_PATH`].
pub const DEFAULT_PACKAGE: &str = "qflow-tech-osu018";

/// A library of standard cells.
#[derive(Clone, Debug)]
pub struct Library {
    /// Its own name.
    pub name: String,
    /// Supply voltage, V.
    pub voltage: f64,
    /// Cells by name.
    pub cells: BTreeMap<String, Cell>,
}

/// A cell.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Area, µm².
    pub area_um2: f64,
    /// Leakage, mW.
    pub leakage_mw: f64,
    /// Pins by name, without supplies.
    pub pins: BTreeMap<String, Pin>,
    /// What it stores.
    pub storage: Storage,
}

/// What a cell stores.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// Nothing.
    None,
    /// A bit, taken at the rising edge of a clock.
    FlipFlop(FlipFlop),
    /// Something else: a latch, a flip-flop that is cleared or set, or one of the falling edge.
    Other,
}

/// A flip-flop without anything asynchronous.
#[derive(Clone, Debug, PartialEq)]
pub struct FlipFlop {
    /// Name of the stored bit in the functions of the outputs.
    pub state: String,
    /// Name of its complement.
    pub complement: String,
    /// What is taken at the edge, a function of the inputs.
    pub next: Function,
    /// The clock's pin.
    pub clock: String,
}

/// A pin of a cell.
#[derive(Clone, Debug)]
pub struct Pin {
    /// Whether the cell drives it.
    pub is_output: bool,
    /// Capacitance of an input, pF.
    pub capacitance_pf: f64,
    /// What an output shows; none if it can be let go (a tristate driver).
    pub function: Option<Function>,
    /// Energy inside the cell when the pin changes.
    pub internal: Vec<InternalEnergy>,
    /// Transition times of an output.
    pub transitions: Vec<Transition>,
}

/// Energy inside the cell when a pin changes, pJ.
#[derive(Clone, Debug)]
pub struct InternalEnergy {
    /// The input that makes the output change; none for an input pin.
    pub related: Option<String>,
    /// When the pin rises; none if the library says nothing.
    pub rise: Option<Table>,
    /// When the pin falls.
    pub fall: Option<Table>,
}

/// Transition time of an output, ns.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The input that makes the output change.
    pub related: String,
    /// Rising.
    pub rise: Option<Table>,
    /// Falling.
    pub fall: Option<Table>,
}

/// A library that cannot be used.
#[derive(Debug, Error)]
pub enum LibertyError {
    /// The default library is not installed.
    #[error(
        "{DEFAULT_PATH}: there is no such file; Debian's package {DEFAULT_PACKAGE} has it (apt-get install \
         {DEFAULT_PACKAGE}), or --liberty FILE names another library"
    )]
    NotInstalled,
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The text is no library.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where, what, and what would be accepted.
        problem: String,
    },
}

impl Library {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Library, LibertyError> {
        let text = fs::read_to_string(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound if path == Path::new(DEFAULT_PATH) => LibertyError::NotInstalled,
            _ => LibertyError::Read { path: path.to_owned(), source },
        })?;
        Library::parse(&text).map_err(|problem| LibertyError::Malformed { path: path.to_owned(), problem })
    }

    /// Reads a text. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Library, String> {
        let groups = liberty_parser::parse_lib(text).map_err(|error| first_line(&error.to_string()))?;
        match &groups[..] {
            [library] if library.type_ == "library" => read::library(library),
            _ => Err(format!("not a Liberty file; {ACCEPTED}")),
        }
    }

    /// Area of the smallest two-input NAND, µm²: the measure of gate equivalents.
    pub fn nand2_area_um2(&self) -> Option<f64> {
        let nand = |cell: &&Cell| cell.storage == Storage::None && cell.is_nand2();
        self.cells.values().filter(nand).map(|cell| cell.area_um2).min_by(f64::total_cmp)
    }
}

impl Cell {
    fn is_nand2(&self) -> bool {
        let mut outputs = self.pins.values().filter(|pin| pin.is_output);
        let (Some(output), None) = (outputs.next(), outputs.next()) else { return false };
        output.function.as_ref().is_some_and(|f| f.inputs.len() == 2 && f.table == 0b0111)
    }
}

/// The parser's message goes on over many lines with everything it was reading.
fn first_line(message: &str) -> String {
    let number = |line: &str| line.split_once("at line ")?.1.split([':', ',']).next().map(str::to_owned);
    let line = message.lines().find_map(number).unwrap_or_else(|| "1".to_owned());
    match message.lines().find(|line| line.starts_with("expected")) {
        Some(expected) => format!("line {line}: {expected}"),
        None => format!("line {line}: not understood; {ACCEPTED}"),
    }
}

/// What a Liberty file is.
const ACCEPTED: &str = "one group `library (name) { … }` is accepted";

/// Groups of a type in a group.
fn groups<'g>(group: &'g Group, kind: &'g str) -> impl Iterator<Item = &'g Group> {
    group.subgroups.iter().filter(move |inner| inner.type_ == kind)
}
