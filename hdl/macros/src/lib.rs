//! Derive macros of the construction core.
//!
//! `Ports` turns a struct of signals into the ports of a circuit; `Documented` makes a parameter struct's doc
//! comments readable at run time, so that the Verilog header and the library print what the source says.

mod documented;
mod ports;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Ports of a circuit, or a group of ports inside one.
///
/// A field of type `In<'m>` or `Out<'m>` is a port named after the field; the name ends in `_i` or `_o`. Any
/// other type is a nested group whose ports are prefixed with the field's name and `_`.
///
/// - `#[params(Type)]` on the struct: the parameters, called `p` in the expressions below. Without it a group
///   takes whatever parameters its user has, and no expression may use `p`.
/// - `#[bits(expr)]`: width of a port; 1 without it.
/// - `#[repeat(expr)]` on a `Vec<…>`: number of elements. Ports are numbered before the suffix (`data0_i`),
///   groups after the name (`source0_valid_i`).
/// - `#[repeat_plain(expr)]`: as `repeat`, but a single element has the name of the field, without a number.
/// - `#[with(expr)]`: parameters of a nested group, where they are not the ones of the struct.
#[proc_macro_derive(Ports, attributes(params, bits, repeat, repeat_plain, with))]
pub fn derive_ports(input: TokenStream) -> TokenStream {
    ports::derive(parse_macro_input!(input as DeriveInput)).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// The doc comments of a parameter struct and of its fields, in declaration order.
#[proc_macro_derive(Documented)]
pub fn derive_documented(input: TokenStream) -> TokenStream {
    documented::derive(parse_macro_input!(input as DeriveInput))
        .unwrap_or_else(|e| e.to_compile_error())
        .into()
}
