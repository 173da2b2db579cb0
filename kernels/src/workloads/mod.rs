//! The workloads that come with the project.
