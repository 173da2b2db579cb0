//! What a parameter is: name, documentation and accepted values, declared once beside its field.

use std::fmt;

use serde::Serialize;

/// A parameter of a [`Config`](super::Config), for listings, checks and error messages.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Dotted name, `rfc.entries`.
    pub name: String,
    /// What it means, with units.
    pub doc: String,
    /// What it may be.
    pub accepted: Accepted,
}

/// Values a parameter accepts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Accepted {
    /// A whole number in an inclusive range.
    Integer {
        /// Lowest.
        low: u64,
        /// Highest.
        high: u64,
    },
    /// A number in an inclusive range.
    Real {
        /// Lowest.
        low: f64,
        /// Highest.
        high: f64,
    },
    /// `true` or `false`.
    Flag,
    /// One of a few words.
    Word(&'static [&'static str]),
    /// Any text.
    Text,
}

impl Accepted {
    /// A whole number from `low` to `high`.
    pub(super) const fn integer(low: u64, high: u64) -> Accepted {
        Accepted::Integer { low, high }
    }

    /// A number from `low` to `high`.
    pub(super) const fn real(low: f64, high: f64) -> Accepted {
        Accepted::Real { low, high }
    }
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Accepted::Integer { low, high } if low == high => write!(f, "{low}"),
            Accepted::Integer { low, high } => write!(f, "a whole number from {low} to {high}"),
            Accepted::Real { low, high } => write!(f, "a number from {low} to {high}"),
            Accepted::Flag => write!(f, "true or false"),
            Accepted::Word(words) => write!(f, "{}", words.join(", ")),
            Accepted::Text => write!(f, "text"),
        }
    }
}

/// Declares a section of the configuration: its struct, and the [`Parameter`] of each field.
macro_rules! parameters {
    (
        $(#[doc = $section_doc:literal])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])* $field:ident: $type:ty = $accepted:expr, )*
        }
    ) => {
        $(#[doc = $section_doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $( $(#[doc = $doc])* pub $field: $type, )*
        }

        impl $name {
            fn describe(section: &str, into: &mut Vec<$crate::config::Parameter>) {
                $( into.push($crate::config::Parameter {
                    name: format!("{section}.{}", stringify!($field)),
                    doc: concat!($($doc),*).trim().to_owned(),
                    accepted: $accepted,
                }); )*
            }
        }
    };
}
pub(super) use parameters;
