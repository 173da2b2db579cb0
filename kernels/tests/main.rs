//! Integration tests of the kernels crate.

mod host_buffers;
mod launch_files;
mod ptx_parsing;
mod workloads;
