//! RegLess: the compressor and the way to L1.

mod patterns;
