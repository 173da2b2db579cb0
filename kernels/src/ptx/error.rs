//! What is wrong with a PTX file.

use std::fmt;

/// Errors reported for one file at most; the rest are counted.
const REPORTED: usize = 20;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PtxError {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// The instruction or declaration, empty if the trouble is elsewhere.
    pub text: String,
    /// What was found and what is accepted.
    pub message: String,
}

impl fmt::Display for PtxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.line)?;
        if !self.text.is_empty() {
            write!(f, "`{}`: ", self.text)?;
        }
        f.write_str(&self.message)
    }
}

/// Everything that is wrong with a PTX file, in source order; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PtxErrors {
    /// The first errors.
    pub errors: Vec<PtxError>,
    /// Further errors, not kept.
    pub more: usize,
}

impl fmt::Display for PtxErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        if self.more > 0 {
            write!(f, "\nand {} more errors", self.more)?;
        }
        Ok(())
    }
}

/// A complaint without its place: what was found and what is accepted.
pub(super) type Complaint = String;

/// Collects the errors of one file.
pub(super) struct Reporter {
    file: String,
    errors: Vec<PtxError>,
    more: usize,
}

impl Reporter {
    pub(super) fn new(file: &str) -> Self {
        Reporter { file: file.to_owned(), errors: Vec::new(), more: 0 }
    }

    /// A reporter of the same file, for a part of it.
    pub(super) fn of_part(&self) -> Self {
        Reporter::new(&self.file)
    }

    /// Adds what has been found wrong with a part of the file.
    pub(super) fn add(&mut self, part: &PtxErrors) {
        for error in &part.errors {
            self.report(error.line, &error.text, error.message.clone());
        }
        self.more += part.more;
    }

    /// Adds an error, unless the same one has been reported (a function may be inlined twice).
    pub(super) fn report(&mut self, line: u32, text: &str, message: impl Into<String>) {
        let error =
            PtxError { file: self.file.clone(), line, text: text.to_owned(), message: message.into() };
        if self.errors.contains(&error) {
            return;
        }
        if self.errors.len() < REPORTED {
            self.errors.push(error);
        } else {
            self.more += 1;
        }
    }

    /// Whether nothing has been reported.
    pub(super) fn is_clean(&self) -> bool {
        self.errors.is_empty()
    }

    /// Whether further errors would only be counted.
    pub(super) fn is_full(&self) -> bool {
        self.errors.len() == REPORTED
    }

    /// All errors, sorted by line.
    pub(super) fn finish(mut self) -> Result<(), PtxErrors> {
        if self.errors.is_empty() {
            return Ok(());
        }
        self.errors.sort_by_key(|error| error.line);
        Err(PtxErrors { errors: self.errors, more: self.more })
    }
}
