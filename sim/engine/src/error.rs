//! What can go wrong when a circuit is prepared or asked for something it does not have.

use thiserror::Error;

/// Why a circuit cannot be run or a name cannot be resolved.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EngineError {
    /// A name that the circuit does not have.
    #[error("no {kind} `{name}` in `{circuit}`; {}", suggestion(.near))]
    Unknown {
        /// What was asked for: `input`, `output`, `signal`, …
        kind: &'static str,
        /// The name asked for.
        name: String,
        /// The outermost circuit.
        circuit: String,
        /// Names that exist and look like it, nearest first.
        near: Vec<String>,
    },
    /// A row beyond a table's last.
    #[error("table `{table}` has rows 0 to {}, asked for row {row}", .depth - 1)]
    RowOutOfRange {
        /// Path of the table.
        table: String,
        /// Row asked for.
        row: u32,
        /// Rows of the table.
        depth: u32,
    },
    /// Signals that depend on themselves within a cycle.
    #[error("combinational loop: {}", .path.join(" -> "))]
    CombinationalLoop {
        /// The signals around the loop.
        path: Vec<String>,
    },
    /// An input of a sub-circuit without a driver.
    #[error("input `{path}` of a sub-circuit is not driven")]
    UndrivenInput {
        /// Path of the port.
        path: String,
    },
    /// An output without a driver.
    #[error("output `{path}` is not driven")]
    UndrivenOutput {
        /// Path of the port.
        path: String,
    },
    /// A circuit beyond what 32-bit offsets into the engine's memory can name.
    #[error("`{circuit}` needs more than 2^32 words of state and signals")]
    TooLarge {
        /// The outermost circuit.
        circuit: String,
    },
    /// Machine code that could not be made.
    #[error("`{circuit}` cannot be compiled for this machine: {problem}; the interpreter runs it")]
    Compile {
        /// The outermost circuit.
        circuit: String,
        /// What the code generator says.
        problem: String,
    },
    /// A snapshot of another circuit, or of this one prepared with other options.
    #[error("the snapshot was not taken of `{circuit}` under these options")]
    ForeignSnapshot {
        /// The outermost circuit.
        circuit: String,
    },
}

/// An invariant or an assumption that did not hold.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("invariant `{path}` does not hold in cycle {cycle}")]
pub struct Violation {
    /// Path of the invariant or assumption: that of its circuit, and its name.
    pub path: String,
    /// Cycle in which it was first seen, counted from 0.
    pub cycle: u64,
}

impl EngineError {
    /// The error for `name`, which is none of `existing`.
    pub fn unknown<'a>(
        kind: &'static str,
        name: &str,
        circuit: &str,
        existing: impl Iterator<Item = &'a str>,
    ) -> EngineError {
        EngineError::Unknown {
            kind,
            name: name.to_owned(),
            circuit: circuit.to_owned(),
            near: nearest(name, existing),
        }
    }
}

/// Names listed in an error.
const SUGGESTIONS: usize = 5;

fn nearest<'a>(name: &str, existing: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut ranked: Vec<_> =
        existing.map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate)).collect();
    ranked.sort();
    ranked.into_iter().take(SUGGESTIONS).map(|(_, candidate)| candidate.to_owned()).collect()
}

fn suggestion(near: &[String]) -> String {
    if near.is_empty() {
        "it has none".to_owned()
    } else {
        format!("the nearest are `{}`", near.join("`, `"))
    }
}
