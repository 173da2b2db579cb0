//! Every circuit by name, for those who choose circuits and parameters at run time.

use serde_json::{Map, Value, json};

use crate::FOLDERS;
use crate::rtl::netlist::Netlist;
use crate::rtl::{Circuit, ElaborationErrors, elaborate};

/// All circuits, in the order of the folders.
pub fn library() -> Vec<CircuitEntry> {
    FOLDERS.iter().flat_map(|folder| (folder.circuits)()).collect()
}

/// A folder of circuits; its testbenches are in the folder of the same name there.
pub struct Folder {
    /// Name of the folder.
    pub name: &'static str,
    /// Its circuits that can be chosen by name.
    pub circuits: fn() -> Vec<CircuitEntry>,
    /// Testbenches whose mutants are counted: of these circuits, and of what is inside them.
    pub testbenches: &'static [Testbench],
}

/// A circuit and the modules of tests that are its testbench.
#[derive(Clone, Copy, Debug)]
pub struct Testbench {
    /// Name of the circuit.
    pub circuit: &'static str,
    /// The modules, in the folder's tests.
    pub tests: &'static [&'static str],
}

/// A circuit whose type is not known, with its default parameters.
pub struct CircuitEntry {
    /// Name of the circuit.
    pub name: &'static str,
    /// Its header: purpose, timing, source.
    pub doc: &'static str,
    /// Name and doc comment of each parameter, in declaration order.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Default parameters, a JSON object.
    pub defaults: Value,
    /// Overrides at the corners (one row, a depth that is no power of two, one bit), at least two: every
    /// circuit's Verilog is checked at its defaults and at these.
    pub odd: Vec<Value>,
    /// Overrides at which invariants are proven: small enough for a solver, and large enough to tell something.
    pub proven_at: Value,
    elaborate: fn(Value) -> Result<Result<Netlist, ElaborationErrors>, serde_json::Error>,
}

/// Why a circuit of the library cannot be had with the parameters given.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// Overrides that are not a table of names and values.
    #[error("{circuit}: parameters are given as names with values, not as {found}")]
    NotAnObject {
        /// The circuit.
        circuit: &'static str,
        /// What was given.
        found: Value,
    },
    /// A parameter the circuit does not have.
    #[error("{circuit} has no parameter `{parameter}`; it has: {known}")]
    UnknownParameter {
        /// The circuit.
        circuit: &'static str,
        /// What was given.
        parameter: String,
        /// The parameters there are.
        known: String,
    },
    /// A value of another type than the parameter's.
    #[error("{circuit}: parameter `{parameter}` cannot be {value}: {reason}")]
    WrongType {
        /// The circuit.
        circuit: &'static str,
        /// The parameter.
        parameter: String,
        /// What was given.
        value: Value,
        /// What would be accepted.
        reason: String,
    },
    /// The circuit does not elaborate.
    #[error(transparent)]
    Elaboration(#[from] ElaborationErrors),
}

impl CircuitEntry {
    /// An entry whose defaults are the parameters of `circuit`.
    pub fn new<C: Circuit>(circuit: C) -> CircuitEntry {
        CircuitEntry {
            name: C::NAME,
            doc: C::DOC,
            parameters: C::PARAMETERS,
            // A parameter struct serialises; were it not to, every use of the entry says so.
            defaults: serde_json::to_value(circuit).unwrap_or_default(),
            odd: Vec::new(),
            proven_at: json!({}),
            elaborate: elaborate_value::<C>,
        }
    }

    /// The entry with overrides at the corners. At the first its invariants are proven.
    pub fn odd(self, odd: impl Into<Vec<Value>>) -> CircuitEntry {
        let odd = odd.into();
        CircuitEntry { proven_at: odd.first().cloned().unwrap_or_else(|| json!({})), odd, ..self }
    }

    /// The entry whose invariants are proven at other parameters than the first odd ones.
    pub fn proven_at(self, proven_at: Value) -> CircuitEntry {
        CircuitEntry { proven_at, ..self }
    }

    /// The circuit with its defaults, except for the parameters that the object `overrides` gives.
    pub fn elaborate_with(&self, overrides: &Value) -> Result<Netlist, LibraryError> {
        let circuit = self.name;
        let Value::Object(overrides) = overrides else {
            return Err(LibraryError::NotAnObject { circuit, found: overrides.clone() });
        };
        let mut value = self.defaults.clone();
        for (parameter, new) in overrides {
            if !self.parameters.iter().any(|(name, _)| name == parameter) {
                let names: Vec<&str> = self.parameters.iter().map(|(name, _)| *name).collect();
                let (parameter, known) = (parameter.clone(), names.join(", "));
                return Err(LibraryError::UnknownParameter { circuit, parameter, known });
            }
            value[parameter] = new.clone();
        }
        match (self.elaborate)(value) {
            Ok(netlist) => Ok(netlist?),
            Err(error) => Err(self.wrong_type(overrides, &error)),
        }
    }

    /// Which of `overrides` made the parameters unreadable, `error` says how.
    fn wrong_type(&self, overrides: &Map<String, Value>, error: &serde_json::Error) -> LibraryError {
        let unreadable = |(parameter, new): &(&String, &Value)| {
            let mut value = self.defaults.clone();
            value[parameter.as_str()] = (*new).clone();
            (self.elaborate)(value).is_err()
        };
        let (parameter, value) = overrides
            .iter()
            .find(unreadable)
            .map(|(parameter, value)| (parameter.clone(), value.clone()))
            .unwrap_or_default();
        LibraryError::WrongType { circuit: self.name, parameter, value, reason: error.to_string() }
    }
}

/// Elaborates a `C` whose parameters are `value`, if they can be.
fn elaborate_value<C: Circuit>(
    value: Value,
) -> Result<Result<Netlist, ElaborationErrors>, serde_json::Error> {
    Ok(elaborate(&serde_json::from_value::<C>(value)?))
}
