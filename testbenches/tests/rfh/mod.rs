//! Register file hierarchy.

mod register_file_hierarchy;
mod register_file_hierarchy_ref;
