//! The circuits that are raced.

mod command;
mod list;
mod native;
mod report;
mod verilog;
