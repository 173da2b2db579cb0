//! Functional execution of PTX with SIMT reconvergence.
