//! Derive macro for the ports of a circuit.
