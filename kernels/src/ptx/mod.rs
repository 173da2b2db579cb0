//! PTX front end: text to the typed form of [`ir`].
//!
//! `lex` and `parse` give the syntax (`ast`), `lower` resolves names, checks types, inlines calls and lays
//! out variables. Everything wrong with a file is found here, before anything runs. What is wrong with one
//! entry, or with what it calls, is an error only for who asks for that entry (`entry`).

mod ast;
mod entry;
mod error;
pub mod ir;
mod lex;
mod lower;
mod parse;

pub use entry::{EntryError, is_called, readable};
pub use error::{PtxError, PtxErrors};

/// Parses and checks a PTX file. `file` is its name, for messages.
///
/// # Errors
/// Whatever is malformed or not supported outside of functions, and what keeps the rest of the file from being read, with
/// line, instruction and what is accepted. What is wrong with an entry is in [`ir::Module::refused`].
pub fn parse(file: &str, text: &str) -> Result<ir::Module, PtxErrors> {
    let mut reporter = error::Reporter::new(file);
    let syntax = parse::parse(text, &mut reporter);
    let module = lower::lower(file, &syntax, &mut reporter);
    reporter.finish()?;
    Ok(module)
}
