//! Runs an elaborated netlist cycle by cycle.
