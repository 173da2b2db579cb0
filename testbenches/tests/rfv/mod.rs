//! The virtual register file.
//!
//! The references (`…_ref`) are written from what Jeon et al., "GPU Register File Virtualization", and Kloosterman et
//! al., "RegLess", §6.1 say of renaming, and from the contract of the ports.

mod allocation_limiter;
mod allocation_limiter_ref;
mod rename_table;
mod rename_table_ref;
mod virtual_register_file;
