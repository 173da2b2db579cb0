//! Trace files: our container and Accel-Sim text.
