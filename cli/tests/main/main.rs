//! The `warpfile` command as a person at a terminal meets it.

mod command;
mod cuda;
mod execution;
mod lists;
mod malformed;
mod outputs;
mod runs;
mod schema;
mod slurm;
mod sweeps;
mod verification;
mod waveforms;
