//! The streaming multiprocessor around the circuits.
