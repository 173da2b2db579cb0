//! Integration tests of the kernels crate.

mod addresses;
mod compile_time;
mod compiled_twice;
mod copies;
mod cuda;
mod execution;
mod halves;
mod host_buffers;
mod host_steps;
mod images;
mod launch_files;
mod matrices;
mod open_workloads;
mod printing;
mod ptx_parsing;
mod races;
mod recording;
mod restructuring;
mod semantics;
mod spilling;
mod workloads;
