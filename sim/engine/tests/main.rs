//! The engine against an independent evaluator, and its interfaces.

mod behaviour;
mod code;
mod code_cache;
mod equality;
mod instances;
mod lockstep;
mod naive;
mod operations;
mod parts;
mod recording;
mod twin;
mod waveforms;
