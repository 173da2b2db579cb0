//! What a parameter is: name, documentation and accepted values, declared once beside its field.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Table;

use super::variants::variants;

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
    /// One of a few words; see [`Accepted::one_of`].
    Word(&'static [&'static str]),
    /// A stack of mechanisms.
    Stack,
    /// Any text.
    Text,
}

impl Accepted {
    /// A whole number from `low` to `high`.
    pub const fn integer(low: u64, high: u64) -> Accepted {
        Accepted::Integer { low, high }
    }

    /// A number from `low` to `high`.
    pub const fn real(low: f64, high: f64) -> Accepted {
        Accepted::Real { low, high }
    }

    /// One of the variants of the enumeration `E`, by the names that serde gives them: the enumeration is the list of choices.
    pub fn one_of<E: DeserializeOwned>() -> Accepted {
        Accepted::Word(variants::<E>())
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
            Accepted::Stack => write!(f, "a design, or mechanisms joined by +, as two-level+banked"),
            Accepted::Text => write!(f, "text"),
        }
    }
}

/// A section of the configuration that a mechanism declares: `[name]`, with a default for each parameter.
pub trait Section: Clone + Serialize + DeserializeOwned {
    /// Its name in files and before the dot of its parameters.
    const NAME: &'static str;

    /// The values where neither a preset nor the user says anything.
    fn defaults() -> Self;

    /// Its parameters, in the order of their declaration.
    fn parameters() -> Vec<Parameter>;
}

/// A [`Section`] whose type is not known.
#[derive(Clone, Debug)]
pub struct SectionInfo {
    /// Its name.
    pub name: &'static str,
    /// Its parameters, in the order of their declaration.
    pub parameters: Vec<Parameter>,
    /// Their defaults.
    pub defaults: Table,
}

impl SectionInfo {
    /// Of a section.
    pub fn of<S: Section>() -> SectionInfo {
        let defaults = Table::try_from(S::defaults()).expect("a section holds only numbers, flags and text");
        SectionInfo { name: S::NAME, parameters: S::parameters(), defaults }
    }
}

/// Declares a section of the configuration: its struct, and the [`Parameter`] of each field. A section of a mechanism has a
/// name and defaults: see [`Section`].
#[macro_export]
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
            /// The parameters of the section `section`, in the order of their declaration.
            pub(crate) fn describe(section: &str) -> Vec<$crate::config::Parameter> {
                vec![$( $crate::config::Parameter {
                    name: format!("{section}.{}", stringify!($field)),
                    doc: concat!($($doc),*).trim().to_owned(),
                    accepted: $accepted,
                }),*]
            }
        }
    };
    (
        $(#[doc = $section_doc:literal])*
        pub struct $name:ident in $section:literal {
            $( $(#[doc = $doc:literal])* $field:ident: $type:ty = $default:expr, $accepted:expr; )*
        }
    ) => {
        $crate::parameters! {
            $(#[doc = $section_doc])*
            pub struct $name {
                $( $(#[doc = $doc])* $field: $type = $accepted, )*
            }
        }

        impl $crate::config::Section for $name {
            const NAME: &'static str = $section;

            fn defaults() -> $name {
                $name { $( $field: $default, )* }
            }

            fn parameters() -> Vec<$crate::config::Parameter> {
                $name::describe($section)
            }
        }
    };
}
pub(super) use parameters;
