//! Derive macros of the construction core.
//!
//! `Ports` turns a struct of signals into the ports of a circuit, `Record` one of anything into the rows of a table;
//! `Encoding` gives an enumeration its code in hardware; `Documented` makes a parameter struct's doc
//! comments readable at run time, so that the Verilog header and the library print what the source says.

mod documented;
mod encoding;
mod flipped;
mod ports;
mod record;

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
/// - `#[flatten]` on a nested group: its ports are not prefixed.
/// - `#[valid_when(output)]` on an output: it is meaningful only where that output of the struct, of one bit, is 1. A
///   circuit may say otherwise of its own.
/// - `#[flipped(Name)]` on a struct of ports without groups: makes the struct of the other side too, with `valid_o`
///   for `valid_i`, and `Connect` between the two.
///
/// Of `Io` it also makes `IoHandles<I, O>`, a struct with the same fields: `I` for an input, `O` for an output.
#[proc_macro_derive(
    Ports,
    attributes(params, bits, repeat, repeat_plain, with, flatten, valid_when, flipped)
)]
pub fn derive_ports(input: TokenStream) -> TokenStream {
    ports::derive(parse_macro_input!(input as DeriveInput)).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// What a row of a table holds: see the trait `Record`.
///
/// - `#[params(Type)]` on the struct: what widths follow from, called `p` in the expressions below; `()` without it.
/// - `#[bits(expr)]`: width of a field; 1 without it.
/// - `#[lanes(expr)]`: equal parts of the field that writes and reads can mask.
/// - `#[lanes_per_array(expr)]`: lanes that one physical array holds; 1 without it.
#[proc_macro_derive(Record, attributes(params, bits, lanes, lanes_per_array))]
pub fn derive_record(input: TokenStream) -> TokenStream {
    record::derive(parse_macro_input!(input as DeriveInput)).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// The code of an enumeration in hardware: the place of a value in the declaration, and nowhere else.
///
/// Makes `BITS`, `ALL`, `CODES` (each code with its name), `code` and `of_code`, and lets a value stand where a number may:
/// `kind.eq(Kind::Fetch)`, `m.lit(Kind::BITS, Kind::Fetch)`.
#[proc_macro_derive(Encoding)]
pub fn derive_encoding(input: TokenStream) -> TokenStream {
    encoding::derive(parse_macro_input!(input as DeriveInput)).unwrap_or_else(|e| e.to_compile_error()).into()
}

/// The doc comments of a parameter struct and of its fields, in declaration order.
#[proc_macro_derive(Documented)]
pub fn derive_documented(input: TokenStream) -> TokenStream {
    documented::derive(parse_macro_input!(input as DeriveInput))
        .unwrap_or_else(|e| e.to_compile_error())
        .into()
}
