//! Tests of the construction core and of the library.

mod assignments;
mod bundles;
mod encodings;
mod errors;
mod library;
mod loops;
mod naming;
mod ports;
mod probe;
mod sharing;
mod tables;
