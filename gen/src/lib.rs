//! Elaborated netlist to Verilog, file lists and manifest.
