//! Testbenches of the circuits.
