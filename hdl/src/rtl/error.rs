//! What can be wrong with a description.

use std::fmt;

use super::netlist::SourceLine;

/// A parameter outside the range its circuit accepts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{circuit}: parameter `{parameter}` is {value}; allowed: {allowed}")]
pub struct ParameterError {
    /// Name of the circuit.
    pub circuit: String,
    /// Name of the parameter.
    pub parameter: String,
    /// The value it was given.
    pub value: String,
    /// What would be accepted.
    pub allowed: String,
}

/// Everything that is wrong with a circuit; at least one error.
#[derive(Clone, Debug, PartialEq)]
pub struct ElaborationErrors(pub Vec<ElaborationError>);

impl std::error::Error for ElaborationErrors {}

impl fmt::Display for ElaborationErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ElaborationError::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// One error, with where it is in the circuit and in its description.
#[derive(Clone, Debug, PartialEq)]
pub struct ElaborationError {
    /// Instance names from the outermost circuit down, joined by dots. Empty if the circuit was not begun.
    pub path: String,
    /// Line of the description; `None` if no single line is to blame.
    pub source: Option<SourceLine>,
    /// What is wrong.
    pub problem: Problem,
}

impl fmt::Display for ElaborationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "{}", self.problem)?;
        match self.source {
            Some(line) => write!(f, " ({line})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// `n` bits, in words.
fn bits(n: u32) -> String {
    match n {
        1 => "1 bit".to_string(),
        n => format!("{n} bits"),
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// A parameter is out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Operands that must have one width have two.
    #[error(
        "`{operation}` needs operands of one width: {left} has {left_width} bits, {right} has {right_width}"
    )]
    OperandWidths {
        /// The operation.
        operation: &'static str,
        /// First operand.
        left: String,
        /// Its bits.
        left_width: u32,
        /// Second operand.
        right: String,
        /// Its bits.
        right_width: u32,
    },
    /// A value has another width than the place it goes to.
    #[error("{place} takes {}, {value} has {found}", bits(*needed))]
    Width {
        /// Where the value goes.
        place: String,
        /// Bits it takes.
        needed: u32,
        /// The value.
        value: String,
        /// Its bits.
        found: u32,
    },
    /// A slice reaches beyond its operand.
    #[error("bits {low} … {} of {value} were asked for, which has {width} bits", low + taken - 1)]
    SliceBeyond {
        /// The operand.
        value: String,
        /// Its bits.
        width: u32,
        /// Lowest bit asked for.
        low: u64,
        /// Bits asked for.
        taken: u64,
    },
    /// An extension that would have to cut.
    #[error("{value} has {width} bits and cannot be extended to {asked}")]
    NotAnExtension {
        /// The operand.
        value: String,
        /// Its bits.
        width: u32,
        /// Bits asked for.
        asked: u64,
    },
    /// A width or depth that no hardware has.
    #[error("{thing} is {size}; allowed: 1 to {limit}")]
    Size {
        /// What has the size.
        thing: String,
        /// The size.
        size: u64,
        /// The largest allowed.
        limit: u64,
    },
    /// A constant that needs more bits than it was given.
    #[error("the constant {value} does not fit {width} bits")]
    ConstantTooWide {
        /// The constant.
        value: String,
        /// Bits it was given.
        width: u32,
    },
    /// Something that cannot be cut into equal parts.
    #[error("`{operation}`: {whole} do not divide into {parts}")]
    Lanes {
        /// The operation.
        operation: &'static str,
        /// The bits of a vector, or the lanes of a field.
        whole: String,
        /// The parts asked for.
        parts: String,
    },
    /// Too many elements of a repeated port or group.
    #[error("{count} times `{name}` were asked for; allowed: at most {limit}")]
    Elements {
        /// The port or group.
        name: String,
        /// Elements asked for.
        count: usize,
        /// The most allowed.
        limit: usize,
    },
    /// Lists of ports or groups that are to be connected one by one.
    #[error("{left} ports or groups cannot be connected with {right}")]
    Lengths {
        /// Elements of the first.
        left: usize,
        /// Elements of the second.
        right: usize,
    },
    /// Something that has no elements.
    #[error("`{operation}` of nothing")]
    Empty {
        /// The operation.
        operation: &'static str,
    },
    /// An assignment to a value.
    #[error("{value} cannot be assigned: only outputs, wires, registers and the inputs of a sub-circuit can")]
    NotAssignable {
        /// The value.
        value: String,
    },
    /// Nothing drives an output, wire, register or sub-circuit input.
    #[error("{target} is not driven")]
    NotDriven {
        /// What is not driven.
        target: String,
    },
    /// Some combination of conditions leaves an output, wire or sub-circuit input without a driver.
    #[error(
        "{target} is not driven when none of the conditions on its assignments holds; give it a default before them"
    )]
    PartlyDriven {
        /// What is not driven.
        target: String,
    },
    /// An assignment that a later one always overrides.
    #[error("{target} is driven twice: what {first} assigns is always overridden")]
    DrivenTwice {
        /// What is driven.
        target: String,
        /// The overridden assignment.
        first: SourceLine,
    },
    /// Two things of one module have one name.
    #[error("the name `{name}` is taken by another {kind}")]
    DuplicateName {
        /// The name.
        name: String,
        /// What has it already.
        kind: &'static str,
    },
    /// A name that would not survive in Verilog.
    #[error("`{name}` is not a name: lower-case letters, digits and `_`, a letter first, no Verilog keyword")]
    BadName {
        /// The name.
        name: String,
    },
    /// Two circuits, or two sets of parameters of one, print as one module.
    #[error("two circuits are called `{name}`: {first} and {second}")]
    ModuleName {
        /// The name.
        name: String,
        /// One of them.
        first: String,
        /// The other.
        second: String,
    },
    /// Nobody reads an output of a sub-circuit.
    #[error("nobody reads `{instance}.{port}`; call `.ignore()` on it if that is meant")]
    UnreadOutput {
        /// The sub-circuit.
        instance: String,
        /// Its port.
        port: String,
    },
    /// A value depends on itself within a cycle.
    #[error("combinational loop: {}", steps.join(" <- "))]
    CombinationalLoop {
        /// What depends on what, the first step repeated at the end.
        steps: Vec<String>,
    },
    /// More ports than the table declares.
    #[error("table `{table}` declares {declared} {kind} ports; `{port}` is one more")]
    TooManyPorts {
        /// The table.
        table: String,
        /// Read or write.
        kind: &'static str,
        /// What `ports` declared.
        declared: usize,
        /// The port that is too much.
        port: String,
    },
    /// Valid bits of a table without them.
    #[error("table `{table}` has no valid bits; declare them with `.valid_bits()`")]
    NoValidBits {
        /// The table.
        table: String,
    },
    /// Lanes of a table, or of a write, without laned fields.
    #[error("{place} has no field with lanes")]
    NoLanes {
        /// The table or the port.
        place: String,
    },
    /// Laned fields that disagree.
    #[error(
        "table `{table}`: the laned fields of a table have equally many lanes; `{field}` has {lanes}, another {other}"
    )]
    LaneCounts {
        /// The table.
        table: String,
        /// The field.
        field: String,
        /// Its lanes.
        lanes: u32,
        /// Lanes of an earlier field.
        other: u32,
    },
    /// Something that only outputs have.
    #[error("{value} is not {needed}")]
    NotAnOutput {
        /// The value.
        value: String,
        /// What it should be.
        needed: &'static str,
    },
    /// Sub-circuits nested without end.
    #[error("sub-circuits are nested more than {limit} deep")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
}
