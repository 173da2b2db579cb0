//! Integration tests of the kernels crate.

mod launch_files;
