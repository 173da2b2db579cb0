//! What needs no machine instruction: copies, constants, parameters, no-op conversions, repeated reads of
//! special registers.
//!
//! Nothing is rewritten: the executor runs the PTX as it stands. The result is a map from what the PTX reads to
//! where the machine finds it ([`resolve::Resolved`]).

pub mod fold;
pub mod resolve;
pub mod webs;
