//! The banked register file.
//!
//! The references (`…_ref`) are written from Gebhart et al., §2.1 and Fig. 3, and from the contract of the
//! ports. Traffic keeps what `docs/sm-pipeline.md` promises.

mod bank;
mod bank_ref;
mod banked_register_file;
mod banked_register_file_ref;
pub mod collectors_ref;
mod dual_issue_register_file;
mod dual_issue_register_file_ref;
mod main_register_file;
mod main_register_file_ref;
pub mod offers_ref;
pub mod operand_collectors;
mod operand_collectors_ref;
pub mod row_power;
pub mod traffic;
mod two_ports;
mod two_scheduler_register_file;
mod two_scheduler_register_file_ref;
pub mod warp_register;
