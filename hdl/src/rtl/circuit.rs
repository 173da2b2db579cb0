//! What a circuit is: a struct of parameters that knows how to build itself.

use std::fmt::{Debug, Display};
use std::ops::RangeInclusive;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::ParameterError;
use super::module::Module;
use super::ports::Ports;

/// Longest module name made from parameters; longer ones end in a hash of the parameters.
const LONGEST_MODULE_NAME: usize = 48;

/// Doc comments that can be read at run time. Derive it: `#[derive(Documented)]`.
pub trait Documented {
    /// Doc comment of the struct: the circuit's purpose, timing contract and source.
    const DOC: &'static str;
    /// Name and doc comment of each field, in declaration order.
    const PARAMETERS: &'static [(&'static str, &'static str)];
}

/// A circuit: a plain struct of parameters with `validate()` and `build()`.
///
/// The struct's doc comment is the header of the circuit and of its Verilog: purpose, timing, source.
pub trait Circuit: Documented + Clone + Debug + Serialize + DeserializeOwned + 'static {
    /// The ports. Derive them: `#[derive(Ports)]`.
    type Io<'m>: Ports<'m, Self>;

    /// Name in the library, and the start of the module's name: `register_file_cache`.
    const NAME: &'static str;

    /// Says which parameter is out of range, if one is. See [`check_range`](Circuit::check_range).
    fn validate(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    /// Describes the circuit. Called once for each set of parameters in a design, with valid parameters.
    fn build<'m>(&self, m: &Module<'m>, io: &Self::Io<'m>);

    /// Name of the module, one for each set of parameters: `register_file_cache_8x6` by default.
    fn module_name(&self) -> String {
        default_module_name::<Self>(&parameters_of(self))
    }

    /// An error unless `value` is in `allowed`.
    fn check_range(
        parameter: &str,
        value: usize,
        allowed: RangeInclusive<usize>,
    ) -> Result<(), ParameterError> {
        let text = format!("{} to {}", allowed.start(), allowed.end());
        Self::check(allowed.contains(&value), parameter, value, &text)
    }

    /// An error naming the parameter, its value and what is allowed, unless `holds`.
    fn check(holds: bool, parameter: &str, value: impl Display, allowed: &str) -> Result<(), ParameterError> {
        if holds {
            return Ok(());
        }
        Err(ParameterError {
            circuit: Self::NAME.to_string(),
            parameter: parameter.to_string(),
            value: value.to_string(),
            allowed: allowed.to_string(),
        })
    }
}

/// Parameters by name, in declaration order, as text.
pub(super) fn parameters_of<C: Circuit>(circuit: &C) -> Vec<(String, String)> {
    // A struct of numbers, flags, names and nested structs of these always serialises; anything that does
    // not has no text, and shows as such.
    let value = serde_json::to_value(circuit).unwrap_or_default();
    C::PARAMETERS
        .iter()
        .map(|(name, _)| {
            let text = match value.get(name) {
                Some(serde_json::Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => String::new(),
            };
            (name.to_string(), text)
        })
        .collect()
}

fn default_module_name<C: Circuit>(parameters: &[(String, String)]) -> String {
    let values: Vec<String> = parameters.iter().map(|(_, value)| identifier_part(value)).collect();
    let name = match values.is_empty() {
        true => C::NAME.to_string(),
        false => format!("{}_{}", C::NAME, values.join("x")),
    };
    if name.len() <= LONGEST_MODULE_NAME {
        return name;
    }
    let all: String = parameters.iter().map(|(_, value)| format!("{value};")).collect();
    format!("{}_{:08x}", C::NAME, fnv1a(&all))
}

/// `value` with everything but letters and digits removed, in lower case; flags become 0 and 1.
fn identifier_part(value: &str) -> String {
    match value {
        "false" => "0".to_string(),
        "true" => "1".to_string(),
        other => other.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase(),
    }
}

/// The FNV-1a hash of `text`, 32 bits: short, and the same on every machine.
fn fnv1a(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
