//! What compiler passes leave behind: a table each, looked up by instruction.

use std::any::Any;

use warpfile_kernels::program::Program;

/// Tables that the passes of a stack have left for one program, each found by its type.
#[derive(Default)]
pub struct Notes(Vec<Box<dyn Any>>);

impl Notes {
    /// Leaves a table.
    pub fn leave(&mut self, table: impl Any) {
        self.0.push(Box::new(table));
    }

    /// The table of a type, if a pass has left one.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.iter().find_map(|table| table.downcast_ref())
    }
}

/// A program as the passes of a stack leave it.
pub struct Compiled<'p> {
    /// The program that runs: the stream's own, or rewritten.
    pub program: &'p Program,
    /// What the passes have noted of it.
    pub notes: &'p Notes,
}
