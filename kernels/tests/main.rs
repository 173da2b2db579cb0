//! Integration tests of the kernels crate.

mod compile_time;
mod compiled_twice;
mod execution;
mod host_buffers;
mod host_steps;
mod launch_files;
mod open_workloads;
mod ptx_parsing;
mod recording;
mod semantics;
mod workloads;
