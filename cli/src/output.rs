//! Standard output.

use std::io::{self, ErrorKind, Write};

use anyhow::Context;

use crate::errors::printable;

/// Prints text. Whoever reads it may stop reading early, as `head` does.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(printable(text).as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Prints a JSON document.
pub fn print_json(document: &impl serde::Serialize) -> anyhow::Result<()> {
    print(&json(document)?)
}

/// A JSON document as it is printed and kept in files.
pub fn json(document: &impl serde::Serialize) -> anyhow::Result<String> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    Ok(text)
}
