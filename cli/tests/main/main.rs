//! The `warpfile` command as a person at a terminal meets it.

mod command;
mod cuda;
mod execution;
mod hardware;
mod html;
mod kept_runs;
mod lists;
mod malformed;
mod outputs;
mod packages;
mod pages;
mod runs;
mod schema;
mod sleeping_rows;
mod slurm;
mod sweeps;
mod tutorial;
mod verification;
mod waveforms;
