//! Verilog of small netlists, and how files are written.

mod builder;
mod files;
mod verilog;
