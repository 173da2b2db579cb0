//! Random netlists for tests, made of what makes engines and printers wrong.
//!
//! A [`Recipe`] is lists of choices, one a port, register, table, node, update. The netlist is a function of
//! it, and what one choice makes hardly depends on the others, so a test framework that removes choices and
//! makes numbers smaller ends at a small netlist; [`describe`] prints it one node a line. [`Case`] adds what
//! drives it.
//!
//! Values come in two kinds: those that every later node may use, and those that only one does. Of the second
//! kind are cones of logic that matter under one condition only, behind muxes, masks, enables and qualifiers.
//!
//! [`config`] says how many cases a property test has, here and in every testbench; [`slice()`] which cells of a table of
//! runs a test makes that does not make all.
//!
//! [`Beside`] runs the compiled engine and the interpreter beside each other on any netlist.
//!
//! For tests only: nothing that ships depends on this.

mod beside;
mod case;
mod choice;
mod config;
mod maker;
mod numbers;
mod recipe;
mod shrink;
mod slice;
mod text;

pub use beside::{Beside, Snapshots, Unequal, option_sets};
pub use case::{Case, Cycle, cases, inputs_of, random_cycles};
pub use choice::Choice;
pub use config::{config, drawn_config};
pub use numbers::Random;
pub use recipe::{Constants, ModuleRecipe, Names, Recipe, Size, Style};
pub use slice::slice;
pub use text::describe;
