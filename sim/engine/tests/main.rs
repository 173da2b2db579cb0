//! The engine against an independent evaluator, and its interfaces.

mod behaviour;
mod lockstep;
mod naive;
mod operations;
mod random;
mod waveforms;
